package cudasim

import (
	"fmt"
	"sort"

	"tarn/cuda/cudasim/ptx"
)

// snapshot is memory as the work of a device sees it. It never changes, so that
// streams need no lock to look at it.
type snapshot struct{ live []ptx.Allocation }

// granule is the bytes that one mark of a freed block is about: the least that
// an allocator gives.
const granule = ptx.FreedGranule

// Allocations implements [ptx.Memory].
func (s *snapshot) Allocations() []ptx.Allocation { return s.live }

// visible makes the snapshot of a device. It is marked because streams read
// what it writes with no order that the race detector knows of.
//
//go:norace
func (s *space) visible(d *device) *snapshot {
	live := make([]ptx.Allocation, len(s.regions))
	n := 0
	for _, r := range s.regions {
		if r.reach(d) {
			live[n] = ptx.Allocation{Ptr: r.ptr, Bytes: r.memory.bytes, Freed: r.memory.freed}
			n++
		}
	}
	return &snapshot{live[:n]}
}

// pieces returns the bytes of p to p+size. They need not lie in one piece.
func (s *snapshot) pieces(p, size uint64, store bool) ([][]byte, error) {
	refuse := func(format string, args ...any) error {
		return &AccessError{p, size, store, fmt.Sprintf(format, args...)}
	}
	var all [][]byte
	i := sort.Search(len(s.live), func(i int) bool { return s.live[i].Ptr > p }) - 1
	for at, left := p, size; left > 0; i++ {
		if i < 0 || i == len(s.live) || s.live[i].Ptr > at || at-s.live[i].Ptr >= uint64(len(s.live[i].Bytes)) {
			return nil, refuse("nothing is live at %#x: it was unmapped or freed after the call", at)
		}
		off := at - s.live[i].Ptr
		n := min(left, uint64(len(s.live[i].Bytes))-off)
		if bad, ok := firstFreed(s.live[i].Freed, off, n); ok {
			return nil, refuse("a freed block, at %#x", s.live[i].Ptr+bad)
		}
		all = append(all, s.live[i].Bytes[off:off+n])
		at, left = at+n, left-n
	}
	return all, nil
}

// firstFreed returns the first offset of size bytes that is marked.
//
//go:norace
func firstFreed(marks []byte, off, size uint64) (uint64, bool) {
	if marks == nil {
		return 0, false
	}
	for g := off / granule; g <= (off+size-1)/granule; g++ {
		if marks[g] != 0 {
			return max(off, g*granule), true
		}
	}
	return 0, false
}

// mark sets the marks of whole granules between from and to.
//
//go:norace
func mark(marks []byte, from, to uint64, value byte) {
	for g := (from + granule - 1) / granule; g < to/granule; g++ {
		marks[g] = value
	}
}
