package memory_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
)

// device is a fake and an allocator over it, checked and closed at the end of
// the test.
func device(t testing.TB, fake memorytest.FakeConfig, cfg memory.Config) (*memorytest.Fake, *memory.Allocator) {
	t.Helper()
	if fake.Capacity == 0 {
		fake.Capacity = 1 << 30
	}
	f := memorytest.NewFake(fake)
	a, err := memory.New(f, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, a.Check())
		if err := a.Close(); err != nil {
			var live *memory.LiveBlocksError
			assert.ErrorAs(t, err, &live)
		}
		assert.NoError(t, f.Close())
	})
	return f, a
}

func alloc(t testing.TB, a *memory.Allocator, size int64, s cuda.Stream) memory.Block {
	t.Helper()
	b, err := a.Alloc(size, s, memory.Untagged)
	require.NoError(t, err)
	return b
}

func free(t testing.TB, a *memory.Allocator, b memory.Block, usedOn ...cuda.Stream) {
	t.Helper()
	require.NoError(t, a.Free(b.Handle, usedOn...))
}

// TestPolicy holds sizes of blocks and segments to PyTorch's numbers.
func TestPolicy(t *testing.T) {
	for _, tc := range []struct{ size, block, segment int64 }{
		{1, 512, 2 * mib},
		{512, 512, 2 * mib},
		{513, 1024, 2 * mib},
		{mib - 511, mib, 2 * mib},
		{mib, mib, 2 * mib},
		{mib + 1, mib + 512, 20 * mib},
		{10*mib - 512, 10*mib - 512, 20 * mib},
		{10*mib - 511, 10 * mib, 10 * mib}, // rounded, it is large enough for a segment of its own
		{10*mib + 1, 10*mib + 512, 12 * mib},
		{31 * mib, 32 * mib, 32 * mib}, // a remainder of 1 MiB is not cut off
		{31*mib - 512, 31*mib - 512, 32 * mib},
	} {
		t.Run(fmt.Sprint(tc.size), func(t *testing.T) {
			f, a := device(t, memorytest.FakeConfig{}, memory.Config{})
			assert.Equal(t, tc.block, alloc(t, a, tc.size, 0).Size)
			assert.Equal(t, tc.segment, f.Used())
		})
	}
}

func TestBlockIsReused(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{}, memory.Config{})
	b := alloc(t, a, 1000, 0)
	free(t, a, b)
	again := alloc(t, a, 700, 0)
	assert.Equal(t, b.Ptr, again.Ptr)
	assert.NotEqual(t, b.Handle, again.Handle)
	assert.EqualValues(t, 2*mib, f.Used())
	other := alloc(t, a, 700, 1)
	assert.EqualValues(t, 4*mib, f.Used(), "another stream has blocks of its own")
	assert.NotEqual(t, again.Ptr, other.Ptr)
}

// TestCoalesce frees three neighbours in each order and finds them joined.
func TestCoalesce(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			f, a := device(t, memorytest.FakeConfig{Adjacent: true}, memory.Config{})
			var blocks [4]memory.Block
			for i := range blocks {
				blocks[i] = alloc(t, a, 5*mib, 0)
			}
			after := alloc(t, a, 20*mib, 0)
			require.Equal(t, blocks[0].Ptr+cuda.DevicePtr(20*mib), after.Ptr, "the segments touch")
			for _, i := range order {
				free(t, a, blocks[i])
				require.NoError(t, a.Check())
			}
			assert.Equal(t, blocks[0].Ptr, alloc(t, a, 15*mib, 0).Ptr)
			assert.EqualValues(t, 40*mib, f.Used())
		})
	}
}

func TestSegmentsAreNotJoined(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{Adjacent: true}, memory.Config{})
	b, c := alloc(t, a, 20*mib, 0), alloc(t, a, 20*mib, 0)
	require.Equal(t, b.Ptr+cuda.DevicePtr(b.Size), c.Ptr)
	free(t, a, b)
	free(t, a, c)
	require.NoError(t, a.Check())
	alloc(t, a, 40*mib, 0)
	assert.EqualValues(t, 80*mib, f.Used())
	require.NoError(t, a.EmptyCache())
	assert.EqualValues(t, 40*mib, f.Used(), "each went back on its own")
}

func TestBadHandles(t *testing.T) {
	_, a := device(t, memorytest.FakeConfig{Name: "fake:7"}, memory.Config{})
	_, other := device(t, memorytest.FakeConfig{}, memory.Config{})
	b := alloc(t, a, 1000, 0)
	assert.NoError(t, a.Free(memory.Handle{}))
	assert.ErrorIs(t, other.Free(b.Handle), memory.ErrForeignBlock)
	free(t, a, b)
	err := a.Free(b.Handle)
	assert.ErrorIs(t, err, memory.ErrStaleHandle)
	var bad *memory.HandleError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, b.Handle, bad.Handle)
	assert.Regexp(t, `^memory: Free on fake:7: block \d+\.1#1: handle is stale: its block was freed before$`, err.Error())
}

