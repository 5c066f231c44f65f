package memory

import (
	"sync"
	"sync/atomic"

	"tarn/cuda"
)

// abandoned is the queue of handles whose owners the garbage collector found
// dead. It has a lock of its own, held for a few instructions, so that the
// runtime's cleanups never wait for an allocator that is at work.
type abandoned struct {
	waiting atomic.Int64 // len(handles) + len(visited), readable without mu

	mu       sync.Mutex // guards all below
	settled  sync.Cond  // on mu: draining became false
	handles  []Handle
	spare    []Handle  // emptied by the last drain
	visited  []visited // abandoned after use on other streams
	draining bool      // some goroutine is freeing what it took from handles
}

// visited is an abandoned block that other streams than its own have used.
type visited struct {
	handle  Handle
	usedOn  []cuda.Stream
	claimed bool // the block is leaving already: an earlier try failed
}

func (q *abandoned) any() bool { return q.waiting.Load() != 0 }

// Abandon frees a block some time later: no later than the next Alloc that has
// to wait for memory. It is what a cleanup of the Go runtime calls for an
// owner that never released the block, and does no more than to queue the
// handle. usedOn means what it does for Free. A stale handle is ignored.
func (a *Allocator) Abandon(h Handle, usedOn ...cuda.Stream) {
	a.abandoned.put(visited{handle: h, usedOn: usedOn})
}

func (q *abandoned) put(v visited) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(v.usedOn) == 0 {
		q.handles = append(q.handles, v.handle)
	} else {
		q.visited = append(q.visited, v)
	}
	q.waiting.Store(int64(len(q.handles) + len(q.visited)))
}

// drainAbandoned frees the blocks of the queued handles and returns their
// bytes. While another goroutine is at it, it waits for that one first or,
// without wait, leaves the work to it.
func (a *Allocator) drainAbandoned(wait bool) (gained int64) {
	q := &a.abandoned
	q.mu.Lock()
	for wait && q.draining {
		q.settled.Wait()
	}
	if q.draining || !q.any() {
		q.mu.Unlock()
		return 0
	}
	q.draining = true
	handles := q.handles
	q.handles, q.spare = q.spare[:0], nil
	parking := q.visited
	q.visited = nil
	q.waiting.Store(0)
	q.mu.Unlock()

	for rest := handles; len(rest) > 0; {
		n, bytes := a.freeAbandoned(rest)
		gained += bytes
		rest = rest[n:]
	}
	for _, v := range parking {
		gained += a.parkAbandoned(v)
	}

	q.mu.Lock()
	q.spare = handles[:0]
	q.draining = false
	q.settled.Broadcast()
	q.mu.Unlock()
	return gained
}

// freeAbandoned frees blocks from the front of handles, as long as they are of
// one table and not so many that the lock is held for long. It returns how
// many handles it looked at.
func (a *Allocator) freeAbandoned(handles []Handle) (n int, gained int64) {
	const batch = 64
	id := handles[0].table
	for n < len(handles) && n < batch && handles[n].table == id {
		n++
	}
	t := a.directory.Load().ofID(id)
	if t == nil {
		return n, 0
	}
	defer func() {
		// What the pool refuses stays in the cache, where a release will try again.
		_ = a.spillAll(t)
	}()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range handles[:n] {
		b, err := t.lookup(h)
		if err != nil {
			continue
		}
		gained += b.size
		t.waste.blocks++
		t.waste.bytes += b.size
		t.end(h.index, b, 0)
		t.give(h.index, b)
	}
	return n, gained
}

// parkAbandoned frees a block after the work of the streams that used it, and
// returns the bytes that are free at once. Where an event cannot be recorded
// the block stays claimed and queued for another try: it must not be reused,
// and there is nobody to tell.
func (a *Allocator) parkAbandoned(v visited) int64 {
	t := a.directory.Load().ofID(v.handle.table)
	if t == nil {
		return 0
	}
	streams := a.foreignUses(t, v.usedOn)
	if len(streams) == 0 {
		_, bytes := a.freeAbandoned([]Handle{v.handle})
		return bytes
	}
	if !v.claimed && t.claim(v.handle) != nil {
		return 0
	}
	d := deferred{t: t, handle: v.handle, streams: streams, abandoned: true}
	if !a.deferFree(d) && a.park(d) != nil {
		v.claimed = true
		a.abandoned.put(v)
	}
	return 0
}
