package memorytest

import (
	"fmt"
	"maps"
	"slices"

	"tarn/cuda"
)

// clock says how much of each stream comes before a point in time: positions
// by stream. It answers "is a ordered before b" without running anything, so
// that a missing wait is found whether or not it would have done harm.
type clock map[cuda.Stream]int64

// join moves c forward so that it comes after whatever other comes after.
func (c clock) join(other clock) {
	for s, pos := range other {
		c[s] = max(c[s], pos)
	}
}

// mark is the end of a stream at the time an event was recorded.
type mark struct {
	stream cuda.Stream
	after  clock // that stream's own position included
}

// use is work that touches memory.
type use struct {
	ptr    cuda.DevicePtr
	size   int64
	stream cuda.Stream
	pos    int64 // in the stream
	write  bool
}

func (u use) overlaps(p cuda.DevicePtr, size int64) bool {
	return u.ptr < p+cuda.DevicePtr(size) && p < u.ptr+cuda.DevicePtr(u.size)
}

func (u use) inside(p cuda.DevicePtr, size int64) bool {
	return u.ptr >= p && u.ptr+cuda.DevicePtr(u.size) <= p+cuda.DevicePtr(size)
}

// enqueue puts one item at the end of a stream and returns the clock there.
// What the host has seen to be done comes before all that it queues.
func (f *Fake) enqueue(s cuda.Stream) clock {
	c := f.streamClock(s)
	c.join(f.seen)
	c[s]++
	if !f.cfg.Asynchronous {
		f.done.join(c)
		f.seen.join(c)
	}
	return c
}

func (f *Fake) streamClock(s cuda.Stream) clock {
	c := f.streams[s]
	if c == nil {
		c = make(clock)
		f.streams[s] = c
	}
	return c
}

// RecordEvent implements [memory.Upstream].
func (f *Fake) RecordEvent(s cuda.Stream) (cuda.Event, error) {
	e := &Entry{Call: CallRecordEvent, Stream: s}
	err := f.do(e, func() error {
		f.lastEvent++
		f.events[f.lastEvent] = mark{s, maps.Clone(f.enqueue(s))}
		e.Event = f.lastEvent
		return nil
	})
	return e.Event, err
}

// onEvent runs the body of a call about a live event.
func (f *Fake) onEvent(e *Entry, body func(m mark)) error {
	return f.do(e, func() error {
		m, ok := f.events[e.Event]
		if !ok {
			return e.refuse(fmt.Errorf("event %d: %w", e.Event, ErrUnknownEvent))
		}
		body(m)
		return nil
	})
}

// QueryEvent implements [memory.Upstream].
func (f *Fake) QueryEvent(ev cuda.Event) (done bool, err error) {
	err = f.onEvent(&Entry{Call: CallQueryEvent, Event: ev}, func(m mark) {
		done = f.done[m.stream] >= m.after[m.stream]
		if done {
			f.seen.join(m.after)
		}
	})
	return done, err
}

// WaitEvent implements [memory.Upstream].
func (f *Fake) WaitEvent(s cuda.Stream, ev cuda.Event) error {
	return f.onEvent(&Entry{Call: CallWaitEvent, Stream: s, Event: ev}, func(m mark) {
		f.streamClock(s).join(m.after)
	})
}

// SyncEvent implements [memory.Upstream]. What it waits for completes.
func (f *Fake) SyncEvent(ev cuda.Event) error {
	return f.onEvent(&Entry{Call: CallSyncEvent, Event: ev}, func(m mark) {
		f.done.join(m.after)
		f.seen.join(m.after)
	})
}

// DestroyEvent implements [memory.Upstream].
func (f *Fake) DestroyEvent(ev cuda.Event) error {
	return f.onEvent(&Entry{Call: CallDestroyEvent, Event: ev}, func(mark) {
		delete(f.events, ev)
	})
}

// Complete lets a stream run to its present end, and the others as far as it
// waits for them. The host does not know before it asks.
func (f *Fake) Complete(s cuda.Stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done.join(f.streams[s])
}

// CompleteAll lets every stream run to its present end.
func (f *Fake) CompleteAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finishAll()
}

func (f *Fake) finishAll() {
	for _, c := range f.streams {
		f.done.join(c)
	}
}

// Sync waits on the host for a stream, as a program does before it reads a
// result.
func (f *Fake) Sync(s cuda.Stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done.join(f.streams[s])
	f.seen.join(f.streams[s])
}

// Wait makes later work of a stream wait for the present end of another, as a
// program does before it uses the other's results. It is no call in a count.
func (f *Fake) Wait(s, other cuda.Stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.streamClock(s).join(f.streams[other])
}

// Read queues work on a stream that reads [p, p+size). It returns ErrNoAccess
// if the device cannot touch that, and ErrUnordered if work of another stream
// may be writing it.
func (f *Fake) Read(s cuda.Stream, p cuda.DevicePtr, size int64) error {
	return f.touch(use{ptr: p, size: size, stream: s})
}

// Write queues work on a stream that writes [p, p+size). It returns
// ErrNoAccess if the device cannot touch that, and ErrUnordered if work of
// another stream may be reading or writing it.
func (f *Fake) Write(s cuda.Stream, p cuda.DevicePtr, size int64) error {
	return f.touch(use{ptr: p, size: size, stream: s, write: true})
}

func (f *Fake) touch(u use) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault != nil {
		return f.fault
	}
	if err := f.checkAccess(u.ptr, u.size); err != nil {
		return err
	}
	now := f.enqueue(u.stream)
	u.pos = now[u.stream]
	for _, earlier := range f.uses {
		if !earlier.overlaps(u.ptr, u.size) || !earlier.write && !u.write || now[earlier.stream] >= earlier.pos {
			continue
		}
		return fmt.Errorf("fake: %s by stream %d and %s by stream %d at %#x: %w", verb(earlier), earlier.stream, verb(u), u.stream,
			uintptr(max(earlier.ptr, u.ptr)), ErrUnordered)
	}
	// What comes after this one comes after what it is ordered after.
	f.uses = slices.DeleteFunc(f.uses, func(earlier use) bool {
		return earlier.inside(u.ptr, u.size) && (u.write || !earlier.write && earlier.stream == u.stream)
	})
	f.uses = append(f.uses, u)
	return nil
}

func verb(u use) string {
	if u.write {
		return "write"
	}
	return "read"
}

// faultIfInUse breaks the device if the host takes [e.Ptr, e.Ptr+e.Size) away
// from work that it does not know to be done; f.mu is held.
func (f *Fake) faultIfInUse(e *Entry) {
	for _, u := range f.uses {
		if u.overlaps(e.Ptr, e.Size) && f.seen[u.stream] < u.pos {
			f.fault = fmt.Errorf("fake: %v under a %s by stream %d: %w", e, verb(u), u.stream, ErrFault)
			return
		}
	}
}

// forgetUses drops the uses of memory that is no more; f.mu is held.
func (f *Fake) forgetUses(p cuda.DevicePtr, size int64) {
	f.uses = slices.DeleteFunc(f.uses, func(u use) bool { return u.inside(p, size) })
}
