package memory

import (
	"errors"
	"slices"

	"tarn/cuda"
)

// While a stream is captured into a graph its work does not run, and CUDA
// forbids to ask about it. So the allocator neither queries, waits, unmaps nor
// takes memory over for such a stream; it only takes new memory, which CUDA
// allows in relaxed mode, and gives nothing back to make room for that. Blocks
// that would have to wait for a captured stream are kept until the end.

// deferred is a block that was freed while a stream that it waits for, or its
// own, was captured. It is claimed; see pending.go.
type deferred struct {
	t       *table
	handle  Handle
	streams []cuda.Stream
	stack   stackID // of the free

	abandoned bool // by its owner, and counted as waste once it is parked
}

// BeginCapture says that work of stream s is captured from now on, with memory
// out of p. Since requests in a capture cannot use what others have cached,
// EmptyCache before it makes most room.
func (p *Pool) BeginCapture(s cuda.Stream) error {
	a := p.a
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || !p.open.Load() {
		return ErrClosed
	}
	if a.captures(s) {
		return errCapturing
	}
	streams := []cuda.Stream{s}
	if old := a.capturing.Load(); old != nil {
		streams = append(streams, *old...)
	}
	a.capturing.Store(&streams)
	p.graphs.Store(true)
	return nil
}

// EndCapture says that the capture of stream s is over, well or not. Blocks
// whose free had to wait for that go on their way. The error is the upstream's;
// what it is about stays parked.
func (p *Pool) EndCapture(s cuda.Stream) error {
	a := p.a
	a.mu.Lock()
	if old := a.capturing.Load(); old != nil {
		left := slices.DeleteFunc(slices.Clone(*old), func(other cuda.Stream) bool { return other == s })
		a.capturing.Store(&left)
		if len(left) == 0 {
			a.capturing.Store(nil)
		}
	}
	waiting := a.deferred
	a.deferred = nil
	a.mu.Unlock()
	var errs []error
	for _, d := range waiting {
		if a.deferFree(d) {
			continue
		}
		if err := a.park(d); err != nil {
			a.mu.Lock()
			a.deferred = append(a.deferred, d)
			a.mu.Unlock()
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// captures reports whether a stream is being captured.
func (a *Allocator) captures(s cuda.Stream) bool {
	streams := a.capturing.Load()
	return streams != nil && slices.Contains(*streams, s)
}

// deferFree keeps a claimed block while one of its streams is captured, and
// reports whether that is so.
func (a *Allocator) deferFree(d deferred) bool {
	if a.capturing.Load() == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.captures(d.t.stream) && !slices.ContainsFunc(d.streams, a.captures) {
		return false
	}
	a.deferred = append(a.deferred, d)
	return true
}

// park parks a claimed block. If an event cannot be recorded it stays claimed.
func (a *Allocator) park(d deferred) error {
	size, err := a.parkClaimed(d.t, d.handle, d.streams, d.stack)
	if err == nil && d.abandoned {
		d.t.mu.Lock()
		defer d.t.mu.Unlock()
		d.t.waste.blocks++
		d.t.waste.bytes += size
	}
	return err
}
