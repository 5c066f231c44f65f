package memorytest

import (
	"errors"
	"fmt"
	"sync"

	"tarn/cuda"
	"tarn/memory"
)

// FakeConfig says what device a [Fake] is.
type FakeConfig struct {
	// Name is how messages call it; "fake:0" if empty.
	Name string
	// Capacity is the device's memory in bytes; > 0.
	Capacity int64
	// Alignment of plain allocations and what their sizes count as, rounded
	// up; 512 if 0.
	Alignment int64
	// Granularity is the page size of virtual memory; 0 if it has none.
	Granularity int64
	// Backed puts memory behind the addresses, so that the host can touch
	// them. Virtual memory is then the system's own: touching what is not
	// accessible is a fault of the process. It needs Linux.
	Backed bool
	// Adjacent places each plain allocation at the end of the one before, as
	// a driver may. By default there is a gap, so that an overrun hits
	// nothing. No effect where Backed.
	Adjacent bool
	// Asynchronous makes events complete when the test says so.
	Asynchronous bool
	// KeepLog makes Log return the calls.
	KeepLog bool
	// OnCall, if set, runs before each call, without a lock of the fake. It
	// may call the allocator, which deadlocks if that holds its lock.
	OnCall func(Call)
}

// Fake is a [memory.Upstream] in memory: a small real device, with a few
// doors for the test.
type Fake struct {
	cfg     FakeConfig
	backing backing

	mu       sync.Mutex // guards all below
	used     int64      // bytes of memory taken, <= cfg.Capacity
	allocs   regions    // plain allocations
	ranges   regions    // reserved
	mappings regions    // inside ranges
	pages    map[memory.Page]*page
	lastPage memory.Page

	streams   map[cuda.Stream]clock // what the end of each stream comes after
	done      clock                 // what the device has finished
	seen      clock                 // what the host knows to be finished, <= done
	events    map[cuda.Event]mark   // live ones
	lastEvent cuda.Event
	uses      []use // that later work must be ordered after

	fault      error // sticky; wraps ErrFault
	calls      Calls
	log        []Entry
	injections []injection
}

// page is physical memory. It exists until it is released and unmapped.
type page struct {
	size     int64
	mapped   int   // mappings of it
	released bool  // its name is gone
	offset   int64 // in the backing
}

// NewFake returns a device. A configuration that cannot be is a mistake in the
// test's code, and panics.
func NewFake(cfg FakeConfig) *Fake {
	if cfg.Name == "" {
		cfg.Name = "fake:0"
	}
	if cfg.Alignment == 0 {
		cfg.Alignment = 512
	}
	if cfg.Capacity <= 0 || !powerOfTwo(cfg.Alignment) || cfg.Granularity != 0 && !powerOfTwo(cfg.Granularity) {
		panic(fmt.Sprintf("memorytest: bad configuration %+v", cfg))
	}
	f := &Fake{
		cfg:     cfg,
		backing: &counter{next: firstAddress, adjacent: cfg.Adjacent},
		pages:   make(map[memory.Page]*page),
		streams: make(map[cuda.Stream]clock),
		done:    make(clock),
		seen:    make(clock),
		events:  make(map[cuda.Event]mark),
	}
	if cfg.Backed {
		b, err := newRealMemory(cfg.Granularity)
		if err != nil {
			panic("memorytest: memory behind a fake: " + err.Error())
		}
		f.backing = b
	}
	return f
}

func powerOfTwo(n int64) bool { return n > 0 && n&(n-1) == 0 }

func roundUp(n, to int64) int64 { return (n + to - 1) &^ (to - 1) }

// Props implements [memory.Upstream].
func (f *Fake) Props() memory.Props {
	return memory.Props{
		Name:          f.cfg.Name,
		Alignment:     f.cfg.Alignment,
		VirtualMemory: f.cfg.Granularity != 0,
		Granularity:   f.cfg.Granularity,
		Asynchronous:  f.cfg.Asynchronous,
	}
}

// MemInfo implements [memory.Upstream].
func (f *Fake) MemInfo() (free, total int64, err error) {
	err = f.do(&Entry{Call: CallMemInfo}, func() error {
		free, total = f.cfg.Capacity-f.used, f.cfg.Capacity
		return nil
	})
	return free, total, err
}

// take counts size bytes of memory as used; f.mu is held.
func (f *Fake) take(e *Entry, size int64) error {
	if size > f.cfg.Capacity-f.used {
		return e.refuse(memory.ErrUpstreamFull)
	}
	f.used += size
	return nil
}

