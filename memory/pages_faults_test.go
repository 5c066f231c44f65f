package memory_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

var errBroken = errors.New("the driver is broken")

// hauled is a device on which a request for haul pages of stream 2 takes three
// where they lie and moves all other free ones there: of two streams and both
// pools, in four pieces.
type hauled struct {
	f    *memorytest.Fake
	a    *memory.Allocator
	live []memory.Block
	got  cuda.DevicePtr // where the request was served
}

const haul = 12

func newHauled(t *testing.T) hauled {
	t.Helper()
	f, a := paged(t, 16, true, memory.Config{})
	small := []memory.Block{write(t, f, a, mib, 0), write(t, f, a, mib, 0)}
	blocks := row(t, f, a, 0, 2, 1, 3, 1)
	other := row(t, f, a, 1, 1, 3, 1)
	last := row(t, f, a, 0, 3)
	for _, b := range []memory.Block{small[0], small[1], blocks[0], blocks[2], last[0]} {
		free(t, a, b)
	}
	free(t, a, other[1])
	return hauled{f: f, a: a, live: []memory.Block{blocks[1], blocks[3], other[0], other[2]}}
}

// look demands that the books are right and that live blocks are where they
// were.
func (h hauled) look(t *testing.T) {
	t.Helper()
	require.NoError(t, h.a.Check())
	require.Equal(t, h.f.Used(), h.a.Stats().ReservedBytes.All.Current, "the device and the books agree")
	for _, b := range h.live {
		require.NoError(t, h.f.CheckAccess(b.Ptr, b.Size))
	}
}

// failure makes the n-th call of a kind fail.
type failure struct {
	call memorytest.Call
	n    int
	err  error
}

// attempt makes the request on a fresh device, with failures.
func attempt(t *testing.T, failures ...failure) (h hauled, log []memorytest.Entry, err error) {
	t.Helper()
	h = newHauled(t)
	for _, x := range failures {
		h.f.FailAt(x.call, x.n, x.err)
	}
	var b memory.Block
	_, log = calls(h.f, func() { b, err = h.a.Alloc(haul*page, 2, memory.Untagged) })
	require.Zero(t, h.f.PendingFailures(), "%v", failures)
	if err != nil {
		require.Zero(t, b)
	} else {
		h.got = b.Ptr
		require.NoError(t, h.f.Write(2, b.Ptr, b.Size))
	}
	return h, log, err
}

// count returns how many calls of a kind a log has.
func count(log []memorytest.Entry, call memorytest.Call) (n int) {
	for _, e := range log {
		if e.Call == call {
			n++
		}
	}
	return n
}

func TestHaul(t *testing.T) {
	h, log, err := attempt(t)
	require.NoError(t, err)
	h.look(t)
	assert.Equal(t, []int64{3, 3, 2, 1}, sizesOf(log, memorytest.CallUnmap))
	assert.Equal(t, []int64{9}, sizesOf(log, memorytest.CallAccess))
	assert.Equal(t, 9, count(log, memorytest.CallMap))
	assert.Equal(t, 1, count(log, memorytest.CallWaitEvent))
	assert.Equal(t, 2, count(log, memorytest.CallSyncEvent), "one for each stream whose pages move")
}

// TestHaulIsUndone fails at each call of a haul, but for the end of an event,
// which would be left: all pages are then where they were, and the request can
// be served the next time.
func TestHaulIsUndone(t *testing.T) {
	before := newHauled(t).a.Stats()
	want, clean, _ := attempt(t)
	for _, call := range []memorytest.Call{
		memorytest.CallUnmap, memorytest.CallMap, memorytest.CallAccess, memorytest.CallCreate,
		memorytest.CallRecordEvent, memorytest.CallQueryEvent, memorytest.CallWaitEvent, memorytest.CallSyncEvent,
	} {
		require.Positive(t, count(clean, call), "%v", call)
		for n := 1; n <= count(clean, call); n++ {
			h, _, err := attempt(t, failure{call, n, errBroken})
			require.ErrorIs(t, err, errBroken, "%v %d", call, n)
			h.look(t)
			s := h.a.Stats()
			require.Equal(t, before.ReservedBytes, s.ReservedBytes, "%v %d", call, n)
			require.Equal(t, before.PinnedBytes, s.PinnedBytes, "%v %d", call, n)
			require.Equal(t, before.Segment.All.Current, s.Segment.All.Current, "%v %d", call, n)
			require.Equal(t, want.got, write(t, h.f, h.a, haul*page, 2).Ptr, "%v %d", call, n)
			h.look(t)
		}
	}
}

// TestHaulMeetsAFullDevice has each call say that the device is full, as a
// driver may that has no room for its own records.
func TestHaulMeetsAFullDevice(t *testing.T) {
	full := fmt.Errorf("%w: %w", errBroken, memory.ErrUpstreamFull)
	_, clean, _ := attempt(t)
	for _, call := range []memorytest.Call{memorytest.CallCreate, memorytest.CallMap, memorytest.CallAccess} {
		for n := 1; n <= count(clean, call); n++ {
			h, _, err := attempt(t, failure{call, n, full})
			require.NoError(t, err, "%v %d: a later rung can do it", call, n)
			h.look(t)
		}
	}
}

