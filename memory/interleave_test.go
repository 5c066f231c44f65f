package memory_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/memory"
	"tarn/memory/memorytest"
)

// during runs act in a bubble where the n-th call of a kind that it makes is
// held up until meanwhile, on another goroutine, is done or waits for it.
func during(t *testing.T, fake memorytest.FakeConfig, cfg memory.Config, call memorytest.Call, n int32,
	act, meanwhile func(f *memorytest.Fake, a *memory.Allocator)) {
	synctest.Test(t, func(t *testing.T) {
		var f *memorytest.Fake
		var a *memory.Allocator
		finished := make(chan struct{})
		var calls atomic.Int32
		fake.OnCall = func(c memorytest.Call) {
			if c == call && calls.Add(1) == n {
				go func() {
					defer close(finished)
					meanwhile(f, a)
				}()
				synctest.Wait()
			}
		}
		cfg.NoBackgroundGC = true
		f, a = device(t, fake, cfg)
		act(f, a)
		require.GreaterOrEqual(t, calls.Load(), n, "the call never came")
		<-finished
	})
}

// TestReturnUnderWay has a request that fits only when the segment that
// somebody else is giving back has arrived.
func TestReturnUnderWay(t *testing.T) {
	during(t, memorytest.FakeConfig{Capacity: 100 * mib}, memory.Config{}, memorytest.CallFree, 1,
		func(_ *memorytest.Fake, a *memory.Allocator) {
			free(t, a, alloc(t, a, 60*mib, 0))
			assert.NoError(t, a.EmptyCache())
		},
		func(_ *memorytest.Fake, a *memory.Allocator) {
			_, err := a.Alloc(90*mib, 1, memory.Untagged)
			assert.NoError(t, err)
		})
}

// TestGrowthUnderWay has a request that the limit refuses only because of a
// growth that then fails.
func TestGrowthUnderWay(t *testing.T) {
	during(t, memorytest.FakeConfig{Capacity: 60 * mib}, memory.Config{Limit: 100 * mib}, memorytest.CallAlloc, 1,
		func(_ *memorytest.Fake, a *memory.Allocator) {
			outOfMemory(t, a, 90*mib, 0)
		},
		func(_ *memorytest.Fake, a *memory.Allocator) {
			_, err := a.Alloc(50*mib, 1, memory.Untagged)
			assert.NoError(t, err)
		})
}

// TestLimitCountsGrowthUnderWay has two requests that fit the limit only one
// at a time.
func TestLimitCountsGrowthUnderWay(t *testing.T) {
	during(t, memorytest.FakeConfig{}, memory.Config{Limit: 100 * mib}, memorytest.CallAlloc, 1,
		func(f *memorytest.Fake, a *memory.Allocator) {
			alloc(t, a, 60*mib, 0)
			assert.EqualValues(t, 60*mib, f.Used())
		},
		func(_ *memorytest.Fake, a *memory.Allocator) {
			_, err := a.Alloc(60*mib, 1, memory.Untagged)
			var oom *memory.OutOfMemoryError
			assert.ErrorAs(t, err, &oom)
		})
}

// TestCacheFilledMeanwhile has a block come back to the cache while a request
// for its size is upstream: the search after the next rung finds it.
func TestCacheFilledMeanwhile(t *testing.T) {
	var b memory.Block
	during(t, memorytest.FakeConfig{Capacity: 100 * mib}, memory.Config{}, memorytest.CallAlloc, 2,
		func(_ *memorytest.Fake, a *memory.Allocator) {
			b = alloc(t, a, 80*mib, 0)
			assert.Equal(t, b.Ptr, alloc(t, a, 80*mib, 0).Ptr)
		},
		func(_ *memorytest.Fake, a *memory.Allocator) {
			assert.NoError(t, a.Free(b.Handle))
		})
}

// TestDrainUnderWay asks for the books while somebody else is freeing what was
// abandoned.
func TestDrainUnderWay(t *testing.T) {
	during(t, memorytest.FakeConfig{Asynchronous: true}, memory.Config{}, memorytest.CallRecordEvent, 1,
		func(f *memorytest.Fake, a *memory.Allocator) {
			a.Abandon(alloc(t, a, mib, 0).Handle, 1)
			alloc(t, a, mib, 0)
			f.CompleteAll()
		},
		func(_ *memorytest.Fake, a *memory.Allocator) {
			assert.EqualValues(t, 1, a.Stats().GCReleased.Count)
		})
}

// TestQueueUnderWay waits for parked blocks while somebody else is looking at
// their events.
func TestQueueUnderWay(t *testing.T) {
	during(t, memorytest.FakeConfig{Asynchronous: true}, memory.Config{}, memorytest.CallQueryEvent, 1,
		func(_ *memorytest.Fake, a *memory.Allocator) {
			free(t, a, alloc(t, a, mib, 0), 1)
			alloc(t, a, mib, 0)
		},
		func(f *memorytest.Fake, a *memory.Allocator) {
			assert.NoError(t, a.EmptyCache())
			assert.Zero(t, a.Stats().PendingBytes)
			assert.EqualValues(t, 1, f.Calls()[memorytest.CallDestroyEvent])
		})
}

// TestFreeUnderWay frees a block twice, the second time while the first records
// an event.
func TestFreeUnderWay(t *testing.T) {
	var b memory.Block
	during(t, memorytest.FakeConfig{Asynchronous: true}, memory.Config{}, memorytest.CallRecordEvent, 1,
		func(f *memorytest.Fake, a *memory.Allocator) {
			b = alloc(t, a, mib, 0)
			free(t, a, b, 1)
			f.CompleteAll()
		},
		func(_ *memorytest.Fake, a *memory.Allocator) {
			assert.ErrorIs(t, a.Free(b.Handle), memory.ErrStaleHandle)
			a.Abandon(b.Handle)
			assert.EqualValues(t, 1, a.Stats().Allocation.All.Current)
			assert.NoError(t, a.Check())
		})
}

// TestCloseUnderWay closes the allocator in the middle of a growth and of a
// free.
func TestCloseUnderWay(t *testing.T) {
	closes := func(f *memorytest.Fake, a *memory.Allocator) { _ = a.Close() }
	t.Run("grow", func(t *testing.T) {
		during(t, memorytest.FakeConfig{}, memory.Config{}, memorytest.CallAlloc, 1,
			func(f *memorytest.Fake, a *memory.Allocator) {
				_, err := a.Alloc(mib, 0, memory.Untagged)
				assert.ErrorIs(t, err, memory.ErrClosed)
				assert.Zero(t, f.Used())
			}, closes)
	})
	t.Run("free", func(t *testing.T) {
		during(t, memorytest.FakeConfig{Asynchronous: true}, memory.Config{}, memorytest.CallRecordEvent, 1,
			func(f *memorytest.Fake, a *memory.Allocator) {
				b := alloc(t, a, mib, 0)
				free(t, a, b, 1)
				assert.Zero(t, f.Used())
				assert.Zero(t, f.LiveEvents())
			}, closes)
	})
}
