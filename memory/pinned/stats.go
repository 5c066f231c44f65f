package pinned

import (
	"time"

	"tarn/memory"
)

// Stats are the books of a pool at one moment. The first eight have the keys
// of PyTorch's statistics of its pinned allocator, and its meanings: there
// "allocations" are segments, in use or not, and "active" are blocks. Unlike
// there a peak is the highest value that there was, not a sum of peaks.
type Stats struct {
	Allocations    memory.Stat `json:"allocations"`     // segments held from the source
	AllocatedBytes memory.Stat `json:"allocated_bytes"` // their bytes: reserved
	ActiveRequests memory.Stat `json:"active_requests"` // blocks that are live or parked
	ActiveBytes    memory.Stat `json:"active_bytes"`    // their bytes, after rounding

	NumHostAlloc  int64    `json:"num_host_alloc"` // segments taken from the source
	NumHostFree   int64    `json:"num_host_free"`  // segments given back
	HostAllocTime Duration `json:"host_alloc_time"`
	HostFreeTime  Duration `json:"host_free_time"`

	LiveRequests   memory.Stat `json:"live_requests"`   // blocks that clients have
	LiveBytes      memory.Stat `json:"live_bytes"`      // their bytes, after rounding
	RequestedBytes memory.Stat `json:"requested_bytes"` // of active blocks, before rounding

	PendingBytes int64 `json:"pending_bytes"` // in parked blocks
	IdleBytes    int64 `json:"idle_bytes"`    // in segments that can be given back
	NumWaits     int64 `json:"num_waits"`     // times that an event was waited for
	NumOOMs      int64 `json:"num_ooms"`      // requests that failed for want of memory
}

// Duration sums up calls of the source that succeeded, in microseconds.
type Duration struct {
	Total int64 `json:"total"`
	Max   int64 `json:"max"`
	Min   int64 `json:"min"`
	Count int64 `json:"count"`
	Avg   int64 `json:"avg"`
}

func (d *Duration) add(took time.Duration) {
	us := took.Microseconds()
	d.Total += us
	d.Max = max(d.Max, us)
	if d.Count == 0 || us < d.Min {
		d.Min = us
	}
	d.Count++
	d.Avg = d.Total / d.Count
}

// pair counts things and their bytes. The peaks are exact: all is under one
// lock.
type pair struct{ count, bytes memory.Stat }

func (c *pair) add(bytes int64) {
	add(&c.count, 1)
	add(&c.bytes, bytes)
}

func (c *pair) sub(bytes int64) {
	sub(&c.count, 1)
	sub(&c.bytes, bytes)
}

func add(s *memory.Stat, n int64) {
	s.Allocated += n
	s.Current += n
	s.Peak = max(s.Peak, s.Current)
}

func sub(s *memory.Stat, n int64) {
	s.Freed += n
	s.Current -= n
}

// books are the counters of a pool.
type books struct {
	segments, reserved  memory.Stat
	active, live        pair
	requested           memory.Stat
	allocTime, freeTime Duration
	waits, ooms         int64
}

func (k *books) reserve(size int64) {
	add(&k.segments, 1)
	add(&k.reserved, size)
}

func (k *books) unreserve(size int64) {
	sub(&k.segments, 1)
	sub(&k.reserved, size)
}

func (k *books) take(block, requested int64) {
	k.active.add(block)
	k.live.add(block)
	add(&k.requested, requested)
}

// give books the end of a parked or live block; that it is live no more is
// booked by endHandle.
func (k *books) give(block, requested int64) {
	k.active.sub(block)
	sub(&k.requested, requested)
}

// Stats returns the books as they are now. No event is looked at: what was
// parked counts as active until an Alloc that misses, or Trim, has seen that
// it is done.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := &p.books
	return Stats{
		Allocations: k.segments, AllocatedBytes: k.reserved,
		ActiveRequests: k.active.count, ActiveBytes: k.active.bytes,
		NumHostAlloc: k.segments.Allocated, NumHostFree: k.segments.Freed,
		HostAllocTime: k.allocTime, HostFreeTime: k.freeTime,
		LiveRequests: k.live.count, LiveBytes: k.live.bytes, RequestedBytes: k.requested,
		PendingBytes: k.active.bytes.Current - k.live.bytes.Current,
		IdleBytes:    p.idleBytes,
		NumWaits:     k.waits, NumOOMs: k.ooms,
	}
}

// ResetPeak sets all peaks to what is current.
func (p *Pool) ResetPeak() {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := &p.books
	for _, s := range []*memory.Stat{
		&k.segments, &k.reserved, &k.active.count, &k.active.bytes, &k.live.count, &k.live.bytes, &k.requested,
	} {
		s.Peak = s.Current
	}
}
