package memory

import (
	"errors"
	"fmt"

	"tarn/cuda"
)

// Memory that was freed is in order for its own stream, and for another one
// only when the work that its stream had queued by then is done. idle knows of
// a table up to which time, on the clock that counts its frees, that is so. It
// is guarded by the table's lock.
type idle struct {
	until  uint64 // everything freed up to then is idle
	marked uint64 // everything up to then will be when event is done; 0: no event
	event  cuda.Event
	busy   bool // somebody is looking at the event, or recording one
}

// isIdle reports whether the work on b, free in t, is known to be done.
func (a *Allocator) isIdle(t *table, b *block) bool {
	return !a.props.Asynchronous || t.retired.Load() || b.freedAt() <= t.idle.until
}

// observeIdle brings what is known about the tables that share pages with t up
// to date, with no wait and no lock held, and has the present mark an event each.
// Of t itself it has to be known only before its own pages move.
func (a *Allocator) observeIdle(t *table, own bool) (err error) {
	if !a.props.Asynchronous {
		return nil
	}
	for _, other := range a.directory.Load().tables {
		if (own || other != t) && !a.captures(other.stream) && other.group() == t.group() {
			err = errors.Join(err, a.observe(other))
		}
	}
	return err
}

func (a *Allocator) observe(t *table) error {
	t.mu.Lock()
	if t.closed || t.retired.Load() || t.idle.busy || t.idle.until >= t.clock {
		t.mu.Unlock()
		return nil
	}
	t.idle.busy = true
	event, marked, clock := t.idle.event, t.idle.marked, t.clock
	t.mu.Unlock()

	done, err := false, error(nil)
	if marked > 0 {
		if done, err = a.up.QueryEvent(event); done {
			err = a.up.DestroyEvent(event)
		}
	}
	until := marked
	if done {
		marked = 0
	}
	if err == nil && marked == 0 && clock > until {
		if event, err = a.up.RecordEvent(t.stream); err == nil {
			marked = clock
		}
	}

	t.mu.Lock()
	t.idle.busy = false
	t.settled.Broadcast()
	t.idle.event, t.idle.marked = event, marked
	if done {
		t.idle.until = max(t.idle.until, until)
	}
	closed := t.closed
	t.mu.Unlock()
	if closed && marked > 0 {
		err = errors.Join(err, a.up.DestroyEvent(event))
	}
	if err != nil {
		return fmt.Errorf("memory: event of stream %#x on %s: %w", uintptr(t.stream), a.props.Name, err)
	}
	return nil
}

// awaitStreams waits on the host for all work that was queued on the streams
// of tables, which makes idle what was freed in them up to now.
func (a *Allocator) awaitStreams(tables []*table) (err error) {
	for _, t := range tables {
		err = errors.Join(err, a.withEvent(t, a.up.SyncEvent))
	}
	return err
}

// follow has later work of stream s wait on the device for all work that was
// queued on the streams of tables.
func (a *Allocator) follow(s cuda.Stream, tables []*table) (err error) {
	for _, t := range tables {
		if t.stream != s {
			err = errors.Join(err, a.withEvent(t, func(e cuda.Event) error { return a.up.WaitEvent(s, e) }))
		}
	}
	return err
}

// withEvent calls f with an event at the present end of t's stream.
func (a *Allocator) withEvent(t *table, f func(cuda.Event) error) error {
	if t.retired.Load() {
		return nil
	}
	e, err := a.up.RecordEvent(t.stream)
	if err == nil {
		err = errors.Join(f(e), a.up.DestroyEvent(e))
	}
	if err != nil {
		return fmt.Errorf("memory: event of stream %#x on %s: %w", uintptr(t.stream), a.props.Name, err)
	}
	return nil
}
