package tensor

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"tarn/cuda"
	"tarn/kernels"
)

// Causes that an [Error] wraps; find them with errors.Is. Running out of
// memory is a *memory.OutOfMemoryError, found with errors.As.
var (
	ErrShape      = errors.New("shapes do not fit")
	ErrDType      = errors.New("dtype does not fit")
	ErrValue      = errors.New("value out of the dtype's range")
	ErrDevice     = errors.New("operands are on different devices")
	ErrScope      = errors.New("operands are in unrelated scopes")
	ErrReleased   = errors.New("tensor is released")
	ErrIndex      = errors.New("index out of range")
	ErrNoGradient = errors.New("op has no gradient for an operand that wants one")
	ErrNoHistory  = errors.New("tensor has no history to go back over")
	ErrGraphFreed = errors.New("graph is freed: backward has gone over it already")
	ErrInPlace    = errors.New("in-place change refused")
	// ErrCapture is about what cannot be recorded into a graph; see [Capture].
	ErrCapture = errors.New("not possible in a capture")
	// ErrDeviceLost is about a device that can do nothing any more; what lost it
	// is often earlier work than the op that says so.
	ErrDeviceLost = cuda.ErrDeviceLost
	// ErrStreamClosed is about work for a stream after its Close.
	ErrStreamClosed = errors.New("stream is closed")
)

// Error is the first cause of a failure: which op, on what, called from where.
// A tensor that an op could not make carries it, and every op on that tensor
// hands it on unchanged. It keeps no tensor alive.
type Error struct {
	Op     string
	Shapes []Shape // of the operands, in order
	Place  string  // file:line of the call into tarn
	Err    error   // the cause
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("tensor: ")
	b.WriteString(e.Op)
	for i, s := range e.Shapes {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %v", s)
	}
	if e.Place != "" {
		fmt.Fprintf(&b, " at %s", e.Place)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// newError wraps a cause once: an *Error passes through.
func newError(op string, err error, operands ...*Tensor) error {
	var first *Error
	if errors.As(err, &first) {
		return err
	}
	e := &Error{Op: op, Err: translate(err), Place: place()}
	for _, t := range operands {
		if t != nil {
			e.Shapes = append(e.Shapes, t.Shape())
		}
	}
	return e
}

// two names two devices, which may share their name.
func two(a, b *Device) string {
	if a.name == b.name {
		return "two devices that are both called " + a.name
	}
	return a.name + " and " + b.name
}

// translate lets users match a kernel's refusals with this package's causes.
func translate(err error) error {
	for from, to := range map[error]error{
		kernels.ErrDType: ErrDType, kernels.ErrDims: ErrShape, kernels.ErrIndex: ErrIndex,
	} {
		if errors.Is(err, from) {
			return fmt.Errorf("%w: %w", to, err)
		}
	}
	return err
}

// place is the file and line of the first caller outside of tarn's own
// library packages and of who prints for it; examples and tests count as outside.
func place() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if !insideLibrary(f) {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		if !more {
			return ""
		}
	}
}

func insideLibrary(f runtime.Frame) bool {
	if strings.HasSuffix(f.File, "_test.go") {
		return false
	}
	for _, p := range []string{"tarn/tensor.", "tarn/nn.", "tarn/nn/", "runtime.", "fmt.", "log."} {
		if strings.HasPrefix(f.Function, p) {
			return true
		}
	}
	return false
}
