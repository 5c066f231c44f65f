package pinned_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/memory"
	"tarn/memory/pinned"
)

func open(t *testing.T, capacity int64, cfg pinned.Config) (*pinned.Pool, *source) {
	t.Helper()
	src := newSource(capacity)
	p, err := pinned.New(src, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, p.Check())
		assert.NoError(t, p.Close())
		assert.Empty(t, src.segments)
		assert.Empty(t, src.events)
	})
	return p, src
}

func alloc(t *testing.T, p *pinned.Pool, size int64) pinned.Block {
	t.Helper()
	b, err := p.Alloc(size)
	require.NoError(t, err)
	return b
}

func TestNewRefusesANegativeLimit(t *testing.T) {
	_, err := pinned.New(newSource(mib), pinned.Config{Limit: -1})
	assert.EqualError(t, err, "pinned: New: limit of -1 bytes")
}

func TestRequests(t *testing.T) {
	p, _ := open(t, mib, pinned.Config{})
	b, err := p.Alloc(0)
	require.NoError(t, err)
	assert.Zero(t, b)
	require.NoError(t, p.Free(b.Handle))
	for _, size := range []int64{-1, math.MinInt64, 1<<60 + 1, math.MaxInt64} {
		_, err := p.Alloc(size)
		var bad *pinned.RequestError
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, size, bad.Size)
	}
	_, err = p.Alloc(-7)
	assert.EqualError(t, err, "pinned: Alloc: no block can have -7 bytes")
}

// Ensure the bound on waste for sizes around every edge, fresh and reused.
func TestSizes(t *testing.T) {
	p, _ := open(t, 1<<50, pinned.Config{})
	for _, test := range []struct{ size, block int64 }{
		{1, 4 * kib}, {4 * kib, 4 * kib}, {4*kib + 1, 8 * kib}, {32 * kib, 32 * kib}, {32*kib + 1, 36 * kib},
		{64 * kib, 64 * kib}, {64*kib + 1, 72 * kib}, {129 * kib, 144 * kib}, {256 * kib, 256 * kib},
		{256*kib + 1, 260 * kib}, {3 * mib, 3 * mib}, {100*mib + 1, 100*mib + 4096},
	} {
		b := alloc(t, p, test.size)
		assert.Equal(t, test.block, b.Size, "%d bytes", test.size)
		defer func() { require.NoError(t, p.Free(b.Handle)) }()
	}
	for size := int64(1); size < 40*mib; size += size/64 + 1 {
		b := alloc(t, p, size)
		require.LessOrEqual(t, b.Size-size, max(size/8, 4096), "%d bytes", size)
		require.GreaterOrEqual(t, b.Size, size)
		require.NoError(t, p.Free(b.Handle))
	}
}

func TestReuseKeepsTheBound(t *testing.T) {
	p, src := open(t, 1<<40, pinned.Config{})
	large := alloc(t, p, 9*mib)
	require.NoError(t, p.Free(large.Handle))
	b := alloc(t, p, 8*mib)
	assert.Equal(t, large.Ptr, b.Ptr, "9 MiB serve 8 MiB")
	require.NoError(t, p.Free(b.Handle))
	b = alloc(t, p, 8*mib-8192)
	assert.NotEqual(t, large.Ptr, b.Ptr, "and no less")
	require.NoError(t, p.Free(b.Handle))
	c := alloc(t, p, 8*mib-16384)
	assert.Equal(t, b.Ptr, c.Ptr, "the better of two")
	require.NoError(t, p.Free(c.Handle))
	assert.Equal(t, 2, src.count("alloc"))
}

func TestSmallBlocksShareASegment(t *testing.T) {
	p, src := open(t, 1<<40, pinned.Config{})
	var blocks []pinned.Block
	for range 256 {
		blocks = append(blocks, alloc(t, p, 100))
	}
	assert.Equal(t, 1, src.count("alloc"))
	assert.EqualValues(t, mib, src.used)
	blocks = append(blocks, alloc(t, p, 100))
	assert.Equal(t, 2, src.count("alloc"))
	for _, b := range blocks[1:] {
		require.NoError(t, p.Free(b.Handle))
	}
	again := alloc(t, p, 100)
	require.NoError(t, p.EmptyCache())
	assert.EqualValues(t, mib, src.used, "both live blocks lie in the fuller segment")
	require.NoError(t, p.Free(again.Handle))
	require.NoError(t, p.Free(blocks[0].Handle))
}

