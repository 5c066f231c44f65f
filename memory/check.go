package memory

import (
	"errors"
	"fmt"
	"slices"

	"tarn/cuda"
	"tarn/internal/invariants"
)

// Check walks all records and returns every fault that it finds, with
// addresses; nil if there is none. It is the specification of the books:
//
//   - The blocks of a segment tile it from base to end, and are linked both
//     ways. Sizes are multiples of minBlockSize. Segments do not overlap.
//   - No two neighbours are free.
//   - A free block is in one bin, the one of its size and pool, and a bin has
//     nothing else.
//   - A parked block has as many uses as queues have entries for it, at least
//     one; no other block has any.
//   - Every record is in a segment or unused. A free block has no note.
//   - A run's pages are mapped and know it, and two runs of one table never
//     touch. No other page is mapped, but those in transit.
//   - Each counter is what the walk adds up. In each pool requested <= active,
//     allocated <= active, and reserved = active + inactive split + free whole
//     segments.
//
// Blocks that were abandoned are freed first. All streams wait while it runs.
func (a *Allocator) Check() error {
	a.drainAbandoned(true)
	return a.check()
}

func (a *Allocator) check() error {
	tables := a.lockAll()
	defer a.unlockAll(tables)
	c := &checker{}
	for _, t := range tables {
		c.table(t)
	}
	for p := range a.arenas {
		c.arena(&a.arenas[p])
	}
	slices.SortFunc(c.segments, func(s, t segment) int { return int(min(max(int64(s.base)-int64(t.base), -1), 1)) })
	for i := 1; i < len(c.segments); i++ {
		if s, t := c.segments[i-1], c.segments[i]; s.base+cuda.DevicePtr(s.size) > t.base {
			c.fault("segment %#x of %d bytes overlaps segment %#x", s.base, s.size, t.base)
		}
	}
	// Segments on their way back are in no table; they are of either pool.
	reserved, segments := c.reserved[allPools]+a.returning, int64(len(c.segments))
	c.equal("reserved bytes", a.reserved[allPools].current(), reserved)
	if a.returning == 0 {
		c.equal("segments", a.segments[allPools].current(), segments)
		c.equal("oversize segments", a.oversize.current(), c.oversize)
		for p := range numPools {
			c.equalNamed(func() string { return fmt.Sprintf("reserved bytes of the %v pool", p) }, a.reserved[p].current(), c.reserved[p])
		}
	}
	return errors.Join(c.faults...)
}

// checker collects faults, and what spans tables.
type checker struct {
	faults   []error
	segments []segment
	reserved [numPools + 1]int64
	pages    [numPools]int // in runs
	oversize int64         // segments
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf("memory: check: "+format, args...))
}

func (c *checker) equal(what string, booked, counted int64) {
	if booked != counted {
		c.fault("%s: booked %d, counted %d", what, booked, counted)
	}
}

// equalNamed is equal for a name that takes making: it is made only for a fault.
func (c *checker) equalNamed(what func() string, booked, counted int64) {
	if booked != counted {
		c.equal(what(), booked, counted)
	}
}

// walk is what one table is found to hold.
type walk struct {
	sums
	whole    [numPools]int64 // bytes in free whole segments
	reserved [numPools]int64
	clock    uint64
	runs     [numPools]int64
	ordered  int64 // segments
	blocks   int
	parked   int
	inBin    map[uint32]bool
	uses     map[uint32]uint32
}

func (c *checker) table(t *table) {
	w := &walk{clock: t.clock, inBin: map[uint32]bool{}, uses: map[uint32]uint32{}}
	for p := range numPools {
		c.bins(t, p, w)
	}
	for _, q := range t.queues {
		for _, u := range q.uses {
			w.uses[u.index]++
		}
	}
	for slot := range t.segments {
		if t.segments[slot].ordered {
			w.ordered++
		}
		if t.segments[slot].size > 0 {
			c.segment(t, uint32(slot), w)
		}
	}
	if len(w.inBin) > 0 {
		c.fault("stream %#x: the bins have %d blocks that are in no segment", t.stream, len(w.inBin))
	}
	if len(w.uses) > 0 {
		c.fault("stream %#x: events wait for %d blocks that are not parked", t.stream, len(w.uses))
	}
	c.equalNamed(func() string { return fmt.Sprintf("stream %#x, segments of the device's own pool", t.stream) }, int64(t.ordered), w.ordered)
	for p := range numPools {
		c.equalNamed(func() string { return fmt.Sprintf("stream %#x, runs of the %v pool", t.stream, p) }, t.runs[p], w.runs[p])
	}
	c.records(t, w)
	c.books(t, w)
}

