package cudasim

import (
	"bytes"
	"fmt"
	"unsafe"

	"tarn/cuda"
)

// alignment is that of plain allocations, in bytes.
const alignment = 256

// take counts bytes of the device as used, where it has them and the host could
// lend them; guarded by the machine.
func (d *device) take(size uint64) bool {
	if size > d.free() || !affordable(size) {
		return false
	}
	d.used += int64(size)
	return true
}

// free is the bytes that nobody has; guarded by the machine.
func (d *device) free() uint64 { return uint64(d.machine.config.Memory - d.used) }

// cost is the bytes that an allocation takes of the device.
func cost(size uint64) uint64 { return roundUp(size, granule) }

// info returns the free bytes of the device and all of them.
func (d *device) info() (free, total int64) {
	d.machine.mu.Lock()
	defer d.machine.mu.Unlock()
	d.pool.reap()
	return int64(d.free()), d.machine.config.Memory
}

// alloc is mem_alloc, and alloc_async without its order.
func (c *context) alloc(k kind, size uint64) (*region, cuda.Code) {
	m, d := c.owner(), c.device
	if size == 0 {
		return nil, cuda.InvalidValue
	}
	if size > uint64(m.config.Memory) || !d.take(cost(size)) {
		return nil, cuda.OutOfMemory
	}
	p, ok := m.space.place(size, alignment)
	if !ok {
		d.used -= int64(cost(size))
		return nil, cuda.OutOfMemory
	}
	r := &region{ptr: p, kind: k, context: c, device: d.index, memory: &backing{bytes: fresh(size)}}
	m.space.insert(r)
	for _, other := range m.devices {
		other.change()
	}
	return r, cuda.Success
}

// fresh makes memory of a device. It is filled, so that what reads memory that
// nobody has written does not find zeros, as it may on a device. Nobody has
// the memory yet, so that this is nothing for the race detector.
//
//go:norace
func fresh(size uint64) []byte {
	b := make([]byte, size)
	for rest := b; len(rest) > 0; {
		rest = rest[copy(rest, unwritten):]
	}
	return b
}

var unwritten = bytes.Repeat([]byte{0xff}, 4096)

// memAlloc is cuMemAlloc.
func (c *context) memAlloc(size uint64) (uint64, cuda.Code) {
	m := c.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	c.device.pool.reap()
	r, code := c.alloc(allocation, size)
	if code != cuda.Success {
		return 0, code
	}
	return r.ptr, cuda.Success
}

// plain returns the allocation at p; one of the pool may be freed like any other.
func (m *Machine) plain(p uint64) *region {
	for _, k := range []kind{pooled, allocation} {
		if r := m.space.at(p, k); r != nil && r.free == nil {
			return r
		}
	}
	return nil
}

// free is mem_free: it waits for the device that the memory is of, whichever it is.
func (c *context) free(p uint64) cuda.Code {
	m := c.owner()
	m.mu.Lock()
	r := m.plain(p)
	if r == nil {
		m.mu.Unlock()
		return cuda.InvalidValue
	}
	streams := m.devices[r.device].running()
	m.mu.Unlock()
	for _, s := range streams {
		s.drain()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.plain(p) != r {
		return cuda.InvalidValue // another thread was faster
	}
	if d := m.devices[r.device]; r.kind == pooled {
		d.pool.takeBack(r)
		d.pool.shrink(d.pool.threshold)
	} else {
		m.discard(r)
	}
	return c.device.code()
}

// discard takes an allocation away; guarded by the machine.
func (m *Machine) discard(r *region) {
	m.space.remove(r)
	if r.kind != pinned {
		m.devices[r.device].used -= int64(cost(r.size()))
	}
	m.changeAll()
}

// hostAlloc is host_alloc. The memory is of the Go heap, where the race detector
// sees it; nothing of it moves, and the books keep it alive.
func (c *context) hostAlloc(size uint64) (uintptr, cuda.Code) {
	const limit = 1 << 40 // more than a host has
	if size == 0 {
		return 0, cuda.InvalidValue
	}
	if size > limit || !affordable(size) {
		return 0, cuda.OutOfMemory
	}
	lent := make([]byte, roundUp(size, 4096))[:size:size]
	p := uintptr(unsafe.Pointer(unsafe.SliceData(lent)))
	m := c.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.space.insert(&region{ptr: uint64(p), kind: pinned, context: c, device: c.device.index, memory: &backing{bytes: lent}})
	for _, d := range m.devices {
		d.change()
	}
	return p, cuda.Success
}

// hostFree is host_free: it waits for all devices.
func (c *context) hostFree(p uint64) cuda.Code {
	m := c.owner()
	m.mu.Lock()
	r := m.space.at(p, pinned)
	if r == nil {
		m.mu.Unlock()
		return cuda.InvalidValue
	}
	o, streams := r.use.busy(), m.streams()
	m.mu.Unlock()
	if o != nil {
		m.report(&MisuseError{"cuMemFreeHost", fmt.Sprintf("work uses the memory at %#x yet: %s", p, o.name)})
	}
	for _, s := range streams {
		s.drain()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.space.at(p, pinned) != r {
		return cuda.InvalidValue
	}
	m.discard(r)
	return c.device.code()
}
