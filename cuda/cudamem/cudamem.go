// Package cudamem is a CUDA device as a [memory.Upstream]: the driver's plain
// allocations and, where it has them, its virtual-memory calls and its own pool.
//
//	library, err := cuda.Open()
//	device, err := library.Device(0)
//	context, err := device.Open()
//	up, err := cudamem.New(context)
//	allocator, err := memory.New(up, memory.Config{})
//
// Close the allocator before the context.
package cudamem

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"tarn/cuda"
	"tarn/memory"
)

// alignment is what the driver promises for plain allocations, in bytes.
const alignment = 256

// Upstream is a device, by one context. The zero Stream is the context's default
// one.
type Upstream struct {
	context *cuda.Context
	props   memory.Props

	pool  *cuda.Pool // nil where the driver has none
	keeps sync.Once  // the pool was told to

	mu    sync.Mutex
	sizes map[cuda.DevicePtr]int64 // of allocations: the driver does not tell; guarded by mu
}

// New returns the device of a context as an upstream. Of the others, which are
// devices of the same library, it finds out which can map its pages; their order
// means nothing, and the device itself does not count. The error is the driver's.
//
// Pages are made with no handle to share them by and not for network cards, so
// Props says neither of them, whatever the device can do.
func New(c *cuda.Context, others ...*cuda.Device) (*Upstream, error) {
	u := &Upstream{context: c, sizes: make(map[cuda.DevicePtr]int64), props: memory.Props{Name: c.Device().String(), Alignment: alignment, Asynchronous: true}}
	least, _, err := c.Granularity()
	switch {
	case err == nil:
		u.props.VirtualMemory, u.props.Granularity = true, least
	case !errors.Is(err, cuda.ErrNotSupported):
		return nil, fmt.Errorf("cudamem: %s: page size: %w", c.Device(), err)
	}
	if u.props.Peers, err = peers(c.Device(), others); err != nil {
		return nil, err
	}
	u.pool, err = c.Pool()
	u.props.StreamOrdered = err == nil
	if err != nil && !errors.Is(translate(err), memory.ErrNotSupported) {
		return nil, fmt.Errorf("cudamem: %s: pool: %w", c.Device(), err)
	}
	return u, nil
}

// peers returns the indices of those devices that can map the pages of d, in
// order.
func peers(d *cuda.Device, others []*cuda.Device) (indices []int, err error) {
	for _, other := range others {
		if !d.VirtualMemory || !other.VirtualMemory || other.Index == d.Index {
			continue
		}
		can, err := other.CanAccess(d)
		if err != nil && !errors.Is(err, cuda.ErrNotSupported) {
			return nil, fmt.Errorf("cudamem: %s: access by %s: %w", d, other, err)
		}
		if can && err == nil {
			indices = append(indices, other.Index)
		}
	}
	slices.Sort(indices)
	return slices.Compact(indices), nil
}

// Props implements [memory.Upstream].
func (u *Upstream) Props() memory.Props { return u.props }

// MemInfo implements [memory.Upstream].
func (u *Upstream) MemInfo() (free, total int64, err error) { return u.context.MemInfo() }

// translate has the errors that an allocator acts on wrap its own.
func translate(err error) error {
	var call *cuda.Error
	switch {
	case errors.Is(err, cuda.ErrDeviceLost): // whatever the cause was, memory is not what is missing
		return err
	case errors.As(err, &call) && call.Code == cuda.OutOfMemory:
		return fmt.Errorf("%w: %w", memory.ErrUpstreamFull, err)
	case errors.Is(err, cuda.ErrNotSupported), call != nil && call.Code == cuda.NotSupported:
		return fmt.Errorf("%w: %w", memory.ErrNotSupported, err)
	}
	return err
}

// Alloc implements [memory.Upstream].
func (u *Upstream) Alloc(size int64) (cuda.DevicePtr, error) {
	p, err := u.context.Alloc(size)
	if err != nil {
		return 0, translate(err)
	}
	u.remember(p, size)
	return p, nil
}

// Free implements [memory.Upstream]. The driver waits for the device first.
func (u *Upstream) Free(p cuda.DevicePtr, size int64) error {
	return u.free(p, size, u.context.Free)
}

// free has the driver free what is remembered.
func (u *Upstream) free(p cuda.DevicePtr, size int64, driver func(cuda.DevicePtr) error) error {
	u.mu.Lock()
	had, ok := u.sizes[p]
	delete(u.sizes, p)
	u.mu.Unlock()
	if !ok || had != size {
		if ok {
			u.remember(p, had)
		}
		return fmt.Errorf("cudamem: %s: free %d bytes at %#x, where %d are allocated", u.props.Name, size, uintptr(p), had)
	}
	err := driver(p)
	if err != nil {
		u.remember(p, size)
	}
	return err
}

func (u *Upstream) remember(p cuda.DevicePtr, size int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sizes[p] = size
}

// Reserve implements [memory.Upstream].
func (u *Upstream) Reserve(size int64) (cuda.DevicePtr, error) {
	p, err := u.context.Reserve(size, 0)
	return p, translate(err)
}

// ReleaseRange implements [memory.Upstream].
func (u *Upstream) ReleaseRange(p cuda.DevicePtr, size int64) error {
	return translate(u.context.ReleaseRange(p, size))
}

// Create implements [memory.Upstream].
func (u *Upstream) Create(size int64) (memory.Page, error) {
	pg, err := u.context.Create(size)
	return memory.Page(pg), translate(err)
}

// Release implements [memory.Upstream].
func (u *Upstream) Release(pg memory.Page) error {
	return translate(u.context.Release(cuda.Page(pg)))
}

// Map implements [memory.Upstream].
func (u *Upstream) Map(p cuda.DevicePtr, size int64, pg memory.Page) error {
	return translate(u.context.Map(p, size, cuda.Page(pg)))
}

// SetAccess implements [memory.Upstream]. The driver may be short of memory for
// its tables here, which is an error that wraps [memory.ErrUpstreamFull].
func (u *Upstream) SetAccess(p cuda.DevicePtr, size int64) error {
	return translate(u.context.SetAccess(p, size))
}

// Unmap implements [memory.Upstream].
func (u *Upstream) Unmap(p cuda.DevicePtr, size int64) error {
	return translate(u.context.Unmap(p, size))
}

// RecordEvent implements [memory.Upstream].
func (u *Upstream) RecordEvent(s cuda.Stream) (cuda.Event, error) {
	e, err := u.context.NewEvent()
	if err != nil {
		return 0, err
	}
	if err := u.context.Record(e, s); err != nil {
		return 0, errors.Join(err, u.context.DestroyEvent(e))
	}
	return e, nil
}

// QueryEvent implements [memory.Upstream].
func (u *Upstream) QueryEvent(e cuda.Event) (done bool, err error) { return u.context.QueryEvent(e) }

// WaitEvent implements [memory.Upstream].
func (u *Upstream) WaitEvent(s cuda.Stream, e cuda.Event) error { return u.context.WaitEvent(s, e) }

// SyncEvent implements [memory.Upstream].
func (u *Upstream) SyncEvent(e cuda.Event) error { return u.context.SyncEvent(e) }

// DestroyEvent implements [memory.Upstream].
func (u *Upstream) DestroyEvent(e cuda.Event) error { return u.context.DestroyEvent(e) }
