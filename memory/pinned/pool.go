package pinned

import (
	"container/list"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"tarn/cuda"
	"tarn/memory"
)

// Config has the settings of a [Pool]. The zero value limits nothing.
type Config struct {
	// Limit is the most bytes to hold from the source; 0 for no limit.
	Limit int64
	// MaxCached is the most bytes of idle segments to keep when a block is
	// freed; 0 for all, < 0 for none. To keep few makes Free slow: giving
	// pinned memory back may wait for the device.
	MaxCached int64
}

// Pool is an allocator of pinned host memory. It may be used by many
// goroutines.
type Pool struct {
	src Source
	cfg Config
	id  uint32

	mu      sync.Mutex // guards all below; not held over a call of src
	settled *sync.Cond // on mu: a call of src has ended
	closed  bool

	segments  map[*segment]struct{} // those on their way back excepted
	index     index
	idle      *list.List // of *segment, the least recently used first
	idleBytes int64
	slots     []slot
	unused    []uint32    // slots of no block
	queues    []*useQueue // that are not empty
	lastUse   uint64      // sequence number of the last use

	pledged   int64 // bytes that calls under way ask for
	returning int64 // bytes that calls under way give back; reserved still
	moving    int   // those calls
	books     books
}

var lastPool atomic.Uint32

// New returns a pool that holds nothing yet. Limit < 0 is an error.
func New(src Source, cfg Config) (*Pool, error) {
	if cfg.Limit < 0 {
		return nil, fmt.Errorf("pinned: New: limit of %d bytes", cfg.Limit)
	}
	p := &Pool{src: src, cfg: cfg, id: lastPool.Add(1), segments: make(map[*segment]struct{}), idle: list.New()}
	p.settled = sync.NewCond(&p.mu)
	return p, nil
}

// Alloc returns a block of at least size bytes; see the package for how much
// more at most. The contents are what they were. 0 bytes are the zero Block.
//
// The error is a [*RequestError] for a size that cannot be, [memory.ErrClosed]
// after Close, an [*OutOfMemoryError] where the limit or the source leaves too
// little, or what the source failed with.
func (p *Pool) Alloc(size int64) (Block, error) {
	if size == 0 {
		return Block{}, nil
	}
	if size < 0 || size > maxRequest {
		return Block{}, &RequestError{size}
	}
	r := newRequest(size)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return Block{}, memory.ErrClosed
	}
	if b, ok := p.take(r); ok {
		return b, nil
	}
	return p.miss(r)
}

// Free gives a block back. usedOn names the streams on which work that was
// queued up to now uses it: the block is not reused before that work is done.
// The zero Handle is no error.
//
// After a [*HandleError], or the source's error of recording an event, nothing
// has changed. An error of FreeHost, which Config.MaxCached or Close makes Free
// call, leaves the block free and its segment in the cache.
func (p *Pool) Free(h Handle, usedOn ...cuda.Stream) error {
	if h == (Handle{}) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := p.lookup(h)
	if err != nil {
		return err
	}
	if len(usedOn) == 0 {
		p.endHandle(b)
		p.give(h.slot)
		return p.shed()
	}
	streams := slices.Clone(usedOn)
	slices.Sort(streams)
	if err := p.park(h.slot, slices.Compact(streams)); err != nil {
		return err
	}
	return p.shed()
}

// shed gives back what MaxCached does not allow. p.mu is held, but over calls.
func (p *Pool) shed() error {
	keep := max(p.cfg.MaxCached, 0)
	if p.cfg.MaxCached == 0 && !p.closed {
		return nil
	}
	_, err := p.trim(func() bool { return p.closed || p.idleBytes > keep })
	return err
}
