package memorytest

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
)

// TestUpstream is what every upstream must pass. open returns a fresh one with
// nothing allocated, that nobody else allocates from.
func TestUpstream(t *testing.T, open func(t *testing.T) memory.Upstream) {
	run := func(name string, test func(*testing.T, memory.Upstream)) {
		t.Run(name, func(t *testing.T) {
			u := open(t)
			free, total, err := u.MemInfo()
			require.NoError(t, err)
			test(t, u)
			after, totalAfter, err := u.MemInfo()
			require.NoError(t, err)
			assert.Equal(t, free, after, "free bytes before and after")
			assert.Equal(t, total, totalAfter, "total bytes before and after")
		})
	}
	run("Props", testProps)
	run("Alloc", testUpstreamAlloc)
	run("FreeRefusals", testFreeRefusals)
	run("BadSizes", testBadSizes)
	run("Full", testFull)
	run("Events", testEvents)
	run("Concurrent", testConcurrent)
	if open(t).Props().VirtualMemory {
		run("Virtual", testVirtual)
		run("VirtualRun", testVirtualRun)
		run("VirtualMove", testVirtualMove)
		run("VirtualFull", testVirtualFull)
		run("PageOutlivesItsName", testPageOutlivesItsName)
		run("VirtualRefusals", testVirtualRefusals)
	} else {
		run("NoVirtual", testNoVirtual)
	}
}

// requireRefused demands an error that does not claim a want of memory.
func requireRefused(t *testing.T, err error, what string) {
	t.Helper()
	require.Error(t, err, what)
	require.NotErrorIs(t, err, memory.ErrUpstreamFull, what)
}

func testProps(t *testing.T, u memory.Upstream) {
	p := u.Props()
	assert.NotEmpty(t, p.Name)
	assert.GreaterOrEqual(t, p.Alignment, int64(64))
	assert.True(t, powerOfTwo(p.Alignment), "alignment %d", p.Alignment)
	if p.VirtualMemory {
		assert.True(t, powerOfTwo(p.Granularity), "granularity %d", p.Granularity)
	}
	assert.Equal(t, p, u.Props(), "props do not change")
	if n, ok := u.(memory.Neighbours); ok {
		list, err := n.Processes() // an error is an answer too
		for _, p := range list {
			assert.NoError(t, err)
			assert.GreaterOrEqual(t, p.Bytes, int64(-1), "process %d", p.PID)
		}
	}
	free, total, err := u.MemInfo()
	require.NoError(t, err)
	assert.Positive(t, total)
	assert.True(t, 0 <= free && free <= total, "%d of %d bytes are free", free, total)
}

func testUpstreamAlloc(t *testing.T, u memory.Upstream) {
	free, _, err := u.MemInfo()
	require.NoError(t, err)
	var live regions
	var sum int64
	for _, size := range []int64{1, 63, 512, 4095, 4096, 4097, 1 << 20, 2<<20 + 512, 5 << 20} {
		p, err := u.Alloc(size)
		require.NoError(t, err, "%d bytes", size)
		require.NotZero(t, p)
		assert.Zero(t, int64(p)%u.Props().Alignment, "%#x is not aligned", uintptr(p))
		require.False(t, live.overlaps(p, size), "%d bytes at %#x overlap %v", size, uintptr(p), live)
		live.insert(region{ptr: p, size: size})
		sum += size
	}
	now, _, err := u.MemInfo()
	require.NoError(t, err)
	assert.LessOrEqual(t, now, free-sum, "what is allocated is not free")
	for _, r := range live {
		require.NoError(t, u.Free(r.ptr, r.size))
	}
}

func testFreeRefusals(t *testing.T, u memory.Upstream) {
	const size = 1 << 20
	p, err := u.Alloc(size)
	require.NoError(t, err)
	requireRefused(t, u.Free(p, size-512), "smaller size")
	requireRefused(t, u.Free(p, size+512), "larger size")
	requireRefused(t, u.Free(p+512, size-512), "pointer inside")
	requireRefused(t, u.Free(0, size), "no pointer")
	require.NoError(t, u.Free(p, size), "the refusals changed nothing")
	requireRefused(t, u.Free(p, size), "second free")
}

