package hostmem

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"unsafe"

	"tarn/cuda"
	"tarn/memory"
)

// Errors of the host, beside [memory.ErrUpstreamFull].
var (
	// ErrBadSize means a size, or a capacity, that is not positive.
	ErrBadSize = errors.New("size must be positive")
	// ErrUnknownPointer means an address that no live segment has.
	ErrUnknownPointer = errors.New("no live segment is there")
	// ErrWrongSize means a size other than the one the segment was made with.
	ErrWrongSize = errors.New("the segment has another size")
	// ErrUnknownEvent means an event never recorded here, or destroyed since.
	ErrUnknownEvent = errors.New("no such event")
	// ErrNoDefault means that the machine's memory could not be found out.
	ErrNoDefault = errors.New("no default capacity: set Config.Capacity")
)

// Config says how large the host is.
type Config struct {
	// Capacity is how many bytes of segments may exist at once. 0 takes the
	// default, see the package comment.
	Capacity int64
	// Name is how messages call it; "cpu" if empty.
	Name string
}

// Upstream hands out the host's memory.
type Upstream struct {
	memory.NoVirtualMemory

	name     string
	page     int64 // what the system rounds to; a power of two
	capacity int64

	mu       sync.Mutex
	segments map[cuda.DevicePtr]segment // live ones by address; guarded by mu
	held     int64                      // sum of their mapped bytes and of those being mapped, <= capacity; guarded by mu
	events   map[cuda.Event]struct{}    // live ones; guarded by mu
	last     cuda.Event                 // most recently recorded; guarded by mu
}

// segment is one mapping. The pointer is kept because an integer that was one
// cannot be turned back.
type segment struct {
	base   unsafe.Pointer
	size   int64 // as asked for
	mapped int64 // size rounded up to whole pages
}

// New returns the host as an upstream. Two of them share nothing: each has the
// whole of its own capacity.
func New(cfg Config) (*Upstream, error) {
	capacity := cfg.Capacity
	if capacity < 0 {
		return nil, fmt.Errorf("hostmem: capacity %d: %w", capacity, ErrBadSize)
	}
	if capacity == 0 {
		var err error
		if capacity, err = defaultCapacity(); err != nil {
			return nil, fmt.Errorf("hostmem: %w", err)
		}
	}
	return &Upstream{
		name:     cmp.Or(cfg.Name, "cpu"),
		page:     int64(os.Getpagesize()),
		capacity: min(capacity, math.MaxInt), // no 32-bit machine can map more
		segments: make(map[cuda.DevicePtr]segment),
		events:   make(map[cuda.Event]struct{}),
	}, nil
}

// Props implements [memory.Upstream].
func (u *Upstream) Props() memory.Props {
	return memory.Props{Name: u.name, Alignment: u.page}
}

// MemInfo returns what is left of the capacity, and the capacity: the share of
// the machine that this upstream may use is the device, and it is alone there.
func (u *Upstream) MemInfo() (free, total int64, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.capacity - u.held, u.capacity, nil
}

// Alloc maps size bytes, zeroed and aligned to a page. Whole pages count
// against the capacity.
func (u *Upstream) Alloc(size int64) (cuda.DevicePtr, error) {
	if size <= 0 {
		return 0, fmt.Errorf("hostmem: alloc of %d bytes: %w", size, ErrBadSize)
	}
	mapped, err := u.hold(size)
	if err != nil {
		return 0, err
	}
	base, err := mapPages(mapped)
	if err != nil {
		u.mu.Lock()
		u.held -= mapped
		u.mu.Unlock()
		return 0, fmt.Errorf("hostmem: alloc of %d bytes: %w", size, err)
	}
	p := cuda.DevicePtr(base)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.segments[p] = segment{base, size, mapped}
	return p, nil
}

// hold sets aside the pages of size bytes before they are mapped, so that
// callers at the same time cannot go over the capacity together.
func (u *Upstream) hold(size int64) (mapped int64, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	free := u.capacity - u.held
	if size <= free { // else rounding up could overflow
		mapped = (size + u.page - 1) &^ (u.page - 1)
	}
	if size > free || mapped > free {
		return 0, fmt.Errorf("hostmem: alloc of %d bytes, %d of %d are free: %w", size, free, u.capacity, memory.ErrUpstreamFull)
	}
	u.held += mapped
	return mapped, nil
}

// Free unmaps a segment.
func (u *Upstream) Free(p cuda.DevicePtr, size int64) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	s, ok := u.segments[p]
	if !ok {
		return fmt.Errorf("hostmem: free of %#x: %w", p, ErrUnknownPointer)
	}
	if s.size != size {
		return fmt.Errorf("hostmem: free of %#x with %d bytes, made with %d: %w", p, size, s.size, ErrWrongSize)
	}
	if err := unmapPages(s.base, s.mapped); err != nil {
		return fmt.Errorf("hostmem: free of %#x: %w", p, err)
	}
	delete(u.segments, p)
	u.held -= s.mapped
	return nil
}

// Discard gives the whole pages inside [p, p+size) back to the system and
// keeps their addresses: what they held is lost, and touching them takes fresh
// pages. It is for the free bytes of a segment that cannot be freed because
// another part of it is in use. They still count against the capacity, since
// nothing has to be asked for before they are used again.
func (u *Upstream) Discard(p cuda.DevicePtr, size int64) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for base, s := range u.segments {
		if p < base || p >= base+cuda.DevicePtr(s.size) {
			continue
		}
		from := int64(p - base)
		if size <= 0 || size > s.size-from {
			return fmt.Errorf("hostmem: discard of %d bytes at %#x, %d are left in the segment: %w", size, p, s.size-from, ErrWrongSize)
		}
		end := from + size
		if end == s.size {
			end = s.mapped // the rest of the last page belongs to nobody
		}
		from = (from + u.page - 1) &^ (u.page - 1)
		end &^= u.page - 1
		if from >= end {
			return nil
		}
		if err := discardPages(unsafe.Add(s.base, from), end-from); err != nil {
			return fmt.Errorf("hostmem: discard of %d bytes at %#x: %w", size, p, err)
		}
		return nil
	}
	return fmt.Errorf("hostmem: discard at %#x: %w", p, ErrUnknownPointer)
}
