package ptx

import "fmt"

// RaceError is shared memory that two warps of a block use, one of them to
// write, with no barrier between. Which comes first is up to a device. The
// place is the access that came second here.
type RaceError struct {
	Place
	Store      bool
	Address    uint64 // generic, of the first byte of the access
	Other      Place  // of the access that came first
	OtherStore bool
}

func (e *RaceError) Error() string {
	verb := map[bool]string{true: "store", false: "load"}
	return fmt.Sprintf("ptx: race in shared memory at address %#x: this %s and the %s of PTX line %d (%s), thread %v (warp %d, lane %d), have no barrier between them: %v",
		e.Address, verb[e.Store], verb[e.OtherStore], e.Other.Line, e.Other.Text, e.Other.Thread, e.Other.Warp, e.Other.Lane, e.Place)
}

// CheckRaces returns the kernel with launches that fail with a [*RaceError] where
// warps of a block use shared memory without a barrier between them. Only
// barriers count as an order, one of some of the warps as one of all; lanes of
// one warp, which run in lockstep here, are not told apart. Atomics, and loads
// and stores with an ordering, do not race among themselves.
func (k *Kernel) CheckRaces() *Kernel {
	c := *k
	c.races = true
	return &c
}

// races is what warps have done to a block's shared memory.
type races struct {
	epoch uint32 // counts barriers
	words []sharedWord
}

// sharedWord is 4 bytes of shared memory. Every write clashes with one of two
// warps that have read it since the last barrier, so no more are remembered.
type sharedWord struct {
	write, read, other sharedUse
}

// sharedUse is an access of one lane.
type sharedUse struct {
	epoch      uint32
	line       int32
	warp, lane uint8
	bytes      uint8 // mask of the word's
	strong     bool
}

func (u *sharedUse) clashes(v sharedUse) bool {
	return u.epoch == v.epoch && u.warp != v.warp && u.bytes&v.bytes != 0 && !(u.strong && v.strong)
}

func newRaces(size int) *races {
	return &races{epoch: 1, words: make([]sharedWord, (size+3)/4)}
}

// touch notes an access at an offset. The error is a [*RaceError].
//
//go:norace
func (r *races) touch(w *warp, m *access, lane, at int) error {
	now := sharedUse{epoch: r.epoch, line: m.line, warp: uint8(w.index), lane: uint8(lane), strong: m.strong}
	for i := at / 4; i <= (at+m.size-1)/4; i++ {
		from, to := max(at-4*i, 0), min(at+m.size-4*i, 4)
		now.bytes = 1<<to - 1<<from
		if first, store := r.words[i].touch(now, m.store); first != nil {
			other := w.block.warps[first.warp]
			return &RaceError{w.place(m.line, lane), m.store, sharedWindow + uint64(at), other.place(first.line, int(first.lane)), store}
		}
	}
	return nil
}

// touchAll notes the accesses of a warp to whole words. It says whether they have
// been noted and clash with nothing; else they must be noted lane by lane.
//
//go:norace
func (r *races) touchAll(w *warp, m *access, s *extent, mask uint32) bool {
	if m.elem < 4 {
		return false
	}
	now := sharedUse{epoch: r.epoch, line: m.line, warp: uint8(w.index), bytes: 15, strong: m.strong}
	for last := ^uint64(0); mask != 0; mask &= mask - 1 {
		lane := lowest(mask)
		off := s.off[lane]
		if off == last {
			continue
		}
		last, now.lane = off, uint8(lane)
		words := r.words[off/4 : (off+uint64(m.size))/4]
		for i := range words {
			word := &words[i]
			if !m.store && word.write.epoch != now.epoch && word.read.whole(now.epoch) &&
				(word.read.warp == now.warp || word.other.whole(now.epoch)) {
				continue // every write that clashes with this clashes already
			}
			if first, _ := word.touch(now, m.store); first != nil {
				return false
			}
		}
	}
	return true
}

// whole says whether the use is of an epoch and clashes with any write of
// another warp in it.
func (u *sharedUse) whole(epoch uint32) bool { return u.epoch == epoch && u.bytes == 15 && !u.strong }

// touch notes an access, or returns the one that it clashes with and whether
// that was a store.
//
//go:norace
func (s *sharedWord) touch(now sharedUse, store bool) (first *sharedUse, stored bool) {
	if s.write.clashes(now) {
		return &s.write, true
	}
	if !store {
		if s.read.epoch == now.epoch && s.read.warp != now.warp {
			s.other = s.read
		}
		s.read = now
		return nil, false
	}
	if s.read.clashes(now) {
		return &s.read, false
	}
	if s.other.clashes(now) {
		return &s.other, false
	}
	s.write = now
	return nil, false
}
