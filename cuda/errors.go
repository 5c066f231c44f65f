package cuda

import (
	"fmt"

	"tarn/cuda/internal/dl"
)

// ErrNoLoader means that this build cannot open the driver's library, driver
// or not: it was built without cgo, or for a system that has no loader here.
// A [LoadError] wraps it.
var ErrNoLoader = dl.ErrNoLoader

// LoadError says why the driver's library cannot be used.
type LoadError struct {
	Library string // name or path that was tried
	Reason  string // the system's own text where it gave one
	Err     error  // the cause, where there is one to match
}

func (e *LoadError) Error() string {
	return fmt.Sprintf("cuda: cannot use %s: %s", e.Library, e.Reason)
}

// Unwrap returns the cause.
func (e *LoadError) Unwrap() error { return e.Err }

// Error is a driver call that failed.
type Error struct {
	Op   string // the driver's name of the call
	Code Code
	Name string // the driver's name of the code
}

func (e *Error) Error() string {
	s := fmt.Sprintf("cuda: %s: %s (%d)", e.Op, e.Name, int32(e.Code))
	if text := e.Code.Text(); text != "" {
		s += ": " + text
	}
	return s
}
