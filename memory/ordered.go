package memory

import "tarn/cuda"

// StreamOrdered is what an [Upstream] is besides whose Props say so: the device
// has a pool of its own, that allocates and frees in the order of a stream's
// work, and never waits. It serves the requests where Settings.Backend asks for
// it: each block is a segment, as large as the block, that goes back when the
// block is free. Nothing is cached here then, and the books, the limits, the
// waits for other streams and the ladder are what they are.
//
// Private pools, and streams while they are captured, have segments of the
// ordinary kind all the same: a graph needs its memory to stay.
type StreamOrdered interface {
	// AllocAsync returns size bytes, aligned to Props.Alignment, that work queued
	// on s from now on may use. size > 0.
	AllocAsync(size int64, s cuda.Stream) (cuda.DevicePtr, error)
	// FreeAsync gives back what AllocAsync returned, with the same size, when the
	// work that is on s is done.
	FreeAsync(p cuda.DevicePtr, size int64, s cuda.Stream) error
	// TrimPool gives all that the pool keeps and nobody uses back to the device.
	TrimPool() error
}

// order makes r a request that the device's pool serves: to the size, and by no
// block of another size.
func (r *request) order() {
	r.rounded = roundUp(r.size, minBlockSize)
	r.most, r.split, r.whole = r.rounded+1, unlimited, unlimited
	r.ordered, r.ages = true, false
}

// takeUpstream takes a segment of size bytes.
func (a *Allocator) takeUpstream(t *table, r *request, size int64) (cuda.DevicePtr, error) {
	if r.ordered {
		return a.ordered.AllocAsync(size, t.stream)
	}
	return a.upstreamOf(t).Alloc(size)
}

// returnUpstream gives a segment of t back. The stream of a table that is retired
// is gone, and its work done: any stream will do.
func (a *Allocator) returnUpstream(t *table, s segment) error {
	switch {
	case !s.ordered:
		return a.upstreamOf(t).Free(s.base, s.size)
	case t.retired.Load():
		return a.ordered.FreeAsync(s.base, s.size, 0)
	}
	return a.ordered.FreeAsync(s.base, s.size, t.stream)
}

// setOrdered notes that the segment in a slot is of the device's pool. t.mu is
// held.
func (t *table) setOrdered(slot uint32) {
	t.segments[slot].ordered = true
	t.ordered++
}

// spill gives the segments in a range of slots that are of the device's pool and
// free back to it. What it refuses stays in the cache, as does what is of a
// captured stream.
func (a *Allocator) spill(t *table, first, end uint32) error {
	if a.captures(t.stream) {
		return nil
	}
	var room [1]segment
	segments := room[:0]
	a.mu.Lock()
	t.mu.Lock()
	for slot := first; slot < end && int(slot) < len(t.segments); slot++ {
		if t.segments[slot].ordered && t.detachable(slot) {
			segments = append(segments, t.detach(slot))
		}
	}
	t.mu.Unlock()
	a.depart(segments)
	a.mu.Unlock()
	_, err := a.giveBack(t, segments)
	return err
}

// spillAll spills all that is free in t. t.mu is not held.
func (a *Allocator) spillAll(t *table) error {
	t.mu.Lock()
	end := uint32(0)
	if t.ordered > 0 {
		end = uint32(len(t.segments))
	}
	t.mu.Unlock()
	if end == 0 {
		return nil
	}
	return a.spill(t, 0, end)
}

// trimPool has the device's pool give back what it keeps, where it serves us.
func (a *Allocator) trimPool() error {
	if !a.policy.Load().ordered {
		return nil
	}
	return a.ordered.TrimPool()
}
