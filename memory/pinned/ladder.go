package pinned

import (
	"errors"
	"fmt"
	"time"

	"tarn/memory"
)

// errOverLimit is the refusal of a growth that the limit does not allow.
var errOverLimit = errors.New("pinned: over the limit")

// miss serves a request that the cache could not; see the package. Whatever
// dropped the lock, the cache is searched again. p.mu is held, but over calls.
func (p *Pool) miss(r request) (Block, error) {
	if err := p.drain(); err != nil {
		return Block{}, err
	}
	for {
		b, err := p.takeOrGrow(r, r.segment)
		if isFull(err) && p.idle.Len() > 0 {
			if err := p.reclaim(r.segment, err); err != nil {
				return Block{}, err
			}
			b, err = p.takeOrGrow(r, r.segment)
		}
		if isFull(err) && r.block < r.segment {
			b, err = p.takeOrGrow(r, r.block)
		}
		if !isFull(err) {
			return b, err
		}
		more, waited := p.wait()
		if waited != nil {
			return Block{}, waited
		}
		if !more && p.idle.Len() == 0 {
			p.books.ooms++
			return Block{}, p.outOfMemory(r, err)
		}
	}
}

func isFull(err error) bool { return err == errOverLimit || errors.Is(err, memory.ErrUpstreamFull) }

// takeOrGrow takes a cached block, or else one of a new segment of size bytes.
// p.mu is held, but over calls.
func (p *Pool) takeOrGrow(r request, size int64) (Block, error) {
	if p.closed {
		return Block{}, memory.ErrClosed
	}
	if b, ok := p.take(r); ok {
		return b, nil
	}
	if p.over(size) {
		return Block{}, errOverLimit
	}
	p.pledged += size
	p.moving++
	p.mu.Unlock()
	start := time.Now()
	ptr, err := p.src.AllocHost(size)
	took := time.Since(start)
	p.mu.Lock()
	p.settled.Broadcast()
	p.moving--
	p.pledged -= size
	if err != nil {
		return Block{}, fmt.Errorf("pinned: Alloc: segment of %d bytes: %w", size, err)
	}
	p.books.allocTime.add(took)
	p.books.reserve(size)
	p.keep(newSegment(ptr, size, r))
	if p.closed {
		return Block{}, errors.Join(memory.ErrClosed, p.shed())
	}
	b, _ := p.take(r) // the new segment, or a better one
	return b, nil
}

// over reports whether size more bytes would go past the limit.
func (p *Pool) over(size int64) bool {
	return p.cfg.Limit > 0 && size > p.cfg.Limit-p.books.reserved.Current-p.pledged
}

// keep enters a segment without active blocks as the one used last.
func (p *Pool) keep(s *segment) {
	p.segments[s] = struct{}{}
	p.index.add(s)
	s.idle = p.idle.PushBack(s)
	p.idleBytes += s.size
}

// reclaim gives back idle segments so that size bytes can be had: what the
// limit asks for, or all if it is the source that is full.
func (p *Pool) reclaim(size int64, refused error) error {
	_, err := p.trim(func() bool { return refused != errOverLimit || p.over(size) })
	return err
}

// trim gives back idle segments, least recently used first, while more says
// so, and returns their bytes. One that cannot be given back stays cached.
// p.mu is held, but over calls.
func (p *Pool) trim(more func() bool) (gained int64, err error) {
	for p.idle.Len() > 0 && more() {
		s := p.idle.Front().Value.(*segment)
		p.unidle(s)
		p.index.remove(s)
		delete(p.segments, s)
		p.returning += s.size
		p.moving++
		p.mu.Unlock()
		start := time.Now()
		err := p.src.FreeHost(s.ptr, s.size)
		took := time.Since(start)
		p.mu.Lock()
		p.settled.Broadcast()
		p.moving--
		p.returning -= s.size
		if err != nil {
			p.keep(s)
			return gained, fmt.Errorf("pinned: give back %d bytes at %#x: %w", s.size, s.ptr, err)
		}
		p.books.freeTime.add(took)
		p.books.unreserve(s.size)
		gained += s.size
	}
	return gained, nil
}
