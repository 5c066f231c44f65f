package cudasim

import "tarn/cuda"

// The attributes of a pool.
const (
	poolThreshold = 4
	poolReserved  = 5
	poolHigh      = 6
	poolUsed      = 7
	poolUsedHigh  = 8
)

// pool is a device's stream-ordered memory. An allocation has its address and
// its bytes at once; what is freed comes back when its stream gets there, and
// stays with the pool until it may hold less. It is guarded by the machine.
type pool struct {
	device    *device
	handle    uintptr
	used      uint64 // bytes that callers have
	kept      uint64 // bytes that nobody has, which the device counts as used
	high      uint64 // the most of used and kept
	usedHigh  uint64
	threshold uint64 // bytes that the pool keeps when its work is done
	leaving   []*region
}

func newPool(d *device) *pool {
	p := &pool{device: d}
	p.handle = add(p)
	return p
}

func (p *pool) owner() *Machine { return p.device.machine }

// reap takes back what streams have freed.
func (p *pool) reap() {
	left := p.leaving[:0]
	for _, r := range p.leaving {
		if !r.free.past() {
			left = append(left, r)
			continue
		}
		p.takeBack(r)
	}
	clear(p.leaving[len(left):])
	p.leaving = left
	if len(left) == 0 {
		p.shrink(p.threshold)
	}
}

// takeBack takes an allocation away that its stream has freed.
func (p *pool) takeBack(r *region) {
	d := p.device
	d.machine.discard(r)
	if r.kind == pooled {
		d.used += int64(cost(r.size()))
		p.keep(r)
	}
}

// keep moves what an allocation had to what the pool keeps, once.
func (p *pool) keep(r *region) {
	if !r.counted {
		r.counted = true
		p.used -= cost(r.size())
		p.kept += cost(r.size())
	}
}

// claim has the pool keep want bytes, or the device have them free, if it needs to
// by way of memory that streams have freed and not got to: the stream's own,
// which needs no wait, or that of others, which the allocation then comes after.
func (p *pool) claim(want uint64, s *stream) (after []*op) {
	for _, own := range []bool{true, false} {
		for _, r := range p.leaving {
			if p.kept+p.device.free() >= want {
				return after
			}
			if r.kind != pooled || r.counted || (r.free.stream == s) != own {
				continue
			}
			p.keep(r)
			if !own {
				after = append(after, r.free)
			}
		}
	}
	return after
}

// shrink gives back what the pool keeps above keep bytes in all.
func (p *pool) shrink(keep uint64) {
	if p.used+p.kept <= keep {
		return
	}
	n := min(p.kept, p.used+p.kept-keep)
	p.kept -= n
	p.device.used -= int64(n)
}

// allocAsync is cuMemAllocAsync.
func (s *stream) allocAsync(size uint64) (uint64, cuda.Code) {
	m, d := s.owner(), s.context.device
	m.mu.Lock()
	defer m.mu.Unlock()
	p := d.pool
	if s.capture != nil {
		s.capture.broken = true
		return 0, captureUnsupported
	}
	p.reap()
	after := p.claim(cost(size), s)
	// The pool's own bytes are used first.
	reuse := min(p.kept, cost(size))
	p.kept -= reuse
	d.used -= int64(reuse)
	r, code := s.context.alloc(pooled, size)
	if code != cuda.Success {
		p.kept += reuse
		d.used += int64(reuse)
		return 0, code
	}
	if _, code := s.submit(work{name: "cuMemAllocAsync"}, after...); code != cuda.Success {
		m.discard(r)
		return 0, code
	}
	p.used += cost(size)
	p.usedHigh = max(p.usedHigh, p.used)
	p.high = max(p.high, p.used+p.kept)
	return r.ptr, cuda.Success
}

// freeAsync is cuMemFreeAsync, of memory of cuMemAlloc too. From the call on no new
// work may use the memory.
func (s *stream) freeAsync(ptr uint64) cuda.Code {
	m := s.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.plain(ptr)
	switch {
	case r == nil:
		return cuda.InvalidValue
	case s.capture != nil:
		s.capture.broken = true
		return captureUnsupported
	}
	memory := r.memory
	memory.marks()
	for _, d := range m.devices {
		d.change()
	}
	o, code := s.submit(work{name: "cuMemFreeAsync", run: func() error {
		mark(memory.freed, 0, roundUp(r.size(), granule), 1)
		return nil
	}})
	if code != cuda.Success {
		return code
	}
	r.free = o
	p := m.devices[r.device].pool
	p.leaving = append(p.leaving, r)
	return cuda.Success
}

// set is cuMemPoolSetAttribute: the threshold, and 0 for the highs.
func (p *pool) set(attribute int, value uint64) cuda.Code {
	m := p.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case attribute == poolThreshold:
		p.threshold = value
	case attribute == poolHigh && value == 0:
		p.high = p.used + p.kept
	case attribute == poolUsedHigh && value == 0:
		p.usedHigh = p.used
	default:
		return cuda.InvalidValue
	}
	return cuda.Success
}

// get is cuMemPoolGetAttribute.
func (p *pool) get(attribute int) (uint64, cuda.Code) {
	m := p.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	p.reap()
	switch attribute {
	case poolThreshold:
		return p.threshold, cuda.Success
	case poolReserved:
		return p.used + p.kept, cuda.Success
	case poolHigh:
		return p.high, cuda.Success
	case poolUsed:
		return p.used, cuda.Success
	case poolUsedHigh:
		return p.usedHigh, cuda.Success
	}
	return 0, cuda.InvalidValue
}

// trim is cuMemPoolTrimTo.
func (p *pool) trim(keep uint64) cuda.Code {
	m := p.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	p.reap()
	p.shrink(keep)
	return cuda.Success
}