// Alloc implements [memory.Upstream].
func (f *Fake) Alloc(size int64) (cuda.DevicePtr, error) {
	e := &Entry{Call: CallAlloc, Size: size}
	err := f.do(e, func() error {
		if size <= 0 {
			return e.refuse(ErrBadSize)
		}
		if size > f.cfg.Capacity { // else rounding up could overflow
			return e.refuse(memory.ErrUpstreamFull)
		}
		if err := f.take(e, roundUp(size, f.cfg.Alignment)); err != nil {
			return err
		}
		p, err := f.backing.alloc(size, f.cfg.Alignment)
		if err != nil {
			f.used -= roundUp(size, f.cfg.Alignment)
			return err
		}
		f.allocs.insert(region{ptr: p, size: size, accessible: true})
		e.Ptr = p
		return nil
	})
	return e.Ptr, err
}

// Free implements [memory.Upstream]. As on a GPU it waits for all work of the
// device first, whatever the test has completed.
func (f *Fake) Free(p cuda.DevicePtr, size int64) error {
	e := &Entry{Call: CallFree, Ptr: p, Size: size}
	return f.do(e, func() error {
		i, ok := f.allocs.find(p)
		if !ok {
			return e.refuse(ErrUnknownPointer)
		}
		if f.allocs[i].size != size {
			return e.refuse(ErrWrongSize)
		}
		f.finishAll()
		f.seen.join(f.done)
		if err := f.backing.free(p, size); err != nil {
			return err
		}
		f.forgetUses(p, size)
		f.allocs.remove(i, i+1)
		f.used -= roundUp(size, f.cfg.Alignment)
		return nil
	})
}

// CheckAccess returns nil if the device can touch every byte of [p, p+size).
func (f *Fake) CheckAccess(p cuda.DevicePtr, size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.checkAccess(p, size)
}

func (f *Fake) checkAccess(p cuda.DevicePtr, size int64) error {
	if i := f.allocs.after(p); i < len(f.allocs) && f.allocs[i].ptr <= p {
		if size <= int64(f.allocs[i].end()-p) {
			return nil
		}
		return fmt.Errorf("fake: %d bytes at %#x run over the end of an allocation: %w", size, uintptr(p), ErrNoAccess)
	}
	from, to, _, ok := f.mappings.cover(p, size)
	if !ok {
		return fmt.Errorf("fake: %d bytes at %#x: %w: %w", size, uintptr(p), ErrNoAccess, ErrNotMapped)
	}
	for _, m := range f.mappings[from:to] {
		if !m.accessible {
			return fmt.Errorf("fake: %d bytes at %#x: %w: access to %#x was never set", size, uintptr(p), ErrNoAccess, uintptr(m.ptr))
		}
	}
	return nil
}

// Used is the number of bytes of device memory taken.
func (f *Fake) Used() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used
}

// held returns the number of plain allocations and that of pages.
func (f *Fake) held() (allocs, pages int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int64(len(f.allocs)), int64(len(f.pages))
}

// LiveEvents is the number of events that were not destroyed.
func (f *Fake) LiveEvents() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.events)
}

// Leaked returns an error that lists what was not given back, events included,
// and the device's fault if it had one.
func (f *Fake) Leaked() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	errs := []error{f.fault}
	for _, r := range f.allocs {
		errs = append(errs, fmt.Errorf("fake: leaked allocation of %d bytes at %#x", r.size, uintptr(r.ptr)))
	}
	for _, r := range f.ranges {
		errs = append(errs, fmt.Errorf("fake: leaked range of %d bytes at %#x", r.size, uintptr(r.ptr)))
	}
	for _, r := range f.mappings {
		errs = append(errs, fmt.Errorf("fake: leaked mapping of %d bytes at %#x", r.size, uintptr(r.ptr)))
	}
	for id, pg := range f.pages {
		errs = append(errs, fmt.Errorf("fake: leaked page %d of %d bytes", id, pg.size))
	}
	for id, m := range f.events {
		errs = append(errs, fmt.Errorf("fake: leaked event %d of stream %d", id, m.stream))
	}
	return errors.Join(errs...)
}

// Close gives back the memory behind a backed fake, and returns what Leaked
// returns.
func (f *Fake) Close() error {
	leaked := f.Leaked()
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(leaked, f.backing.close())
}
