package kernels

import (
	"errors"
	"fmt"
)

// Errors that an *Error wraps; errors.Is finds them.
var (
	ErrDType = errors.New("dtype not supported")
	ErrDims  = errors.New("dims do not fit")
	ErrIndex = errors.New("index out of range")
	ErrArgs  = errors.New("wrong number of operands")
	ErrNoOp  = errors.New("op not available on this device")
)

// Error says which op refused what.
type Error struct {
	Op     ID
	Err    error  // one of the Err values of this package
	Detail string // operands and dims, in words
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("kernels: %v: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("kernels: %v: %v: %s", e.Op, e.Err, e.Detail)
}

func (e *Error) Unwrap() error { return e.Err }
