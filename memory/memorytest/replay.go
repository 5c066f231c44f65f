package memorytest

import (
	"fmt"

	"tarn/cuda"
	"tarn/memory"
)

// Replay plays a trace on an allocator. Each block is allocated and freed on
// its own stream and used on no other.
type Replay struct {
	allocator Allocator
	trace     *Trace
	next      int             // event
	handles   []memory.Handle // by slot; zero where it is empty
}

// NewReplay returns a replay that is at the first event of a trace.
func NewReplay(a Allocator, t *Trace) *Replay {
	return &Replay{allocator: a, trace: t, handles: make([]memory.Handle, t.Slots)}
}

// ReplayError says at which event an allocator failed. It wraps the
// allocator's error.
type ReplayError struct {
	Trace string // its name
	Index int    // of the event
	Event TraceEvent
	Err   error
}

func (e *ReplayError) Error() string {
	return fmt.Sprintf("memorytest: replay of %s, event %d (%v): %v", e.Trace, e.Index, e.Event, e.Err)
}

// Unwrap returns Err.
func (e *ReplayError) Unwrap() error { return e.Err }

// Play plays the events below the end-th that it has not played yet. It stops
// at the first that fails, with a [*ReplayError]; what was allocated so far
// stays.
func (r *Replay) Play(end int) error {
	for ; r.next < end; r.next++ {
		e := &r.trace.Events[r.next]
		if e.Free {
			if err := r.allocator.Free(r.handles[e.Slot]); err != nil {
				return r.fail(err)
			}
			r.handles[e.Slot] = memory.Handle{}
			continue
		}
		b, err := r.allocator.Alloc(e.Size, cuda.Stream(e.Stream), memory.Untagged)
		if err != nil {
			return r.fail(err)
		}
		r.handles[e.Slot] = b.Handle
	}
	return nil
}

func (r *Replay) fail(err error) error {
	return &ReplayError{Trace: r.trace.Name, Index: r.next, Event: r.trace.Events[r.next], Err: err}
}

// Rewind frees what is live and goes back to the first event.
func (r *Replay) Rewind() error {
	r.next = 0
	for slot, h := range r.handles {
		if err := r.allocator.Free(h); err != nil {
			return fmt.Errorf("memorytest: replay of %s, rewinding slot %d: %w", r.trace.Name, slot, err)
		}
		r.handles[slot] = memory.Handle{}
	}
	return nil
}
