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

func newPool(t *testing.T, a *memory.Allocator, cfg memory.PoolConfig) *memory.Pool {
	t.Helper()
	p, err := a.NewPool(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

func poolAlloc(t *testing.T, p *memory.Pool, size int64, s cuda.Stream) memory.Block {
	t.Helper()
	b, err := p.Alloc(size, s, memory.Untagged)
	require.NoError(t, err)
	return b
}

// bothKinds runs a test over segments and over pages.
func bothKinds(t *testing.T, test func(t *testing.T, fake memorytest.FakeConfig)) {
	t.Run("segments", func(t *testing.T) { test(t, memorytest.FakeConfig{Capacity: 100 * mib, KeepLog: true}) })
	t.Run("pages", func(t *testing.T) {
		test(t, memorytest.FakeConfig{Capacity: 100 * mib, Granularity: 2 * mib, Asynchronous: true, KeepLog: true})
	})
}

// TestPoolKeepsItsMemory: neither a pool's free memory serves others, however
// short they are, nor theirs it, until it is closed.
func TestPoolKeepsItsMemory(t *testing.T) {
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		_, a := device(t, fake, memory.Config{})
		p := newPool(t, a, memory.PoolConfig{Name: "graph"})
		b := poolAlloc(t, p, 60*mib, 0)
		free(t, a, b)
		assert.Equal(t, memory.PoolStats{Name: "graph", Reserved: 60 * mib}, p.Stats())
		_, err := a.Alloc(60*mib, 0, memory.Untagged)
		var oom *memory.OutOfMemoryError
		require.ErrorAs(t, err, &oom)
		require.NoError(t, a.EmptyCache())
		assert.EqualValues(t, 60*mib, p.Stats().Reserved, "the cache of the others was emptied")
		again := poolAlloc(t, p, 60*mib, 0)
		assert.Equal(t, b.Ptr, again.Ptr)
		free(t, a, again)

		require.NoError(t, p.Close())
		_, err = p.Alloc(1, 0, memory.Untagged)
		require.ErrorIs(t, err, memory.ErrClosed)
		free(t, a, alloc(t, a, 60*mib, 0))
		free(t, a, alloc(t, a, 60*mib, 1))
	})
}

// TestPoolIsServedByTheCacheOfOthers: what nobody uses outside goes back
// upstream for it.
func TestPoolIsServedByTheCacheOfOthers(t *testing.T) {
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		_, a := device(t, fake, memory.Config{})
		p := newPool(t, a, memory.PoolConfig{})
		free(t, a, alloc(t, a, 60*mib, 0))
		b := poolAlloc(t, p, 60*mib, 0)
		require.NoError(t, a.Check())
		free(t, a, b)
	})
}

// TestPoolIsServedByWhatOthersLeave: so does what comes free outside on the late
// rungs, when its last use is over or a hook gives it up.
func TestPoolIsServedByWhatOthersLeave(t *testing.T) {
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		fake.Asynchronous = true
		_, a := device(t, fake, memory.Config{})
		p := newPool(t, a, memory.PoolConfig{})
		free(t, a, alloc(t, a, 60*mib, 0), 1)
		free(t, a, poolAlloc(t, p, 60*mib, 0))
		require.NoError(t, p.EmptyCache())

		b := alloc(t, a, 60*mib, 0)
		a.OnShortage(func(int64) { free(t, a, b) })
		free(t, a, poolAlloc(t, p, 60*mib, 0))
	})
}

// TestPagesAreServedByWhatSegmentsLeave is the same for segments that are left
// of other settings.
func TestPagesAreServedByWhatSegmentsLeave(t *testing.T) {
	segments := memory.Settings{Expandable: memory.ExpandableOff}
	_, a := device(t, memorytest.FakeConfig{Capacity: 100 * mib, Granularity: page, Asynchronous: true}, memory.Config{Settings: segments})
	free(t, a, alloc(t, a, 60*mib, 0), 1)
	require.NoError(t, a.SetSettings(memory.Settings{}))
	alloc(t, a, 60*mib, 2)
}

// TestMemoryOfGraphsIsNoExcess has a graph keep free memory: the rest grows as it
// would without, and neither gives its cache back nor waits for a GC more often.
func TestMemoryOfGraphsIsNoExcess(t *testing.T) {
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		fake.Asynchronous, fake.Capacity = true, 4096*mib
		play := func(private int64) (string, int64) {
			f, a := device(t, fake, memory.Config{NoBackgroundGC: true})
			p := newPool(t, a, memory.PoolConfig{})
			require.NoError(t, p.BeginCapture(7))
			free(t, a, poolAlloc(t, p, private, 7))
			require.NoError(t, p.EndCapture(7))
			free(t, a, write(t, f, a, 300*mib, 0))
			require.NoError(t, a.EmptyCache())
			a.ResetPeak()
			before, waited := f.Calls(), a.Stats().Collections.Waited
			for i := range int64(20) {
				write(t, f, a, (10+i)*mib, 0)
				free(t, a, write(t, f, a, (12+i)*mib, 1))
			}
			return f.Calls().Since(before).String(), a.Stats().Collections.Waited - waited
		}
		want, wantWaited := play(1)
		got, gotWaited := play(2000 * mib)
		assert.Equal(t, want, got)
		assert.Equal(t, wantWaited, gotWaited)
	})
}

func TestPoolLimit(t *testing.T) {
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		_, a := device(t, fake, memory.Config{})
		p := newPool(t, a, memory.PoolConfig{Limit: 30 * mib})
		b := poolAlloc(t, p, 20*mib, 0)
		_, err := p.Alloc(20*mib, 0, memory.Untagged)
		var oom *memory.OutOfMemoryError
		require.ErrorAs(t, err, &oom)
		free(t, a, b)
		require.NoError(t, p.EmptyCache())
		b = poolAlloc(t, p, 30*mib, 0)
		free(t, a, b)
	})
}

