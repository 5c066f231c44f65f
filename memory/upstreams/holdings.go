package upstreams

import (
	"math"
	"sync"

	"tarn/cuda"
	"tarn/memory"
)

// holdings knows the bytes that are held from an upstream. Allocations count
// as asked for, whatever the upstream rounds them up to. A page counts until
// it is released and mapped nowhere, so its mappings are followed too.
//
// What is asked for is pledged before the call, and what is given back is
// taken off after it: held and pledged are never less than what the upstream
// has really given.
type holdings struct {
	mu       sync.Mutex // guards all below; not held over a call
	held     int64
	peak     int64 // of held
	pledged  int64 // asked for by calls that are under way
	pages    map[memory.Page]*page
	mappings map[cuda.DevicePtr]*mapping // by where they start
}

type page struct {
	size     int64
	mapped   int  // mappings of it, those that Map is making included
	released bool // its name is gone
}

// mapping is never changed. Who gives one up knows by its address whether
// another has taken its place meanwhile.
type mapping struct {
	size int64
	page *page
}

const noLimit = math.MaxInt64

// through makes the call on up and keeps the books. If it asks for more than the
// limit leaves, it is not made: ok is false, and held what there is.
func (h *holdings) through(c *Call, up memory.Upstream, limit int64) (held int64, ok bool) {
	switch c.Name {
	case CallAlloc, CallCreate:
		if held, ok := h.pledge(c.Size, limit); !ok {
			return held, false
		}
		c.on(up)
		h.settle(c)
	case CallFree:
		if c.on(up); c.Err == nil {
			h.give(c.Size)
		}
	case CallRelease:
		pg := h.page(c.Page)
		if c.on(up); c.Err == nil && pg != nil {
			h.release(c.Page, pg)
		}
	case CallMap:
		pg := h.pin(c.Page)
		c.on(up)
		h.mapped(c, pg)
	case CallUnmap:
		run := h.run(c.Ptr, c.Size)
		if c.on(up); c.Err == nil {
			h.unmap(c.Ptr, run)
		}
	default:
		c.on(up)
	}
	return 0, true
}

// pledge sets size bytes aside, if the limit leaves as many. Sizes that no
// upstream serves count as none.
func (h *holdings) pledge(size, limit int64) (held int64, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if size > limit-h.held-h.pledged {
		return h.held + h.pledged, false
	}
	h.pledged += max(size, 0)
	return 0, true
}

// settle turns the pledge of a call that was made into what it got.
func (h *holdings) settle(c *Call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pledged -= max(c.Size, 0)
	if c.Err != nil {
		return
	}
	h.held += c.Size
	h.peak = max(h.peak, h.held)
	if c.Name == CallCreate {
		if h.pages == nil {
			h.pages = make(map[memory.Page]*page)
			h.mappings = make(map[cuda.DevicePtr]*mapping)
		}
		h.pages[c.Page] = &page{size: c.Size}
	}
}

func (h *holdings) give(size int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held -= size
}

// page returns what is known of a page, nil if nothing is.
func (h *holdings) page(id memory.Page) *page {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pages[id]
}

// release takes the name off a page. The upstream may have given the name to
// another one by now.
func (h *holdings) release(id memory.Page, pg *page) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pages[id] == pg {
		delete(h.pages, id)
	}
	pg.released = true
	h.settlePage(pg)
}

// settlePage gives back a page that nothing holds any more. h.mu is held.
func (h *holdings) settlePage(pg *page) {
	if pg.released && pg.mapped == 0 {
		h.held -= pg.size
	}
}

// pin counts a mapping that is about to be made.
func (h *holdings) pin(id memory.Page) *page {
	h.mu.Lock()
	defer h.mu.Unlock()
	pg := h.pages[id]
	if pg != nil {
		pg.mapped++
	}
	return pg
}

// mapped enters the mapping that a call has made, or takes back the pin.
func (h *holdings) mapped(c *Call, pg *page) {
	if pg == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.Err == nil {
		h.mappings[c.Ptr] = &mapping{c.Size, pg}
		return
	}
	pg.mapped--
	h.settlePage(pg)
}

// run returns the mappings that tile [p, p+size), in order.
func (h *holdings) run(p cuda.DevicePtr, size int64) (run []*mapping) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for size > 0 {
		m := h.mappings[p]
		if m == nil {
			break
		}
		run = append(run, m)
		p += cuda.DevicePtr(m.size)
		size -= m.size
	}
	return run
}

// unmap ends the mappings of a run that starts at p.
func (h *holdings) unmap(p cuda.DevicePtr, run []*mapping) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range run {
		if h.mappings[p] == m {
			delete(h.mappings, p)
		}
		p += cuda.DevicePtr(m.size)
		m.page.mapped--
		h.settlePage(m.page)
	}
}
