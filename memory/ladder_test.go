package memory_test

import (
	"errors"
	"flag"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// served returns how many requests each rung has served.
func served(a *memory.Allocator) (n [memory.NumRungs]int64) {
	for i, r := range a.Stats().Rungs {
		n[i] = r.Served
	}
	return n
}

func outOfMemory(t *testing.T, a *memory.Allocator, size int64, s cuda.Stream) *memory.OutOfMemoryError {
	t.Helper()
	b, err := a.Alloc(size, s, memory.Untagged)
	var oom *memory.OutOfMemoryError
	require.ErrorAs(t, err, &oom)
	assert.Zero(t, b)
	require.NoError(t, a.Check())
	return oom
}

// TestEachRungServes leads a request to each rung in turn. (On the fake as on a
// GPU, giving a segment back waits for all streams.)
func TestEachRungServes(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{Capacity: 100 * mib, Asynchronous: true}, memory.Config{NoBackgroundGC: true})
	var want [memory.NumRungs]int64
	serves := func(rung memory.Rung, size int64, s cuda.Stream, why string) memory.Block {
		t.Helper()
		b := alloc(t, a, size, s)
		want[rung]++
		assert.Equal(t, want, served(a), why)
		return b
	}
	b := serves(memory.RungGrow, 40*mib, 0, "the device is empty")
	c := serves(memory.RungGrow, 40*mib, 0, "there is room")
	free(t, a, b)
	d := serves(memory.RungRelease, 50*mib, 1, "the cached segment of another stream goes back")
	assert.EqualValues(t, 1, a.Stats().NumAllocRetries)
	assert.EqualValues(t, 90*mib, f.Used())

	free(t, a, c, 1)
	e := serves(memory.RungWait, 40*mib, 0, "the search finds the parked block")
	assert.Equal(t, c.Ptr, e.Ptr)
	free(t, a, e, 1)
	g := serves(memory.RungWait, 48*mib, 1, "the segment of the parked block goes back")

	free(t, a, d)
	free(t, a, g)
	require.NoError(t, a.EmptyCache())
	dropped(t, a, 50*mib)
	want[memory.RungGrow]++
	serves(memory.RungCollect, 80*mib, 0, "only the collector knows what nobody uses")
	assert.Zero(t, a.Stats().NumOOMs)
}

func TestSearchAfterWait(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{Capacity: 40 * mib, Asynchronous: true}, memory.Config{})
	alloc(t, a, 8*mib, 0)
	b := alloc(t, a, 12*mib, 0)
	alloc(t, a, 20*mib, 0)
	free(t, a, b, 1)
	// PyTorch's issue 189504: the pending block shares its segment with a live
	// one, so nothing can go back upstream; only a search finds it.
	c := alloc(t, a, 12*mib, 0)
	assert.Equal(t, b.Ptr, c.Ptr)
	assert.EqualValues(t, 1, served(a)[memory.RungWait])
	assert.EqualValues(t, 40*mib, f.Used())
}

// TestSmallestSegmentBeforeOutOfMemory asks for what there is room for, but not
// in a segment of the usual 20 MiB.
func TestSmallestSegmentBeforeOutOfMemory(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{Capacity: 30 * mib}, memory.Config{})
	alloc(t, a, 3*mib, 0)
	alloc(t, a, 3*mib, 1)
	assert.EqualValues(t, 24*mib, f.Used())
	alloc(t, a, 6*mib-100, 2)
	assert.EqualValues(t, 30*mib, f.Used())
	assert.EqualValues(t, 2*mib, outOfMemory(t, a, 2*mib, 3).Asked)
}

func TestOutOfMemoryChangesNothingButTheCache(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{Capacity: 64 * mib}, memory.Config{})
	b := alloc(t, a, 1000, 0)
	free(t, a, alloc(t, a, 30*mib, 0))
	before, calls := a.Stats(), f.Calls()
	oom := outOfMemory(t, a, 63*mib, 0)
	assert.ErrorIs(t, oom, memory.ErrUpstreamFull)
	assert.EqualValues(t, 2, f.Calls().Since(calls)[memorytest.CallAlloc], "asked again only where there is reason to")
	s := a.Stats().Sub(before)
	assert.Zero(t, s.Allocation.All.Current)
	assert.Equal(t, -30*mib, s.ReservedBytes.All.Current)
	assert.EqualValues(t, 1, s.NumOOMs)
	assert.EqualValues(t, 2*mib, f.Used())
	free(t, a, b)
	alloc(t, a, 64*mib, 0)
}

