package memory_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// TestReclaimOldestFirst keeps half of the device. What lay idle for more
// lookups than the average goes back before a growth, and no more than needed.
func TestReclaimOldestFirst(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{Capacity: 200 * mib}, memory.Config{Settings: memory.Settings{GCThreshold: 0.5}})
	old, fresh := alloc(t, a, 30*mib, 0), alloc(t, a, 40*mib, 0)
	busy := alloc(t, a, 50*mib, 0)
	assert.EqualValues(t, 120*mib, f.Used(), "nothing was idle")
	free(t, a, old)
	for range 10 {
		free(t, a, fresh)
		fresh = alloc(t, a, 40*mib, 0)
	}
	free(t, a, fresh)
	b := alloc(t, a, 60*mib, 0)
	assert.EqualValues(t, 150*mib, f.Used(), "30 MiB went back for 60 MiB")
	assert.Equal(t, 30*mib, a.Stats().Rungs[memory.RungGrow].Gained)
	assert.Zero(t, a.Stats().NumAllocRetries)
	again := alloc(t, a, 40*mib, 0)
	assert.Equal(t, fresh.Ptr, again.Ptr, "what is used a lot stays")
	free(t, a, b)
	free(t, a, again)
	free(t, a, busy)
}

// TestReclaimAcrossStreams lets segments of a stream that is no longer used
// grow old by the lookups of another one.
func TestReclaimAcrossStreams(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{Capacity: 200 * mib, Asynchronous: true}, memory.Config{
		Limit: 100 * mib, Settings: memory.Settings{GCThreshold: 0.5},
	})
	gone := alloc(t, a, 20*mib, 1)
	require.NoError(t, f.Write(1, gone.Ptr, gone.Size))
	free(t, a, gone)
	var live []memory.Block
	for range 3 {
		live = append(live, alloc(t, a, 12*mib, 0))
	}
	assert.Equal(t, 56*mib, f.Used(), "44 MiB were below the threshold")
	free(t, a, live[2])
	b := alloc(t, a, 14*mib, 0)
	assert.Equal(t, 50*mib, f.Used(), "the other stream's went back")
	again := alloc(t, a, 12*mib, 0)
	assert.Equal(t, live[2].Ptr, again.Ptr, "what was used of late did not")
	for _, b := range append(live[:2], b, again) {
		free(t, a, b)
	}
}

// TestReclaimLeaves has what it never gives back: small segments, segments in
// use in part, and anything below the threshold.
func TestReclaimLeaves(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{Capacity: 200 * mib}, memory.Config{Settings: memory.Settings{GCThreshold: 0.2}})
	free(t, a, alloc(t, a, 1000, 0))
	part, rest := alloc(t, a, 5*mib, 0), alloc(t, a, 15*mib, 0)
	free(t, a, rest)
	free(t, a, alloc(t, a, 16*mib, 0))
	b := alloc(t, a, 22*mib, 0)
	assert.EqualValues(t, 60*mib, f.Used(), "38 MiB are below the threshold")
	c := alloc(t, a, 24*mib, 0)
	assert.EqualValues(t, 68*mib, f.Used(), "of 22 MiB idle, 16 are a segment of their own")
	for _, b := range []memory.Block{part, b, c} {
		free(t, a, b)
	}
}

// TestReclaimIsOff without the setting.
func TestReclaimIsOff(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{Capacity: 200 * mib}, memory.Config{})
	free(t, a, alloc(t, a, 80*mib, 0))
	free(t, a, alloc(t, a, 90*mib, 0))
	assert.EqualValues(t, 170*mib, f.Used())
	assert.Zero(t, f.Calls()[memorytest.CallMemInfo], "nobody asks how large the device is")
}

// TestReclaimFaults hands on why a segment could not be given back, and keeps
// it.
func TestReclaimFaults(t *testing.T) {
	settings := memory.Config{Settings: memory.Settings{GCThreshold: 0.1}}
	f, a := device(t, memorytest.FakeConfig{Capacity: 200 * mib}, settings)
	free(t, a, alloc(t, a, 30*mib, 0))
	fault := errors.New("injected")
	f.FailAt(memorytest.CallFree, 1, fault)
	_, err := a.Alloc(40*mib, 0, memory.Untagged)
	require.ErrorIs(t, err, fault)
	require.NoError(t, a.Check())
	assert.EqualValues(t, 30*mib, a.Stats().ReservedBytes.All.Current)
	free(t, a, alloc(t, a, 40*mib, 0))
	assert.EqualValues(t, 40*mib, f.Used())

	broken := memorytest.NewFake(memorytest.FakeConfig{Capacity: mib})
	broken.FailAt(memorytest.CallMemInfo, 1, fault)
	_, err = memory.New(broken, settings)
	require.ErrorIs(t, err, fault)
}