func TestBadHandles(t *testing.T) {
	p, _ := open(t, mib, pinned.Config{})
	other, _ := open(t, mib, pinned.Config{})
	b, foreign := alloc(t, p, 1), alloc(t, other, 1)
	require.NoError(t, p.Free(b.Handle))
	err := p.Free(b.Handle)
	require.ErrorIs(t, err, memory.ErrStaleHandle)
	assert.ErrorContains(t, err, "pinned: Free of pinned block ")
	c := alloc(t, p, 1)
	assert.Equal(t, b.Ptr, c.Ptr)
	require.ErrorIs(t, p.Free(b.Handle, 1), memory.ErrStaleHandle, "the slot is used again")
	require.NoError(t, p.Free(c.Handle, 1))
	require.ErrorIs(t, p.Free(c.Handle), memory.ErrStaleHandle, "it is parked")
	require.ErrorIs(t, p.Free(foreign.Handle), memory.ErrForeignBlock)
	require.NoError(t, other.Free(foreign.Handle))
}

// Ensure that a slow stream holds up its own blocks only, and that a block
// waits for all its streams.
func TestParkedBlocks(t *testing.T) {
	p, src := open(t, 1<<40, pinned.Config{})
	slow, fast, both := alloc(t, p, mib), alloc(t, p, 2*mib), alloc(t, p, 4*mib)
	require.NoError(t, p.Free(slow.Handle, 1))
	require.NoError(t, p.Free(both.Handle, 1, 2, 2, 1))
	require.NoError(t, p.Free(fast.Handle, 2))
	assert.Len(t, src.events, 4, "one event a stream")
	assert.EqualValues(t, 7*mib, p.Stats().PendingBytes)
	src.complete(2)
	b := alloc(t, p, 2*mib)
	assert.Equal(t, fast.Ptr, b.Ptr)
	c := alloc(t, p, 4*mib)
	assert.NotEqual(t, both.Ptr, c.Ptr, "stream 1 has it")
	src.complete(1)
	d := alloc(t, p, 4*mib)
	assert.Equal(t, both.Ptr, d.Ptr)
	for _, b := range []pinned.Block{b, c, d} {
		require.NoError(t, p.Free(b.Handle))
	}
}

func TestTrimIsLeastRecentlyUsedFirst(t *testing.T) {
	p, src := open(t, 1<<40, pinned.Config{})
	a, b, c := alloc(t, p, mib), alloc(t, p, 2*mib), alloc(t, p, 4*mib)
	for _, x := range []pinned.Block{b, a, c} {
		require.NoError(t, p.Free(x.Handle))
	}
	b = alloc(t, p, 2*mib)
	require.NoError(t, p.Free(b.Handle)) // now a, c, b
	gained, err := p.Trim(6 * mib)
	require.NoError(t, err)
	assert.EqualValues(t, mib, gained)
	gained, err = p.Trim(5 * mib)
	require.NoError(t, err)
	assert.EqualValues(t, 4*mib, gained)
	assert.Contains(t, src.segments, b.Ptr)
	require.NoError(t, p.EmptyCache())
	assert.Empty(t, src.segments)

	require.NoError(t, p.Free(alloc(t, p, mib).Handle, 1))
	require.NoError(t, p.EmptyCache())
	assert.EqualValues(t, mib, src.used, "a stream may use it")
	src.complete(1)
	require.NoError(t, p.EmptyCache())
	assert.Empty(t, src.segments)
}

func TestMaxCached(t *testing.T) {
	p, src := open(t, 1<<40, pinned.Config{MaxCached: 2 * mib})
	a, b := alloc(t, p, 2*mib), alloc(t, p, mib+4096)
	require.NoError(t, p.Free(a.Handle))
	assert.EqualValues(t, 2*mib, p.Stats().IdleBytes, "as much is allowed")
	require.NoError(t, p.Free(b.Handle))
	assert.EqualValues(t, mib+4096, p.Stats().IdleBytes, "the older one went back")
	assert.Contains(t, src.segments, b.Ptr)

	p2, src2 := open(t, 1<<40, pinned.Config{MaxCached: -1})
	c := alloc(t, p2, mib)
	src2.failNth(0, errInjected)
	require.ErrorIs(t, p2.Free(c.Handle), errInjected)
	require.ErrorIs(t, p2.Free(c.Handle), memory.ErrStaleHandle, "it is free all the same")
	assert.EqualValues(t, mib, p2.Stats().IdleBytes, "and cached")
}

