package memorytest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
)

// scenarios are tests of PyTorch's allocator, told in the allocator's own
// terms. The numbers are those of the inventory that they are taken from.
var scenarios = []struct {
	name string
	test func(*testing.T, Target)
}{
	{"01_memory_allocation", scenarioMemoryAllocation},
	{"02_memory_stats", scenarioMemoryStats},
	{"04_out_of_memory", scenarioOutOfMemory},
	{"05_out_of_memory_retry", scenarioOutOfMemoryRetry},
	{"09_record_stream", scenarioRecordStream},
	{"10_record_stream_of_part", scenarioRecordStreamOfPart},
	{"49_allocator_fuzz", scenarioAllocatorFuzz},
	{"85_memory_stats_step_by_step", scenarioStatsStepByStep},
}

func scenarioMemoryAllocation(t *testing.T, target Target) {
	a := target.Allocator
	before := a.Stats().AllocatedBytes.All.Current
	b := must(t, a, 1, 0)
	assert.Greater(t, a.Stats().AllocatedBytes.All.Current, before)
	require.NoError(t, a.Free(b.Handle))
	assert.Equal(t, before, a.Stats().AllocatedBytes.All.Current)
}

func scenarioMemoryStats(t *testing.T, target Target) {
	const size = 256 * 4
	a := target.Allocator
	a.ResetPeak()
	start := a.Stats()
	b := must(t, a, size, 0)
	s := a.Stats().Sub(start)
	assert.EqualValues(t, size, s.ActiveBytes.All.Current)
	assert.Zero(t, s.ActiveBytes.All.Freed)
	require.NoError(t, a.Free(b.Handle))
	require.NoError(t, a.EmptyCache())
	s = a.Stats().Sub(start)
	assert.Zero(t, s.ActiveBytes.All.Current)
	assert.EqualValues(t, size, s.ActiveBytes.All.Freed)
	assert.EqualValues(t, size, s.ActiveBytes.All.Peak)
	a.ResetPeak()
	s = a.Stats()
	assert.Equal(t, start.AllocatedBytes.All.Peak, s.AllocatedBytes.All.Peak)
	assert.Equal(t, start.ReservedBytes.All.Peak, s.ReservedBytes.All.Peak)
}

func scenarioOutOfMemory(t *testing.T, target Target) {
	const gib = 1 << 30
	a := target.Allocator
	b := must(t, a, 1000, 0)
	_, err := a.Alloc(800_000_000*gib, 0, memory.Untagged)
	var oom *memory.OutOfMemoryError
	require.ErrorAs(t, err, &oom)
	assert.Regexp(t, `Tried to allocate 800000000\.00 GiB\. \S+ has a total capacity of`, err.Error())
	_, err = a.Alloc(8_000_000_000*gib, 0, memory.Untagged)
	require.ErrorContains(t, err, "more than 1EB memory")
	if fake, ok := target.Upstream.(*Fake); ok {
		require.NoError(t, fake.Write(0, b.Ptr, b.Size), "older blocks stay usable")
	}
	require.NoError(t, a.Free(b.Handle))
}

func scenarioOutOfMemoryRetry(t *testing.T, target Target) {
	a := target.Allocator
	size := target.room(t)/2 + 1
	b := must(t, a, size, 0)
	_, err := a.Alloc(size, 0, memory.Untagged)
	require.ErrorContains(t, err, "Tried to allocate")
	require.NoError(t, a.Free(b.Handle))
	b = must(t, a, size, 0)
	require.NoError(t, a.Free(b.Handle))
}

// scenarioRecordStream copies on a side stream into a block that the main
// stream goes on to use; freed meanwhile, the side stream must not get it back
// before the main stream is done, and must get it then.
func scenarioRecordStream(t *testing.T, target Target) {
	const main, side, size = cuda.Stream(0), cuda.Stream(1), 12 << 20
	a := target.Allocator
	b := must(t, a, size, side)
	fake, ok := target.Upstream.(*Fake)
	if !ok || !fake.Props().Asynchronous {
		before := a.Stats()
		require.NoError(t, a.Free(b.Handle, main))
		again := must(t, a, size, side)
		s := a.Stats() // addresses may differ: a device's own pool serves by its own rules
		assert.Zero(t, s.PendingBytes, "the work was done before it was freed")
		assert.Equal(t, before.ReservedBytes.All.Current, s.ReservedBytes.All.Current, "and its memory served again")
		require.NoError(t, a.Free(again.Handle))
		return
	}
	require.NoError(t, fake.Write(side, b.Ptr, b.Size))
	fake.Wait(main, side)
	require.NoError(t, fake.Read(main, b.Ptr, b.Size))
	require.NoError(t, a.Free(b.Handle, main))
	s := a.Stats()
	assert.Equal(t, b.Size, s.PendingBytes)
	assert.Zero(t, s.AllocatedBytes.All.Current)

	other := must(t, a, size, side)
	assert.NotEqual(t, b.Ptr, other.Ptr, "the main stream still reads it")
	require.NoError(t, fake.Write(side, other.Ptr, other.Size))
	fake.Complete(main)
	again := must(t, a, size, side)
	assert.Equal(t, b.Ptr, again.Ptr, "the main stream is done")
	require.NoError(t, fake.Write(side, again.Ptr, again.Size))
	require.NoError(t, a.Free(again.Handle))
	require.NoError(t, a.Free(other.Handle))
}

