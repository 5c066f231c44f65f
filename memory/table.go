package memory

import (
	"sync"
	"sync/atomic"

	"tarn/cuda"
)

// table has the blocks of one stream: the records, the segments that they
// tile, the bins of the free ones and the books. Its methods are the mechanism
// (take, give, split, coalesce); when they are called is decided in
// allocator.go and ladder.go. See doc.go.
type table struct {
	id     uint32 // unique in the process, so that foreign handles are known
	stream cuda.Stream
	pool   *Pool // nil for what belongs to no private pool

	retired atomic.Bool // the stream is gone: its work is done, and it gets no events

	mu sync.Mutex // guards all below

	records  records
	bins     [numPools]bins
	segments []segment       // slots; a vacant one has size 0
	vacant   []uint32        // the vacant slots
	runs     [numPools]int64 // segments that are runs of pages
	ordered  int             // segments of the device's own pool

	books books
	tags  [maxTags]counter // requested bytes of active blocks

	oversize counter        // blocks that a client has and that are oversize
	lookups  *atomic.Uint64 // the allocator's

	waste waste

	parked  int         // blocks in stateParked
	queues  []*useQueue // the events that they wait for
	settled sync.Cond   // on mu: some queue, or idle, is no longer busy

	clock uint64 // frees so far: the time of idle memory
	idle  idle   // up to which time its work is known to be done

	history *history // that is on, nil for none
	notes   notes    // by index of record, while a history is on

	mark   int64 // active bytes above which the device's peak may be passed; see peaks.go
	closed bool  // by Close; then there are no records and no segments
}

func newTable(id uint32, s cuda.Stream, p *Pool) *table {
	t := &table{id: id, stream: s, pool: p}
	t.settled.L = &t.mu
	return t
}

// segment is a range that one call upstream returned, or a run of pages (see
// run.go). Blocks tile it.
type segment struct {
	base  cuda.DevicePtr
	size  int64
	head  uint32 // the block at base; a split keeps the front, and a merge too
	last  uint32 // the block at the end
	pool  poolKind
	stack stackID // of the request that it was taken upstream for, if it is known
	arena *arena  // of a run; nil for a range from upstream

	ordered   bool   // it is of the device's own pool
	oversize  bool   // it was as large as what is not split when it was taken upstream
	idleSince uint64 // the lookups when it became one free block; only while it is
}

// take finds a free block for r and makes it live. It returns 0 if there is
// none.
func (t *table) take(r *request) uint32 {
	if r.ages {
		t.lookups.Add(1)
	}
	bins := &t.bins[r.pool]
	i := bins.find(&t.records, r.rounded, r.most)
	if i != 0 {
		b := t.records.at(i)
		bins.remove(&t.records, b)
		t.carve(i, b, r)
	}
	return i
}

// carve makes b, free and in no bin, live for r. What it has to spare goes
// back into the bins.
func (t *table) carve(i uint32, b *block, r *request) {
	spare := b.size - r.rounded
	wasWhole := b.whole()
	switch {
	case spare >= r.split:
		t.split(i, b, r.rounded)
		if wasWhole {
			t.books[inactiveSplit].add(r.pool, 1)
			t.books[inactiveSplitBytes].add(r.pool, spare)
		} else {
			t.books[inactiveSplitBytes].sub(r.pool, r.rounded)
		}
	case !wasWhole:
		t.books[inactiveSplit].sub(r.pool, 1)
		t.books[inactiveSplitBytes].sub(r.pool, b.size)
	}
	b.state, b.requested, b.tag = stateLive, r.size, r.tag
	if b.oversize = b.size >= r.whole; b.oversize {
		t.oversize.add(1)
	}
	t.books[allocation].add(r.pool, 1)
	t.books[allocatedBytes].add(r.pool, b.size)
	t.books[active].add(r.pool, 1)
	t.books[activeBytes].add(r.pool, b.size)
	t.books[requestedBytes].add(r.pool, r.size)
	t.tags[r.tag].add(r.size)
	if t.history != nil {
		t.noteAlloc(i, b, r.stack)
	}
}

// split cuts b down to size. The tail becomes a free block.
func (t *table) split(i uint32, b *block, size int64) {
	j, tail := t.records.get()
	tail.ptr, tail.size = b.ptr+cuda.DevicePtr(size), b.size-size
	tail.segment, tail.pool, tail.state = b.segment, b.pool, stateFree
	tail.prev, tail.next = i, b.next
	tail.setFreedAt(b.freedAt())
	if b.next != 0 {
		t.records.at(b.next).prev = j
	} else {
		t.segments[b.segment].last = j
	}
	b.next, b.size = j, size
	t.bins[b.pool].insert(&t.records, j, tail)
}

// end ends the client's hold of b, record i. The bytes stay active until give.
// stack is that of the free, 0 if it is not known.
func (t *table) end(i uint32, b *block, stack stackID) {
	if t.history != nil {
		t.noteFree(ActionFreeRequested, i, b, stack)
	}
	b.endGeneration()
	t.books[allocation].sub(b.pool, 1)
	t.books[allocatedBytes].sub(b.pool, b.size)
	if b.oversize {
		t.oversize.sub(1)
		b.oversize = false
	}
}

