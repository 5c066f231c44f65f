package pinned

import (
	"fmt"
	"strings"
)

// HandleError is the error of a Free with a bad handle. It wraps
// [tarn/memory.ErrStaleHandle] or [tarn/memory.ErrForeignBlock].
type HandleError struct {
	Handle Handle
	Err    error
}

func (e *HandleError) Error() string {
	return fmt.Sprintf("pinned: Free of %v: %s", e.Handle, strings.TrimPrefix(e.Err.Error(), "memory: "))
}

// Unwrap returns the cause.
func (e *HandleError) Unwrap() error { return e.Err }

// RequestError is the error of an Alloc of fewer than 0 or more than 2^60
// bytes.
type RequestError struct {
	Size int64
}

func (e *RequestError) Error() string {
	return fmt.Sprintf("pinned: Alloc: no block can have %d bytes", e.Size)
}

// LiveBlocksError is what Close reports while clients have blocks.
type LiveBlocksError struct {
	Count int64
	Bytes int64 // of the blocks, after rounding
}

func (e *LiveBlocksError) Error() string {
	return fmt.Sprintf("pinned: Close: %d blocks with %d bytes are still live", e.Count, e.Bytes)
}

// OutOfMemoryError says that a request could not be served after all was
// tried, with the figures of that moment, in bytes.
type OutOfMemoryError struct {
	Requested int64 // what the caller asked for
	Rounded   int64 // a block for it
	Limit     int64 // 0: none
	Reserved  int64 // held from the source
	Live      int64 // in blocks that clients have
	Pending   int64 // in parked blocks
	Unusable  int64 // free, but in segments of other sizes that are in use
	Err       error // the source's, nil if it was the limit that refused
}

func (e *OutOfMemoryError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pinned: out of memory: %d bytes (a block of %d) do not fit: ", e.Requested, e.Rounded)
	if e.Limit > 0 {
		fmt.Fprintf(&b, "limit %d, ", e.Limit)
	}
	fmt.Fprintf(&b, "reserved %d, of which %d live, %d pending, %d free in segments in use by other sizes",
		e.Reserved, e.Live, e.Pending, e.Unusable)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns the error of the source, or nil.
func (e *OutOfMemoryError) Unwrap() error { return e.Err }

// outOfMemory makes the error of a request that was refused when nothing was
// idle and no call under way. p.mu is held.
func (p *Pool) outOfMemory(r request, refused error) error {
	k := &p.books
	e := &OutOfMemoryError{
		Requested: r.size, Rounded: r.block, Limit: p.cfg.Limit,
		Reserved: k.reserved.Current,
		Live:     k.live.bytes.Current,
		Pending:  k.active.bytes.Current - k.live.bytes.Current,
		Unusable: k.reserved.Current - k.active.bytes.Current,
	}
	if refused != errOverLimit {
		e.Err = refused
	}
	return e
}