// scenarioRecordStreamOfPart is the same with a small block that shares its
// segment, and the owner's stream done: that is not enough.
func scenarioRecordStreamOfPart(t *testing.T, target Target) {
	const owner, reader, size = cuda.Stream(2), cuda.Stream(3), 4096
	fake, ok := target.Upstream.(*Fake)
	if !ok || !fake.Props().Asynchronous {
		return // there is no moment between the free and the end of the work
	}
	a := target.Allocator
	neighbour := must(t, a, size, owner)
	b := must(t, a, size, owner)
	require.NoError(t, fake.Write(owner, b.Ptr, b.Size))
	fake.Wait(reader, owner)
	require.NoError(t, fake.Read(reader, b.Ptr+512, 64))
	require.NoError(t, a.Free(b.Handle, reader))
	fake.Sync(owner)
	other := must(t, a, size, owner)
	assert.NotEqual(t, b.Ptr, other.Ptr)
	for _, block := range []memory.Block{neighbour, other} {
		require.NoError(t, a.Free(block.Handle))
	}
}

func scenarioAllocatorFuzz(t *testing.T, target Target) {
	const mib = 1 << 20
	rng := random(t)
	m := newModel(t, target)
	bound := min(target.room(t)/2, 100*mib)
	for range 2000 {
		var err error
		switch p := rng.Float64(); {
		case p < 0.05:
			err = m.emptyCache(nil)
		case p < 0.5 && len(m.live) > 0:
			err = m.free(m.live[rng.IntN(len(m.live))])
		case m.naive.Allocated < bound:
			err = m.alloc(2*mib+rng.Int64N(18*mib), 0, nil)
		}
		require.NoError(t, err)
		require.NoError(t, m.check())
	}
	m.finish()
}

// scenarioStatsStepByStep allocates and frees float32 arrays of growing
// shapes, and looks at the books after every step.
func scenarioStatsStepByStep(t *testing.T, target Target) {
	const n = 35
	a := target.Allocator
	m := newModel(t, target)
	var last int64 // allocated bytes
	step := func(grew int) {
		t.Helper()
		require.NoError(t, m.check())
		s := a.Stats()
		now := s.AllocatedBytes.All.Current
		assert.GreaterOrEqual(t, s.AllocatedBytes.All.Peak, now)
		switch {
		case grew > 0:
			assert.Greater(t, now, last)
		case grew < 0:
			assert.Less(t, now, last)
		default:
			assert.Equal(t, last, now)
		}
		last = now
	}
	alloc := func(elements int64) {
		t.Helper()
		require.NoError(t, m.alloc(elements*4, 0, nil))
		step(1)
	}
	step(0)
	for _, elements := range []int64{10, 200 * 300, 200 * 300 * 20} {
		alloc(elements)
	}
	for i := range int64(n / 2) {
		alloc(i*4*i + 1)
	}
	for i := range int64(n / 2) {
		alloc(i*7*i*9*11 + 1)
	}
	require.NoError(t, m.alloc(0, 0, nil))
	step(0)

	a.ResetPeak()
	s := a.Stats()
	assert.Equal(t, s.AllocatedBytes.All.Current, s.AllocatedBytes.All.Peak)
	rng := rand.New(rand.NewPCG(n, 0))
	for range n / 2 {
		require.NoError(t, m.free(m.live[rng.IntN(len(m.live))]))
		step(-1)
	}
	for i := range int64(n * 2 / 3) {
		alloc(i*3*i*8 + 1)
	}
	for len(m.live) > 0 {
		require.NoError(t, m.free(m.live[0]))
		step(-1)
	}
	before := a.Stats()
	require.NoError(t, a.EmptyCache())
	after := a.Stats()
	assert.Equal(t, before.NumSyncAllStreams+1, after.NumSyncAllStreams)
	assert.LessOrEqual(t, after.ReservedBytes.All.Current, before.ReservedBytes.All.Current)
	step(0)
}
