package cudasim

import (
	"fmt"
	"slices"
	"sort"

	"tarn/cuda"
)

// page is memory of a device that has no address by itself. It is no thing of
// a context.
type page struct {
	device *device
	handle uintptr
	memory *backing
	maps   int
	named  bool // not yet released
}

func (pg *page) owner() *Machine { return pg.device.machine }

// whole reports whether n is a multiple of the granularity, and not 0.
func (m *Machine) whole(n uint64) bool { return n != 0 && n%uint64(m.config.Granularity) == 0 }

// reserve is cuMemAddressReserve, without a hint.
func (m *Machine) reserve(size, alignment uint64) (uint64, cuda.Code) {
	if !m.whole(size) || alignment&(alignment-1) != 0 {
		return 0, cuda.InvalidValue
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.space
	p, ok := s.place(size, max(alignment, uint64(m.config.Granularity)))
	if !ok {
		return 0, cuda.OutOfMemory
	}
	i := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].ptr > p })
	s.ranges = slices.Insert(s.ranges, i, vrange{p, size})
	return p, cuda.Success
}

// releaseRange is cuMemAddressFree.
func (m *Machine) releaseRange(p, size uint64) cuda.Code {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.space
	i := slices.Index(s.ranges, vrange{p, size})
	if i < 0 || s.any(p, size) {
		return cuda.InvalidValue
	}
	s.ranges = slices.Delete(s.ranges, i, i+1)
	return cuda.Success
}

// any reports whether a region lies in p to p+size, or a part of one.
func (s *space) any(p, size uint64) bool {
	i := s.index(p)
	return i > 0 && s.regions[i-1].end() > p || i < len(s.regions) && s.regions[i].ptr < p+size
}

// create is cuMemCreate.
func (d *device) create(size uint64) (*page, cuda.Code) {
	m := d.machine
	if !m.whole(size) {
		return nil, cuda.InvalidValue
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d.pool.reap()
	if !d.take(size) {
		return nil, cuda.OutOfMemory
	}
	pg := &page{device: d, memory: &backing{bytes: fresh(size)}, named: true}
	pg.handle = add(pg)
	d.pages++
	return pg, cuda.Success
}

// release is cuMemRelease.
func (m *Machine) release(handle uintptr) cuda.Code {
	m.mu.Lock()
	defer m.mu.Unlock()
	pg, ok := find[*page](m, handle)
	if !ok {
		return cuda.InvalidValue
	}
	drop(handle)
	pg.named = false
	pg.device.pages--
	pg.end()
	return cuda.Success
}

// end gives the memory back when neither a name nor a mapping is left.
func (pg *page) end() {
	if !pg.named && pg.maps == 0 {
		pg.device.used -= int64(len(pg.memory.bytes))
	}
}

// mapPage is cuMemMap. A driver takes whole pages only.
func (m *Machine) mapPage(p, size, offset uint64, handle uintptr) cuda.Code {
	m.mu.Lock()
	defer m.mu.Unlock()
	pg, ok := find[*page](m, handle)
	switch {
	case !ok, offset != 0, size != uint64(len(pg.memory.bytes)), p%uint64(m.config.Granularity) != 0:
		return cuda.InvalidValue
	case !m.space.within(p, size), m.space.any(p, size):
		return cuda.InvalidValue
	}
	m.space.insert(&region{ptr: p, kind: mapping, memory: pg.memory, page: pg, device: pg.device.index})
	pg.maps++
	return cuda.Success
}

// mappings returns the whole mappings that p to p+size is; guarded by the
// machine.
func (m *Machine) mappings(p, size uint64) []*region {
	if size == 0 {
		return nil
	}
	run := m.space.run(p, size)
	if len(run) == 0 || run[0].ptr != p || run[0].kind != mapping || run[len(run)-1].end() != p+size {
		return nil
	}
	return run
}

// unmap is cuMemUnmap. It does not wait: work that uses the memory yet is
// misuse, and may fault.
func (m *Machine) unmap(p, size uint64) cuda.Code {
	m.mu.Lock()
	defer m.mu.Unlock()
	run := m.mappings(p, size)
	if run == nil {
		return cuda.InvalidValue
	}
	access := uint64(0)
	for _, r := range run {
		if o := r.use.busy(); o != nil {
			m.report(&MisuseError{"cuMemUnmap", fmt.Sprintf("work uses the memory at %#x yet: %s", r.ptr, o.name)})
		}
		r.page.maps--
		r.page.end()
		access |= r.access
	}
	i := m.space.index(p) - 1
	m.space.regions = slices.Delete(m.space.regions, i, i+len(run))
	for _, d := range m.devices {
		if access>>d.index&1 != 0 {
			m.taken(d)
		}
	}
	return cuda.Success
}

// access is one of the devices that cuMemSetAccess is about.
type access struct {
	device int // CUdevice
	flags  int // 0 none, 1 read, 3 read and write
}

// setAccess is cuMemSetAccess.
func (m *Machine) setAccess(p, size uint64, who []access) cuda.Code {
	m.mu.Lock()
	defer m.mu.Unlock()
	run := m.mappings(p, size)
	if run == nil || len(who) == 0 {
		return cuda.InvalidValue
	}
	for _, a := range who {
		if m.device(a.device) == nil || a.flags != 0 && a.flags != 3 {
			return cuda.InvalidValue
		}
	}
	for _, a := range who {
		d := m.device(a.device)
		for _, r := range run {
			if a.flags == 0 {
				r.access &^= 1 << d.index
			} else {
				r.access |= 1 << d.index
			}
		}
		if a.flags == 0 {
			m.taken(d)
		}
		d.change()
	}
	return cuda.Success
}
