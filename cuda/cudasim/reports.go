package cudasim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tarn/cuda"
)

// reports are errors that no call could return.
type reports struct {
	mu   sync.Mutex
	list []error // guarded by mu
}

func (r *reports) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, err)
}

func (r *reports) all() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// FaultError is work that failed while it ran, or a [Fault], by which its device is
// lost: all calls on it return Code from then on. Err has what the driver does not tell;
// of a kernel it is an error of package ptx.
type FaultError struct {
	Device string // "cuda:0"
	Op     string // driver function that queued the work, or that was to fail
	Code   cuda.Code
	Err    error
}

func (e *FaultError) Error() string {
	return fmt.Sprintf("cudasim: %s: %s: %v (%d): %v", e.Device, e.Op, e.Code, int32(e.Code), e.Err)
}

// Unwrap returns Err.
func (e *FaultError) Unwrap() error { return e.Err }

// AccessError is a copy or a fill of memory that it may not touch.
type AccessError struct {
	Address, Size uint64 // of the whole range; Size in bytes
	Store         bool
	Reason        string
}

func (e *AccessError) Error() string {
	verb := "load of"
	if e.Store {
		verb = "store of"
	}
	return fmt.Sprintf("%s %d bytes at %#x: %s", verb, e.Size, e.Address, e.Reason)
}

// MisuseError is a call that a driver leaves undefined, and may not notice.
type MisuseError struct {
	Op     string // driver function
	Reason string
}

func (e *MisuseError) Error() string { return "cudasim: " + e.Op + ": " + e.Reason }

// LeakError says what was left when a machine was closed.
type LeakError struct {
	Live map[string]map[string]int // how many, by device ("cuda:0", "host") and kind ("streams", ...)
}

func (e *LeakError) Error() string {
	var list []string
	for _, device := range slices.Sorted(maps.Keys(e.Live)) {
		for _, kind := range slices.Sorted(maps.Keys(e.Live[device])) {
			n, name := e.Live[device][kind], kind
			if n == 1 {
				name = strings.TrimSuffix(kind, "s")
			}
			list = append(list, fmt.Sprintf("%s: %d %s", device, n, name))
		}
	}
	return "cudasim: left at the end: " + strings.Join(list, ", ")
}

func (e *LeakError) add(device, kind string, n int) {
	if n == 0 {
		return
	}
	if e.Live[device] == nil {
		e.Live[device] = map[string]int{}
	}
	e.Live[device][kind] += n
}

// left counts what is live.
func (m *Machine) left() error {
	e := &LeakError{Live: map[string]map[string]int{}}
	lost := false
	for _, d := range m.devices {
		if d.lost.Load() != nil {
			lost = true
			continue
		}
		for kind, n := range d.gone {
			e.add(d.String(), kind, n)
		}
		e.add(d.String(), "pages", d.pages)
		if c := d.primary; c != nil {
			e.add(d.String(), "contexts", 1)
			live := c.count()
			live["streams"] -= min(c.holds, live["streams"]) // package cuda opens one with each context
			for kind, n := range live {
				e.add(d.String(), kind, n)
			}
		}
	}
	if !lost { // addresses and pages of other devices may be held by what is lost
		e.add("host", "address ranges", len(m.space.ranges))
		e.add("host", "graphs", len(m.graphs))
		e.add("host", "executable graphs", len(m.execs))
	}
	if len(e.Live) == 0 {
		return nil
	}
	return e
}
