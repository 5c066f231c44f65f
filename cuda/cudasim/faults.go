package cudasim

import (
	"strings"
	"sync"
	"sync/atomic"

	"tarn/cuda"
)

// Fault is a call that fails.
type Fault struct {
	Function string // the driver's name, such as "cuMemCreate"; "" for any function
	N        int    // which call from now on: 1 is the next; 0 is the next too
	Code     int    // what it returns; such a call does nothing
}

// faults are the calls that are to fail yet.
type faults struct {
	some    atomic.Bool
	mu      sync.Mutex
	pending []Fault // guarded by mu
}

func (f *faults) add(more ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fault := range more {
		fault.N = max(fault.N, 1)
		fault.Function = unversioned(fault.Function)
		f.pending = append(f.pending, fault)
	}
	f.some.Store(len(f.pending) > 0)
}

// unversioned cuts what symbols have behind the name of a function.
func unversioned(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, "_v2"), "_v3")
}

// next counts a call and returns the code that it is to fail with.
func (f *faults) next(function string) cuda.Code {
	if !f.some.Load() {
		return cuda.Success
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	code := cuda.Success
	left := f.pending[:0]
	for _, fault := range f.pending {
		if fault.Function == "" || fault.Function == function {
			if fault.N--; fault.N == 0 && code == cuda.Success {
				code = cuda.Code(fault.Code)
				continue
			}
			fault.N = max(fault.N, 1)
		}
		left = append(left, fault)
	}
	f.pending = left
	f.some.Store(len(left) > 0)
	return code
}

// Fail has a call fail, counted from now on.
func (m *Machine) Fail(f Fault) { m.faults.add(f) }
