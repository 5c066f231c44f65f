package memorytest

import (
	"fmt"
	"strings"

	"tarn/cuda"
	"tarn/memory"
)

// Call is a method of [memory.Upstream].
type Call int

// The calls. The first eight are what a "driver call" means in a count: they
// take memory, give it back or change where it is.
const (
	CallReserve Call = iota
	CallCreate
	CallMap
	CallAccess
	CallUnmap
	CallRelease
	CallAlloc
	CallFree
	CallReleaseRange
	CallMemInfo
	CallRecordEvent
	CallQueryEvent
	CallWaitEvent
	CallSyncEvent
	CallDestroyEvent
	numCalls

	driverCalls = CallFree + 1

	// AnyCall stands for whichever call comes.
	AnyCall Call = -1
)

var callNames = [numCalls]string{
	"reserve", "create", "map", "access", "unmap", "release", "alloc", "free",
	"release range", "memory info", "record", "query", "wait", "sync", "destroy",
}

func (c Call) String() string {
	if c < 0 || c >= numCalls {
		return "any call"
	}
	return callNames[c]
}

// Calls counts calls, by [Call], failed ones included.
type Calls [numCalls]int64

// Driver is the number of driver calls: reserve, create, map, access, unmap,
// release, alloc and free.
func (c Calls) Driver() int64 { return sum(c[:driverCalls]) }

// Total is the number of calls of every kind.
func (c Calls) Total() int64 { return sum(c[:]) }

// Since returns the calls that c has and an earlier count had not.
func (c Calls) Since(earlier Calls) Calls {
	for i := range c {
		c[i] -= earlier[i]
	}
	return c
}

// String lists the kinds that occurred: "alloc 2, free 1".
func (c Calls) String() string {
	var parts []string
	for call, n := range c {
		if n != 0 {
			parts = append(parts, fmt.Sprintf("%s %d", Call(call), n))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func sum(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// Entry is one call in a log. Fields that the call has no use for are zero.
type Entry struct {
	Call   Call
	Ptr    cuda.DevicePtr // argument, or result of alloc and reserve
	Size   int64
	Page   memory.Page // argument, or result of create
	Stream cuda.Stream
	Event  cuda.Event // argument, or result of record
	Err    error      // result
}

func (e Entry) String() string {
	var b strings.Builder
	b.WriteString(e.Call.String())
	if e.Ptr != 0 {
		fmt.Fprintf(&b, " %#x", uintptr(e.Ptr))
	}
	if e.Size != 0 {
		fmt.Fprintf(&b, " %d bytes", e.Size)
	}
	if e.Page != 0 {
		fmt.Fprintf(&b, " page %d", e.Page)
	}
	if e.Event != 0 {
		fmt.Fprintf(&b, " event %d", e.Event)
	}
	if e.Call == CallRecordEvent || e.Call == CallWaitEvent {
		fmt.Fprintf(&b, " stream %d", e.Stream)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// injection is a failure to come.
type injection struct {
	call Call
	left int // calls of that kind until it comes, >= 1
	err  error

	failed *Call // set to the call that failed, if not nil
}

// FailAt makes the n-th call of a kind from now on, 1 being the next, fail
// with err and do nothing. It happens once; several may be pending.
func (f *Fake) FailAt(call Call, n int, err error) {
	if n < 1 || err == nil {
		panic(fmt.Sprintf("memorytest: FailAt(%v, %d, %v): n counts from 1 and err is what the call returns", call, n, err))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.injections = append(f.injections, injection{call: call, left: n, err: err})
}

// PendingFailures is the number of failures that have not happened yet.
func (f *Fake) PendingFailures() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.injections)
}

// Calls returns the counts so far.
func (f *Fake) Calls() Calls {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Log returns the calls so far; nil unless FakeConfig.KeepLog is set.
func (f *Fake) Log() []Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Entry(nil), f.log...)
}

// do runs the body of one call under the lock: it counts, fails where it has
// been told to, and keeps the log. Once the device has faulted, nothing works.
func (f *Fake) do(e *Entry, body func() error) error {
	if f.cfg.OnCall != nil {
		f.cfg.OnCall(e.Call)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[e.Call]++
	switch err := f.injected(e.Call); {
	case err != nil:
		e.Err = err
	case f.fault != nil:
		e.Err = f.fault
	default:
		e.Err = body()
	}
	if f.cfg.KeepLog {
		f.log = append(f.log, *e)
	}
	return e.Err
}

// injected counts the call against what FailAt asked for; f.mu is held.
func (f *Fake) injected(call Call) (err error) {
	kept := f.injections[:0]
	for _, in := range f.injections {
		if in.call == call || in.call == AnyCall {
			in.left--
		}
		if in.left > 0 {
			kept = append(kept, in)
			continue
		}
		if in.failed != nil {
			*in.failed = call
		}
		if err == nil {
			err = in.err
		}
	}
	f.injections = kept
	return err
}