// oomCases are situations with their causes. Their texts are in testdata.
var oomCases = []struct {
	name  string
	cfg   memory.Config
	cause memory.Cause
	make  func(t *testing.T, a *memory.Allocator) *memory.OutOfMemoryError
}{
	{"too large", memory.Config{}, memory.CauseTooLarge, func(t *testing.T, a *memory.Allocator) *memory.OutOfMemoryError {
		return outOfMemory(t, a, 800_000_000<<30, 0)
	}},
	{"too large for the limit", memory.Config{Limit: 50 * mib}, memory.CauseTooLarge, func(t *testing.T, a *memory.Allocator) *memory.OutOfMemoryError {
		return outOfMemory(t, a, 60*mib, 0)
	}},
	{"in use", memory.Config{}, memory.CauseInUse, func(t *testing.T, a *memory.Allocator) *memory.OutOfMemoryError {
		alloc(t, a, 70*mib, 0)
		return outOfMemory(t, a, 40*mib-1, 0)
	}},
	{"in use, limited", memory.Config{Limit: 80 * mib}, memory.CauseInUse, func(t *testing.T, a *memory.Allocator) *memory.OutOfMemoryError {
		alloc(t, a, 70*mib, 0)
		return outOfMemory(t, a, 20*mib, 0)
	}},
	{"no segment", memory.Config{Limit: 71 * mib}, memory.CauseSegment, func(t *testing.T, a *memory.Allocator) *memory.OutOfMemoryError {
		alloc(t, a, 70*mib, 0)
		return outOfMemory(t, a, 400, 0)
	}},
	{"other streams", memory.Config{}, memory.CauseElsewhere, func(t *testing.T, a *memory.Allocator) *memory.OutOfMemoryError {
		var large []memory.Block
		for range 5 {
			alloc(t, a, 2*mib, 1) // keeps its segment of 20 MiB
			large = append(large, alloc(t, a, 18*mib, 1))
		}
		for _, b := range large {
			free(t, a, b)
		}
		return outOfMemory(t, a, 1000, 0)
	}},
	{"fragmented", memory.Config{}, memory.CauseFragmented, func(t *testing.T, a *memory.Allocator) *memory.OutOfMemoryError {
		var gaps []memory.Block
		for range 10 {
			alloc(t, a, 5*mib, 0)
			gaps = append(gaps, alloc(t, a, 5*mib, 0))
		}
		for _, b := range gaps {
			free(t, a, b)
		}
		return outOfMemory(t, a, 6*mib, 0)
	}},
}

func TestOutOfMemoryError(t *testing.T) {
	var text string
	for _, tc := range oomCases {
		t.Run(tc.name, func(t *testing.T) {
			f, a := device(t, memorytest.FakeConfig{Name: "cuda:0", Capacity: 100 * mib}, tc.cfg)
			oom := tc.make(t, a)
			assert.Equal(t, tc.cause, oom.Cause)
			s := a.Stats()
			assert.Equal(t, s.AllocatedBytes.All.Current, oom.Allocated)
			assert.Equal(t, s.ReservedBytes.All.Current, oom.Reserved)
			assert.Equal(t, oom.Reserved, oom.Allocated+oom.Unallocated())
			assert.Equal(t, 100*mib-f.Used(), oom.DeviceFree)
			assert.Equal(t, tc.cfg.Limit, oom.Limit)
			assert.Len(t, oom.Rungs, memory.NumTried)
			assert.Equal(t, oom.Limit == 0, errors.Is(oom, memory.ErrUpstreamFull), "who refused")
			text += "# " + tc.name + "\n" + oom.Error() + "\n\n"
		})
	}
	golden(t, "oom.txt", text)
}

var rewrite = flag.Bool("rewrite", false, "write the texts in testdata anew")

// golden compares a text with the one in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *rewrite {
		require.NoError(t, os.WriteFile("testdata/"+name, []byte(got), 0o666))
	}
	want, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "go test -rewrite writes it anew; look at the difference")
}

func TestLimit(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{}, memory.Config{Limit: 40 * mib})
	b := alloc(t, a, 30*mib, 0)
	alloc(t, a, 1000, 0)
	outOfMemory(t, a, 10*mib, 0)
	alloc(t, a, 1000, 1)
	assert.LessOrEqual(t, f.Used(), 40*mib)
	free(t, a, b)
	alloc(t, a, 36*mib, 1)
	assert.LessOrEqual(t, f.Used(), 40*mib)
}

// TestConcurrentMissesShareTheDevice has workers that each need half of the
// device, one after the other: as memory that is on its way back is waited
// for, none of the two that can be served at a time runs out of it.
func TestConcurrentMissesShareTheDevice(t *testing.T) {
	const workers, rounds = 8, 100
	_, a := device(t, memorytest.FakeConfig{Capacity: 100 * mib}, memory.Config{NoBackgroundGC: true})
	room := make(chan struct{}, 2)
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() {
			for i := range rounds {
				room <- struct{}{}
				// Sizes differ, so that no cached segment fits and each request
				// has to take the way over release.
				b, err := a.Alloc(40*mib+int64(w*rounds+i)%5*2*mib, cuda.Stream(w), memory.Untagged)
				if assert.NoError(t, err) {
					assert.NoError(t, a.Free(b.Handle))
				}
				<-room
			}
		})
	}
	done.Wait()
	assert.Zero(t, a.Stats().NumOOMs)
}
