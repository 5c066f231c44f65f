package memorytest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/memory"
	"tarn/memory/memorytest"
)

// scenarioWorkspace books the scratch memory of a kernel for what it is.
func scenarioWorkspace(t *testing.T) {
	const size = 8*mib + 8*4096*kib/8 // cuBLAS's ":4096:2:16:8"
	inBothModes(t, 1024*mib, memory.Config{}, func(s *stage) {
		s.free(s.alloc(1))
		start := s.a.Stats()
		b, err := s.a.Alloc(size, 0, memory.Workspace)
		require.NoError(s.T, err)
		now := s.a.Stats().Sub(start)
		assert.InDelta(s.T, size, now.ActiveBytes.All.Current, 512*kib)
		var booked int64
		for _, tag := range now.Tags {
			if tag.Tag == memory.Workspace.String() {
				booked = tag.Bytes.Current
			}
		}
		assert.EqualValues(s.T, size, booked)
		s.free(b)
	})
}

// scenarioSamePeak runs three programs that ask for the same blocks, as a
// product does whatever views its operands are: the peak is the same.
func scenarioSamePeak(t *testing.T) {
	program := func(s *stage) int64 {
		s.a.ResetPeak()
		before := s.a.Stats().AllocatedBytes.All.Current
		x, y := s.alloc(10*mib+4), s.alloc(3*mib)
		out := s.alloc(30 * mib)
		work := s.alloc(700 * kib)
		s.free(work, x, y, out)
		return s.a.Stats().AllocatedBytes.All.Peak - before
	}
	inBothModes(t, 1024*mib, memory.Config{}, func(s *stage) {
		first := program(s)
		assert.Equal(s.T, first, program(s))
		assert.Equal(s.T, first, program(s))
	})
}

// scenarioLazyInit demands that nothing is asked of a device before a block is.
func scenarioLazyInit(t *testing.T) {
	inBothModes(t, 64*mib, memory.Config{}, func(s *stage) {
		s.alloc(0)
		s.free(memory.Block{})
		assert.NotEmpty(s.T, s.a.Summary())
		assert.NotEmpty(s.T, memory.Summary())
		assert.NoError(s.T, s.a.Check())
		assert.Zero(s.T, s.fake.Calls().Total())
		s.free(s.alloc(1))
		assert.NotZero(s.T, s.fake.Calls().Total())
	})
}

// scenarioRawAlloc asks the device first, past the cache, which books nothing,
// and then the allocator.
func scenarioRawAlloc(t *testing.T) {
	inBothModes(t, 64*mib, memory.Config{}, func(s *stage) {
		p, err := s.fake.Alloc(mib)
		require.NoError(s.T, err)
		assert.Zero(s.T, s.a.Stats().RequestedBytes.All.Current)
		require.NoError(s.T, s.fake.Free(p, mib))
		b := s.alloc(mib)
		assert.EqualValues(s.T, mib, s.a.Stats().RequestedBytes.All.Current)
		s.free(b)
	})
}

func scenarioDeviceMemoryUsed(t *testing.T) {
	inBothModes(t, 1024*mib, memory.Config{}, func(s *stage) {
		before, _, err := s.fake.MemInfo()
		require.NoError(s.T, err)
		b := s.alloc(512 * mib)
		after, _, err := s.fake.MemInfo()
		require.NoError(s.T, err)
		assert.EqualValues(s.T, 512*mib, before-after)
		s.free(b)
	})
}

// scenarioStatsOfTwoDevices lets two devices take turns. What one does must
// not show in the books of the other.
func scenarioStatsOfTwoDevices(t *testing.T) {
	const seed, steps = 86, 300
	devices := make([]*stage, 2)
	live := make([][]memory.Block, 2)
	for i := range devices {
		devices[i] = newStage(t, memorytest.FakeConfig{Name: fmt.Sprintf("fake:%d", i), Capacity: 1024 * mib}, memory.Config{})
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	for step := range steps {
		i := rng.IntN(2)
		s, other := devices[i], devices[1-i].a.Stats()
		before := s.a.Stats().AllocatedBytes.All
		if n := len(live[i]); n > 0 && rng.IntN(5) < 2 {
			k := rng.IntN(n)
			s.free(live[i][k])
			live[i] = append(live[i][:k], live[i][k+1:]...)
			assert.Less(t, s.a.Stats().AllocatedBytes.All.Current, before.Current, "step %d", step)
		} else {
			live[i] = append(live[i], s.alloc(1+rng.Int64N(4*mib)))
			assert.Greater(t, s.a.Stats().AllocatedBytes.All.Current, before.Current, "step %d", step)
		}
		require.Equal(t, other, devices[1-i].a.Stats(), "step %d", step)
		require.NoError(t, s.a.Check())
		require.NoError(t, memorytest.CheckStats(s.a.Stats()))
	}
	for i, s := range devices {
		s.free(live[i]...)
		assert.Zero(t, s.a.Stats().AllocatedBytes.All.Current)
	}
}

// scenarioStatConsistency recounts the books after every step, under settings
// of all kinds.
func scenarioStatConsistency(t *testing.T) {
	const capacity, steps = 64 * mib, 400
	rng := rand.New(rand.NewPCG(87, 0))
	for _, text := range []string{
		"expandable_segments:True",
		"expandable_segments:False",
		"expandable_segments:False,max_split_size_mb:20",
		"expandable_segments:False,large_segment_size_mb:4,max_split_size_mb:5",
		"expandable_segments:False,garbage_collection_threshold:0.3",
		"expandable_segments:False,garbage_collection_threshold:0.9,max_split_size_mb:20",
		"expandable_segments:True,max_split_size_mb:20",
		"roundup_power2_divisions:8",
		"expandable_segments:False,per_process_memory_fraction:0.5,throw_on_cudamalloc_oom:True",
		"expandable_segments:True,per_process_memory_fraction:0.5,throw_on_cudamalloc_oom:True",
	} {
		t.Run(text, func(t *testing.T) {
			settings := parse(t, text)
			fake := newFake(t, memorytest.FakeConfig{Capacity: capacity, Granularity: 2 * mib, Asynchronous: true})
			a, err := memory.New(fake, memory.Config{NoBackgroundGC: true, Settings: settings})
			require.NoError(t, err)
			memorytest.Play(t, memorytest.Target{Allocator: a, Upstream: fake, Limit: int64(settings.MemoryFraction * capacity)},
				memorytest.Generate(rng, steps))
		})
	}
}
