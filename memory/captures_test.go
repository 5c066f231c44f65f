package memory_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// captured is the stream that the tests here capture.
const captured = cuda.Stream(7)

// leavesAlone fails if something after the first calls of a log was done to the
// captured stream.
func leavesAlone(t *testing.T, f *memorytest.Fake, first int) {
	t.Helper()
	for _, e := range f.Log()[first:] {
		if e.Call == memorytest.CallRecordEvent || e.Call == memorytest.CallWaitEvent {
			assert.NotEqual(t, captured, e.Stream, "%v", e)
		}
	}
}

// TestCaptureAtPeak has a request in a capture come when the cache is larger
// than it should be: others pay for that.
func TestCaptureAtPeak(t *testing.T) {
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		fake.Asynchronous, fake.Capacity = true, 400*mib
		f, a := device(t, fake, memory.Config{NoBackgroundGC: true, SoftBudget: func(int64) int64 { return 0 }})
		p := newPool(t, a, memory.PoolConfig{})
		for _, s := range []cuda.Stream{8, captured} {
			b := poolAlloc(t, p, 40*mib, s)
			require.NoError(t, f.Write(s, b.Ptr, b.Size))
			free(t, a, b)
		}
		free(t, a, write(t, f, a, 40*mib, 8))
		require.NoError(t, p.BeginCapture(captured))
		began := len(f.Log())
		b := poolAlloc(t, p, 60*mib, captured)
		leavesAlone(t, f, began)
		for _, e := range f.Log()[began:] {
			assert.False(t, slices.Contains([]memorytest.Call{memorytest.CallUnmap, memorytest.CallFree, memorytest.CallSyncEvent}, e.Call), "%v", e)
		}
		require.NoError(t, p.EndCapture(captured))
		free(t, a, b)
	})
}

// TestEmptyCacheInACapture empties the caches, and lets a request do it, while
// a stream is captured that has memory in them.
func TestEmptyCacheInACapture(t *testing.T) {
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		fake.Asynchronous, fake.Capacity = true, 400*mib
		f, a := device(t, fake, memory.Config{NoBackgroundGC: true})
		p := newPool(t, a, memory.PoolConfig{})
		free(t, a, write(t, f, a, 40*mib, captured))
		b := poolAlloc(t, p, 40*mib, captured)
		require.NoError(t, f.Write(captured, b.Ptr, b.Size))
		free(t, a, b)
		require.NoError(t, p.BeginCapture(captured))
		began := len(f.Log())
		require.NoError(t, a.EmptyCache())
		require.NoError(t, p.EmptyCache())
		free(t, a, alloc(t, a, 310*mib, 0))
		leavesAlone(t, f, began)
		require.NoError(t, p.EndCapture(captured))
	})
}

// TestAbandonInACapture has owners lose blocks that a capture uses.
func TestAbandonInACapture(t *testing.T) {
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		fake.Asynchronous = true
		f, a := device(t, fake, memory.Config{NoBackgroundGC: true})
		p := newPool(t, a, memory.PoolConfig{})
		b, c := write(t, f, a, 40*mib, 0), poolAlloc(t, p, 4*mib, captured)
		require.NoError(t, p.BeginCapture(captured))
		a.Abandon(b.Handle, captured)
		a.Abandon(c.Handle, 8)
		require.NoError(t, a.Check())
		assert.Zero(t, f.Calls()[memorytest.CallRecordEvent])
		assert.Zero(t, a.Stats().GCReleased.Count)
		require.NoError(t, p.EndCapture(captured))
		assert.EqualValues(t, 2, f.Calls()[memorytest.CallRecordEvent])
		assert.EqualValues(t, 2, a.Stats().GCReleased.Count)
		require.NoError(t, a.EmptyCache())
		assert.Zero(t, a.Stats().ActiveBytes.All.Current)
	})
}

// TestFreeFailsInACapture: a block whose free has nothing to do with the capture
// stays live if it fails, as at any other time.
func TestFreeFailsInACapture(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{Asynchronous: true}, memory.Config{})
	p := newPool(t, a, memory.PoolConfig{})
	b := alloc(t, a, mib, 0)
	require.NoError(t, p.BeginCapture(captured))
	f.FailAt(memorytest.CallRecordEvent, 1, errBroken)
	require.ErrorIs(t, a.Free(b.Handle, 1), errBroken)
	free(t, a, b, 1)
	require.NoError(t, p.EndCapture(captured))
}
