package pinned

import (
	"fmt"

	"tarn/memory"
)

// Handle names a block that Alloc gave out. It may be kept and copied; a
// handle whose block was freed is recognised. The zero Handle names no block.
type Handle struct {
	pool       uint32 // id of the pool, unique in the process; from 1
	slot       uint32
	generation uint32 // of the slot when the block was given out; from 1
}

func (h Handle) String() string {
	return fmt.Sprintf("pinned block %d.%d#%d", h.pool, h.slot, h.generation)
}

// Block is what Alloc gives out: Size bytes at Ptr, from now on named by
// Handle. The zero Block has no bytes.
type Block struct {
	Handle
	Ptr  uintptr
	Size int64 // the request rounded up; all of it may be used
}

// state says what a slot stands for.
type state uint8

const (
	unused  state = iota
	live          // a client has the block
	leaving       // live, while Free records the events of its uses
	parked        // freed; waits for events
)

// slot is the record of an active block.
type slot struct {
	segment    *segment // nil iff unused
	number     uint16   // of the block in the segment
	state      state
	generation uint32 // goes up when the client's handle ends
	uses       int    // events still waited for; > 0 iff parked
	requested  int64  // bytes asked for
}

// lookup finds the slot of a live block. p.mu is held.
func (p *Pool) lookup(h Handle) (*slot, error) {
	if h.pool != p.id || int64(h.slot) >= int64(len(p.slots)) {
		return nil, &HandleError{h, memory.ErrForeignBlock}
	}
	s := &p.slots[h.slot]
	if s.state != live || s.generation != h.generation {
		return nil, &HandleError{h, memory.ErrStaleHandle}
	}
	return s, nil
}

// take gives out a free block for a request, if there is one. p.mu is held.
func (p *Pool) take(r request) (Block, bool) {
	s := p.index.find(r)
	if s == nil {
		return Block{}, false
	}
	if s.idle != nil {
		p.unidle(s)
	}
	n := s.free[len(s.free)-1]
	if s.free = s.free[:len(s.free)-1]; len(s.free) == 0 {
		p.index.remove(s)
	}
	i := uint32(len(p.slots))
	if last := len(p.unused) - 1; last >= 0 {
		i, p.unused = p.unused[last], p.unused[:last]
	} else {
		p.slots = append(p.slots, slot{generation: 1})
	}
	generation := p.slots[i].generation
	p.slots[i] = slot{segment: s, number: n, state: live, generation: generation, requested: r.size}
	p.books.take(s.block, r.size)
	return Block{Handle{p.id, i, generation}, s.ptr + uintptr(n)*uintptr(s.block), s.block}, true
}

// endHandle makes the handle of a live block stale. p.mu is held.
func (p *Pool) endHandle(s *slot) {
	if s.generation++; s.generation == 0 {
		s.generation = 1
	}
	p.books.live.sub(s.segment.block)
}

// give makes the block of slot i free, whose handle has ended. p.mu is held.
func (p *Pool) give(i uint32) {
	b := &p.slots[i]
	s := b.segment
	p.books.give(s.block, b.requested)
	if s.free = append(s.free, b.number); len(s.free) == 1 {
		p.index.add(s)
	}
	if s.active() == 0 {
		s.idle = p.idle.PushBack(s)
		p.idleBytes += s.size
	}
	*b = slot{generation: b.generation}
	p.unused = append(p.unused, i)
}

// unidle takes a segment off the idle ones. p.mu is held.
func (p *Pool) unidle(s *segment) {
	p.idle.Remove(s.idle)
	s.idle = nil
	p.idleBytes -= s.size
}
