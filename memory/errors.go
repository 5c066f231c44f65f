package memory

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of an allocator, beside [OutOfMemoryError] and what the upstream
// reports.
var (
	// ErrClosed means that the allocator was closed.
	ErrClosed = errors.New("memory: allocator is closed")
	// ErrStaleHandle means that the block of a handle was freed before.
	ErrStaleHandle = errors.New("memory: handle is stale: its block was freed before")
	// ErrForeignBlock means that a handle is not from this allocator.
	ErrForeignBlock = errors.New("memory: handle is not from this allocator")
)

// HandleError is the error of a call with a bad handle. It wraps
// [ErrStaleHandle] or [ErrForeignBlock].
type HandleError struct {
	Op     string // the method that was called
	Device string
	Handle Handle
	Err    error
}

func (e *HandleError) Error() string {
	return fmt.Sprintf("memory: %s on %s: %v: %s", e.Op, e.Device, e.Handle, strings.TrimPrefix(e.Err.Error(), "memory: "))
}

// Unwrap returns the cause.
func (e *HandleError) Unwrap() error { return e.Err }

// RequestError is the error of an Alloc whose arguments no device could serve:
// a negative size, one above 2^60 bytes, or a tag that NewTag did not make.
type RequestError struct {
	Device string
	Size   int64
	Tag    Tag
}

func (e *RequestError) Error() string {
	switch {
	case e.Size < 0:
		return fmt.Sprintf("memory: Alloc on %s: negative size %d", e.Device, e.Size)
	case e.Size > maxRequest:
		return fmt.Sprintf("memory: Alloc on %s: tried to allocate %d bytes, more than 1EB memory", e.Device, e.Size)
	}
	return fmt.Sprintf("memory: Alloc on %s: there is no tag %d", e.Device, uint8(e.Tag))
}

// LiveBlocksError is what Close reports when clients still had blocks. Their
// memory is gone all the same.
type LiveBlocksError struct {
	Device string
	Count  int64
	Bytes  int64   // allocated: after rounding
	Owners []Owner // the five largest, largest first
}

func (e *LiveBlocksError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "memory: Close of %s: %d blocks with %s were still live", e.Device, e.Count, formatSize(e.Bytes))
	for i, o := range e.Owners {
		fmt.Fprintf(&b, "%s %v", [...]string{":", ";"}[min(i, 1)], o)
	}
	return b.String()
}
