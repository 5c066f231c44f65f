package upstreams

import (
	"tarn/cuda"
	"tarn/memory"
)

// tap is an upstream that hands every call to one function, which makes it on
// up, or answers in its place. It costs an allocation a call, which beside a
// driver call is nothing.
type tap struct {
	up     memory.Upstream
	around func(*Call)
}

func (t *tap) call(c Call) *Call {
	t.around(&c)
	return &c
}

// Props implements [memory.Upstream]. It is no call that anybody sees.
func (t *tap) Props() memory.Props { return t.up.Props() }

// Processes implements [memory.Neighbours] where the upstream below does, and says
// that it cannot tell elsewhere. It is no call that anybody sees.
func (t *tap) Processes() ([]memory.Process, error) {
	if up, ok := t.up.(memory.Neighbours); ok {
		return up.Processes()
	}
	return nil, memory.ErrNotSupported
}

// MemInfo implements [memory.Upstream].
func (t *tap) MemInfo() (free, total int64, err error) {
	c := t.call(Call{Name: CallMemInfo})
	return c.Free, c.Total, c.Err
}

// Alloc implements [memory.Upstream].
func (t *tap) Alloc(size int64) (cuda.DevicePtr, error) {
	c := t.call(Call{Name: CallAlloc, Size: size})
	return c.Ptr, c.Err
}

// Free implements [memory.Upstream].
func (t *tap) Free(p cuda.DevicePtr, size int64) error {
	return t.call(Call{Name: CallFree, Ptr: p, Size: size}).Err
}

// Reserve implements [memory.Upstream].
func (t *tap) Reserve(size int64) (cuda.DevicePtr, error) {
	c := t.call(Call{Name: CallReserve, Size: size})
	return c.Ptr, c.Err
}

// ReleaseRange implements [memory.Upstream].
func (t *tap) ReleaseRange(p cuda.DevicePtr, size int64) error {
	return t.call(Call{Name: CallReleaseRange, Ptr: p, Size: size}).Err
}

// Create implements [memory.Upstream].
func (t *tap) Create(size int64) (memory.Page, error) {
	c := t.call(Call{Name: CallCreate, Size: size})
	return c.Page, c.Err
}

// Release implements [memory.Upstream].
func (t *tap) Release(pg memory.Page) error {
	return t.call(Call{Name: CallRelease, Page: pg}).Err
}

// Map implements [memory.Upstream].
func (t *tap) Map(p cuda.DevicePtr, size int64, pg memory.Page) error {
	return t.call(Call{Name: CallMap, Ptr: p, Size: size, Page: pg}).Err
}

// SetAccess implements [memory.Upstream].
func (t *tap) SetAccess(p cuda.DevicePtr, size int64) error {
	return t.call(Call{Name: CallSetAccess, Ptr: p, Size: size}).Err
}

// Unmap implements [memory.Upstream].
func (t *tap) Unmap(p cuda.DevicePtr, size int64) error {
	return t.call(Call{Name: CallUnmap, Ptr: p, Size: size}).Err
}

// RecordEvent implements [memory.Upstream].
func (t *tap) RecordEvent(s cuda.Stream) (cuda.Event, error) {
	c := t.call(Call{Name: CallRecordEvent, Stream: s})
	return c.Event, c.Err
}

// QueryEvent implements [memory.Upstream].
func (t *tap) QueryEvent(e cuda.Event) (done bool, err error) {
	c := t.call(Call{Name: CallQueryEvent, Event: e})
	return c.Done, c.Err
}

// WaitEvent implements [memory.Upstream].
func (t *tap) WaitEvent(s cuda.Stream, e cuda.Event) error {
	return t.call(Call{Name: CallWaitEvent, Stream: s, Event: e}).Err
}

// SyncEvent implements [memory.Upstream].
func (t *tap) SyncEvent(e cuda.Event) error {
	return t.call(Call{Name: CallSyncEvent, Event: e}).Err
}

// DestroyEvent implements [memory.Upstream].
func (t *tap) DestroyEvent(e cuda.Event) error {
	return t.call(Call{Name: CallDestroyEvent, Event: e}).Err
}
