package memory

import (
	"runtime"
	"slices"
	"sync"
)

// maxDepth bounds the frames of a stack, and defaultDepth is how many are kept
// where nothing else is said.
const (
	maxDepth     = 64
	defaultDepth = 32
)

// stackID names a stack in an allocator's table; 0 is none.
type stackID uint32

// stacks are the stacks that were seen, each once, as program counters. They
// become text when somebody asks. Nothing is ever taken out: a program has as
// many stacks as ways to its Allocs, and an id stays good whatever becomes of
// the block. The lock is held with no other.
type stacks struct {
	mu     sync.RWMutex // guards all below
	byHash map[uint64]stackID
	all    []stack // by id - 1
}

// stack is one of them.
type stack struct {
	pcs  []uintptr
	next stackID // with the same hash
}

// capture returns the stack of who called the method of the allocator that
// calls it, without the skip innermost frames. It stays out of line, so that
// its room for frames is not part of Alloc's own.
//
//go:noinline
func (s *stacks) capture(skip, depth int) stackID {
	var pcs [maxDepth]uintptr
	const own = 3 // Callers, capture and the method
	n := runtime.Callers(own+skip, pcs[:depth])
	if n == 0 {
		return 0
	}
	return s.intern(pcs[:n])
}

// intern returns the id of a stack. It allocates for a new one only.
func (s *stacks) intern(pcs []uintptr) stackID {
	hash := hashStack(pcs)
	s.mu.RLock()
	id := s.find(hash, pcs)
	s.mu.RUnlock()
	if id != 0 {
		return id
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if id := s.find(hash, pcs); id != 0 {
		return id
	}
	if s.byHash == nil {
		s.byHash = make(map[uint64]stackID)
	}
	s.all = append(s.all, stack{slices.Clone(pcs), s.byHash[hash]})
	id = stackID(len(s.all))
	s.byHash[hash] = id
	return id
}

// find returns the id of a stack that was seen, 0 if it was not. s.mu is held.
func (s *stacks) find(hash uint64, pcs []uintptr) stackID {
	id := s.byHash[hash]
	for id != 0 && !slices.Equal(s.all[id-1].pcs, pcs) {
		id = s.all[id-1].next
	}
	return id
}

func hashStack(pcs []uintptr) uint64 {
	hash := uint64(len(pcs))
	for _, pc := range pcs {
		hash = (hash ^ uint64(pc)) * 0x9E3779B97F4A7C15
		hash ^= hash >> 29
	}
	return hash
}

// Frame is a call on a stack.
type Frame struct {
	File string `json:"filename"`
	Line int    `json:"line"`
	Func string `json:"name"` // with its package's path
}

// frames returns the calls of a stack, innermost first; nil for none.
func (s *stacks) frames(id stackID) []Frame {
	if id == 0 {
		return nil
	}
	s.mu.RLock()
	pcs := s.all[id-1].pcs
	s.mu.RUnlock()
	var frames []Frame
	for calls, more := runtime.CallersFrames(pcs), true; more; {
		var f runtime.Frame
		f, more = calls.Next()
		frames = append(frames, Frame{File: f.File, Line: f.Line, Func: f.Function})
	}
	return frames
}
