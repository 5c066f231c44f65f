package memory

import "tarn/cuda"

// A run is a segment of pages of an arena that lie side by side and belong to
// one table. Runs of one table that touch become one, so that blocks join
// across them; whole free pages can be cut out of one again and go to another
// table, to other addresses or back upstream.

// join makes pages of ar, mapped and owned by nobody, part of t, as a free
// block. freedAt is the time on t's clock from which on they are idle. The
// device lock and t.mu are held.
func (t *table) join(ar *arena, s span, freedAt uint64) {
	var i, slot uint32
	var b *block
	size := ar.bytes(s)
	t.noteRange(ActionSegmentMap, ar.ptr(s.from), size, 0)
	if ar.owner(s.from-1) == t.id {
		slot = ar.pages[s.from-1].slot
		i = t.segments[slot].last
		b = t.records.at(i)
	} else {
		slot = t.newSlot()
		t.segments[slot] = segment{base: ar.ptr(s.from), pool: ar.pool, arena: ar}
		t.runs[ar.pool]++
	}
	if i != 0 && b.state == stateFree {
		t.unsettle(i)
		b.size += size
		b.setFreedAt(max(b.freedAt(), freedAt))
	} else {
		j, fresh := t.records.get()
		*fresh = block{ptr: ar.ptr(s.from), size: size, prev: i, generation: fresh.generation, segment: slot, state: stateFree, pool: ar.pool}
		fresh.setFreedAt(freedAt)
		if i != 0 {
			b.next = j
		} else {
			t.segments[slot].head = j
		}
		i, b = j, fresh
	}
	run := &t.segments[slot]
	run.size += size
	run.last = i
	ar.assign(s, t.id, slot)
	if ar.owner(s.to) == t.id {
		t.appendRun(ar, slot, ar.pages[s.to].slot)
	}
	t.settle(i)
}

// appendRun joins the run in slot next to the one in slot, which ends where it
// begins in a free block that is not in the books.
func (t *table) appendRun(ar *arena, slot, next uint32) {
	run, right := &t.segments[slot], t.segments[next]
	i, head := run.last, right.head
	b, h := t.records.at(i), t.records.at(head)
	t.relabel(ar, next, head, slot)
	run.size += right.size
	if h.state != stateFree {
		b.next, h.prev = head, i
		run.last = right.last
	} else {
		t.unsettle(head)
		b.size += h.size
		b.setFreedAt(max(b.freedAt(), h.freedAt()))
		if b.next = h.next; b.next != 0 {
			t.records.at(b.next).prev = i
			run.last = right.last
		}
		t.records.put(head)
	}
	t.vacate(next)
}

// bookInactive adds b to what is free in runs that are in use, or with sign -1
// takes it out.
func (t *table) bookInactive(b *block, sign int64) {
	t.books[inactiveSplit].move(b.pool, sign)
	t.books[inactiveSplitBytes].move(b.pool, sign*b.size)
}

// relabel makes the blocks from i on, and their pages, those of another slot.
func (t *table) relabel(ar *arena, from, i, to uint32) {
	for ; i != 0; i = t.records.at(i).next {
		t.records.at(i).segment = to
	}
	run := &t.segments[from]
	first := ar.number(run.base)
	ar.assign(span{first, first + int(run.size/ar.page)}, t.id, to)
}

// cut takes pages out of free block i, which has them whole. They are in
// transit then. What is left of the block stays free, in one run or two. The
// device lock and t.mu are held.
func (t *table) cut(ar *arena, i uint32, s span) {
	b := t.records.at(i)
	run := t.segments[b.segment]
	t.unsettle(i)
	from, to := ar.ptr(s.from), ar.ptr(s.to)
	t.noteRange(ActionSegmentUnmap, from, ar.bytes(s), 0)
	end := b.ptr + cuda.DevicePtr(b.size)
	slot, next, freedAt := b.segment, b.next, b.freedAt()

	// What is right of the pages becomes a run of its own.
	if to < run.base+cuda.DevicePtr(run.size) {
		head := next
		if to < end {
			j, tail := t.records.get()
			tail.ptr, tail.size, tail.pool, tail.state = to, int64(end-to), b.pool, stateFree
			tail.setFreedAt(freedAt)
			if tail.next = next; next != 0 {
				t.records.at(next).prev = j
			}
			head = j
		} else {
			t.records.at(next).prev = 0
		}
		right := t.newSlot()
		last := run.last
		if last == i {
			last = head
		}
		t.runs[ar.pool]++
		t.segments[right] = segment{base: to, size: int64(run.base-to) + run.size, head: head, last: last, pool: run.pool, arena: ar}
		t.relabel(ar, right, head, right)
		if to < end {
			t.settle(head)
		}
	}

	// What is left of them keeps the slot.
	b.next = 0
	switch {
	case from == run.base:
		t.records.put(i)
		t.vacate(slot)
	case from > b.ptr:
		b.size = int64(from - b.ptr)
		t.segments[slot].size, t.segments[slot].last = int64(from-run.base), i
		t.settle(i)
	default:
		t.records.at(b.prev).next = 0
		t.segments[slot].size, t.segments[slot].last = int64(from-run.base), b.prev
		t.records.put(i)
	}
	ar.assign(s, inTransit, 0)
}

// settle puts free block i into its bin and the books. Its neighbours are not
// free.
func (t *table) settle(i uint32) {
	b := t.records.at(i)
	t.bins[b.pool].insert(&t.records, i, b)
	if !b.whole() {
		t.bookInactive(b, 1)
	}
}

// unsettle is the opposite of settle.
func (t *table) unsettle(i uint32) {
	b := t.records.at(i)
	t.bins[b.pool].remove(&t.records, b)
	if !b.whole() {
		t.bookInactive(b, -1)
	}
}

// newSlot returns a slot for a segment.
func (t *table) newSlot() uint32 {
	if n := len(t.vacant); n > 0 {
		slot := t.vacant[n-1]
		t.vacant = t.vacant[:n-1]
		return slot
	}
	t.segments = append(t.segments, segment{})
	return uint32(len(t.segments) - 1)
}

// vacate takes out the run in a slot.
func (t *table) vacate(slot uint32) {
	t.runs[t.segments[slot].pool]--
	t.segments[slot] = segment{}
	t.vacant = append(t.vacant, slot)
}

// wholePages returns the pages that lie in b entirely.
func (b *block) wholePages(ar *arena) span {
	from := int(roundUp(int64(b.ptr-ar.base), ar.page) / ar.page)
	to := int(int64(b.ptr-ar.base)+b.size) / int(ar.page)
	return span{from, max(from, to)}
}
