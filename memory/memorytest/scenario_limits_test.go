package memorytest_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// scenarioCheckError has the driver's codes come out of an Alloc as they are:
// none for success, and "out of memory" by name.
func scenarioCheckError(t *testing.T) {
	s := newStage(t, memorytest.FakeConfig{Capacity: 64 * mib}, memory.Config{})
	s.free(s.alloc(100))
	require.NoError(t, s.a.EmptyCache())
	s.fake.FailAt(memorytest.CallAlloc, 1, &cuda.Error{Op: "cuMemAlloc", Code: cuda.OutOfMemory, Name: cuda.OutOfMemory.String()})
	_, err := s.a.Alloc(100, 0, memory.Untagged)
	var failed *cuda.Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, cuda.OutOfMemory, failed.Code)
	assert.ErrorContains(t, err, "OUT_OF_MEMORY")
	s.free(s.alloc(100))
}

func scenarioSetMemoryFraction(t *testing.T) {
	const total = 1024 * mib
	for _, fraction := range []float64{-0.1, 2} {
		_, err := memory.New(memorytest.NewFake(memorytest.FakeConfig{Capacity: total}),
			memory.Config{Settings: memory.Settings{MemoryFraction: fraction}})
		var bad *memory.SettingsError
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, "must be a number from 0 to 1", bad.Reason)
	}
	half := memory.Config{Settings: memory.Settings{MemoryFraction: 0.5}}
	inBothModes(t, total, half, func(s *stage) {
		before := s.alloc(1000)
		s.free(s.alloc(total*499/1000 - s.a.Stats().ReservedBytes.All.Peak))
		require.NoError(s.T, s.a.EmptyCache())
		oom := s.outOfMemory(total / 2)
		assert.EqualValues(s.T, total/2, oom.Limit)
		assert.ErrorContains(s.T, oom, "512.00 MiB allowed")
		assert.NoError(s.T, s.fake.Write(0, before.Ptr, before.Size), "work goes on")
		s.free(before)
		s.free(s.alloc(total / 2))
		assert.LessOrEqual(s.T, s.a.Stats().ReservedBytes.All.Peak, int64(total/2))
	})
}

func scenarioGetMemoryFraction(t *testing.T) {
	fractions := []float64{1, 0}
	for range 3 {
		fractions = append(fractions, rand.Float64())
	}
	for _, fraction := range fractions {
		text := "per_process_memory_fraction:" + strconv.FormatFloat(fraction, 'g', -1, 64)
		s := parse(t, text)
		assert.Equal(t, fraction, max(s.MemoryFraction, 0), "exactly")
		assert.Equal(t, text, s.String())
		assert.NoError(t, s.Validate())
	}
}

// scenarioNotifiesOOM finds in the error what an observer of PyTorch is told.
func scenarioNotifiesOOM(t *testing.T) {
	inBothModes(t, 1024*mib, memory.Config{}, func(s *stage) {
		b := s.alloc(100 * mib)
		oom := s.outOfMemory(1 << 40)
		assert.Equal(s.T, "fake:0", oom.Device)
		assert.EqualValues(s.T, 1<<40, oom.Requested)
		assert.EqualValues(s.T, 1024*mib, oom.DeviceTotal)
		assert.EqualValues(s.T, 924*mib, oom.DeviceFree)
		assert.Zero(s.T, oom.Limit)
		assert.EqualValues(s.T, 1, s.a.Stats().NumOOMs)
		s.free(b)
	})
}

func scenarioRaisesOOM(t *testing.T) {
	for _, text := range []string{"", "max_split_size_mb:1024"} {
		inBothModes(t, 4096*mib, memory.Config{Settings: parse(t, text)}, func(s *stage) {
			s.free(s.alloc(1500*mib), s.alloc(1200*mib), s.alloc(10*mib))
			oom := s.outOfMemory(4 << 40)
			assert.Equal(s.T, memory.CauseTooLarge, oom.Cause)
			s.free(s.alloc(4096 * mib))
		})
	}
}

// scenarioMaxSplitExpandable fills a limit with blocks that must not be split
// and then wants them all in one.
func scenarioMaxSplitExpandable(t *testing.T) {
	cfg := memory.Config{Limit: 120 * mib, Settings: memory.Settings{MaxSplitSize: 40 * mib}}
	inBothModes(t, 1024*mib, cfg, func(s *stage) {
		blocks := []memory.Block{s.alloc(40 * mib), s.alloc(40 * mib), s.alloc(40 * mib)}
		s.outOfMemory(40 * mib)
		s.free(blocks...)
		s.free(s.alloc(120 * mib))
		assert.EqualValues(s.T, 120*mib, s.a.Stats().ReservedBytes.All.Peak)
	})
	t.Run("by turns", func(t *testing.T) {
		s := newStage(t, memorytest.FakeConfig{Capacity: 1024 * mib, Granularity: 2 * mib}, cfg)
		blocks := s.byTurns(40*mib, memory.ExpandableOff, memory.ExpandableOn, memory.ExpandableOff)
		s.outOfMemory(40 * mib)
		s.free(blocks...)
		s.free(s.alloc(120 * mib))
		assert.EqualValues(t, 120*mib, s.a.Stats().ReservedBytes.All.Peak)
		assert.EqualValues(t, 1, s.a.Stats().Rungs[memory.RungRelease].Served, "pages went back too")
	})
}

// scenarioGarbageCollectExpandable is about memory that
// garbage_collection_threshold gives back, and with pages about memory that it
// leaves where it is.
func scenarioGarbageCollectExpandable(t *testing.T) {
	cfg := memory.Config{Limit: 120 * mib, Settings: memory.Settings{GCThreshold: 0.5}}
	inBothModes(t, 1024*mib, cfg, func(s *stage) {
		s.free(s.alloc(40*mib), s.alloc(40*mib))
		s.free(s.alloc(80 * mib))
		now := s.a.Stats()
		assert.EqualValues(s.T, 80*mib, now.ReservedBytes.All.Peak)
		assert.Zero(s.T, now.NumAllocRetries)
		if s.pages {
			assert.Zero(s.T, now.NumDeviceFree)
		} else {
			assert.EqualValues(s.T, 80*mib, now.Rungs[memory.RungGrow].Gained, "both segments are as old as the average")
		}
	})
	t.Run("by turns", func(t *testing.T) {
		s := newStage(t, memorytest.FakeConfig{Capacity: 1024 * mib, Granularity: 2 * mib}, cfg)
		s.free(s.byTurns(40*mib, memory.ExpandableOff, memory.ExpandableOn)...)
		s.free(s.alloc(80 * mib))
		assert.LessOrEqual(t, s.a.Stats().ReservedBytes.All.Peak, int64(120*mib))
	})
}
