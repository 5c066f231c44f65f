package memory_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/internal/invariants"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// told returns the events of a, each as action, bytes and stream.
func told(a *memory.Allocator) (lines []string) {
	for _, e := range a.Snapshot().Events() {
		lines = append(lines, fmt.Sprintf("%v %d s%d", e.Action, e.Size, e.Stream))
	}
	return lines
}

func TestHistory(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{Capacity: 64 * mib, Asynchronous: true}, memory.Config{})
	alloc(t, a, 1000, 0)
	a.RecordHistory(memory.History{Events: 100})
	b := alloc(t, a, 30*mib-1, 1)
	free(t, a, b, 2)
	f.Complete(2)
	c := alloc(t, a, 1000, 0)
	free(t, a, c)
	require.NoError(t, a.EmptyCache())
	_, err := a.Alloc(63*mib, 3, memory.Untagged)
	require.Error(t, err)
	require.Equal(t, []string{
		"segment_alloc 31457280 s1", "alloc 31457279 s1", "free_requested 31457279 s1",
		"alloc 1000 s0", "free_requested 1000 s0", "free_completed 1000 s0",
		"free_completed 31457279 s1", "segment_free 31457280 s1",
		"oom 66060288 s3",
	}, told(a))

	events := a.Snapshot().Events()
	require.Len(t, events, 10)
	assert.Equal(t, "snapshot 1024 s0", told(a)[9], "what was active when the first one was taken")
	assert.Equal(t, b.Ptr, events[1].Addr)
	assert.EqualValues(t, 62*mib, events[8].DeviceFree)
	last := int64(0)
	for _, e := range events {
		assert.GreaterOrEqual(t, e.Time, last)
		assert.Empty(t, e.Frames)
		last = e.Time
	}
}

// TestHistoryOfPages has pages that come from upstream, change hands and go
// back.
func TestHistoryOfPages(t *testing.T) {
	_, a := device(t, memorytest.FakeConfig{Capacity: 8 * mib, Granularity: 2 * mib}, memory.Config{})
	a.RecordHistory(memory.History{Events: 100})
	free(t, a, alloc(t, a, 8*mib, 1))
	free(t, a, alloc(t, a, 8*mib, 2))
	require.NoError(t, a.EmptyCache())
	assert.Equal(t, []string{
		"segment_map 8388608 s1", "alloc 8388608 s1", "free_requested 8388608 s1", "free_completed 8388608 s1",
		"segment_unmap 8388608 s1", "segment_map 8388608 s2",
		"alloc 8388608 s2", "free_requested 8388608 s2", "free_completed 8388608 s2",
		"segment_unmap 8388608 s2",
	}, told(a))
}

// TestHistoryKeepsTheLatest has more events than room, and room that changes.
func TestHistoryKeepsTheLatest(t *testing.T) {
	_, a := device(t, memorytest.FakeConfig{}, memory.Config{})
	sizes := func() (sizes []int64) {
		for _, e := range a.Snapshot().Events() {
			if e.Action == memory.ActionAlloc {
				sizes = append(sizes, e.Size)
			}
		}
		return sizes
	}
	alloc(t, a, 1, 0)
	a.RecordHistory(memory.History{Events: 4})
	for size := range int64(7) {
		alloc(t, a, 2+size, 0)
	}
	assert.Equal(t, []int64{5, 6, 7, 8}, sizes())
	a.RecordHistory(memory.History{Events: 6, Stacks: memory.AllStacks})
	alloc(t, a, 9, 0)
	assert.Equal(t, []int64{6, 7, 8, 9}, sizes(), "and a snapshot")
	a.RecordHistory(memory.History{Events: 2})
	assert.Equal(t, []int64{9}, sizes(), "and a snapshot")
	a.RecordHistory(memory.History{Stacks: memory.AllStacks})
	alloc(t, a, 10, 0)
	assert.Empty(t, a.Snapshot().Events())
	a.RecordHistory(memory.History{})
	a.RecordHistory(memory.History{Events: 2})
	assert.Empty(t, a.Snapshot().Events())
	assert.Panics(t, func() { a.RecordHistory(memory.History{Events: -1}) })
}

// ranges are bytes that streams have, by address.
type ranges map[cuda.DevicePtr]memory.Event

