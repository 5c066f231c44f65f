package memory

// run checks that the pages of a run know it, and that it could not be longer.
func (c *checker) run(t *table, slot uint32, s segment) {
	ar := s.arena
	first, n := ar.number(s.base), int(s.size/ar.page)
	if int64(s.base-ar.base)%ar.page != 0 || s.size%ar.page != 0 || first+n > len(ar.pages) {
		c.fault("run %#x of %d bytes: not whole pages of its arena", s.base, s.size)
		return
	}
	for i := first; i < first+n; i++ {
		if p := ar.pages[i]; p.memory == 0 || p.owner != t.id || p.slot != slot {
			c.fault("page %#x: memory %d, owner %d, run %d; it is in run %d of %d", ar.ptr(i), p.memory, p.owner, p.slot, slot, t.id)
		}
	}
	if ar.owner(first-1) == t.id || ar.owner(first+n) == t.id {
		c.fault("run %#x of %d bytes: beside a run of the same stream", s.base, s.size)
	}
	c.pages[ar.pool] += n
}

// arena checks that no page is mapped, or owned, for nobody.
func (c *checker) arena(ar *arena) {
	owned := 0
	for i, p := range ar.pages {
		switch {
		case p.owner == 0 && p.memory != 0:
			c.fault("page %#x: mapped, and nobody's", ar.ptr(i))
		case p.owner != 0 && p.owner != inTransit:
			owned++
		}
	}
	if owned != c.pages[ar.pool] {
		c.fault("%v pool: %d pages are owned, and %d are in runs", ar.pool, owned, c.pages[ar.pool])
	}
}