// bins checks the index of free blocks and notes what is in it.
func (c *checker) bins(t *table, p poolKind, w *walk) {
	bs := &t.bins[p]
	for bin, head := range bs.heads {
		level, sub := bin>>subBinShift, bin%subBins
		if marked := bs.subs[level]>>sub&1 == 1; marked != (head != 0) {
			c.fault("stream %#x, %v pool: bin %d: bit is %t, first block is %d", t.stream, p, bin, marked, head)
		}
		if marked := bs.levels>>level&1 == 1; marked != (bs.subs[level] != 0) {
			c.fault("stream %#x, %v pool: level %d: bit is %t, its bins' are %#x", t.stream, p, level, marked, bs.subs[level])
		}
		prev := uint32(0)
		for i := head; i != 0; i = t.records.at(i).binNext {
			b := t.records.at(i)
			if b.state != stateFree || b.pool != p || int(b.bin) != bin || binOf(b.size) != b.bin || b.binPrev != prev {
				c.fault("block %#x: in bin %d of the %v pool, but it is %v, of the %v pool, of %d bytes, knows bin %d and previous %d, not %d",
					b.ptr, bin, p, b.state, b.pool, b.size, b.bin, b.binPrev, prev)
			}
			if w.inBin[i] {
				c.fault("block %#x: twice in the bins", b.ptr)
				break
			}
			w.inBin[i] = true
			prev = i
		}
	}
}

// segment walks the blocks of a segment.
func (c *checker) segment(t *table, slot uint32, w *walk) {
	s := t.segments[slot]
	c.segments = append(c.segments, s)
	c.reserved[s.pool] += s.size
	c.reserved[allPools] += s.size
	w.reserved[s.pool] += s.size
	at, prev, before := s.base, uint32(0), stateUnused
	for i := s.head; i != 0; {
		b := t.records.at(i)
		if b.ptr != at || b.prev != prev || b.segment != slot || b.pool != s.pool {
			c.fault("segment %#x: block %#x: expected address %#x, previous %d, segment %d, %v pool, found %d, %d, %v",
				s.base, b.ptr, at, prev, slot, s.pool, b.prev, b.segment, b.pool)
		}
		if b.size <= 0 || b.size%minBlockSize != 0 {
			c.fault("block %#x: size %d is no multiple of %d", b.ptr, b.size, minBlockSize)
			break
		}
		if before == stateFree && b.state == stateFree {
			c.fault("block %#x: free beside a free neighbour", b.ptr)
		}
		c.block(i, b, w)
		if b.state == stateFree && t.notes.at(i) != (note{}) {
			c.fault("block %#x: free, but the history has a note of it", b.ptr)
		}
		at += cuda.DevicePtr(b.size)
		if at > s.base+cuda.DevicePtr(s.size) {
			c.fault("segment %#x: block %#x reaches past the end", s.base, b.ptr)
			break
		}
		prev, before, i = i, b.state, b.next
	}
	if at != s.base+cuda.DevicePtr(s.size) || prev != s.last {
		c.fault("segment %#x of %d bytes: its blocks end at %#x with %d, not %d", s.base, s.size, at, prev, s.last)
	}
	switch {
	case s.arena != nil:
		w.runs[s.pool]++
		c.run(t, slot, s)
	case s.oversize:
		c.oversize++
	}
}

