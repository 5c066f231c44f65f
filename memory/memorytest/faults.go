package memorytest

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/memory"
)

// errInjected is what calls fail with on demand.
var errInjected = errors.New("injected failure")

var allFaults = flag.Bool("faults.all", false, "let every upstream call of the fault test fail in turn, not 300 of them")

// testFaults plays one list of ops over and over, and each time another
// upstream call fails: 300 of them at random, or with -faults.all each. After
// it the books must be right, and in the end nothing may be lost.
func testFaults(t *testing.T, open func(t *testing.T) Target) {
	if _, ok := open(t).Upstream.(*Fake); !ok {
		return // a real upstream does not fail on demand
	}
	rng := random(t)
	n, most := 1000, 300
	if testing.Short() {
		n, most = 300, 1000 // all of them
	}
	if *allFaults {
		most = math.MaxInt
	}
	ops := Generate(rng, n)
	full := fmt.Errorf("%w: %w", errInjected, memory.ErrUpstreamFull)
	each := func(name string, call Call, fault error) {
		t.Run(name, func(t *testing.T) {
			for _, n := range failures(rng, callsOf(t, open, ops), call, most) {
				failOne(t, open, ops, call, n, fault)
			}
		})
	}
	// Requests that fail wait for the Go GC, thousands of them here. That takes
	// a fraction of the time where no other processor sweeps beside them.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	each("AnyCall", AnyCall, errInjected)
	each("AllocIsFull", CallAlloc, full)
	each("CreateIsFull", CallCreate, full)
	t.Run("Close", func(t *testing.T) { failEachOfClose(t, open, rng) })
}

// callsOf returns the calls of a round in which none fails, in order.
func callsOf(t *testing.T, open func(t *testing.T) Target, ops []Op) (calls []Call) {
	target := open(t)
	fake := target.Upstream.(*Fake)
	m := newModel(t, target)
	fake.cfg.KeepLog = true
	for i := range ops {
		m.step(ops, i, func() error { return nil })
	}
	m.freeAll()
	for _, e := range fake.Log() {
		calls = append(calls, e.Call)
	}
	m.finish()
	require.NoError(t, target.Allocator.Close())
	return calls
}

// failures chooses which calls are to fail, as numbers from 1 among those of
// their kind: at least leastOfKind of each, if there are so many, and most in
// all.
func failures(rng *rand.Rand, calls []Call, kind Call, most int) (chosen []int) {
	const leastOfKind = 20
	var of []Call // number n is of[n-1]
	for _, c := range calls {
		if kind == AnyCall || c == kind {
			of = append(of, c)
		}
	}
	var others []int
	taken := make(map[Call]int)
	for _, i := range rng.Perm(len(of)) {
		if taken[of[i]]++; taken[of[i]] <= leastOfKind {
			chosen = append(chosen, i+1)
		} else {
			others = append(others, i+1)
		}
	}
	return append(chosen, others[:min(len(others), max(most-len(chosen), 0))]...)
}

// failOne plays ops with the n-th call of a kind failing.
func failOne(t *testing.T, open func(t *testing.T) Target, ops []Op, call Call, n int, fault error) {
	target := open(t)
	fake := target.Upstream.(*Fake)
	target.Readable = false // contents are for other tests
	m := newModel(t, target)
	m.injected = errInjected
	failed := fake.failNext(call, n, fault)
	m.playPastFailure(ops)
	m.freeAll()
	fake.cancelFailures()
	m.finish()
	require.NoError(t, target.Allocator.Close())
	lost := 0
	if *failed == CallDestroyEvent {
		lost = 1 // an event that could not be destroyed stays: nobody can
	}
	require.LessOrEqual(t, fake.LiveEvents(), lost, "events left after call %d failed, a %v", n, *failed)
	require.Zero(t, fake.Used())
}

// playPastFailure plays ops until some after the failure, and looks at the
// books from there on: what comes before it went the same way in all earlier
// rounds.
func (m *model) playPastFailure(ops []Op) {
	m.t.Helper()
	left := 12
	look := func() error {
		if m.fake.PendingFailures() > 0 {
			return nil
		}
		left--
		return m.check()
	}
	for i := 0; i < len(ops) && left > 0; i++ {
		m.step(ops, i, look)
	}
}

// failEachOfClose demands that a Close which meets a failure says so, goes on,
// and can be repeated.
func failEachOfClose(t *testing.T, open func(t *testing.T) Target, rng *rand.Rand) {
	ops := Generate(rng, 60)
	for n := 1; ; n++ {
		target := open(t)
		fake := target.Upstream.(*Fake)
		newModel(t, target).play(ops)
		_ = target.Allocator.EmptyCache() // so that events are not what fails
		fake.FailAt(AnyCall, n, errInjected)
		err := target.Allocator.Close()
		if fake.PendingFailures() > 0 {
			return
		}
		require.ErrorIs(t, err, errInjected, "call %d", n)
		require.NoError(t, target.Allocator.Close())
		require.LessOrEqual(t, len(fake.allocs), 1, "call %d: one failed, the others went back", n)
	}
}

// failNext is FailAt, and tells which call it was once it has happened.
func (f *Fake) failNext(call Call, n int, err error) *Call {
	failed := AnyCall
	f.FailAt(call, n, err)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.injections[len(f.injections)-1].failed = &failed
	return &failed
}

// cancelFailures forgets what FailAt asked for.
func (f *Fake) cancelFailures() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.injections = nil
}
