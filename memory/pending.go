package memory

import (
	"errors"
	"fmt"
	"slices"

	"tarn/cuda"
)

// A block that other streams may still use when it is freed is parked: it
// waits for one event a stream and becomes free when all are done. The events
// of a stream finish in the order in which they were recorded, those of
// different streams in any. So a queue a stream is looked at from its front,
// and a stream that is slow holds up nobody else's blocks.

// use is an event that a parked block waits for.
type use struct {
	event cuda.Event
	index uint32 // record of the block
}

// useQueue has the uses on one stream, oldest first. It is guarded by the
// table's lock. Who looks at the events, which are calls upstream, drops the
// lock and sets busy; then only appending is allowed to others.
type useQueue struct {
	stream cuda.Stream
	uses   []use
	busy   bool
}

// foreignUses returns the streams of usedOn that a free has to wait for, each
// once, and not the block's own, which is in order by itself.
func (a *Allocator) foreignUses(t *table, usedOn []cuda.Stream) []cuda.Stream {
	if !a.props.Asynchronous {
		return nil
	}
	var streams []cuda.Stream
	for _, s := range usedOn {
		if (s != t.stream || t.retired.Load()) && !slices.Contains(streams, s) {
			streams = append(streams, s)
		}
	}
	return streams
}

// freeAfter frees a block after the work that streams have queued so far. If
// an event cannot be recorded the block stays live.
func (a *Allocator) freeAfter(t *table, h Handle, streams []cuda.Stream, stack stackID) error {
	if err := t.claim(h); err != nil {
		return err
	}
	d := deferred{t: t, handle: h, streams: streams, stack: stack}
	if a.deferFree(d) {
		return nil
	}
	err := a.park(d)
	if err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.closed {
			t.records.at(h.index).state = stateLive
		}
	}
	return err
}

// claim takes a live block from its client, on the way to parkClaimed.
func (t *table) claim(h Handle) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, err := t.lookup(h)
	if err == nil {
		b.state = stateLeaving
	}
	return err
}

// parkClaimed parks a block that was claimed, and returns its size. If an event
// cannot be recorded the block stays claimed.
func (a *Allocator) parkClaimed(t *table, h Handle, streams []cuda.Stream, stack stackID) (int64, error) {
	events, err := a.recordEvents(streams)
	if err != nil {
		return 0, err
	}
	t.mu.Lock()
	if t.closed { // Close took the block and could not know of the events.
		t.mu.Unlock()
		return 0, a.destroyEvents(events)
	}
	b := t.records.at(h.index)
	t.end(h.index, b, stack)
	t.park(h.index, b, streams, events)
	size := b.size
	t.mu.Unlock()
	return size, nil
}

// recordEvents records an event on each stream, or none.
func (a *Allocator) recordEvents(streams []cuda.Stream) ([]cuda.Event, error) {
	events := make([]cuda.Event, 0, len(streams))
	for _, s := range streams {
		e, err := a.up.RecordEvent(s)
		if err != nil {
			err = fmt.Errorf("memory: Free on %s: record event on stream %#x: %w", a.props.Name, uintptr(s), err)
			return nil, errors.Join(err, a.destroyEvents(events))
		}
		events = append(events, e)
	}
	return events, nil
}

func (a *Allocator) destroyEvents(events []cuda.Event) (err error) {
	for _, e := range events {
		err = errors.Join(err, a.up.DestroyEvent(e))
	}
	return err
}

// park makes b, which has ended, wait for an event on each of streams. t.mu is
// held.
func (t *table) park(i uint32, b *block, streams []cuda.Stream, events []cuda.Event) {
	b.state, b.uses = stateParked, uint32(len(streams))
	t.parked++
	for n, s := range streams {
		q := t.queue(s)
		q.uses = append(q.uses, use{events[n], i})
	}
}

// queue returns the queue of a stream. t.mu is held.
func (t *table) queue(s cuda.Stream) *useQueue {
	for _, q := range t.queues {
		if q.stream == s {
			return q
		}
	}
	q := &useQueue{stream: s}
	t.queues = append(t.queues, q)
	return q
}

// drainUses frees the parked blocks of t whose events are done, and with wait
// waits for those that were parked when it was called. It returns the bytes
// that became free.
func (a *Allocator) drainUses(t *table, wait bool) (gained int64, err error) {
	if gained, err = a.drainQueues(t, wait); gained > 0 {
		err = errors.Join(err, a.spillAll(t))
	}
	return gained, err
}

func (a *Allocator) drainQueues(t *table, wait bool) (gained int64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n := 0; n < len(t.queues) && t.parked > 0; n++ {
		q := t.queues[n]
		for wait && q.busy {
			t.settled.Wait()
		}
		if q.busy || len(q.uses) == 0 || a.captures(q.stream) {
			continue
		}
		q.busy = true
		uses := q.uses
		t.mu.Unlock()
		done, failed := a.finished(uses, wait)
		t.mu.Lock()
		q.busy = false
		t.settled.Broadcast()
		if t.closed {
			return gained, errors.Join(err, failed)
		}
		for _, u := range uses[:done] {
			gained += t.finish(u.index)
		}
		if q.uses = q.uses[done:]; len(q.uses) == 0 {
			q.uses = uses[:0]
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("memory: event of stream %#x on %s: %w", uintptr(q.stream), a.props.Name, failed))
		}
	}
	return gained, err
}

// finished returns how many uses from the front are over and has destroyed
// their events.
func (a *Allocator) finished(uses []use, wait bool) (int, error) {
	for n, u := range uses {
		done, err := true, error(nil)
		if wait {
			err = a.up.SyncEvent(u.event)
		} else {
			done, err = a.up.QueryEvent(u.event)
		}
		if err != nil || !done {
			return n, err
		}
		if err := a.up.DestroyEvent(u.event); err != nil {
			return n + 1, err
		}
	}
	return len(uses), nil
}

// finish ends one use of parked record i and returns the bytes that became
// free by it. t.mu is held.
func (t *table) finish(i uint32) int64 {
	b := t.records.at(i)
	if b.uses--; b.uses > 0 {
		return 0
	}
	size := b.size
	t.parked--
	t.give(i, b)
	return size
}
