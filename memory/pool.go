package memory

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"tarn/cuda"
)

// PoolConfig says how a private pool differs from the rest of its allocator.
type PoolConfig struct {
	// Name is how messages call it.
	Name string
	// Upstream is where its segments come from; nil for the allocator's own.
	// It must be of the same device.
	Upstream Upstream
	// Limit bounds the bytes that the pool holds; 0 for no bound of its own.
	Limit int64
	// NoSplit hands out whole segments, or whole pages, and never a part of one.
	NoSplit bool
	// UseOnOOM lends the pool's free blocks to requests of no pool that would
	// fail otherwise.
	UseOnOOM bool
}

// Pool is a private pool: memory that only those get who ask it. A graph that
// was captured goes on using the addresses that its ops were given, so they
// come from a pool that nobody else takes memory out of while the graph lives.
// A part of a program that must not be disturbed by others is the other use.
//
// Its blocks are freed as all others are, by [Allocator.Free]. Pools are
// handles: which one a request is for is said by whose Alloc is called. Its
// methods may be called from many goroutines.
type Pool struct {
	a         *Allocator
	cfg       PoolConfig
	directory atomic.Pointer[directory] // of its tables, by stream
	open      atomic.Bool
	graphs    atomic.Bool // it was captured from
	held      int64       // bytes taken for it; guarded by the device lock
}

// PoolStats are a pool's books, in bytes, as those of [Stats] are.
type PoolStats struct {
	Name                                   string
	Requested, Allocated, Active, Reserved int64
}

// NewPool returns a private pool of a.
func (a *Allocator) NewPool(cfg PoolConfig) (*Pool, error) {
	if cfg.Limit < 0 {
		return nil, fmt.Errorf("memory: NewPool %q: the limit is negative", cfg.Name)
	}
	p := &Pool{a: a, cfg: cfg}
	p.directory.Store(newDirectory(nil, p))
	p.open.Store(true)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, ErrClosed
	}
	a.pools = append(a.pools, p)
	return p, nil
}

// Alloc is [Allocator.Alloc] out of the pool. After Close it returns
// [ErrClosed].
func (p *Pool) Alloc(size int64, s cuda.Stream, tag Tag) (Block, error) {
	if !p.open.Load() {
		return Block{}, ErrClosed
	}
	return p.a.alloc(p, p.directory.Load(), size, s, tag)
}

// EmptyCache gives all segments and pages of the pool with no block in use back
// upstream. A pool that was captured from keeps all that it has until Close: a
// graph goes on using what was freed in its capture.
func (p *Pool) EmptyCache() error {
	if p.keeps() {
		return nil
	}
	_, err := p.a.release(p.directory.Load().tables, maxRequest, true)
	return err
}

// Close ends the pool, when the last graph that used it is gone. Its free
// memory is everybody's then, and its live blocks become so as they are freed.
// A second Close does nothing.
func (p *Pool) Close() error {
	a := p.a
	a.mu.Lock()
	a.pools = slices.DeleteFunc(a.pools, func(q *Pool) bool { return p == q })
	a.mu.Unlock()
	if !p.open.Swap(false) || p.cfg.Upstream == nil {
		return nil
	}
	return p.EmptyCache() // nobody else can use what is of another upstream
}

// Stats returns the books of the pool.
func (p *Pool) Stats() PoolStats {
	s := PoolStats{Name: p.cfg.Name}
	tables := p.a.lockAll()
	defer p.a.unlockAll(tables)
	for _, t := range tables {
		if t.pool == p {
			s.Requested += t.books[requestedBytes][allPools].current()
			s.Allocated += t.books[allocatedBytes][allPools].current()
			s.Active += t.books[activeBytes][allPools].current()
			for _, segment := range t.segments {
				s.Reserved += segment.size
			}
		}
	}
	return s
}

// keeps reports whether all that the pool has must stay where it is, free or
// not. p may be nil.
func (p *Pool) keeps() bool { return p != nil && p.open.Load() && p.graphs.Load() }

// adapt makes r a request of p.
func (p *Pool) adapt(r *request) {
	if p.cfg.Upstream != nil && r.pool == largePool {
		r.split = smallLimit + 1 // its segments are not runs of pages
	}
	switch {
	case !p.cfg.NoSplit:
	case p.cfg.Upstream == nil && p.a.policy.Load().paged:
		r.rounded = roundUp(r.rounded, p.a.arenas[r.pool].page)
	default:
		r.split = unlimited
	}
}

// room returns how many bytes the pool may still take. The device lock is held.
func (p *Pool) room() int64 {
	if p.cfg.Limit == 0 {
		return unlimited
	}
	return p.cfg.Limit - p.held
}

// holds counts bytes that were taken for t, or with a minus given back. The
// device lock is held.
func (t *table) holds(bytes int64) {
	if t.pool != nil {
		t.pool.held += bytes
	}
}

// group returns the pool whose memory t's is, nil for everybody's.
func (t *table) group() *Pool {
	if p := t.pool; p != nil && (p.open.Load() || p.cfg.Upstream != nil) {
		return p
	}
	return nil
}

// upstreamOf returns where the segments of t come from.
func (a *Allocator) upstreamOf(t *table) Upstream {
	if t.pool != nil && t.pool.cfg.Upstream != nil {
		return t.pool.cfg.Upstream
	}
	return a.up
}

// peers returns those of tables that t shares memory with, t among them.
func (a *Allocator) peers(t *table, tables []*table) []*table {
	own := func(other *table) bool {
		return other == t || other.group() == t.group() && !a.captures(other.stream)
	}
	if !slices.ContainsFunc(tables, func(other *table) bool { return !own(other) }) {
		return tables
	}
	return slices.DeleteFunc(slices.Clone(tables), func(other *table) bool { return !own(other) })
}

// everybodys returns the tables of no private pool.
func (a *Allocator) everybodys() []*table {
	return slices.DeleteFunc(slices.Clone(a.directory.Load().tables), func(t *table) bool {
		p := t.group()
		return p != nil && p.open.Load()
	})
}

// borrow takes a free block for c out of a pool that lends.
func (c *climb) borrow() (Block, bool) {
	if c.t.pool != nil {
		return Block{}, false
	}
	c.a.mu.Lock()
	pools := slices.Clone(c.a.pools)
	c.a.mu.Unlock()
	for _, p := range pools {
		if t := p.directory.Load().ofStream(c.t.stream); t != nil && p.cfg.UseOnOOM {
			lent := climb{a: c.a, t: t, r: c.r}
			p.adapt(&lent.r)
			if b, ok := lent.search(); ok {
				return b, true
			}
		}
	}
	return Block{}, false
}

// errCapturing is why a second capture does not begin.
var errCapturing = errors.New("memory: the stream is being captured already")
