package upstreams_test

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
	"tarn/memory/upstreams"
)

func TestLimitSaysBothFigures(t *testing.T) {
	f := newFake(t, memorytest.FakeConfig{Capacity: mib})
	l := upstreams.Limit(f, 1000)
	p, err := l.Alloc(600)
	require.NoError(t, err)
	_, err = l.Alloc(401)
	require.ErrorIs(t, err, memory.ErrUpstreamFull)
	assert.EqualError(t, err, "upstreams: alloc of 401 bytes on fake:0: 600 of at most 1000 bytes are held: memory: upstream is full")
	var limit *upstreams.LimitError
	require.ErrorAs(t, err, &limit)
	assert.EqualValues(t, 600, limit.Held)
	assert.EqualValues(t, 1, f.Calls().Driver(), "the device was not asked")
	_, err = l.Alloc(math.MaxInt64)
	require.ErrorIs(t, err, memory.ErrUpstreamFull)

	q, err := l.Alloc(400)
	require.NoError(t, err, "to the last byte")
	require.Error(t, l.Free(q, 399))
	assert.EqualValues(t, 1000, l.Held(), "what was refused gives nothing back")
	require.NoError(t, l.Free(q, 400))
	require.NoError(t, l.Free(p, 600))
	assert.Zero(t, l.Held())
	assert.PanicsWithValue(t, "upstreams: Limit to -1 bytes", func() { upstreams.Limit(f, -1) })
}

func TestLimitPledgesGoBack(t *testing.T) {
	l := upstreams.Limit(upstreams.Fail(newFake(t, memorytest.FakeConfig{Capacity: mib}), 1, errBoom), mib)
	_, err := l.Alloc(mib)
	require.ErrorIs(t, err, errBoom)
	assert.Zero(t, l.Held())
	p, err := l.Alloc(mib)
	require.NoError(t, err)
	require.NoError(t, l.Free(p, mib))
}

func TestLimitMemInfoIsTheSmaller(t *testing.T) {
	f := newFake(t, memorytest.FakeConfig{Capacity: mib})
	l := upstreams.Limit(f, 600*kib)
	info := func() [2]int64 {
		free, total, err := l.MemInfo()
		require.NoError(t, err)
		return [2]int64{free, total}
	}
	assert.Equal(t, [2]int64{600 * kib, 600 * kib}, info())
	p, err := l.Alloc(100 * kib)
	require.NoError(t, err)
	assert.Equal(t, [2]int64{500 * kib, 600 * kib}, info())
	other, err := f.Alloc(800 * kib)
	require.NoError(t, err)
	assert.Equal(t, [2]int64{124 * kib, 600 * kib}, info(), "others use the device")
	require.NoError(t, l.Free(p, 100*kib))
	require.NoError(t, f.Free(other, 800*kib))
	free, total, _ := upstreams.Limit(f, 4*mib).MemInfo()
	assert.Equal(t, [2]int64{mib, mib}, [2]int64{free, total}, "a limit makes no memory")
}

// Ensure that a page which lost its name counts while it is mapped, that one
// which lost its mappings counts while it has its name, and that failures
// change nothing.
func TestLimitFollowsMappings(t *testing.T) {
	fail := upstreams.Fail(device(t, 8), 0, nil)
	l := upstreams.Limit(fail, 2*g)
	r, err := l.Reserve(4 * g)
	require.NoError(t, err)
	a, err := l.Create(g)
	require.NoError(t, err)
	b, err := l.Create(g)
	require.NoError(t, err)
	_, err = l.Create(g)
	require.ErrorIs(t, err, memory.ErrUpstreamFull)
	require.NoError(t, l.Map(r, g, a))
	require.NoError(t, l.Map(r+g, g, b))
	require.NoError(t, l.Map(r+2*g, g, a), "twice")
	require.Error(t, l.Map(r, g, b), "a place that is taken")

	fail.Set(upstreams.CallRelease, 1, errBoom)
	require.ErrorIs(t, l.Release(a), errBoom)
	require.NoError(t, l.Release(a))
	assert.EqualValues(t, 2*g, l.Held(), "mapped still")
	fail.Set(upstreams.CallUnmap, 1, errBoom)
	require.ErrorIs(t, l.Unmap(r, 2*g), errBoom)
	require.NoError(t, l.Unmap(r, 2*g), "both pages in one call")
	assert.EqualValues(t, 2*g, l.Held(), "one is mapped elsewhere, the other has its name")
	fail.Set(upstreams.CallUnmap, 1, errBoom)
	require.ErrorIs(t, l.Unmap(r+2*g, g), errBoom)
	assert.EqualValues(t, 2*g, l.Held())
	require.NoError(t, l.Unmap(r+2*g, g))
	assert.EqualValues(t, g, l.Held())
	fail.Set(upstreams.CallRelease, 1, errBoom)
	require.ErrorIs(t, l.Release(b), errBoom)
	assert.EqualValues(t, g, l.Held())
	require.NoError(t, l.Release(b))
	assert.Zero(t, l.Held())
	require.NoError(t, l.ReleaseRange(r, 4*g))
}

// Ensure that callers at the same time do not go past the limit together. The
// device says how much it had at most, in the middle of the calls.
func TestLimitHoldsConcurrently(t *testing.T) {
	const workers, limit, size = 8, 4 * g, g
	f := device(t, 2*workers)
	below := upstreams.Count(f)
	l := upstreams.Limit(below, limit)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range 200 {
				if w%2 == 0 {
					p, err := l.Alloc(size)
					if err != nil {
						assert.ErrorIs(t, err, memory.ErrUpstreamFull)
						continue
					}
					assert.NoError(t, l.Free(p, size))
				} else {
					pg, err := l.Create(size)
					if err != nil {
						assert.ErrorIs(t, err, memory.ErrUpstreamFull)
						continue
					}
					assert.NoError(t, l.Release(pg))
				}
			}
		})
	}
	wg.Wait()
	assert.LessOrEqual(t, below.Peak(), int64(limit))
	assert.Zero(t, l.Held())
}

// Ensure that two calls under way together are both counted: the first waits
// in the device until the second has been refused.
func TestLimitCountsCallsUnderWay(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	f := newFake(t, memorytest.FakeConfig{Capacity: mib, OnCall: func(c memorytest.Call) {
		if c == memorytest.CallAlloc {
			inside <- struct{}{}
			<-leave
		}
	}})
	l := upstreams.Limit(f, 1000)
	first := make(chan cuda.DevicePtr)
	go func() {
		p, err := l.Alloc(600)
		assert.NoError(t, err)
		first <- p
	}()
	<-inside
	_, err := l.Alloc(600)
	require.ErrorIs(t, err, memory.ErrUpstreamFull)
	close(leave)
	require.NoError(t, l.Free(<-first, 600))
}