func TestBadRequests(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{}, memory.Config{})
	for _, tc := range []struct {
		size int64
		tag  memory.Tag
		text string
	}{
		{-1, 0, "memory: Alloc on fake:0: negative size -1"},
		{1<<60 + 1, 0, "memory: Alloc on fake:0: tried to allocate 1152921504606846977 bytes, more than 1EB memory"},
		{1, 255, "memory: Alloc on fake:0: there is no tag 255"},
	} {
		b, err := a.Alloc(tc.size, 0, tc.tag)
		var bad *memory.RequestError
		assert.ErrorAs(t, err, &bad)
		assert.EqualError(t, err, tc.text)
		assert.Zero(t, b)
	}
	b, err := a.Alloc(0, 0, memory.Untagged)
	assert.NoError(t, err)
	assert.Zero(t, b)
	assert.Zero(t, f.Calls().Total(), "none of them came to the upstream")
}

func TestNewRefuses(t *testing.T) {
	_, err := memory.New(nil, memory.Config{})
	assert.Error(t, err)
	_, err = memory.New(memorytest.NewFake(memorytest.FakeConfig{Capacity: mib}), memory.Config{Limit: -1})
	assert.Error(t, err)
}

func TestEmptyCacheKeepsWhatIsInUse(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{}, memory.Config{})
	used, unused := alloc(t, a, 1000, 0), alloc(t, a, 30*mib, 1)
	free(t, a, alloc(t, a, 1000, 0))
	free(t, a, unused)
	require.NoError(t, a.EmptyCache())
	assert.EqualValues(t, 2*mib, f.Used())
	assert.EqualValues(t, 1, a.Stats().NumDeviceFree)
	free(t, a, used)
	require.NoError(t, a.EmptyCache())
	assert.Zero(t, f.Used())
}

func TestClose(t *testing.T) {
	f := memorytest.NewFake(memorytest.FakeConfig{Capacity: 100 * mib})
	a, err := memory.New(f, memory.Config{})
	require.NoError(t, err)
	b := alloc(t, a, 3*mib, 0)
	alloc(t, a, 1000, 1)
	assert.Contains(t, memory.Summary(), "fake:0")
	assert.EqualError(t, a.Close(), "memory: Close of fake:0: 2 blocks with 3.00 MiB were still live: 3.00 MiB in 2 blocks: untagged")
	assert.NoError(t, a.Close())
	assert.NoError(t, f.Close())
	assert.NotContains(t, memory.Summary(), "fake:0")
	_, err = a.Alloc(1, 0, memory.Untagged)
	assert.ErrorIs(t, err, memory.ErrClosed)
	assert.NoError(t, a.Free(b.Handle))
	assert.NoError(t, a.Check())
	assert.Zero(t, a.Stats().ReservedBytes.All.Current)
}

// TestNoLockIsHeldUpstream calls the allocator from within the upstream, for
// each kind of call.
func TestNoLockIsHeldUpstream(t *testing.T) {
	var a *memory.Allocator
	seen := map[memorytest.Call]bool{}
	inside := false
	look := func(c memorytest.Call) {
		if inside || a == nil {
			return
		}
		inside = true
		defer func() { inside = false }()
		seen[c] = true
		a.Stats()
		assert.NoError(t, a.Check(), "in %v", c)
		if b, err := a.Alloc(100, 9, memory.Untagged); !errors.Is(err, memory.ErrClosed) && assert.NoError(t, err, "in %v", c) {
			free(t, a, b)
		}
	}
	f := memorytest.NewFake(memorytest.FakeConfig{Capacity: 64 * mib, Asynchronous: true, OnCall: look})
	a, err := memory.New(f, memory.Config{})
	require.NoError(t, err)
	alloc(t, a, 100, 9) // so that look finds a block in the cache

	b, c := alloc(t, a, 20*mib, 0), alloc(t, a, 10*mib, 0)
	free(t, a, b, 1)
	free(t, a, c)
	alloc(t, a, 100, 0)
	_, err = a.Alloc(50*mib, 0, memory.Untagged)
	require.NoError(t, err)
	_, err = a.Alloc(50*mib, 0, memory.Untagged)
	require.Error(t, err)
	require.NoError(t, a.EmptyCache())
	require.Error(t, a.Close(), "blocks are live")
	for _, c := range []memorytest.Call{
		memorytest.CallAlloc, memorytest.CallFree, memorytest.CallMemInfo, memorytest.CallRecordEvent,
		memorytest.CallQueryEvent, memorytest.CallSyncEvent, memorytest.CallDestroyEvent,
	} {
		assert.True(t, seen[c], "%v was never called", c)
	}
	a = nil
	require.NoError(t, f.Close())
}

func TestUpstreamFaultsComeAsTheyAre(t *testing.T) {
	fault := errors.New("the device fell off the bus")
	f, a := device(t, memorytest.FakeConfig{}, memory.Config{})
	f.FailAt(memorytest.CallAlloc, 1, fault)
	_, err := a.Alloc(1000, 0, memory.Untagged)
	assert.Equal(t, fault, err)
	assert.EqualValues(t, 1, f.Calls()[memorytest.CallAlloc], "nothing was tried after it")
	require.NoError(t, a.Check())

	free(t, a, alloc(t, a, 1000, 0))
	f.FailAt(memorytest.CallFree, 1, fault)
	assert.ErrorIs(t, a.EmptyCache(), fault)
	require.NoError(t, a.Check())
	assert.EqualValues(t, 2*mib, a.Stats().ReservedBytes.All.Current, "the segment is in the cache again")
	require.NoError(t, a.EmptyCache())
	assert.Zero(t, f.Used())
}
