package memorytest

import (
	"errors"
	"fmt"

	"tarn/cuda"
	"tarn/memory"
)

// Why a [Fake] refuses a call. A driver answers most of them with "invalid
// value"; a test wants to know.
var (
	ErrBadSize        = errors.New("size must be positive")
	ErrUnaligned      = errors.New("not a multiple of the granularity")
	ErrUnknownPointer = errors.New("nothing was allocated there")
	ErrWrongSize      = errors.New("made with another size")
	ErrUnknownRange   = errors.New("no such range was reserved")
	ErrNotReserved    = errors.New("not inside one reserved range")
	ErrRangeMapped    = errors.New("something is mapped in the range")
	ErrUnknownPage    = errors.New("no such page, or it was released")
	ErrDoubleMap      = errors.New("something is mapped there already")
	ErrNotMapped      = errors.New("nothing is mapped in part of it")
	ErrPartialMapping = errors.New("covers a mapping in part")
	ErrUnknownEvent   = errors.New("no such event, or it was destroyed")

	// ErrNoAccess means work on memory that the device cannot touch.
	ErrNoAccess = errors.New("illegal access")
	// ErrUnordered means work that touches memory while earlier work of
	// another stream, which it does not come after, may be at it.
	ErrUnordered = errors.New("not ordered after earlier work on the same bytes")
	// ErrFault is what every call returns once memory was taken away from
	// under running work.
	ErrFault = errors.New("the device has faulted")
)

// Refusal says which call the fake refused, with what and why.
type Refusal struct {
	Call Call
	Ptr  cuda.DevicePtr // 0 where the call has none
	Size int64          // 0 where the call has none
	Page memory.Page    // 0 where the call has none
	Err  error          // one of the reasons above, or memory.ErrUpstreamFull
}

func (r *Refusal) Error() string {
	e := Entry{Call: r.Call, Ptr: r.Ptr, Size: r.Size, Page: r.Page}
	return fmt.Sprintf("fake: %v: %v", e, r.Err)
}

func (r *Refusal) Unwrap() error { return r.Err }

// refuse builds the refusal of the call that e describes.
func (e *Entry) refuse(why error) error {
	return &Refusal{Call: e.Call, Ptr: e.Ptr, Size: e.Size, Page: e.Page, Err: why}
}