func TestOutOfMemoryNamesTheFigures(t *testing.T) {
	p, _ := open(t, 1<<40, pinned.Config{Limit: 8 * mib})
	a, b := alloc(t, p, 5*mib), alloc(t, p, 100)
	_, err := p.Alloc(2*mib + 1)
	assert.EqualError(t, err, "pinned: out of memory: 2097153 bytes (a block of 2101248) do not fit: limit 8388608, "+
		"reserved 6291456, of which 5246976 live, 0 pending, 1044480 free in segments in use by other sizes")
	assert.EqualValues(t, 1, p.Stats().NumOOMs)
	require.NoError(t, p.Free(a.Handle))
	require.NoError(t, p.Free(b.Handle))

	full, _ := open(t, mib, pinned.Config{})
	_, err = full.Alloc(2 * mib)
	require.ErrorIs(t, err, memory.ErrUpstreamFull)
	assert.ErrorContains(t, err, "0 of 1048576 bytes used")
}

// Ensure that each rung of the ladder serves what only it can.
func TestLadder(t *testing.T) {
	p, src := open(t, 1<<40, pinned.Config{Limit: 8 * mib})
	a, b := alloc(t, p, 3*mib), alloc(t, p, 4*mib)
	require.NoError(t, p.Free(a.Handle))
	c := alloc(t, p, 4*mib)
	assert.NotContains(t, src.segments, a.Ptr, "idle segments go back")
	assert.Contains(t, src.segments, b.Ptr)

	require.NoError(t, p.Free(b.Handle, 1))
	require.NoError(t, p.Free(c.Handle, 2))
	d := alloc(t, p, mib)
	assert.EqualValues(t, 1, p.Stats().NumWaits, "waits for no more than it needs")
	assert.NotContains(t, src.segments, b.Ptr)
	assert.Contains(t, src.segments, c.Ptr)
	e := alloc(t, p, 3*mib)
	_, err := p.Alloc(4*mib + 1)
	var oom *pinned.OutOfMemoryError
	require.ErrorAs(t, err, &oom)
	assert.Zero(t, oom.Pending, "all was waited for")
	require.NoError(t, p.Free(d.Handle))
	require.NoError(t, p.Free(e.Handle))

	tight, src := open(t, 1<<40, pinned.Config{Limit: 20 * kib})
	f, g := alloc(t, tight, 5000), alloc(t, tight, 12000)
	assert.EqualValues(t, 20*kib, src.used, "where no shared segment fits, one of a block")
	require.NoError(t, tight.Free(f.Handle))
	require.NoError(t, tight.Free(g.Handle))
}

func TestNoMoreIsGivenBackThanTheLimitAsksFor(t *testing.T) {
	p, src := open(t, 1<<40, pinned.Config{Limit: 8 * mib})
	a, b := alloc(t, p, 3*mib), alloc(t, p, 2*mib)
	require.NoError(t, p.Free(a.Handle))
	require.NoError(t, p.Free(b.Handle))
	c := alloc(t, p, 4*mib)
	assert.NotContains(t, src.segments, a.Ptr)
	assert.Contains(t, src.segments, b.Ptr)
	require.NoError(t, p.Free(c.Handle))
}

// Ensure that what satisfies the limit is not the end where the source has
// less than that.
func TestLimitAndSourceAreBothTight(t *testing.T) {
	p, _ := open(t, 6*mib, pinned.Config{Limit: 8 * mib})
	a, b := alloc(t, p, 3*mib), alloc(t, p, 2*mib)
	require.NoError(t, p.Free(a.Handle))
	require.NoError(t, p.Free(b.Handle))
	c := alloc(t, p, 5*mib)
	require.NoError(t, p.Free(c.Handle))
}

