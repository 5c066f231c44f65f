package memory

import (
	"cmp"
	"errors"
	"slices"
)

// piece is a span of pages without a live byte, in free block index of a table.
type piece struct {
	t     *table
	index uint32
	ar    *arena
	span
	freedAt uint64
	idle    bool
	memory  []Page // what is mapped there, from when it left its table
	lost    bool   // its memory went back upstream
}

// pieces returns all free pages of an arena that tables have, and that are
// idle or with busy not even that. All locks are held.
func (a *Allocator) pieces(ar *arena, tables []*table, busy bool) (found []piece) {
	for _, t := range tables {
		t.bins[ar.pool].each(&t.records, func(i uint32, b *block) {
			if t.segments[b.segment].arena != ar {
				return
			}
			idle := a.isIdle(t, b)
			if s := b.wholePages(ar); s.len() > 0 && (idle || busy) {
				found = append(found, piece{t: t, index: i, ar: ar, span: s, freedAt: b.freedAt(), idle: idle})
			}
		})
	}
	return found
}

// haul brings pages together for one request. It is made under all locks, done
// with none, and lands under all of them again.
type haul struct {
	a       *Allocator
	t       *table // whose request it is
	ar      *arena
	window  window
	fresh   []span  // of the window, with nothing mapped
	foreign []piece // free pages of the window that other tables had
	sources []piece // pages elsewhere whose memory moves to the fresh ones
	create  int     // fresh pages that get new memory
	made    []Page  // that memory
}

// errNoWindow is why a plan ends: so many pages are nowhere side by side, or
// the rung may not do what it takes.
var errNoWindow = errors.New("memory: no pages for the request")

// what a rung may do to get pages.
type means struct {
	busy   bool // take pages whose last work is not done: the device waits for it
	create bool // take memory upstream
	move   bool // take memory from pages elsewhere
	wait   bool // of those too whose last work is not done: the host waits for it
}

// plan makes the haul for a request of t. All locks are held. Until it lands
// its pages are in transit, so that nobody else plans with them.
func (a *Allocator) plan(t *table, r *request, tables []*table, m means) (*haul, error) {
	h := &haul{a: a, t: t, ar: &a.arenas[r.pool]}
	a.survey.look(a, h.ar, t, tables, m.busy)
	w, ok := a.survey.find(r.rounded)
	if !ok || w.missing > 0 && !m.create && !m.move {
		return nil, errNoWindow
	}
	h.window, h.create = w, w.missing
	if m.move && w.missing > 0 && !h.findSources(tables, m.wait) && !m.create {
		return nil, errNoWindow
	}
	bytes := int64(h.create) * h.ar.page
	if bytes > a.policy.Load().limit-a.held() || t.pool != nil && bytes > t.pool.room() {
		return nil, errOverLimit
	}
	for _, p := range a.pieces(h.ar, tables, m.busy) {
		p.from, p.to = max(p.from, w.from), min(p.to, w.to)
		if p.t != t && p.len() > 0 {
			h.foreign = append(h.foreign, p)
		}
	}
	h.fresh = h.ar.unmapped(w.span)
	for _, s := range h.fresh {
		h.ar.assign(s, inTransit, 0)
	}
	a.departPieces(h.foreign, h.sources)
	a.pledged += bytes
	t.holds(bytes)
	a.inflight++
	return h, nil
}

// findSources chooses pages elsewhere for what the window misses, idle ones
// first, with busy then others, of each the largest pieces first, and leaves to
// create what there is not.
func (h *haul) findSources(tables []*table, busy bool) bool {
	var all []piece
	for p := range h.a.arenas {
		ar := &h.a.arenas[p]
		for _, s := range h.a.pieces(ar, tables, busy) {
			if ar == h.ar {
				s.span = s.outside(h.window.span)
			}
			if s.len() > 0 {
				all = append(all, s)
			}
		}
	}
	slices.SortStableFunc(all, func(p, q piece) int {
		return cmp.Or(cmp.Compare(h.rank(p), h.rank(q)), cmp.Compare(q.len(), p.len()))
	})
	for _, s := range all {
		if h.create == 0 {
			break
		}
		if h.beside(s) && s.from == h.window.to {
			s.from = max(s.from, s.to-h.create)
		} else {
			s.to = min(s.to, s.from+h.create)
		}
		h.create -= s.len()
		h.sources = append(h.sources, s)
	}
	return len(h.sources) > 0
}

// outside returns what of s sticks out of a window that does not lie within it.
func (s span) outside(w span) span {
	if s.from < w.from {
		return span{s.from, min(s.to, w.from)}
	}
	return span{max(s.from, w.to), max(s.to, w.to)}
}

// beside reports whether a piece touches the window.
func (h *haul) beside(p piece) bool {
	return p.ar == h.ar && (p.from == h.window.to || p.to == h.window.from)
}

// rank orders what may move by what it costs: a wait of the host, then the
// pages next to where the request ends, the first that are free for the next.
func (h *haul) rank(p piece) (n int) {
	if !p.idle {
		n += 2
	}
	if h.beside(p) {
		n++
	}
	return n
}

