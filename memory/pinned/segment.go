package pinned

import (
	"cmp"
	"container/list"
	"slices"
)

// segment is a range from the source, cut into blocks of one size.
type segment struct {
	ptr   uintptr
	size  int64 // bytes, a multiple of block
	block int64 // bytes of each block
	class int   // or large: then it is one block

	free []uint16      // numbers of the free blocks; the last is taken next
	idle *list.Element // its place among the idle segments; nil if it is none
}

func newSegment(ptr uintptr, size int64, r request) *segment {
	s := &segment{ptr: ptr, size: size, block: r.block, class: r.class}
	for n := size/r.block - 1; n >= 0; n-- {
		s.free = append(s.free, uint16(n))
	}
	return s
}

func (s *segment) blocks() int { return int(s.size / s.block) }

// active is how many blocks are live or parked.
func (s *segment) active() int { return s.blocks() - len(s.free) }

// index finds segments with a free block.
type index struct {
	small [numClasses][]*segment
	large []*segment // by size, then address
}

func bySize(a, b *segment) int { return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.ptr, b.ptr)) }

// add enters a segment that had no free block.
func (x *index) add(s *segment) {
	if s.class != large {
		x.small[s.class] = append(x.small[s.class], s)
		return
	}
	i, _ := slices.BinarySearchFunc(x.large, s, bySize)
	x.large = slices.Insert(x.large, i, s)
}

// remove takes out a segment that has no free block any more, or is no more.
func (x *index) remove(s *segment) {
	if s.class == large {
		i, _ := slices.BinarySearchFunc(x.large, s, bySize)
		x.large = slices.Delete(x.large, i, i+1)
		return
	}
	of := &x.small[s.class]
	i := slices.Index(*of, s)
	*of = slices.Delete(*of, i, i+1)
}

// find returns the best segment for a request, nil if there is none. Of a
// class that is the one with the fewest free blocks, so that the others become
// idle; else the smallest that is large enough.
func (x *index) find(r request) (best *segment) {
	if r.class == large {
		i, _ := slices.BinarySearchFunc(x.large, r.size, func(s *segment, size int64) int { return cmp.Compare(s.size, size) })
		if i < len(x.large) && fits(r.size, x.large[i].size) {
			return x.large[i]
		}
		return nil
	}
	for _, s := range x.small[r.class] {
		if best == nil || len(s.free) < len(best.free) {
			best = s
		}
	}
	return best
}
