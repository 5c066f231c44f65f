package memory

import (
	"errors"
	"fmt"
)

// This is the ladder where there is virtual memory: idle pages of any stream
// serve where they lie, and are moved together where they do not lie side by
// side. See doc.go.

// enlargePages serves c's request by pages.
func (c *climb) enlargePages(rung Rung) (Block, error) {
	move := !c.t.group().keeps()
	switch rung {
	case RungReuse:
		return c.fromPages(means{})
	case RungGrow:
		over, overHard := c.a.overPeak(c)
		if over <= 0 || c.a.captures(c.t.stream) {
			return c.fromPages(means{create: true})
		}
		// While more may be had the host does not wait for a device that runs behind.
		// To a private pool the pages of others do not move: they go back, which is a
		// wait in any case.
		private := c.t.group() != nil
		m := means{busy: true, move: move, wait: overHard > 0 || private}
		if private {
			if b, err := c.fromPages(m); err == nil || !outOfRoom(err) {
				return b, err
			}
			if err := c.release(over); err != nil {
				return Block{}, err
			}
		}
		m.create = true
		return c.fromPages(m)
	case RungFollow:
		return c.fromPages(means{busy: true})
	}
	if rung > RungRelease { // the step may have made free what only the upstream can pass on
		if err := c.release(maxRequest); err != nil {
			return Block{}, err
		}
		c.a.settle()
	}
	return c.fromPages(means{busy: true, create: true, move: move, wait: true})
}

// fromPages serves c's request by pages that it brings together, by the means
// that it is given. Others may take part of the window meanwhile; then there is
// another, but one that is always too late gives up.
func (c *climb) fromPages(m means) (Block, error) {
	const tries = 16
	for range tries {
		if b, err := c.tryPages(m); err != errTaken {
			return b, err
		}
	}
	return Block{}, errNoWindow
}

// errTaken is why a window that was brought together did not serve.
var errTaken = errors.New("memory: the pages were taken meanwhile")

func (c *climb) tryPages(m means) (Block, error) {
	a := c.a
	if err := a.reserve(&a.arenas[c.r.pool]); err != nil {
		return Block{}, err
	}
	if err := a.observeIdle(c.t, m.move); err != nil {
		return Block{}, err
	}
	tables := a.lockAll()
	if a.closed {
		a.unlockAll(tables)
		return Block{}, ErrClosed
	}
	if i := c.t.take(&c.r); i != 0 { // somebody freed it meanwhile
		a.unlockOthers(c.t, tables)
		return a.hand(c.t, i), nil
	}
	h, err := a.plan(c.t, &c.r, a.peers(c.t, tables), m)
	a.unlockAll(tables)
	if err != nil {
		return Block{}, err
	}
	c.asked = a.arenas[c.r.pool].bytes(h.window.span)
	err = h.do()
	tables = a.lockAll()
	h.land(err)
	if err == nil && a.closed {
		err = ErrClosed
	}
	if err != nil {
		a.unlockAll(tables)
		return Block{}, err
	}
	i := c.t.take(&c.r)
	if i == 0 {
		a.unlockAll(tables)
		return Block{}, errTaken
	}
	a.unlockOthers(c.t, tables)
	return a.hand(c.t, i), nil
}

// unlockOthers drops all locks but t's.
func (a *Allocator) unlockOthers(t *table, tables []*table) {
	for _, other := range tables {
		if other != t {
			other.mu.Unlock()
		}
	}
	a.mu.Unlock()
}

// releaseRuns unmaps whole free pages of a table and gives their memory
// upstream, until that makes at least target bytes or there are no more. What
// the upstream refuses stays in the cache.
func (a *Allocator) releaseRuns(t *table, target int64) (gained int64, err error) {
	pieces, wait := a.detachRuns(t, target)
	if len(pieces) == 0 {
		return 0, nil
	}
	if wait {
		err = a.awaitStreams([]*table{t})
	}
	refused := err != nil
	for n := range pieces {
		p := &pieces[n]
		if !refused {
			if failed := a.up.Unmap(p.ar.ptr(p.from), p.ar.bytes(p.span)); failed != nil {
				refused = true
				err = fmt.Errorf("memory: unmap %s at %#x of %s: %w", formatSize(p.ar.bytes(p.span)), uintptr(p.ar.ptr(p.from)), a.props.Name, failed)
			}
		}
		if p.lost = !refused; p.lost {
			gained += p.ar.bytes(p.span)
			err = errors.Join(err, a.releaseMemory(p.ar, p.memory))
		}
	}
	tables := a.lockAll()
	defer a.unlockAll(tables)
	for _, p := range pieces {
		a.returning -= p.ar.bytes(p.span)
		switch {
		case p.lost:
			a.forget(p)
		case !t.closed:
			t.join(p.ar, p.span, p.freedAt)
		}
	}
	a.bookRuns()
	a.land()
	return gained, err
}

// detachRuns takes whole free pages of t out of it, and says whether their last
// work has to be waited for.
func (a *Allocator) detachRuns(t *table, target int64) (pieces []piece, wait bool) {
	a.mu.Lock()
	t.mu.Lock()
	defer a.mu.Unlock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, false
	}
	for p := range a.arenas {
		ar := &a.arenas[p]
		for _, s := range a.pieces(ar, []*table{t}, true) {
			if target <= 0 {
				break
			}
			s.to = min(s.to, s.from+int((target+ar.page-1)/ar.page))
			target -= ar.bytes(s.span)
			pieces = append(pieces, s)
			wait = wait || !s.idle
		}
	}
	if len(pieces) > 0 {
		a.departPieces(pieces)
		a.inflight++
	}
	return pieces, wait
}

// departArenas notes that all pages are on their way back, by closeArenas. No
// table has any more. The device lock is held.
func (a *Allocator) departArenas() {
	for p := range a.arenas {
		ar := &a.arenas[p]
		for n := range ar.pages {
			if pg := &ar.pages[n]; pg.memory != 0 {
				pg.owner = inTransit
				a.returning += ar.page
			}
		}
	}
	a.bookRuns()
}

// closeArenas unmaps all that is mapped and gives it and the addresses back.
// Nobody uses the allocator any more.
func (a *Allocator) closeArenas() (err error) {
	for _, s := range a.stuck {
		err = errors.Join(err, a.up.Unmap(s.ar.ptr(s.from), s.ar.bytes(s.span)))
	}
	for p := range a.arenas {
		ar := &a.arenas[p]
		for n := 0; n < len(ar.pages); {
			s := span{n, n}
			var memory []Page
			for ; s.to < len(ar.pages) && ar.pages[s.to].memory != 0; s.to++ {
				memory = append(memory, ar.pages[s.to].memory)
			}
			if n = s.to + 1; s.len() == 0 {
				continue
			}
			if failed := a.up.Unmap(ar.ptr(s.from), ar.bytes(s)); failed != nil {
				err = errors.Join(err, fmt.Errorf("memory: unmap %s of %s: %w", formatSize(ar.bytes(s)), a.props.Name, failed))
				continue
			}
			err = errors.Join(err, a.releaseMemory(ar, memory))
			a.mu.Lock()
			a.returning -= ar.bytes(s)
			a.reserved.sub(ar.pool, ar.bytes(s))
			a.counts.upstreamFrees += int64(s.len())
			ar.clear(s)
			a.mu.Unlock()
		}
		if ar.size > 0 {
			err = errors.Join(err, a.up.ReleaseRange(ar.base, ar.size))
		}
	}
	return errors.Join(err, a.releaseMemory(nil, nil))
}
