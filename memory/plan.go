package memory

import "cmp"

// A plan finds pages for a request that no free block can serve. It looks at
// an arena page by page: which are in use, which are free and in whose table,
// which have nothing mapped. That is much slower than a search of the bins, and
// much faster than the calls upstream that it saves.

// window is where a request will lie: pages that are free or have nothing
// mapped, and at their edges free bytes of the requester's own blocks.
type window struct {
	span
	missing int // pages with nothing mapped
	room    int // of the gap that the window is in, in pages
}

// better orders windows: the fewest pages to map, then the tightest gap, then
// the lowest address.
func (w window) better(v window) bool {
	return cmp.Or(cmp.Compare(w.missing, v.missing), cmp.Compare(w.room, v.room), cmp.Compare(w.from, v.from)) < 0
}

// survey is what a plan knows of an arena. Its slices are used again.
type survey struct {
	ar     *arena
	free   []bool  // mapped, without a live byte, and to be had
	before []int64 // own free bytes that end where page i begins, unless all of the page
	after  []int64 // own free bytes from there on, unless all of the page
}

// look surveys an arena for a request on t. Free pages of other tables count
// if they are idle, or with busy in any case. All locks are held.
func (v *survey) look(a *Allocator, ar *arena, t *table, tables []*table, busy bool) {
	n := len(ar.pages) + 1
	v.ar = ar
	v.free = zeroed(v.free, n)
	v.before, v.after = zeroed(v.before, n), zeroed(v.after, n)
	for _, other := range tables {
		other.bins[ar.pool].each(&other.records, func(_ uint32, b *block) {
			if other.segments[b.segment].arena != ar {
				return
			}
			if other != t && !busy && !a.isIdle(other, b) {
				return
			}
			whole := b.wholePages(ar)
			for p := whole.from; p < whole.to; p++ {
				v.free[p] = true
			}
			if other == t {
				if end := int64(b.ptr) + b.size; end >= int64(ar.ptr(whole.from)) { // it reaches a page's edge
					v.before[whole.from] = int64(ar.ptr(whole.from)) - int64(b.ptr)
					v.after[whole.to] = end - int64(ar.ptr(whole.to))
				}
			}
		})
	}
}

func zeroed[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	s = s[:n]
	clear(s)
	return s
}

// find returns the best window for size bytes.
func (v *survey) find(size int64) (best window, ok bool) {
	ar, most := v.ar, v.ar.most()
	for from := 0; from < most; {
		if !v.usable(from) {
			from++
			continue
		}
		to := from
		for to < len(ar.pages) && v.usable(to) {
			to++
		}
		if to == len(ar.pages) {
			to = most // nothing lies beyond
		}
		if w, found := v.inGap(span{from, to}, size); found && (!ok || w.better(best)) {
			best, ok = w, true
		}
		from = to
	}
	return best, ok
}

// usable reports whether page n can be part of a window.
func (v *survey) usable(n int) bool {
	return n >= len(v.ar.pages) || v.free[n] || v.ar.pages[n].owner == 0
}

// inGap returns the best window within a gap: a maximal span of usable pages.
func (v *survey) inGap(gap span, size int64) (best window, ok bool) {
	unit := v.ar.page
	before, after := v.before[gap.from], int64(0)
	if gap.to < len(v.ar.pages) {
		after = v.after[gap.to]
	}
	try := func(from int, n int64) {
		s := span{from, from + int(n)}
		if n < 0 || s.from < gap.from || s.to > gap.to {
			return
		}
		w := window{span: s, missing: v.missing(s), room: gap.len()}
		if !ok || w.better(best) {
			best, ok = w, true
		}
	}
	pages := func(bytes int64) int64 { return (max(bytes, 0) + unit - 1) / unit }
	n := pages(size)
	try(gap.from, pages(size-before))
	if k := pages(size - after); int64(gap.len()) >= k {
		try(gap.to-int(k), k)
	}
	if k := pages(size - before - after); k == int64(gap.len()) {
		try(gap.from, k)
	}
	// Inside the gap only windows that begin or end with free pages can cost
	// less than those at its edges. A sliding count finds the cheapest.
	end := min(gap.to, len(v.ar.pages)+int(n))
	if int64(end-gap.from) < n || n == 0 {
		return best, ok
	}
	missing, least, at := v.missing(span{gap.from, gap.from + int(n)}), 0, gap.from
	least = missing
	for from := gap.from + 1; from+int(n) <= end; from++ {
		if !v.isFree(from - 1) {
			missing--
		}
		if !v.isFree(from + int(n) - 1) {
			missing++
		}
		if missing < least {
			least, at = missing, from
		}
	}
	try(at, n)
	return best, ok
}

func (v *survey) isFree(n int) bool { return n < len(v.ar.pages) && v.free[n] }

func (v *survey) missing(s span) int {
	n := s.len()
	for p := s.from; p < min(s.to, len(v.ar.pages)); p++ {
		if v.free[p] {
			n--
		}
	}
	return n
}
