package cudasim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tarn/cuda"
	"tarn/cuda/internal/shim"
)

// Fault is a call that fails. One with a code that is sticky, by [cuda.Code.Sticky],
// loses the device that the call is about.
type Fault struct {
	Function string // the driver's name, such as "cuMemCreate"; "" for any function
	N        int    // which call from now on: 1 is the next; 0 is the next too
	Code     int    // what it returns, not 0; such a call does nothing
}

// faults are the calls that are to fail yet.
type faults struct {
	some    atomic.Bool
	mu      sync.Mutex
	pending []Fault // guarded by mu
}

// add takes all of them, or refuses one and takes none.
func (f *faults) add(more ...Fault) error {
	for _, fault := range more {
		if err := fault.check(); err != nil {
			return fmt.Errorf("cudasim: fault %+v: %w", fault, err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fault := range more {
		fault.N = max(fault.N, 1)
		fault.Function = unversioned(fault.Function)
		f.pending = append(f.pending, fault)
	}
	f.some.Store(len(f.pending) > 0)
	return nil
}

// check says why no call could ever fail so.
func (f *Fault) check() error {
	names := functions()
	switch {
	case f.N < 0:
		return errors.New("calls are counted from 1")
	case f.Code == 0:
		return errors.New("code 0 is success")
	case f.Function == "" || slices.Contains(names, unversioned(f.Function)):
		return nil
	}
	nearest := slices.MinFunc(names, func(a, b string) int { return distance(f.Function, a) - distance(f.Function, b) })
	return fmt.Errorf("no call of that name can fail; the nearest that can is %s", nearest)
}

// functions returns the names of those that can fail: all but the one that is
// about no machine.
func functions() (names []string) {
	for e := range shim.LaunchKernel + 1 {
		if e != shim.GetErrorName {
			names = append(names, e.Op())
		}
	}
	return names
}

// distance is how many letters must be put in, taken out or changed to make b
// of a, in either case.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1) // from the letters of a so far to those of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0] // above and to the left
		row[0] = i + 1
		for j := range len(b) {
			change := left
			if a[i] != b[j] {
				change++
			}
			left = row[j+1]
			row[j+1] = min(change, row[j]+1, left+1)
		}
	}
	return row[len(b)]
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

// fault is next for a call about the device.
func (d *device) fault(function string) cuda.Code {
	code := d.machine.faults.next(function)
	if code.Sticky() {
		d.lose(&FaultError{Device: d.String(), Op: function, Code: code, Err: errInjected})
	}
	return code
}

var errInjected = errors.New("a fault that was asked for")

// Fail has a call fail, counted from now on. It panics where no call could: at a
// name that is no function's, an N below 0 and a code of 0.
func (m *Machine) Fail(f Fault) {
	if err := m.faults.add(f); err != nil {
		panic(err.Error())
	}
}

// Unfired returns the faults that no call has come to yet, with N counted from
// now on.
func (m *Machine) Unfired() []Fault {
	m.faults.mu.Lock()
	defer m.faults.mu.Unlock()
	return slices.Clone(m.faults.pending)
}