// give makes b, whose client and uses are gone, a free block.
func (t *table) give(i uint32, b *block) {
	if t.history != nil {
		t.noteFree(ActionFreeCompleted, i, b, 0)
	}
	p := b.pool
	t.books[active].sub(p, 1)
	t.books[activeBytes].sub(p, b.size)
	t.books[requestedBytes].sub(p, b.requested)
	t.tags[b.tag].sub(b.requested)
	t.clock++
	b.state, b.tag = stateFree, Untagged
	b.setFreedAt(t.clock)
	t.coalesce(i, b)
}

// coalesce joins b with the free ones of its two neighbours and puts the
// result into its bin. Blocks of two segments are never joined, although their
// addresses may touch: each segment goes back upstream on its own.
func (t *table) coalesce(i uint32, b *block) {
	p := b.pool
	bins := &t.bins[p]
	var blocks, bytes int64 // change of what is inactive and split
	// Both neighbours are loaded before either is judged: they are likely
	// cache misses, and so wait side by side. Record 0 is never free.
	next, prev := t.records.at(b.next), t.records.at(b.prev)
	nextFree, prevFree := next.state == stateFree, prev.state == stateFree
	if nextFree {
		blocks, bytes = blocks-1, bytes-next.size
		bins.remove(&t.records, next)
		t.merge(i, b, next)
	}
	if prevFree {
		blocks, bytes = blocks-1, bytes-prev.size
		bins.remove(&t.records, prev)
		i = b.prev
		t.merge(i, prev, b)
		b = prev
	}
	if !b.whole() {
		blocks, bytes = blocks+1, bytes+b.size
	} else {
		t.segments[b.segment].idleSince = t.lookups.Load()
	}
	bins.insert(&t.records, i, b)
	if blocks != 0 {
		t.books[inactiveSplit].move(p, blocks)
	}
	if bytes != 0 {
		t.books[inactiveSplitBytes].move(p, bytes)
	}
}

// merge appends next to b, record i. The record of next is unused afterwards.
func (t *table) merge(i uint32, b, next *block) {
	gone := b.next
	b.size += next.size
	b.setFreedAt(max(b.freedAt(), next.freedAt()))
	b.next = next.next
	if b.next != 0 {
		t.records.at(b.next).prev = i
	} else {
		t.segments[b.segment].last = i
	}
	t.records.put(gone)
}

// attach makes a range from upstream a segment of one free block, in no bin.
func (t *table) attach(base cuda.DevicePtr, size int64, p poolKind, stack stackID) (uint32, *block) {
	i, b := t.records.get()
	slot := t.newSlot()
	t.segments[slot] = segment{base: base, size: size, head: i, last: i, pool: p, stack: stack}
	t.noteRange(ActionSegmentAlloc, base, size, stack)
	b.ptr, b.size, b.segment, b.pool, b.state = base, size, slot, p, stateFree
	return i, b
}

// reattach makes a segment that was detached from some table part of t.
func (t *table) reattach(s segment) (uint32, *block) {
	i, b := t.attach(s.base, s.size, s.pool, s.stack)
	kept := &t.segments[b.segment]
	kept.idleSince, kept.oversize = s.idleSince, s.oversize
	if s.ordered {
		t.setOrdered(b.segment)
	}
	return i, b
}

// detach takes out a segment that is one free block.
func (t *table) detach(slot uint32) segment {
	s := t.segments[slot]
	t.noteRange(ActionSegmentFree, s.base, s.size, s.stack)
	t.bins[s.pool].remove(&t.records, t.records.at(s.head))
	t.records.put(s.head)
	t.segments[slot] = segment{}
	if s.ordered {
		t.ordered--
	}
	t.vacant = append(t.vacant, slot)
	return s
}

// detachable reports whether a slot has a segment from upstream that is one
// free block.
func (t *table) detachable(slot uint32) bool {
	s := &t.segments[slot]
	if s.size == 0 || s.arena != nil {
		return false
	}
	b := t.records.at(s.head)
	return b.state == stateFree && b.whole()
}

// handle names record i as it is now.
func (t *table) handle(i uint32) Handle {
	return Handle{table: t.id, index: i, generation: t.records.at(i).generation}
}

// block describes record i, which is live.
func (t *table) block(i uint32) Block {
	b := t.records.at(i)
	return Block{Handle: t.handle(i), Ptr: b.ptr, Size: b.size}
}

// lookup returns the live block of h, or why there is none.
func (t *table) lookup(h Handle) (*block, error) {
	if !t.records.has(h.index) {
		return nil, ErrForeignBlock
	}
	b := t.records.at(h.index)
	if b.generation != h.generation || b.state != stateLive {
		return nil, ErrStaleHandle
	}
	return b, nil
}
