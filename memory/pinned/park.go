package pinned

import (
	"errors"
	"fmt"
	"slices"

	"tarn/cuda"
)

// A block that streams may still use when it is freed is parked: it waits for
// one event a stream. The events of a stream finish in order, those of
// different streams in any. So a queue a stream is looked at from its front,
// and a slow stream holds up nobody else's blocks.

// use is an event that a parked block waits for.
type use struct {
	event cuda.Event
	slot  uint32
	seq   uint64 // of all uses, in the order in which they were parked
}

// useQueue has the uses on one stream, oldest first. Who looks at the events,
// which are calls of the source, drops the lock and sets busy; then others may
// only append.
type useQueue struct {
	stream cuda.Stream
	uses   []use
	busy   bool
}

// park frees the live block of slot i after the work that streams, each named
// once, have queued so far. If an event cannot be recorded the block stays
// live. p.mu is held, but over calls.
func (p *Pool) park(i uint32, streams []cuda.Stream) error {
	p.slots[i].state = leaving
	p.mu.Unlock()
	events, err := p.recordEvents(streams)
	p.mu.Lock()
	b := &p.slots[i] // the slots may have moved
	if err != nil {
		b.state = live
		return err
	}
	p.endHandle(b)
	b.state, b.uses = parked, len(streams)
	for n, s := range streams {
		p.lastUse++
		q := p.queue(s)
		q.uses = append(q.uses, use{events[n], i, p.lastUse})
	}
	return nil
}

// recordEvents records an event on each stream, or none.
func (p *Pool) recordEvents(streams []cuda.Stream) ([]cuda.Event, error) {
	events := make([]cuda.Event, 0, len(streams))
	for _, s := range streams {
		e, err := p.src.RecordEvent(s)
		if err != nil {
			err = fmt.Errorf("pinned: Free: record event on stream %#x: %w", uintptr(s), err)
			for _, e := range events {
				err = errors.Join(err, p.src.DestroyEvent(e))
			}
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// queue returns the queue of a stream. p.mu is held.
func (p *Pool) queue(s cuda.Stream) *useQueue {
	for _, q := range p.queues {
		if q.stream == s {
			return q
		}
	}
	q := &useQueue{stream: s}
	p.queues = append(p.queues, q)
	return q
}

// drain frees the blocks whose events are done. p.mu is held, but over calls.
func (p *Pool) drain() (err error) {
	for _, q := range slices.Clone(p.queues) {
		if !q.busy && len(q.uses) > 0 {
			err = errors.Join(err, p.look(q, false))
		}
	}
	return err
}

// look ends the uses of q that are over, from its front; with wait it waits
// for the first. q is not busy and not empty. p.mu is held, but over calls.
func (p *Pool) look(q *useQueue, wait bool) error {
	q.busy = true
	uses := q.uses
	p.mu.Unlock()
	done, err := p.finished(uses, wait)
	p.mu.Lock()
	q.busy = false
	p.settled.Broadcast()
	for _, u := range uses[:done] {
		b := &p.slots[u.slot]
		if b.uses--; b.uses == 0 {
			p.give(u.slot)
		}
	}
	if q.uses = q.uses[done:]; len(q.uses) == 0 {
		p.queues = slices.DeleteFunc(p.queues, func(other *useQueue) bool { return other == q })
	}
	if err != nil {
		return fmt.Errorf("pinned: event of stream %#x: %w", uintptr(q.stream), err)
	}
	return nil
}

// finished returns how many uses from the front are over, and has destroyed
// their events.
func (p *Pool) finished(uses []use, wait bool) (int, error) {
	for n, u := range uses {
		done, err := true, error(nil)
		if wait && n == 0 {
			err = p.src.SyncEvent(u.event)
		} else {
			done, err = p.src.QueryEvent(u.event)
		}
		if err != nil || !done {
			return n, err
		}
		if err := p.src.DestroyEvent(u.event); err != nil {
			return n + 1, err // it is over all the same
		}
	}
	return len(uses), nil
}

// wait waits until something has changed: the oldest event is done, or a call
// of another goroutine has ended. It reports false if there is nothing to wait
// for. p.mu is held, but over calls.
func (p *Pool) wait() (bool, error) {
	var oldest *useQueue
	busy := p.moving > 0
	for _, q := range p.queues {
		switch {
		case q.busy:
			busy = true
		case oldest == nil || q.uses[0].seq < oldest.uses[0].seq:
			oldest = q
		}
	}
	switch {
	case oldest != nil:
		p.books.waits++
		return true, p.look(oldest, true)
	case busy:
		p.settled.Wait()
	}
	return busy, nil
}
