package memorytest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/memory"
)

// errInjected is what calls fail with on demand.
var errInjected = errors.New("injected failure")

// testFaults plays one list of ops over and over, and each time another
// upstream call fails, until every one has. After it the books must be right,
// and in the end nothing may be lost.
func testFaults(t *testing.T, open func(t *testing.T) Target) {
	if _, ok := open(t).Upstream.(*Fake); !ok {
		return // a real upstream does not fail on demand
	}
	rng := random(t)
	ops := Generate(rng, 300)
	full := fmt.Errorf("%w: %w", errInjected, memory.ErrUpstreamFull)
	t.Run("AnyCall", func(t *testing.T) { failEach(t, open, ops, AnyCall, errInjected) })
	t.Run("AllocIsFull", func(t *testing.T) { failEach(t, open, ops, CallAlloc, full) })
	t.Run("CreateIsFull", func(t *testing.T) { failEach(t, open, ops, CallCreate, full) })
	t.Run("Close", func(t *testing.T) { failEachOfClose(t, open, rng) })
}

func failEach(t *testing.T, open func(t *testing.T) Target, ops []Op, call Call, fault error) {
	for n := 1; ; n++ {
		target := open(t)
		fake := target.Upstream.(*Fake)
		target.Readable = false // contents are for other tests
		m := newModel(t, target)
		m.injected = errInjected
		failed := fake.failNext(call, n, fault)
		m.playPastFailure(ops)
		m.freeAll()
		done := fake.PendingFailures() > 0 // all this makes no n calls
		fake.cancelFailures()
		m.finish()
		require.NoError(t, target.Allocator.Close())
		if !done {
			// An event that could not be destroyed stays: nobody can.
			lost := 0
			if *failed == CallDestroyEvent {
				lost = 1
			}
			require.LessOrEqual(t, fake.LiveEvents(), lost, "events left after call %d failed, a %v", n, *failed)
		}
		require.Zero(t, fake.Used())
		if done {
			return
		}
	}
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
