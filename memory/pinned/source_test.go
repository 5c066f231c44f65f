package pinned_test

import (
	"errors"
	"fmt"
	"sync"

	"tarn/cuda"
	"tarn/memory"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

var errInjected = errors.New("injected failure")

// source is a pinned.Source without memory: addresses that are never used
// twice, and events that are done when the test says so.
type source struct {
	capacity int64
	onCall   func(name string) // without the lock

	mu       sync.Mutex
	used     int64
	next     uintptr
	segments map[uintptr]int64
	events   map[cuda.Event]mark
	last     cuda.Event
	recorded map[cuda.Stream]int
	done     map[cuda.Stream]int
	calls    []string
	failAt   int // index of the call that fails, -1 for none
	fault    error
	failed   string // the call that did
}

type mark struct {
	stream cuda.Stream
	at     int
}

func newSource(capacity int64) *source {
	return &source{
		capacity: capacity, next: 1 << 32, failAt: -1,
		segments: map[uintptr]int64{}, events: map[cuda.Event]mark{},
		recorded: map[cuda.Stream]int{}, done: map[cuda.Stream]int{},
	}
}

// call counts a call and runs its body, unless it is the one to fail.
func (s *source) call(name string, body func() error) error {
	if s.onCall != nil {
		s.onCall(name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.calls)
	s.calls = append(s.calls, name)
	if n == s.failAt {
		s.failed = name
		return s.fault
	}
	return body()
}

func (s *source) AllocHost(size int64) (p uintptr, err error) {
	err = s.call("alloc", func() error {
		if size <= 0 || size%4096 != 0 {
			return fmt.Errorf("source: alloc of %d bytes", size)
		}
		if size > s.capacity-s.used {
			return fmt.Errorf("source: %d of %d bytes used: %w", s.used, s.capacity, memory.ErrUpstreamFull)
		}
		p = s.next
		s.next += uintptr(size) + 4096
		s.segments[p] = size
		s.used += size
		return nil
	})
	return p, err
}

func (s *source) FreeHost(p uintptr, size int64) error {
	return s.call("free", func() error {
		if size == 0 || s.segments[p] != size {
			return fmt.Errorf("source: free of %d bytes at %#x, which has %d", size, p, s.segments[p])
		}
		delete(s.segments, p)
		s.used -= size
		return nil
	})
}

func (s *source) RecordEvent(stream cuda.Stream) (e cuda.Event, err error) {
	err = s.call("record", func() error {
		s.recorded[stream]++
		s.last++
		e = s.last
		s.events[e] = mark{stream, s.recorded[stream]}
		return nil
	})
	return e, err
}

// event runs f on a live event.
func (s *source) event(name string, e cuda.Event, f func(m mark)) error {
	return s.call(name, func() error {
		m, ok := s.events[e]
		if !ok {
			return fmt.Errorf("source: %s of event %d, which is not there", name, e)
		}
		f(m)
		return nil
	})
}

func (s *source) QueryEvent(e cuda.Event) (done bool, err error) {
	err = s.event("query", e, func(m mark) { done = s.done[m.stream] >= m.at })
	return done, err
}

func (s *source) SyncEvent(e cuda.Event) error {
	return s.event("sync", e, func(m mark) { s.done[m.stream] = max(s.done[m.stream], m.at) })
}

func (s *source) DestroyEvent(e cuda.Event) error {
	return s.event("destroy", e, func(mark) { delete(s.events, e) })
}

// complete runs a stream to its present end.
func (s *source) complete(stream cuda.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[stream] = s.recorded[stream]
}

// finished reports whether a stream has come to a mark.
func (s *source) finished(m mark) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done[m.stream] >= m.at
}

// end returns the present end of a stream.
func (s *source) end(stream cuda.Stream) mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return mark{stream, s.recorded[stream]}
}

// failNth makes the n-th call from now on, counted from 0, fail once.
func (s *source) failNth(n int, fault error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failAt, s.fault = len(s.calls)+n, fault
}

// count returns how many calls of a name were made.
func (s *source) count(name string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if c == name {
			n++
		}
	}
	return n
}