// put adds the range of e; it touches no other.
func (r ranges) put(t *testing.T, e memory.Event) {
	for _, other := range r {
		require.False(t, e.Addr < other.Addr+cuda.DevicePtr(other.Size) && other.Addr < e.Addr+cuda.DevicePtr(e.Size),
			"%v overlaps %v", e, other)
	}
	r[e.Addr] = e
}

// cut takes the range of e out of ranges of its stream. It is in one of them or
// in several that touch.
func (r ranges) cut(t *testing.T, e memory.Event) {
	left := e.Size
	for at, other := range r {
		from := max(e.Addr, at)
		to := min(e.Addr+cuda.DevicePtr(e.Size), at+cuda.DevicePtr(other.Size))
		if from >= to {
			continue
		}
		require.Equal(t, e.Stream, other.Stream)
		left -= int64(to - from)
		delete(r, at)
		if tail := other; to < at+cuda.DevicePtr(other.Size) {
			tail.Addr, tail.Size = to, int64(at-to)+other.Size
			r[to] = tail
		}
		if other.Size = int64(from - at); other.Size > 0 {
			r[at] = other
		}
	}
	require.Zero(t, left, "%v: bytes that the stream did not have", e)
}

// retell goes through events from the start and returns what is active at the
// end, by address. It demands that each event could be.
func retell(t *testing.T, events []memory.Event) (active map[cuda.DevicePtr]memory.BlockState) {
	t.Helper()
	segments := make(ranges)
	active = make(map[cuda.DevicePtr]memory.BlockState)
	for _, e := range events {
		switch e.Action {
		case memory.ActionSegmentAlloc, memory.ActionSegmentMap:
			segments.put(t, e)
		case memory.ActionSegmentFree, memory.ActionSegmentUnmap:
			segments.cut(t, e)
		case memory.ActionAlloc:
			require.NotContains(t, active, e.Addr)
			active[e.Addr] = memory.BlockAllocated
		case memory.ActionFreeRequested:
			require.Equal(t, memory.BlockAllocated, active[e.Addr])
			active[e.Addr] = memory.BlockPendingFree
		case memory.ActionFreeCompleted:
			require.Equal(t, memory.BlockPendingFree, active[e.Addr])
			delete(active, e.Addr)
		}
	}
	return active
}

// retold is an allocator whose history is told anew, now and then, when its
// books are read.
type retold struct {
	*memory.Allocator
	t     *testing.T
	reads int
}

func (r *retold) Stats() memory.Stats {
	r.t.Helper()
	if r.reads++; r.reads%40 == 0 {
		s := r.Allocator.Snapshot()
		active := make(map[cuda.DevicePtr]memory.BlockState)
		for _, segment := range s.Segments {
			for _, b := range segment.Blocks {
				if b.State != memory.BlockInactive {
					active[b.Address] = b.State
				}
			}
		}
		require.Equal(r.t, active, retell(r.t, s.Events()))
	}
	return r.Allocator.Stats()
}

// TestHistoryTellsWhatIs: whoever goes through the history, as PyTorch's viewer
// does, comes to what the snapshot has, and finds nothing that cannot be.
func TestHistoryTellsWhatIs(t *testing.T) {
	for _, fake := range []memorytest.FakeConfig{
		{Capacity: 64 * mib, Asynchronous: true},
		{Capacity: 64 * mib, Asynchronous: true, Granularity: 2 * mib},
	} {
		f := memorytest.NewFake(fake)
		a, err := memory.New(f, memory.Config{})
		require.NoError(t, err)
		a.RecordHistory(memory.History{Events: 100_000})
		r := &retold{Allocator: a, t: t}
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		memorytest.Play(t, memorytest.Target{Allocator: r, Upstream: f}, memorytest.Generate(rand.New(rand.NewPCG(seed, 0)), 1500))
		require.Greater(t, r.reads, 1500)
		require.NoError(t, f.Close())
	}
}

// Two places that allocate, out of line so that they stay on the stack.

//go:noinline
func fromHere(t *testing.T, a *memory.Allocator, size int64) memory.Block {
	return alloc(t, a, size, 0)
}

//go:noinline
func fromThere(t *testing.T, a *memory.Allocator, size int64) memory.Block {
	return alloc(t, a, size, 0)
}