func testBadSizes(t *testing.T, u memory.Upstream) {
	for _, size := range []int64{0, -1, math.MinInt64} {
		p, err := u.Alloc(size)
		requireRefused(t, err, "bad size")
		assert.Zero(t, p)
	}
}

// testFull fills a device, in pieces so large that few are needed.
func testFull(t *testing.T, u memory.Upstream) {
	free, total, err := u.MemInfo()
	require.NoError(t, err)
	for _, size := range []int64{total + 1, math.MaxInt64 - 1, math.MaxInt64} {
		_, err := u.Alloc(size)
		require.ErrorIs(t, err, memory.ErrUpstreamFull, "%d bytes", size)
	}
	size := max(free/5, 1)
	var live []cuda.DevicePtr
	for {
		p, err := u.Alloc(size)
		if err != nil {
			require.ErrorIs(t, err, memory.ErrUpstreamFull)
			break
		}
		live = append(live, p)
		require.LessOrEqual(t, len(live), 5, "more than there is")
	}
	assert.NotEmpty(t, live)
	require.NoError(t, u.Free(live[0], size))
	live[0], err = u.Alloc(size)
	require.NoError(t, err, "what was freed can be had again")
	for _, p := range live {
		require.NoError(t, u.Free(p, size))
	}
}

func testEvents(t *testing.T, u memory.Upstream) {
	a, err := u.RecordEvent(1)
	require.NoError(t, err)
	b, err := u.RecordEvent(2)
	require.NoError(t, err)
	require.NotZero(t, a)
	require.NotEqual(t, a, b)
	done, err := u.QueryEvent(a)
	require.NoError(t, err)
	if !u.Props().Asynchronous {
		assert.True(t, done, "work is done when its call returns")
	}
	require.NoError(t, u.WaitEvent(2, a))
	require.NoError(t, u.WaitEvent(1, a), "a stream may wait for itself")
	require.NoError(t, u.DestroyEvent(a), "although a stream waits for it")
	require.NoError(t, u.SyncEvent(b))
	done, err = u.QueryEvent(b)
	require.NoError(t, err)
	assert.True(t, done, "done once waited for")
	require.NoError(t, u.SyncEvent(b), "twice is once")
	require.NoError(t, u.DestroyEvent(b))

	for _, e := range []cuda.Event{0, a, b, math.MaxUint32} {
		_, err := u.QueryEvent(e)
		requireRefused(t, err, "query")
		requireRefused(t, u.WaitEvent(1, e), "wait")
		requireRefused(t, u.SyncEvent(e), "sync")
		requireRefused(t, u.DestroyEvent(e), "destroy")
	}
}

// testConcurrent is for the race detector, and for books that many hands keep.
func testConcurrent(t *testing.T, u memory.Upstream) {
	var wg sync.WaitGroup
	for worker := range cuda.Stream(4) {
		wg.Go(func() {
			for i := range int64(50) {
				size := 512 + i*100
				p, err := u.Alloc(size)
				if !assert.NoError(t, err) {
					return
				}
				e, err := u.RecordEvent(worker)
				assert.NoError(t, err)
				assert.NoError(t, u.WaitEvent(worker+1, e))
				_, err = u.QueryEvent(e)
				assert.NoError(t, err)
				assert.NoError(t, u.SyncEvent(e))
				assert.NoError(t, u.DestroyEvent(e))
				_, _, err = u.MemInfo()
				assert.NoError(t, err)
				assert.NoError(t, u.Free(p, size))
			}
		})
	}
	wg.Wait()
}

func testNoVirtual(t *testing.T, u memory.Upstream) {
	_, err := u.Reserve(2 << 20)
	require.ErrorIs(t, err, memory.ErrNotSupported)
	_, err = u.Create(2 << 20)
	require.ErrorIs(t, err, memory.ErrNotSupported)
	require.ErrorIs(t, u.ReleaseRange(2<<20, 2<<20), memory.ErrNotSupported)
	require.ErrorIs(t, u.Release(1), memory.ErrNotSupported)
	require.ErrorIs(t, u.Map(2<<20, 2<<20, 1), memory.ErrNotSupported)
	require.ErrorIs(t, u.SetAccess(2<<20, 2<<20), memory.ErrNotSupported)
	require.ErrorIs(t, u.Unmap(2<<20, 2<<20), memory.ErrNotSupported)
}