// departPieces takes pieces out of their tables, the last first: then a cut
// leaves the record of what lies left of it as it was, and relabels no more than
// what lies between it and the cut before. The device lock and those of the
// tables are held.
func (a *Allocator) departPieces(lists ...[]piece) {
	var leaving []*piece
	for _, pieces := range lists {
		for n := range pieces {
			leaving = append(leaving, &pieces[n])
		}
	}
	slices.SortFunc(leaving, func(p, q *piece) int { return cmp.Compare(q.ar.ptr(q.from), p.ar.ptr(p.from)) })
	for _, p := range leaving {
		p.t.cut(p.ar, p.index, p.span)
		for _, pg := range p.ar.pages[p.from:p.to] {
			p.memory = append(p.memory, pg.memory)
		}
		a.returning += p.ar.bytes(p.span)
	}
}

// do does what takes calls upstream. No lock is held. If a step fails, those
// before it are undone.
func (h *haul) do() error {
	a := h.a
	if a.props.Asynchronous {
		var wait, follow []*table
		for _, p := range h.sources {
			if !p.idle && !slices.Contains(wait, p.t) {
				wait = append(wait, p.t)
			}
		}
		for _, p := range h.foreign {
			if !p.idle && !slices.Contains(follow, p.t) {
				follow = append(follow, p.t)
			}
		}
		if err := errors.Join(a.awaitStreams(wait), a.follow(h.t.stream, follow)); err != nil {
			return err
		}
	}
	for range h.create {
		pg, err := a.up.Create(h.ar.page)
		if err != nil {
			return errors.Join(err, h.drop())
		}
		h.made = append(h.made, pg)
	}
	memory := slices.Clone(h.made)
	for n, p := range h.sources {
		if err := a.up.Unmap(p.ar.ptr(p.from), p.ar.bytes(p.span)); err != nil {
			return errors.Join(err, h.putBack(h.sources[:n]), h.drop())
		}
		memory = append(memory, p.memory...)
	}
	rest := memory
	for n, s := range h.fresh {
		if err := a.mapPages(h.ar, s, rest[:s.len()]); err != nil {
			for _, s := range h.fresh[:n] {
				err = errors.Join(err, a.unmapAgain(h.ar, s))
			}
			return errors.Join(err, h.putBack(h.sources), h.drop())
		}
		rest = rest[s.len():]
	}
	h.made = memory
	return nil
}

// putBack maps the memory of sources where it was. Where that fails too it goes
// back upstream.
func (h *haul) putBack(sources []piece) (err error) {
	for n, p := range sources {
		if failed := h.a.mapPages(p.ar, p.span, p.memory); failed != nil {
			sources[n].lost = true
			err = errors.Join(err, failed, h.a.releaseMemory(p.ar, p.memory))
		}
	}
	return err
}

// drop gives back what was made in vain.
func (h *haul) drop() error {
	err := h.a.releaseMemory(h.ar, h.made)
	h.made = nil
	return err
}

// land makes the pages of h part of its table, or if err says that it failed
// of the tables that had them. All locks are held.
func (h *haul) land(err error) {
	a := h.a
	a.pledged -= int64(h.create) * h.ar.page
	for _, p := range h.foreign {
		a.returning -= p.ar.bytes(p.span)
	}
	for _, p := range h.sources {
		a.returning -= p.ar.bytes(p.span)
	}
	if err != nil {
		h.t.holds(-int64(h.create) * h.ar.page)
		for _, s := range h.fresh {
			h.ar.assign(s, 0, 0)
		}
		for _, s := range a.stuck {
			s.ar.assign(s.span, inTransit, 0)
		}
		for _, p := range append(h.foreign, h.sources...) {
			if p.lost {
				a.forget(p)
			} else {
				p.t.join(p.ar, p.span, p.freedAt)
			}
		}
		a.bookRuns()
		a.land()
		return
	}
	a.reserved.add(h.ar.pool, int64(h.create)*h.ar.page)
	a.counts.upstreamAllocs += int64(h.create)
	for _, p := range h.sources {
		if bytes := p.ar.bytes(p.span); p.ar.pool != h.ar.pool {
			a.reserved.sub(p.ar.pool, bytes)
			a.reserved.add(h.ar.pool, bytes)
		}
		p.ar.clear(p.span)
	}
	for _, s := range h.fresh {
		for i := s.from; i < s.to; i++ {
			h.ar.pages[i].memory, h.made = h.made[0], h.made[1:]
		}
		h.t.join(h.ar, s, 0)
	}
	for _, p := range h.foreign {
		var freedAt uint64
		if !p.idle { // in order for this stream, which waits for the other one
			h.t.clock++
			freedAt = h.t.clock
		}
		h.t.join(p.ar, p.span, freedAt)
	}
	a.bookRuns()
	a.land()
}

// forget notes that the memory of a piece is not the allocator's any more.
func (a *Allocator) forget(p piece) {
	p.ar.clear(p.span)
	p.t.holds(-p.ar.bytes(p.span))
	a.reserved.sub(p.ar.pool, p.ar.bytes(p.span))
	a.counts.upstreamFrees += int64(p.len())
}

// bookRuns counts the runs of all tables as segments. All locks are held.
func (a *Allocator) bookRuns() {
	for p := range a.arenas {
		var runs int64
		for _, t := range a.directory.Load().tables {
			runs += t.runs[p]
		}
		a.segments.move(poolKind(p), runs-a.runs[p])
		a.runs[p] = runs
	}
}