func TestPoolNoSplit(t *testing.T) {
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		_, a := device(t, fake, memory.Config{})
		p := newPool(t, a, memory.PoolConfig{NoSplit: true})
		free(t, a, poolAlloc(t, p, 40*mib, 1)) // free pages side by side
		for _, size := range []int64{1000, 12*mib + 1} {
			b := poolAlloc(t, p, size, 0)
			assert.Zero(t, b.Size%(2*mib), "%d bytes are a whole segment, not %d", size, b.Size)
			if fake.Granularity > 0 {
				assert.Less(t, b.Size, size+2*mib)
			}
			free(t, a, b)
		}
	})
}

func TestPoolLends(t *testing.T) {
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		_, a := device(t, fake, memory.Config{})
		p := newPool(t, a, memory.PoolConfig{UseOnOOM: true})
		b := poolAlloc(t, p, 60*mib, 0)
		free(t, a, b)
		lent := alloc(t, a, 50*mib, 0)
		assert.Equal(t, b.Ptr, lent.Ptr)
		_, err := a.Alloc(50*mib, 1, memory.Untagged)
		require.Error(t, err, "the pool is of another stream")
		assert.EqualValues(t, 50*mib, p.Stats().Allocated)
		assert.EqualValues(t, 1, a.Stats().NumOOMs, "of the other stream")
		free(t, a, lent)
	})
}

func TestPoolOfAnotherUpstream(t *testing.T) {
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		f, a := device(t, fake, memory.Config{})
		other := memorytest.NewFake(memorytest.FakeConfig{Capacity: 100 * mib, Asynchronous: fake.Asynchronous})
		p := newPool(t, a, memory.PoolConfig{Upstream: other})
		b := poolAlloc(t, p, 40*mib, 0)
		assert.EqualValues(t, 40*mib, other.Used())
		assert.Zero(t, f.Used())
		require.NoError(t, a.Check())
		free(t, a, b)
		require.NoError(t, p.Close())
		require.NoError(t, other.Leaked())
	})
}

func TestClosedPoolsLiveBlocks(t *testing.T) {
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		f, a := device(t, fake, memory.Config{})
		p := newPool(t, a, memory.PoolConfig{})
		b := poolAlloc(t, p, 40*mib, 0)
		require.NoError(t, p.Close())
		free(t, a, b)
		require.NoError(t, a.EmptyCache())
		assert.Zero(t, f.Used())
	})
}

func TestNewPoolRefuses(t *testing.T) {
	_, a := device(t, memorytest.FakeConfig{}, memory.Config{})
	_, err := a.NewPool(memory.PoolConfig{Name: "x", Limit: -1})
	require.ErrorContains(t, err, `NewPool "x": the limit is negative`)
	require.NoError(t, a.Close())
	_, err = a.NewPool(memory.PoolConfig{})
	require.ErrorIs(t, err, memory.ErrClosed)
}

// TestCapture captures a graph on a stream, lets others run the device full
// afterwards, and replays: no call that CUDA forbids was made for the stream
// while it was captured, and nobody got the graph's memory.
func TestCapture(t *testing.T) {
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		fake.Asynchronous, fake.Capacity = true, 200*mib
		const stream, side = cuda.Stream(7), cuda.Stream(8)
		f, a := device(t, fake, memory.Config{})
		p := newPool(t, a, memory.PoolConfig{})
		free(t, a, alloc(t, a, 20*mib, side)) // something that could be taken over
		before := alloc(t, a, 4*mib, stream)
		free(t, a, alloc(t, a, 30*mib, stream), side) // an event that could be asked about

		require.NoError(t, p.BeginCapture(stream))
		require.ErrorContains(t, p.BeginCapture(stream), "captured already")
		began := len(f.Log())
		used := []memory.Block{poolAlloc(t, p, 10*mib, stream), poolAlloc(t, p, 3*mib, stream), poolAlloc(t, p, 1000, stream)}
		free(t, a, used[1])
		used[1] = poolAlloc(t, p, 3*mib, stream) // in the graph's order
		free(t, a, used[0], side)                // an event on side would not be of the graph
		free(t, a, before)
		other := alloc(t, a, 5*mib, side) // others go on, and leave the stream alone
		free(t, a, other, stream)
		for _, e := range f.Log()[began:] {
			forbidden := []memorytest.Call{memorytest.CallQueryEvent, memorytest.CallSyncEvent, memorytest.CallUnmap, memorytest.CallFree, memorytest.CallRelease}
			assert.False(t, slices.Contains(forbidden, e.Call) || e.Stream == stream, "%v in a capture", e)
		}
		require.NoError(t, a.Check())
		require.NoError(t, p.EndCapture(stream))
		f.CompleteAll()

		// Whatever others do now, these bytes are the graph's.
		var live []memory.Block
		for _, size := range []int64{90 * mib, 40 * mib, 10 * mib, 2 * mib, 1000} {
			for {
				b, err := a.Alloc(size, side, memory.Untagged)
				if err != nil {
					break
				}
				for _, u := range used {
					assert.False(t, b.Ptr < u.Ptr+cuda.DevicePtr(u.Size) && u.Ptr < b.Ptr+cuda.DevicePtr(b.Size), "%d bytes of the graph were given out", u.Size)
				}
				live = append(live, b)
			}
		}
		for _, u := range used {
			require.NoError(t, f.Write(stream, u.Ptr, u.Size), "the replay")
		}
		f.CompleteAll()
		for _, b := range append(live, used[1], used[2]) {
			free(t, a, b)
		}
	})
}