// maker returns who allocated the block at p, without the helper above.
func maker(t *testing.T, s memory.Snapshot, p cuda.DevicePtr) string {
	t.Helper()
	for _, segment := range s.Segments {
		for _, b := range segment.Blocks {
			if b.Address != p {
				continue
			}
			if len(b.Frames) == 0 {
				return ""
			}
			require.Contains(t, b.Frames[0].Func, "memory_test.alloc", "Alloc's caller is the first")
			require.Contains(t, b.Frames[0].File, "allocator_test.go")
			require.Positive(t, b.Frames[0].Line)
			return strings.TrimPrefix(b.Frames[1].Func, "tarn/memory_test.")
		}
	}
	t.Fatalf("no block at %#x", uintptr(p))
	return ""
}

func TestStacks(t *testing.T) {
	_, a := device(t, memorytest.FakeConfig{}, memory.Config{})
	before := fromHere(t, a, 2000)
	a.RecordHistory(memory.History{Stacks: memory.AllStacks, Events: 100})
	here, there := fromHere(t, a, 3000), fromThere(t, a, 4000)
	s := a.Snapshot()
	assert.Equal(t, []string{"", "fromHere", "fromThere"},
		[]string{maker(t, s, before.Ptr), maker(t, s, here.Ptr), maker(t, s, there.Ptr)})
	for _, e := range s.Events() {
		require.Greater(t, len(e.Frames), 1)
		assert.Contains(t, e.Frames[1].Func, map[int64]string{3000: "fromHere", 4000: "fromThere"}[e.Size])
	}

	// Another user of the record is not taken for the one before.
	free(t, a, here)
	a.RecordHistory(memory.History{Events: 100})
	again := fromThere(t, a, 3000)
	require.Equal(t, here.Ptr, again.Ptr)
	s = a.Snapshot()
	assert.Equal(t, []string{"", "fromThere"}, []string{maker(t, s, again.Ptr), maker(t, s, there.Ptr)}, "what was known stays known")

	a.RecordHistory(memory.History{})
	a.RecordHistory(memory.History{Stacks: memory.AllStacks, Skip: 1, Depth: 1})
	assert.Empty(t, maker(t, a.Snapshot(), there.Ptr), "off forgets")
	deep := fromHere(t, a, 5000)
	for _, b := range a.Snapshot().Segments[0].Blocks {
		if b.Address == deep.Ptr {
			require.Len(t, b.Frames, 1)
			assert.Contains(t, b.Frames[0].Func, "fromHere")
		}
	}
}

// TestStacksOfFrees: with all stacks a free says who freed, with some who had
// allocated.
func TestStacksOfFrees(t *testing.T) {
	_, a := device(t, memorytest.FakeConfig{Asynchronous: true}, memory.Config{})
	a.RecordHistory(memory.History{Stacks: memory.AllStacks, Events: 100})
	requested := func() []memory.Frame {
		events := a.Snapshot().Events()
		for i := len(events) - 1; i >= 0; i-- {
			if events[i].Action == memory.ActionFreeRequested {
				return events[i].Frames
			}
		}
		return nil
	}
	b, c, d := fromHere(t, a, 1000), fromHere(t, a, 1000), fromHere(t, a, 1000)
	free(t, a, b)
	assert.Contains(t, requested()[0].Func, "memory_test.free")
	free(t, a, c, 1)
	assert.Contains(t, requested()[0].Func, "memory_test.free")
	a.Abandon(d.Handle)
	assert.Contains(t, requested()[1].Func, "fromHere", "nobody freed it")
}

// TestSampledStacks: about one Alloc in n has a stack.
func TestSampledStacks(t *testing.T) {
	const n, allocs = 8, 4000
	_, a := device(t, memorytest.FakeConfig{}, memory.Config{})
	a.RecordHistory(memory.History{Stacks: n})
	for range allocs {
		alloc(t, a, 512, 0)
	}
	known := 0
	for _, segment := range a.Snapshot().Segments {
		for _, b := range segment.Blocks {
			if b.Frames != nil {
				known++
			}
		}
	}
	assert.InDelta(t, allocs/n, known, allocs/n/2, "ten times the standard deviation and more")
}