// block checks one block by itself and adds it up.
func (c *checker) block(i uint32, b *block, w *walk) {
	w.blocks++
	if (b.state == stateFree) != w.inBin[i] {
		c.fault("block %#x: %v, and in a bin: %t", b.ptr, b.state, w.inBin[i])
	}
	delete(w.inBin, i)
	if b.oversize {
		w.sums.oversize++
		if b.state != stateLive && b.state != stateLeaving {
			c.fault("block %#x: %v, and oversize", b.ptr, b.state)
		}
	}
	switch b.state {
	case stateFree:
		if b.freedAt() > w.clock || b.uses != 0 {
			c.fault("block %#x: free since %d, after the present %d, and with %d uses", b.ptr, b.freedAt(), w.clock, b.uses)
		}
		if b.whole() {
			w.whole[b.pool] += b.size
		} else {
			w.add(b.pool, inactiveSplit, 1)
			w.add(b.pool, inactiveSplitBytes, b.size)
		}
		return
	case stateLive, stateLeaving:
		w.add(b.pool, allocation, 1)
		w.add(b.pool, allocatedBytes, b.size)
	case stateParked:
		w.parked++
	default:
		c.fault("block %#x: in a segment, but %v", b.ptr, b.state)
	}
	if got := w.uses[i]; got != b.uses || (got > 0) != (b.state == stateParked) {
		c.fault("block %#x: %v, with %d uses of which %d are queued", b.ptr, b.state, b.uses, got)
	}
	delete(w.uses, i)
	if b.requested <= 0 || b.requested > b.size {
		c.fault("block %#x: %d bytes requested of %d", b.ptr, b.requested, b.size)
	}
	w.add(b.pool, active, 1)
	w.add(b.pool, activeBytes, b.size)
	w.add(b.pool, requestedBytes, b.requested)
	w.tags[b.tag] += b.requested
}

func (w *walk) add(p poolKind, f family, n int64) {
	w.sums.books[f][p] += n
	w.sums.books[f][allPools] += n
}

// records checks that no record is lost.
func (c *checker) records(t *table, w *walk) {
	r := &t.records
	unused := 0
	for i := r.unused; i != 0 && unused <= int(r.fresh); i = r.at(i).next {
		if s := r.at(i).state; s != stateUnused {
			c.fault("record %d of stream %#x: in the unused list, but %v", i, t.stream, s)
		}
		unused++
	}
	c.equalNamed(func() string { return fmt.Sprintf("records of stream %#x in use", t.stream) }, int64(r.inUse), int64(w.blocks))
	c.equalNamed(func() string { return fmt.Sprintf("records of stream %#x", t.stream) }, int64(max(r.fresh, 1)-1), int64(w.blocks+unused))
}

// books compares the counters with what the walk found.
func (c *checker) books(t *table, w *walk) {
	var now sums
	now.add(t)
	for f := range now.books {
		for p := range now.books[f] {
			c.equalNamed(func() string { return fmt.Sprintf("stream %#x, family %d, pool %d", t.stream, f, p) }, now.books[f][p], w.sums.books[f][p])
			if k := t.books[f][p]; k.peak < k.current() || k.freed < 0 {
				c.fault("stream %#x, family %d, pool %d: current %d, peak %d, freed %d", t.stream, f, p, k.current(), k.peak, k.freed)
			}
		}
	}
	for i := range now.tags {
		c.equalNamed(func() string { return fmt.Sprintf("stream %#x, tag %v", t.stream, Tag(i)) }, now.tags[i], w.sums.tags[i])
	}
	c.equalNamed(func() string { return fmt.Sprintf("stream %#x, oversize blocks", t.stream) }, now.oversize, w.sums.oversize)
	c.equalNamed(func() string { return fmt.Sprintf("stream %#x, parked blocks", t.stream) }, int64(t.parked), int64(w.parked))
	for p := range numPools {
		b := func(f family) int64 { return now.books[f][p] }
		if b(requestedBytes) > b(activeBytes) || b(allocatedBytes) > b(activeBytes) {
			c.fault("stream %#x, %v pool: requested %d and allocated %d exceed active %d",
				t.stream, p, b(requestedBytes), b(allocatedBytes), b(activeBytes))
		}
		c.equalNamed(func() string { return fmt.Sprintf("stream %#x, %v pool: active + inactive", t.stream, p) },
			b(activeBytes)+b(inactiveSplitBytes)+w.whole[p], w.reserved[p])
	}
}

// verify is called after each step of a build with the tag invariants. The
// walk is long where there are many blocks, and then done sometimes.
func (a *Allocator) verify() {
	blocks := 0
	for _, t := range a.directory.Load().tables {
		t.mu.Lock()
		blocks += t.records.inUse
		t.mu.Unlock()
	}
	if blocks > 64 && !invariants.Sometimes(1) {
		return
	}
	if err := a.check(); err != nil {
		panic("memory: invariant: " + err.Error())
	}
}
