package memory

import (
	"errors"
	"fmt"
)

// errOverLimit is why grow does not ask the upstream.
var errOverLimit = errors.New("memory: the limit leaves no room")

// grow takes a segment of size bytes upstream and returns its first block, live
// for r. The error is errOverLimit, one that wraps ErrUpstreamFull, or a fault.
//
// The bytes are pledged under the device lock and taken without it, so that a
// slow upstream holds up nobody whose block is in the cache. The block is
// carved before others see the segment, or they might take it away.
func (a *Allocator) grow(t *table, r request, size int64) (Block, error) {
	if err := a.pledge(t, size); err != nil {
		return Block{}, err
	}
	ptr, err := a.takeUpstream(t, &r, size)
	if err != nil {
		a.mu.Lock()
		a.pledged -= size
		t.holds(-size)
		a.land()
		a.mu.Unlock()
		return Block{}, err
	}

	a.mu.Lock()
	a.pledged -= size
	if a.closed {
		a.land()
		a.mu.Unlock()
		return Block{}, errors.Join(ErrClosed, a.returnUpstream(t, segment{base: ptr, size: size, ordered: r.ordered}))
	}
	a.counts.upstreamAllocs++
	a.segments.add(r.pool, 1)
	a.reserved.add(r.pool, size)
	t.mu.Lock()
	i, b := t.attach(ptr, size, r.pool, r.stack)
	if size >= r.whole {
		t.segments[b.segment].oversize = true
		a.oversize.add(1)
	}
	if r.ordered {
		t.setOrdered(b.segment)
	}
	t.carve(i, b, &r)
	a.land()
	a.mu.Unlock()
	return a.hand(t, i), nil
}

// pledge sets size bytes of the limit aside for a call upstream.
func (a *Allocator) pledge(t *table, size int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return ErrClosed
	}
	if size > a.policy.Load().limit-a.held() || t.pool != nil && size > t.pool.room() {
		return errOverLimit
	}
	a.pledged += size
	t.holds(size)
	a.inflight++
	return nil
}

// held returns the bytes that count against limits: what is reserved and what
// is on its way. a.mu is held.
func (a *Allocator) held() int64 { return a.reserved[allPools].current() + a.pledged }

// land notes that a call upstream is over. a.mu is held.
func (a *Allocator) land() {
	a.progress++
	if a.inflight--; a.inflight == 0 {
		a.settled.Broadcast()
	}
}

// settle waits until nobody is in a call upstream and returns the progress
// made so far. Somebody's failed growth or finished return may have made room
// that a growth before it did not find.
func (a *Allocator) settle() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.inflight > 0 {
		a.settled.Wait()
	}
	return a.progress
}

// release gives cached segments of tables without a block in use back upstream,
// until that makes at least target bytes or there are no more. It returns how
// many it made. With runs, whole free pages count as segments too. A segment
// that the upstream refuses stays in the cache, and so does all of a captured
// stream.
func (a *Allocator) release(tables []*table, target int64, runs bool) (gained int64, err error) {
	for _, t := range tables {
		if gained >= target {
			break
		}
		if a.captures(t.stream) {
			continue
		}
		bytes, failed := a.releaseFrom(t, target-gained)
		gained += bytes
		err = errors.Join(err, failed)
		if runs && gained < target {
			bytes, failed = a.releaseRuns(t, target-gained)
			gained += bytes
			err = errors.Join(err, failed)
		}
	}
	return gained, err
}

func (a *Allocator) releaseFrom(t *table, target int64) (gained int64, err error) {
	var segments []segment
	a.mu.Lock()
	t.mu.Lock()
	for slot := range t.segments {
		if target <= 0 {
			break
		}
		if t.detachable(uint32(slot)) {
			s := t.detach(uint32(slot))
			segments = append(segments, s)
			target -= s.size
		}
	}
	t.mu.Unlock()
	a.depart(segments)
	a.mu.Unlock()
	return a.giveBack(t, segments)
}

// depart notes that segments are in no table any more and go upstream, by
// giveBack. a.mu is held.
func (a *Allocator) depart(segments []segment) {
	if len(segments) > 0 {
		a.inflight++
	}
	for _, s := range segments {
		a.returning += s.size
	}
}

// giveBack returns segments of t that have departed to the upstream. What that
// refuses becomes part of t again, or if t was closed, stays on its way.
func (a *Allocator) giveBack(t *table, segments []segment) (gained int64, err error) {
	if len(segments) == 0 {
		return 0, nil
	}
	for _, s := range segments {
		failed := a.returnUpstream(t, s)
		a.mu.Lock()
		if failed == nil {
			gained += s.size
			t.holds(-s.size)
			a.returning -= s.size
			a.counts.upstreamFrees++
			a.segments.sub(s.pool, 1)
			a.reserved.sub(s.pool, s.size)
			if s.oversize {
				a.oversize.sub(1)
			}
		} else {
			err = errors.Join(err, fmt.Errorf("memory: give %s at %#x back to %s: %w", formatSize(s.size), uintptr(s.base), a.props.Name, failed))
			a.takeBack(t, s)
		}
		a.mu.Unlock()
	}
	a.mu.Lock()
	a.land()
	a.mu.Unlock()
	return gained, err
}

// takeBack makes a segment that departed part of t again. a.mu is held.
func (a *Allocator) takeBack(t *table, s segment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	a.returning -= s.size
	i, b := t.reattach(s)
	b.setFreedAt(t.clock) // no later than now
	t.bins[s.pool].insert(&t.records, i, b)
}

// takeSegment takes a whole free segment of another stream: an idle one, or
// with busy one whose last work c's stream then waits for on the device.
func (c *climb) takeSegment(busy bool) (Block, error) {
	a := c.a
	if err := a.observeIdle(c.t, false); err != nil {
		return Block{}, err
	}
	tables := a.lockAll()
	from, slot := a.spareSegment(c.t, &c.r, a.peers(c.t, tables), busy)
	if from == nil {
		a.unlockAll(tables)
		return Block{}, errNoWindow
	}
	head := from.records.at(from.segments[slot].head)
	idle, freedAt := a.isIdle(from, head), head.freedAt()
	s := from.detach(slot)
	if !idle {
		a.depart([]segment{s})
		a.unlockAll(tables)
		err := a.follow(c.t.stream, []*table{from})
		tables = a.lockAll()
		a.returning -= s.size
		a.land()
		if err != nil || a.closed {
			i, b := from.reattach(s)
			b.setFreedAt(freedAt)
			from.bins[s.pool].insert(&from.records, i, b)
			a.unlockAll(tables)
			if err == nil {
				err = ErrClosed
			}
			return Block{}, err
		}
	}
	i, b := c.t.reattach(s)
	if !idle {
		c.t.clock++
		b.setFreedAt(c.t.clock)
	}
	c.t.carve(i, b, &c.r)
	a.unlockOthers(c.t, tables)
	return a.hand(c.t, i), nil
}

// spareSegment returns the smallest whole free segment of another table that
// holds r, nil if there is none. All locks are held.
func (a *Allocator) spareSegment(t *table, r *request, tables []*table, busy bool) (from *table, slot uint32) {
	least := r.most
	for _, other := range tables {
		if other == t {
			continue
		}
		for n := range other.segments {
			s := &other.segments[n]
			if s.pool != r.pool || s.size < r.rounded || s.size >= least || !other.detachable(uint32(n)) {
				continue
			}
			if busy || a.isIdle(other, other.records.at(s.head)) {
				from, slot, least = other, uint32(n), s.size
			}
		}
	}
	return from, slot
}