// TestHistoryAllocatesNothing once it has seen the stacks.
func TestHistoryAllocatesNothing(t *testing.T) {
	_, a := device(t, memorytest.FakeConfig{}, memory.Config{})
	for name, h := range histories {
		a.RecordHistory(h)
		pair := func() {
			b, _ := a.Alloc(4096, 0, memory.Untagged)
			_ = a.Free(b.Handle)
		}
		pair()
		if n := testing.AllocsPerRun(100, pair); !invariants.Enabled { // the checks allocate
			assert.Zero(t, n, name)
		}
	}
}

// TestHistoryBesideTheWork switches it while others allocate.
func TestHistoryBesideTheWork(t *testing.T) {
	_, a := device(t, memorytest.FakeConfig{Asynchronous: true, Granularity: 2 * mib}, memory.Config{})
	var done sync.WaitGroup
	for s := range cuda.Stream(3) {
		done.Go(func() {
			for i := range int64(300) {
				b, err := a.Alloc(1+i*20*kib, s, memory.Untagged)
				assert.NoError(t, err)
				assert.NoError(t, a.Free(b.Handle, (s+1)%3))
			}
		})
	}
	done.Go(func() {
		for i := range 100 {
			a.RecordHistory(memory.History{Stacks: memory.StackMode(i % 3), Events: i % 5})
			checkTiles(t, a.Snapshot())
		}
	})
	done.Wait()
}

func TestOwners(t *testing.T) {
	weights := memory.NewTag("weights of a test")
	_, a := device(t, memorytest.FakeConfig{Capacity: 100 * mib, Asynchronous: true}, memory.Config{})
	_, err := a.Alloc(30*mib, 0, weights)
	require.NoError(t, err)
	a.RecordHistory(memory.History{Stacks: memory.AllStacks, Skip: 1})
	fromHere(t, a, 8*mib)
	fromHere(t, a, 12*mib)
	fromThere(t, a, 40*mib)
	free(t, a, fromThere(t, a, 1000))
	free(t, a, fromThere(t, a, 2000), 1) // nobody's, though stream 1 may still read it
	owners := a.Snapshot().Owners()
	var lines []string
	for _, o := range owners {
		lines = append(lines, o.String())
		assert.Equal(t, o.Tag == "", o.Frame != (memory.Frame{}))
	}
	require.Len(t, lines, 3)
	assert.Regexp(t, `^40\.00 MiB in 1 block: memory_test\.fromThere history_test\.go:\d+$`, lines[0])
	assert.Equal(t, "30.00 MiB in 1 block: weights of a test", lines[1])
	assert.Regexp(t, `^20\.00 MiB in 2 blocks: memory_test\.fromHere history_test\.go:\d+$`, lines[2])

	oom := outOfMemory(t, a, 50*mib, 0)
	assert.Equal(t, owners, oom.Owners)
	assert.Contains(t, oom.Error(), "\n  owners:  "+lines[0]+"\n           "+lines[1]+"\n")
	a.RecordHistory(memory.History{})
	for i, tag := range []memory.Tag{memory.Untagged, memory.Workspace, weights} {
		_, err := a.Alloc(1000, cuda.Stream(i), tag)
		require.NoError(t, err)
	}
	lines = nil
	for _, o := range a.Snapshot().Owners() {
		lines = append(lines, o.String())
	}
	assert.Equal(t, []string{
		"60.00 MiB in 4 blocks: untagged", "30.00 MiB in 2 blocks: weights of a test", "1024 bytes in 1 block: workspace",
	}, lines, "with no history all that is known is the tag")
}

// histories are what BenchmarkHistory compares.
var histories = map[string]memory.History{
	"off":     {},
	"ring":    {Events: 10_000},
	"sampled": {Stacks: 100, Events: 10_000},
	"all":     {Stacks: memory.AllStacks, Events: 10_000},
}

// BenchmarkHistory is a pair of Alloc and Free out of the cache.
func BenchmarkHistory(b *testing.B) {
	for _, name := range []string{"off", "ring", "sampled", "all"} {
		b.Run(name, func(b *testing.B) {
			a := benchAllocator(b)
			a.RecordHistory(histories[name])
			b.ReportAllocs()
			pairs := 0
			for b.Loop() {
				block, err := a.Alloc(4096, 0, memory.Untagged)
				if err != nil {
					b.Fatal(err)
				}
				if err := a.Free(block.Handle); err != nil {
					b.Fatal(err)
				}
				pairs++
			}
			report(b, pairs)
		})
	}
}
