package memorytest

import (
	"tarn/cuda"
	"tarn/memory"
)

// granule is what every block's size is a multiple of.
const granule = 512

// Naive is the allocator that obviously keeps its books right: each block is
// an allocation upstream of its own, and a free gives it back at once. What
// another allocator does for speed must not show in what it reports about the
// same requests.
type Naive struct {
	up   memory.Upstream
	live map[cuda.DevicePtr]int64 // requested bytes by address

	Blocks        int64 // live ones
	Requested     int64 // bytes
	Allocated     int64 // bytes after rounding each block up to 512
	PeakRequested int64
	PeakAllocated int64
}

// NewNaive returns a naive allocator over up.
func NewNaive(up memory.Upstream) *Naive {
	return &Naive{up: up, live: make(map[cuda.DevicePtr]int64)}
}

// Alloc returns the address of a block of at least size bytes, 0 for none.
func (n *Naive) Alloc(size int64) (cuda.DevicePtr, error) {
	if size == 0 {
		return 0, nil
	}
	p, err := n.up.Alloc(roundUp(size, granule))
	if err != nil {
		return 0, err
	}
	n.live[p] = size
	n.Blocks++
	n.Requested += size
	n.Allocated += roundUp(size, granule)
	n.PeakRequested = max(n.PeakRequested, n.Requested)
	n.PeakAllocated = max(n.PeakAllocated, n.Allocated)
	return p, nil
}

// Free gives a block back.
func (n *Naive) Free(p cuda.DevicePtr) error {
	if p == 0 {
		return nil
	}
	size, ok := n.live[p]
	if !ok {
		return memory.ErrStaleHandle
	}
	delete(n.live, p)
	n.Blocks--
	n.Requested -= size
	n.Allocated -= roundUp(size, granule)
	return n.up.Free(p, roundUp(size, granule))
}
