package cuda

import (
	"errors"
	"fmt"

	"tarn/cuda/internal/dl"
	"tarn/cuda/internal/shim"
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

// Errors to match with errors.Is.
var (
	// ErrDeviceLost is matched by a [LostError].
	ErrDeviceLost = errors.New("cuda: device lost")
	// ErrNotSupported is matched by a [FeatureError].
	ErrNotSupported = errors.New("cuda: not supported by this driver")
	// ErrClosed means a call on a context after Close.
	ErrClosed = errors.New("cuda: the context is closed")
)

// LostError means that the context can do nothing any more: a kernel faulted,
// or the device failed. It is returned by the call that the driver first said
// so to, and by all calls on the context after it, Close excepted. The fault
// is often not that call's own, but of work that was queued before it.
// [Error] matches the cause.
type LostError struct {
	Device string // "cuda:0"
	Cause  *Error // what the driver said first
}

func (e *LostError) Error() string {
	return fmt.Sprintf("cuda: device %s is lost; first seen, with the fault in it or in earlier work: %v",
		e.Device, e.Cause)
}

// Unwrap returns ErrDeviceLost and the cause.
func (e *LostError) Unwrap() []error { return []error{ErrDeviceLost, e.Cause} }

// FeatureError means that the driver lacks a function, and with it a feature:
// one of Library.Missing.
type FeatureError struct {
	Feature string
	Op      string // the call that would have been made
}

func (e *FeatureError) Error() string {
	return fmt.Sprintf("cuda: %s: %s is off: the driver lacks a function of it", e.Op, e.Feature)
}

// Unwrap returns ErrNotSupported.
func (e *FeatureError) Unwrap() error { return ErrNotSupported }

// check makes an error of an outcome other than success.
func check(t *shim.Table, out shim.Out) error {
	switch {
	case out.OK():
		return nil
	case out.Missing:
		return &FeatureError{Feature: t.Feature(out.Entry), Op: out.Entry.Op()}
	}
	return driverError(t, out)
}

// driverError names the code. The driver is asked for the name of one that is
// newer than our table.
func driverError(t *shim.Table, out shim.Out) *Error {
	c := Code(out.Code)
	e := &Error{Op: out.Entry.Op(), Code: c, Name: c.String()}
	if _, known := codes[c]; !known {
		if name := t.ErrorName(out.Code); name != "" {
			e.Name = name
		}
	}
	return e
}
