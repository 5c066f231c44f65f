package pinned

import "errors"

// Trim gives idle segments back, least recently used first, until at most keep
// bytes of them are left, and returns the bytes given back. Blocks whose events
// are done count as free. An error is the source's; what could not be given
// back stays cached.
func (p *Pool) Trim(keep int64) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	drained := p.drain()
	gained, err := p.trim(func() bool { return p.idleBytes > keep })
	return gained, errors.Join(drained, err)
}

// EmptyCache gives all idle segments back, as Trim(0) does.
func (p *Pool) EmptyCache() error {
	_, err := p.Trim(0)
	return err
}

// Close ends Alloc, waits for parked blocks, and gives back every segment that
// no client uses. If clients still have blocks it returns a
// [*LiveBlocksError]: their memory stays, since they may write to it, and goes
// back when they free it. Close may be called again, after an error of the
// source or to wait for what was freed since.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var waited error
	for len(p.queues) > 0 || p.moving > 0 {
		if _, waited = p.wait(); waited != nil {
			break // a stream whose events fail: give back the rest
		}
	}
	err := errors.Join(waited, p.shed())
	if n := p.books.live; n.count.Current > 0 {
		err = errors.Join(err, &LiveBlocksError{Count: n.count.Current, Bytes: n.bytes.Current})
	}
	return err
}
