package memory_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// TestShortageHook gives up a cache of the program's own, and the request is
// served by it. The hook may call the allocator.
func TestShortageHook(t *testing.T) {
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		_, a := device(t, fake, memory.Config{})
		own := alloc(t, a, 60*mib, 0)
		calls := 0
		remove := a.OnShortage(func(need int64) {
			calls++
			assert.EqualValues(t, 50*mib, need)
			free(t, a, own)
		})
		b := alloc(t, a, 50*mib, 0)
		s := a.Stats()
		assert.EqualValues(t, 1, s.Rungs[memory.RungHooks].Served)
		assert.EqualValues(t, 60*mib, s.Rungs[memory.RungHooks].Gained)
		assert.Zero(t, s.NumOOMs)

		remove()
		_, err := a.Alloc(90*mib, 0, memory.Untagged)
		require.Error(t, err)
		assert.Equal(t, 1, calls)
		free(t, a, b)
	})
}

func TestOutOfMemoryObserver(t *testing.T) {
	_, a := device(t, memorytest.FakeConfig{Capacity: 100 * mib}, memory.Config{})
	var seen []*memory.OutOfMemoryError
	remove := a.OnOutOfMemory(func(err *memory.OutOfMemoryError) {
		require.NoError(t, a.Check()) // no lock is held
		seen = append(seen, err)
	})
	_, err := a.Alloc(200*mib, 0, memory.Untagged)
	var oom *memory.OutOfMemoryError
	require.ErrorAs(t, err, &oom)
	require.Len(t, seen, 1)
	assert.Same(t, oom, seen[0])
	remove()
	_, err = a.Alloc(200*mib, 0, memory.Untagged)
	require.Error(t, err)
	assert.Len(t, seen, 1)
}

// TestRetiredStream: the stream is destroyed before its blocks. Nothing is asked
// of it any more, its memory goes to others without a wait, and a new stream
// with the same handle is another one.
func TestRetiredStream(t *testing.T) {
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		fake.Asynchronous = true
		const gone, other = cuda.Stream(5), cuda.Stream(6)
		f, a := device(t, fake, memory.Config{})
		cached, live := alloc(t, a, 20*mib, gone), alloc(t, a, 30*mib, gone)
		require.NoError(t, f.Write(gone, live.Ptr, live.Size))
		free(t, a, cached)
		require.NoError(t, a.RetireStream(gone))
		require.NoError(t, a.RetireStream(gone), "a second time does nothing")
		began := len(f.Log())
		free(t, a, live)
		b := alloc(t, a, 30*mib, other)
		assert.Contains(t, []cuda.DevicePtr{live.Ptr, cached.Ptr}, b.Ptr)
		require.NoError(t, f.Write(other, b.Ptr, b.Size))
		for _, e := range f.Log()[began:] {
			assert.False(t, e.Call == memorytest.CallRecordEvent && e.Stream == gone, "%v of a stream that is gone", e)
		}
		again := alloc(t, a, 20*mib, gone)
		free(t, a, again)
		require.NoError(t, a.Check())
		require.NoError(t, a.EmptyCache())
		free(t, a, b)
	})
}

// TestRetireWaitsForOthers retires a stream while somebody else is asking about
// it: when it returns nobody records an event on it any more.
func TestRetireWaitsForOthers(t *testing.T) {
	for call, n := range map[memorytest.Call]int32{memorytest.CallRecordEvent: 1, memorytest.CallQueryEvent: 2} {
		t.Run(call.String(), func(t *testing.T) {
			var fake *memorytest.Fake
			var began int
			during(t, memorytest.FakeConfig{Granularity: page, Asynchronous: true, KeepLog: true}, memory.Config{}, call, n,
				func(f *memorytest.Fake, a *memory.Allocator) {
					fake = f
					blocks := row(t, f, a, 0, 1, 1, 1)
					free(t, a, blocks[0])
					write(t, f, a, page, 1) // records an event
					free(t, a, blocks[1])
					f.Complete(0)
					write(t, f, a, page, 1) // asks for it, and records the next
				},
				func(f *memorytest.Fake, a *memory.Allocator) {
					assert.NoError(t, a.RetireStream(0))
					began = len(f.Log())
				})
			for _, e := range fake.Log()[began:] {
				assert.False(t, e.Call == memorytest.CallRecordEvent && e.Stream == 0, "%v on a stream that is gone", e)
			}
		})
	}
}
