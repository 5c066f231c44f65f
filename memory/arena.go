package memory

import (
	"errors"
	"fmt"

	"tarn/cuda"
)

// arena is the address range of one pool, in pages. A page is mapped when a
// table needs it, and belongs to one table from then on; which one may change.
// It is guarded by the device lock; a page in transit is its holder's, who
// works on it with no lock held.
type arena struct {
	pool  poolKind
	page  int64 // bytes
	base  cuda.DevicePtr
	size  int64  // bytes reserved; 0 until the first page
	pages []page // up to the last one that was ever in use
}

// page is the record of one page of an arena.
type page struct {
	memory Page   // what is mapped here, 0 for nothing
	owner  uint32 // id of the table, 0 for nobody, inTransit
	slot   uint32 // the run in the table's segments
}

// inTransit owns the pages that somebody is mapping, moving or releasing.
const inTransit = ^uint32(0)

// span is pages [from, to) of an arena.
type span struct{ from, to int }

func (s span) len() int { return s.to - s.from }

func (ar *arena) ptr(n int) cuda.DevicePtr { return ar.base + cuda.DevicePtr(int64(n)*ar.page) }

func (ar *arena) number(p cuda.DevicePtr) int { return int(int64(p-ar.base) / ar.page) }

func (ar *arena) bytes(s span) int64 { return int64(s.len()) * ar.page }

// most is how many pages the range has.
func (ar *arena) most() int { return int(ar.size / ar.page) }

// owner returns the table of page n, 0 if it is nobody's.
func (ar *arena) owner(n int) uint32 {
	if n < 0 || n >= len(ar.pages) {
		return 0
	}
	return ar.pages[n].owner
}

// assign gives pages to a table's run, or with inTransit and 0 to nobody.
func (ar *arena) assign(s span, owner, slot uint32) {
	for len(ar.pages) < s.to {
		ar.pages = append(ar.pages, page{})
	}
	for n := s.from; n < s.to; n++ {
		ar.pages[n].owner, ar.pages[n].slot = owner, slot
	}
}

// clear makes pages nobody's, with nothing mapped.
func (ar *arena) clear(s span) { clear(ar.pages[s.from:s.to]) }

// unmapped returns the maximal spans of s with nothing mapped.
func (ar *arena) unmapped(s span) (spans []span) {
	for n := s.from; n < s.to; n++ {
		if n < len(ar.pages) && ar.pages[n].memory != 0 {
			continue
		}
		if k := len(spans); k > 0 && spans[k-1].to == n {
			spans[k-1].to++
		} else {
			spans = append(spans, span{n, n + 1})
		}
	}
	return spans
}

// reserve makes sure that the arenas have their ranges. It is called with no
// lock held; who comes second gives its range back.
//
// A range is several times the device's memory. Addresses cost nothing, and a
// live block in every other page must not keep a large request from finding
// pages side by side.
func (a *Allocator) reserve(ar *arena) error {
	const spaciousness = 8
	a.mu.Lock()
	reserved, closed := ar.size > 0, a.closed
	a.mu.Unlock()
	if closed {
		return ErrClosed
	}
	if reserved {
		return nil
	}
	_, total, err := a.up.MemInfo()
	if err != nil {
		return fmt.Errorf("memory: %s: total memory: %w", a.props.Name, err)
	}
	size := a.policy.Load().addresses(total, spaciousness*total)
	size = roundUp(max(size, ar.page), ar.page)
	base, err := a.up.Reserve(size)
	if err != nil {
		return fmt.Errorf("memory: reserve %s of addresses on %s: %w", formatSize(size), a.props.Name, err)
	}
	a.mu.Lock()
	if ar.size == 0 && !a.closed {
		ar.base, ar.size = base, size
		a.mu.Unlock()
		return nil
	}
	closed = a.closed
	a.mu.Unlock()
	if err := a.up.ReleaseRange(base, size); err != nil || !closed {
		return err
	}
	return ErrClosed
}

// mapPages maps memory at s and lets the device use it. s is in transit. If a
// step fails those before it are undone.
func (a *Allocator) mapPages(ar *arena, s span, memory []Page) error {
	var err error
	mapped := 0
	for ; mapped < s.len() && err == nil; mapped++ {
		if err = a.up.Map(ar.ptr(s.from+mapped), ar.page, memory[mapped]); err != nil {
			break
		}
	}
	if err == nil {
		err = a.up.SetAccess(ar.ptr(s.from), ar.bytes(s))
	}
	if err != nil && mapped > 0 {
		err = errors.Join(err, a.unmapAgain(ar, span{s.from, s.from + mapped}))
	}
	return err
}

// stuck is addresses where something is mapped for nobody: undoing it failed.
// They stay in transit until Close tries again.
type stuck struct {
	ar *arena
	span
}

// unmapAgain undoes a mapping that was of no use.
func (a *Allocator) unmapAgain(ar *arena, s span) error {
	err := a.up.Unmap(ar.ptr(s.from), ar.bytes(s))
	if err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.stuck = append(a.stuck, stuck{ar, s})
	}
	return err
}

// stray is memory without an address that the upstream did not take back. It
// counts as reserved, and as on its way back.
type stray struct {
	memory Page
	pool   poolKind
}

// releaseMemory gives memory with no address back upstream. It is out of the
// books already; what the upstream refuses comes into them again, and is tried
// again with the next that goes back.
func (a *Allocator) releaseMemory(ar *arena, pages []Page) (err error) {
	a.mu.Lock()
	strays := a.strays
	a.strays = nil
	a.mu.Unlock()
	for _, s := range strays {
		if failed := a.up.Release(s.memory); failed != nil {
			err = errors.Join(err, fmt.Errorf("memory: release a page of %s again: %w", a.props.Name, failed))
			a.keep(s)
		} else {
			a.bookStray(s.pool, -1)
		}
	}
	for _, pg := range pages {
		if failed := a.up.Release(pg); failed != nil {
			err = errors.Join(err, fmt.Errorf("memory: release a page of %s: %w", a.props.Name, failed))
			a.bookStray(ar.pool, 1)
			a.keep(stray{pg, ar.pool})
		}
	}
	return err
}

func (a *Allocator) keep(s stray) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.strays = append(a.strays, s)
}

func (a *Allocator) bookStray(p poolKind, sign int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	bytes := sign * a.arenas[p].page
	a.reserved.move(p, bytes)
	a.returning += bytes
	if sign > 0 {
		a.counts.upstreamAllocs++
	} else {
		a.counts.upstreamFrees++
	}
}
