package upstreams

import (
	"fmt"
	"strings"

	"tarn/cuda"
	"tarn/memory"
)

// Call is one call of an upstream: its arguments and, once it was made, its
// results. Fields that it has no use for are zero.
type Call struct {
	Name   Name           `json:"call"`
	Ptr    cuda.DevicePtr `json:"ptr,omitempty"` // result of alloc and reserve
	Size   int64          `json:"size,omitempty"`
	Page   memory.Page    `json:"page,omitempty"` // result of create
	Stream cuda.Stream    `json:"stream,omitempty"`
	Event  cuda.Event     `json:"event,omitempty"` // result of record
	Done   bool           `json:"done,omitempty"`  // result of query
	Free   int64          `json:"free,omitempty"`  // results of memory info
	Total  int64          `json:"total,omitempty"`
	Err    error          `json:"-"`
}

// on makes the call on up.
func (c *Call) on(up memory.Upstream) {
	switch c.Name {
	case CallReserve:
		c.Ptr, c.Err = up.Reserve(c.Size)
	case CallReleaseRange:
		c.Err = up.ReleaseRange(c.Ptr, c.Size)
	case CallCreate:
		c.Page, c.Err = up.Create(c.Size)
	case CallRelease:
		c.Err = up.Release(c.Page)
	case CallMap:
		c.Err = up.Map(c.Ptr, c.Size, c.Page)
	case CallSetAccess:
		c.Err = up.SetAccess(c.Ptr, c.Size)
	case CallUnmap:
		c.Err = up.Unmap(c.Ptr, c.Size)
	case CallAlloc:
		c.Ptr, c.Err = up.Alloc(c.Size)
	case CallFree:
		c.Err = up.Free(c.Ptr, c.Size)
	case CallMemInfo:
		c.Free, c.Total, c.Err = up.MemInfo()
	case CallRecordEvent:
		c.Event, c.Err = up.RecordEvent(c.Stream)
	case CallQueryEvent:
		c.Done, c.Err = up.QueryEvent(c.Event)
	case CallWaitEvent:
		c.Err = up.WaitEvent(c.Stream, c.Event)
	case CallSyncEvent:
		c.Err = up.SyncEvent(c.Event)
	case CallDestroyEvent:
		c.Err = up.DestroyEvent(c.Event)
	}
}

// result reports whether f is a result of the call, not an argument.
func (c *Call) result(f fields) bool {
	switch f {
	case hasPtr:
		return c.Name == CallAlloc || c.Name == CallReserve
	case hasPage:
		return c.Name == CallCreate
	case hasEvent:
		return c.Name == CallRecordEvent
	}
	return f&(hasDone|hasInfo) != 0
}

// shows reports whether there is something to say of f: a failed call has no
// results.
func (c *Call) shows(f fields) bool {
	return c.Name.has(f) && (c.Err == nil || !c.result(f))
}

// String is how messages name the call: "alloc 512 bytes 0x7000", and what it
// failed with.
func (c *Call) String() string {
	var b strings.Builder
	b.WriteString(c.Name.String())
	if c.shows(hasSize) {
		fmt.Fprintf(&b, " %d bytes", c.Size)
	}
	if c.shows(hasPtr) {
		fmt.Fprintf(&b, " %#x", uintptr(c.Ptr))
	}
	if c.shows(hasPage) {
		fmt.Fprintf(&b, " page %d", c.Page)
	}
	if c.shows(hasStream) {
		fmt.Fprintf(&b, " stream %#x", uintptr(c.Stream))
	}
	if c.shows(hasEvent) {
		fmt.Fprintf(&b, " event %#x", uintptr(c.Event))
	}
	if c.shows(hasDone) {
		fmt.Fprintf(&b, " done %t", c.Done)
	}
	if c.shows(hasInfo) {
		fmt.Fprintf(&b, " %d of %d bytes free", c.Free, c.Total)
	}
	if c.Err != nil {
		fmt.Fprintf(&b, ": %v", c.Err)
	}
	return b.String()
}