// TestRejection refuses what would take the allocated bytes past the limit, and
// nothing else.
func TestRejection(t *testing.T) {
	for name, mode := range map[string]memory.Expandable{"segments": memory.ExpandableOff, "pages": memory.ExpandableOn} {
		t.Run(name, func(t *testing.T) {
			f, a := device(t, memorytest.FakeConfig{Capacity: 200 * mib, Granularity: 2 * mib, Asynchronous: true}, memory.Config{
				Settings: memory.Settings{MemoryFraction: 0.5, ThrowOnMallocOOM: true, Expandable: mode},
			})
			b, c := alloc(t, a, 60*mib, 0), alloc(t, a, 30*mib, 0)
			calls := f.Calls()
			oom := outOfMemory(t, a, 20*mib, 0)
			assert.Zero(t, f.Calls().Since(calls).Driver())
			assert.Empty(t, oom.Rungs)
			assert.Equal(t, memory.CauseInUse, oom.Cause)
			assert.Equal(t, 100*mib, oom.Limit)
			assert.Equal(t, 20*mib, oom.Asked)
			assert.ErrorContains(t, oom, "tried:   nothing, as throw_on_cudamalloc_oom asks for\n")
			assert.NoError(t, oom.Unwrap())
			s := a.Stats()
			assert.EqualValues(t, 1, s.NumOOMRejections)
			assert.Zero(t, s.NumOOMs, "the ladder was not climbed")
			assert.Zero(t, s.Rungs[memory.RungRelease].Tried)

			// The cache counts as room, and so does what waits for other streams.
			free(t, a, b)
			d := alloc(t, a, 70*mib, 0)
			free(t, a, d, 1)
			free(t, a, alloc(t, a, 66*mib, 0))
			assert.EqualValues(t, 1, a.Stats().NumOOMRejections)
			free(t, a, c)
		})
	}
}

// TestRejectionNeedsBothSettings climbs the ladder otherwise.
func TestRejectionNeedsBothSettings(t *testing.T) {
	for _, s := range []memory.Settings{{ThrowOnMallocOOM: true}, {MemoryFraction: 0.9}} {
		_, a := device(t, memorytest.FakeConfig{Capacity: 100 * mib}, memory.Config{Limit: 80 * mib, Settings: s})
		assert.Len(t, outOfMemory(t, a, 90*mib, 0).Rungs, memory.NumTried)
		assert.EqualValues(t, 1, a.Stats().NumOOMs)
		assert.Zero(t, a.Stats().NumOOMRejections)
	}
}

// TestOversize counts blocks, and segments, that are not split.
func TestOversize(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{Capacity: 1 << 30, Granularity: 2 * mib}, memory.Config{
		Settings: memory.Settings{MaxSplitSize: 20 * mib, Expandable: memory.ExpandableOff},
	})
	b, c := alloc(t, a, 3*mib, 0), alloc(t, a, 30*mib, 1)
	s := a.Stats()
	assert.Equal(t, memory.Stat{Current: 1, Peak: 1, Allocated: 1}, s.OversizeAllocations)
	assert.Equal(t, memory.Stat{Current: 2, Peak: 2, Allocated: 2}, s.OversizeSegments, "one of 20 MiB for 3 MiB too")
	free(t, a, c, 0)
	assert.Equal(t, memory.Stat{Peak: 1, Allocated: 1, Freed: 1}, a.Stats().OversizeAllocations, "no client has it")
	d := alloc(t, a, 25*mib, 1)
	assert.Equal(t, c.Ptr, d.Ptr)
	assert.Equal(t, 30*mib, d.Size, "it is not split")
	diff := a.Stats().Sub(s)
	assert.Equal(t, memory.Stat{Peak: 1, Allocated: 1, Freed: 1}, diff.OversizeAllocations)
	assert.Zero(t, diff.OversizeSegments.Allocated)
	free(t, a, d)
	e := alloc(t, a, 27*mib, 0)
	assert.Equal(t, c.Ptr, e.Ptr, "its segment changes streams")
	free(t, a, b)
	free(t, a, e)
	require.NoError(t, a.EmptyCache())
	assert.Zero(t, f.Used())
	assert.Equal(t, memory.Stat{Peak: 2, Allocated: 2, Freed: 2}, a.Stats().OversizeSegments)
	a.ResetPeak()
	assert.Zero(t, a.Stats().OversizeSegments.Peak+a.Stats().OversizeAllocations.Peak)
	assert.Contains(t, a.Summary(), "| Oversize allocations  |       0    |       0    |       3    |       3    |\n")
}

// TestOversizeWithPages counts blocks alone, and with no bound there are none.
func TestOversizeWithPages(t *testing.T) {
	for bound, want := range map[int64]int64{0: 0, 20 * mib: 2} {
		_, a := device(t, memorytest.FakeConfig{Granularity: 2 * mib}, memory.Config{Settings: memory.Settings{MaxSplitSize: bound}})
		for _, stream := range []cuda.Stream{0, 1} {
			free(t, a, alloc(t, a, 30*mib, stream))
		}
		assert.Equal(t, want, a.Stats().OversizeAllocations.Allocated)
		assert.Zero(t, a.Stats().OversizeSegments)
	}
}