// TestHaulFailsTwice fails at a call and at a later one, which may undo the
// first: memory that has no place any more goes back to the device.
func TestHaulFailsTwice(t *testing.T) {
	var reserved, least int64
	_, clean, _ := attempt(t)
	for _, call := range []memorytest.Call{memorytest.CallUnmap, memorytest.CallMap, memorytest.CallAccess} {
		for n := 1; n <= count(clean, call); n++ {
			first := failure{call, n, errBroken}
			_, log, _ := attempt(t, first)
			at := slices.IndexFunc(log, func(e memorytest.Entry) bool { return errors.Is(e.Err, errBroken) })
			for _, next := range []memorytest.Call{memorytest.CallMap, memorytest.CallAccess, memorytest.CallUnmap} {
				for k := count(log[:at+1], next) + 1; k <= count(log, next); k++ {
					h, _, err := attempt(t, first, failure{next, k, errBroken})
					require.ErrorIs(t, err, errBroken)
					h.look(t)
					s := h.a.Stats().ReservedBytes.All
					reserved, least = s.Peak, min(least, s.Current-s.Peak)
				}
			}
		}
	}
	assert.Equal(t, []int64{16 * page, -3 * page}, []int64{reserved, least}, "at most a piece is lost")
}

// TestGrowthIsUndone fails at each call that takes three pages, two of them in
// front of a page of another stream and one behind it.
func TestGrowthIsUndone(t *testing.T) {
	for _, call := range []memorytest.Call{memorytest.CallCreate, memorytest.CallMap, memorytest.CallAccess} {
		for n := 1; n <= map[bool]int{true: 2, false: 3}[call == memorytest.CallAccess]; n++ {
			f, a := paged(t, 8, false, memory.Config{})
			blocks := row(t, f, a, 0, 2, 1, 1, 1)
			free(t, a, blocks[0])
			free(t, a, blocks[2])
			require.NoError(t, a.EmptyCache())
			free(t, a, blocks[1])
			f.FailAt(call, n, errBroken)
			_, err := a.Alloc(4*page, 1, memory.Untagged)
			require.ErrorIs(t, err, errBroken, "%v %d", call, n)
			require.NoError(t, a.Check())
			require.Equal(t, 2*page, f.Used())
			require.Equal(t, 2*page, a.Stats().ReservedBytes.All.Current)
			require.Equal(t, blocks[0].Ptr, write(t, f, a, 4*page, 1).Ptr, "%v %d", call, n)
		}
	}
}

// TestPagesThatDoNotGoBack has the driver refuse what EmptyCache does: what is
// mapped stays in the cache, and memory that is not stays in the books and is
// tried again.
func TestPagesThatDoNotGoBack(t *testing.T) {
	f, a := paged(t, 8, false, memory.Config{})
	b := write(t, f, a, 3*page, 0)
	free(t, a, b)
	f.FailAt(memorytest.CallUnmap, 1, errBroken)
	require.ErrorIs(t, a.EmptyCache(), errBroken)
	require.NoError(t, a.Check())
	again := write(t, f, a, 3*page, 0)
	assert.Equal(t, b.Ptr, again.Ptr)
	assert.Equal(t, 3*page, a.Stats().ReservedBytes.All.Current)

	free(t, a, again)
	f.FailAt(memorytest.CallRelease, 2, errBroken)
	f.FailAt(memorytest.CallRelease, 4, errBroken) // the second try
	require.ErrorIs(t, a.EmptyCache(), errBroken)
	require.NoError(t, a.Check())
	assert.Equal(t, page, f.Used())
	assert.Equal(t, page, a.Stats().ReservedBytes.All.Current)
	require.NoError(t, a.EmptyCache())
	require.NoError(t, a.Check())
	assert.Zero(t, f.Used())
	assert.Zero(t, a.Stats().ReservedBytes.All.Current)
}

// TestCloseCannotWait has events fail in a Close while work runs. Pages that it
// could wait for at a second try go back; else they stay, and the device lives.
func TestCloseCannotWait(t *testing.T) {
	for _, call := range []memorytest.Call{memorytest.CallRecordEvent, memorytest.CallSyncEvent} {
		for failures := 1; failures <= 2; failures++ {
			f := memorytest.NewFake(memorytest.FakeConfig{Capacity: 8 * page, Granularity: page, Asynchronous: true})
			a, err := memory.New(f, memory.Config{})
			require.NoError(t, err)
			b := write(t, f, a, page, 0)
			for n := 1; n <= failures; n++ {
				f.FailAt(call, n, errBroken)
			}
			require.ErrorIs(t, a.Close(), errBroken)
			require.Zero(t, f.LiveEvents())
			if failures == 1 {
				require.NoError(t, f.Leaked())
			} else {
				require.NoError(t, f.Write(0, b.Ptr, b.Size))
			}
		}
	}
}
