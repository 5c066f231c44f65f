package pinned

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// checker walks a pool and collects what is wrong.
type checker struct {
	*Pool
	errs []error
	used map[*segment]map[uint16]bool // blocks that slots name
}

// Check walks everything and returns what does not hold, nil if all does. It
// is the specification of the structures.
func (p *Pool) Check() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &checker{Pool: p, used: make(map[*segment]map[uint16]bool)}
	c.slotsHold()
	c.segmentsHold()
	c.indexHolds()
	c.usesHold()
	return errors.Join(c.errs...)
}

func (c *checker) demand(ok bool, format string, args ...any) {
	if !ok {
		c.errs = append(c.errs, fmt.Errorf("pinned: Check: "+format, args...))
	}
}

// slotsHold: every slot is unused or names a block that no other does and that
// is not larger than the bound allows; the books are the sums.
func (c *checker) slotsHold() {
	var all, live pair
	var requested int64
	isUnused := make(map[uint32]bool)
	for _, i := range c.unused {
		c.demand(int(i) < len(c.slots) && !isUnused[i], "slot %d is unused twice or is not there", i)
		isUnused[i] = true
	}
	for i := range c.slots {
		b := &c.slots[i]
		c.demand(b.generation > 0, "slot %d has no generation", i)
		c.demand((b.state == unused) == isUnused[uint32(i)] && (b.state == unused) == (b.segment == nil),
			"slot %d is in state %d, segment %v, listed unused %t", i, b.state, b.segment, isUnused[uint32(i)])
		c.demand((b.state == parked) == (b.uses > 0), "slot %d in state %d has %d uses", i, b.state, b.uses)
		if b.segment == nil {
			continue
		}
		s := b.segment
		if c.used[s] == nil {
			c.used[s] = make(map[uint16]bool)
		}
		c.demand(!c.used[s][b.number], "block %d at %#x has two slots", b.number, s.ptr)
		c.used[s][b.number] = true
		c.demand(fits(b.requested, s.block), "slot %d: a block of %d bytes serves a request of %d", i, s.block, b.requested)
		all.add(s.block)
		requested += b.requested
		if b.state != parked {
			live.add(s.block)
		}
	}
	c.same("active requests", c.books.active.count.Current, all.count.Current)
	c.same("active bytes", c.books.active.bytes.Current, all.bytes.Current)
	c.same("live requests", c.books.live.count.Current, live.count.Current)
	c.same("live bytes", c.books.live.bytes.Current, live.bytes.Current)
	c.same("requested bytes", c.books.requested.Current, requested)
}

func (c *checker) same(what string, booked, found int64) {
	c.demand(booked == found, "%s: %d in the books, %d found", what, booked, found)
}

// segmentsHold: segments do not overlap, their blocks are free or in use, each
// once, and the idle ones are those that no slot names.
func (c *checker) segmentsHold() {
	var reserved, idle int64
	var all []*segment
	for s := range c.segments {
		all = append(all, s)
		reserved += s.size
		c.demand(s.size > 0 && s.block > 0 && s.size%s.block == 0, "segment at %#x: %d bytes in blocks of %d", s.ptr, s.size, s.block)
		seen := make(map[uint16]bool)
		for _, n := range s.free {
			c.demand(int(n) < s.blocks() && !seen[n] && !c.used[s][n], "block %d at %#x is free twice, in use, or is not there", n, s.ptr)
			seen[n] = true
		}
		c.demand(len(seen)+len(c.used[s]) == s.blocks(), "segment at %#x: %d free and %d used blocks of %d",
			s.ptr, len(seen), len(c.used[s]), s.blocks())
		c.demand((s.idle != nil) == (len(c.used[s]) == 0), "segment at %#x: idle %t with %d used blocks", s.ptr, s.idle != nil, len(c.used[s]))
		if s.idle != nil {
			idle += s.size
		}
		delete(c.used, s)
	}
	c.demand(len(c.used) == 0, "%d segments have blocks and are not there", len(c.used))
	slices.SortFunc(all, func(a, b *segment) int { return cmp.Compare(a.ptr, b.ptr) })
	for i := 1; i < len(all); i++ {
		c.demand(all[i-1].ptr+uintptr(all[i-1].size) <= all[i].ptr, "segments at %#x and %#x overlap", all[i-1].ptr, all[i].ptr)
	}
	c.same("reserved bytes", c.books.reserved.Current, reserved+c.returning)
	c.same("idle bytes", c.idleBytes, idle)
	var listed int64
	for e := c.idle.Front(); e != nil; e = e.Next() {
		s := e.Value.(*segment)
		_, known := c.segments[s]
		c.demand(known && s.idle == e, "the list of idle segments has %#x, which is none", s.ptr)
		listed += s.size
	}
	c.same("idle bytes in the list", listed, idle)
	c.demand(c.cfg.Limit == 0 || c.books.reserved.Current+c.pledged <= c.cfg.Limit,
		"%d bytes reserved and %d pledged, limit %d", c.books.reserved.Current, c.pledged, c.cfg.Limit)
}

// indexHolds: the index has the segments with a free block, each in its place.
func (c *checker) indexHolds() {
	indexed := len(c.index.large)
	for class, of := range c.index.small {
		indexed += len(of)
		for _, s := range of {
			want, block := classOf(s.block)
			c.demand(s.class == class && want == class && block == s.block, "class %d has blocks of %d bytes, of class %d", class, s.block, want)
		}
	}
	c.demand(slices.IsSortedFunc(c.index.large, bySize), "the large segments are out of order")
	for _, s := range c.index.large {
		c.demand(s.class == large && s.blocks() == 1, "segment at %#x of class %d is indexed as large", s.ptr, s.class)
	}
	for s := range c.segments {
		in := c.index.large
		if s.class != large {
			in = c.index.small[s.class]
		}
		if len(s.free) > 0 {
			indexed--
		}
		c.demand(slices.Contains(in, s) == (len(s.free) > 0), "segment at %#x with %d free blocks is misplaced in the index", s.ptr, len(s.free))
	}
	c.demand(indexed == 0, "the index has %d segments too many", indexed)
}

// usesHold: the queues have the uses that parked blocks wait for, in order.
func (c *checker) usesHold() {
	uses := make(map[uint32]int)
	for _, q := range c.queues {
		c.demand(len(q.uses) > 0, "the queue of stream %#x is empty", uintptr(q.stream))
		c.demand(slices.IsSortedFunc(q.uses, func(a, b use) int { return cmp.Compare(a.seq, b.seq) }),
			"the queue of stream %#x is out of order", uintptr(q.stream))
		for _, u := range q.uses {
			uses[u.slot]++
		}
	}
	for i := range c.slots {
		c.demand(uses[uint32(i)] == c.slots[i].uses, "slot %d waits for %d events, %d are queued", i, c.slots[i].uses, uses[uint32(i)])
	}
}