// Ensure that a fault of an event reaches the caller, that a block whose event
// could not be looked at stays parked, and that one whose event is done is
// free although the event could not be destroyed.
func TestEventFaults(t *testing.T) {
	p, src := open(t, 1<<40, pinned.Config{})
	require.NoError(t, p.Free(alloc(t, p, mib).Handle, 7))
	src.complete(7)
	src.failNth(0, errInjected) // query
	_, err := p.Alloc(2 * mib)
	require.ErrorIs(t, err, errInjected)
	assert.ErrorContains(t, err, "pinned: event of stream 0x7: ")
	assert.EqualValues(t, mib, p.Stats().PendingBytes)
	src.failNth(1, errInjected) // destroy
	require.ErrorIs(t, p.EmptyCache(), errInjected)
	assert.Zero(t, p.Stats().PendingBytes)
	assert.Zero(t, src.used, "given back all the same")
	assert.Len(t, src.events, 1)
	clear(src.events)

	b := alloc(t, p, mib)
	require.NoError(t, p.Free(b.Handle, 1))
	src.failNth(0, errInjected) // sync
	require.ErrorIs(t, p.Close(), errInjected)
	assert.EqualValues(t, mib, p.Stats().PendingBytes)
}

func TestCloseLeavesWhatClientsHave(t *testing.T) {
	p, src := open(t, 1<<40, pinned.Config{})
	a, b, c := alloc(t, p, mib), alloc(t, p, 2*mib), alloc(t, p, 4*mib)
	require.NoError(t, p.Free(b.Handle))
	require.NoError(t, p.Free(c.Handle, 1))
	err := p.Close()
	var live *pinned.LiveBlocksError
	require.ErrorAs(t, err, &live)
	assert.EqualError(t, err, "pinned: Close: 1 blocks with 1048576 bytes are still live")
	assert.EqualValues(t, mib, src.used)
	_, err = p.Alloc(1)
	require.ErrorIs(t, err, memory.ErrClosed)
	require.NoError(t, p.Free(a.Handle))
	assert.Zero(t, src.used)
	require.NoError(t, p.Close())
}

func TestStats(t *testing.T) {
	p, _ := open(t, 1<<40, pinned.Config{})
	a := alloc(t, p, 10*mib-1)
	b := alloc(t, p, 5*mib)
	require.NoError(t, p.Free(a.Handle))
	require.NoError(t, p.Free(b.Handle, 1))
	s := p.Stats()
	assert.Equal(t, memory.Stat{Current: 15 * mib, Peak: 15 * mib, Allocated: 15 * mib}, s.AllocatedBytes)
	assert.Equal(t, memory.Stat{Current: 5 * mib, Peak: 15 * mib, Allocated: 15 * mib, Freed: 10 * mib}, s.ActiveBytes)
	assert.Equal(t, memory.Stat{Current: 5 * mib, Peak: 15*mib - 1, Allocated: 15*mib - 1, Freed: 10*mib - 1}, s.RequestedBytes)
	assert.Equal(t, memory.Stat{Peak: 2, Allocated: 2, Freed: 2}, s.LiveRequests)
	assert.EqualValues(t, 5*mib, s.PendingBytes)
	assert.EqualValues(t, 10*mib, s.IdleBytes)
	require.NoError(t, p.EmptyCache())
	s = p.Stats()
	assert.EqualValues(t, 2, s.NumHostAlloc)
	assert.EqualValues(t, 1, s.NumHostFree)
	assert.EqualValues(t, 2, s.HostAllocTime.Count)
	assert.EqualValues(t, 1, s.HostFreeTime.Count)
	assert.LessOrEqual(t, s.HostAllocTime.Min, s.HostAllocTime.Avg)
	p.ResetPeak()
	assert.EqualValues(t, 5*mib, p.Stats().AllocatedBytes.Peak)

	text, err := json.Marshal(s)
	require.NoError(t, err)
	var keys map[string]any
	require.NoError(t, json.Unmarshal(text, &keys))
	for _, key := range []string{"allocations", "allocated_bytes", "active_requests", "active_bytes"} {
		assert.Contains(t, keys[key], "peak", key)
	}
	for _, key := range []string{"host_alloc_time", "host_free_time"} {
		for _, part := range []string{"total", "max", "min", "count", "avg"} {
			assert.Contains(t, keys[key], part, key)
		}
	}
	assert.Contains(t, keys, "num_host_alloc")
	assert.Contains(t, keys, "num_host_free")
}
