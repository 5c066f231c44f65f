package memory_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// page is the size of a page of the devices here.
const page = 2 * mib

// paged is a device with virtual memory of so many pages.
func paged(t testing.TB, pages int64, asynchronous bool, cfg memory.Config) (*memorytest.Fake, *memory.Allocator) {
	t.Helper()
	cfg.NoBackgroundGC = true
	fake := memorytest.FakeConfig{Capacity: pages * page, Granularity: page, Asynchronous: asynchronous, KeepLog: true}
	return device(t, fake, cfg)
}

// write allocates a block and queues work of its stream that writes it.
func write(t testing.TB, f *memorytest.Fake, a *memory.Allocator, size int64, s cuda.Stream) memory.Block {
	t.Helper()
	b := alloc(t, a, size, s)
	require.NoError(t, f.Write(s, b.Ptr, b.Size))
	return b
}

// row allocates blocks of so many pages, which lie side by side.
func row(t testing.TB, f *memorytest.Fake, a *memory.Allocator, s cuda.Stream, pages ...int64) (blocks []memory.Block) {
	t.Helper()
	for i, n := range pages {
		b := write(t, f, a, n*page, s)
		if i > 0 {
			before := blocks[i-1]
			require.Equal(t, before.Ptr+cuda.DevicePtr(before.Size), b.Ptr, "block %d", i)
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// calls returns what act makes the upstream do.
func calls(f *memorytest.Fake, act func()) (counts memorytest.Calls, log []memorytest.Entry) {
	before, n := f.Calls(), len(f.Log())
	act()
	return f.Calls().Since(before), f.Log()[n:]
}

// sizesOf returns the sizes of the calls of a kind, in pages.
func sizesOf(log []memorytest.Entry, call memorytest.Call) (pages []int64) {
	for _, e := range log {
		if e.Call == call {
			pages = append(pages, e.Size/page)
		}
	}
	return pages
}

// TestIdlePagesAreTakenWhereTheyLie gives pages of a stream to another one, in
// parts: the device's driver hears nothing of it.
func TestIdlePagesAreTakenWhereTheyLie(t *testing.T) {
	f, a := paged(t, 32, true, memory.Config{})
	b := write(t, f, a, 4*page, 0)
	free(t, a, b)
	c := write(t, f, a, 4*page, 1)
	assert.NotEqual(t, b.Ptr, c.Ptr, "the work may still run, and there is room")
	f.Complete(0)
	var d, e, g memory.Block
	made, _ := calls(f, func() {
		d = write(t, f, a, 3*page, 1)
		e = write(t, f, a, page, 0)
		free(t, a, e)
		g = write(t, f, a, page, 1)
	})
	assert.Equal(t, b.Ptr, d.Ptr)
	assert.Equal(t, b.Ptr+cuda.DevicePtr(3*page), e.Ptr, "what was not taken stayed")
	assert.NotEqual(t, e.Ptr, g.Ptr, "it was used again since")
	assert.EqualValues(t, 1, made[memorytest.CallCreate], "of the last one alone")
	assert.Zero(t, made[memorytest.CallUnmap])
	assert.Zero(t, made[memorytest.CallWaitEvent])
	assert.Zero(t, made[memorytest.CallSyncEvent])
	assert.EqualValues(t, 1, served(a)[memory.RungReuse])
}

// TestWindowBeginsInAnOwnBlock has a request end in pages of another stream and
// begin in bytes that its own has free before them.
func TestWindowBeginsInAnOwnBlock(t *testing.T) {
	for _, asynchronous := range []bool{false, true} {
		t.Run(fmt.Sprint(asynchronous), func(t *testing.T) {
			f, a := paged(t, 6, asynchronous, memory.Config{})
			left := write(t, f, a, 3*mib, 1)
			b := write(t, f, a, 4*page, 0)
			free(t, a, b)
			made, _ := calls(f, func() {
				c := write(t, f, a, 9*mib, 1)
				assert.Equal(t, left.Ptr+cuda.DevicePtr(3*mib), c.Ptr)
			})
			assert.Zero(t, made[memorytest.CallMap])
			assert.Zero(t, made[memorytest.CallUnmap])
			s := a.Stats()
			assert.EqualValues(t, 1, s.Segment.All.Current, "it is one run now")
			assert.Zero(t, s.PinnedBytes)
		})
	}
}

// TestWindowEndsInAnOwnBlock has it the other way round.
func TestWindowEndsInAnOwnBlock(t *testing.T) {
	f, a := paged(t, 4, false, memory.Config{})
	b := write(t, f, a, 2*page, 0)
	front, back := write(t, f, a, 3*mib/2, 1), write(t, f, a, 5*mib/2, 1)
	require.Equal(t, b.Ptr+cuda.DevicePtr(2*page), front.Ptr)
	free(t, a, b)
	free(t, a, front)
	made, _ := calls(f, func() { assert.Equal(t, b.Ptr, write(t, f, a, 2*page+front.Size, 1).Ptr) })
	assert.Zero(t, made.Driver())
	assert.Zero(t, a.Stats().PinnedBytes)
	free(t, a, back)
}

// TestTightestGapIsTaken has two gaps that hold a request: the larger one stays
// for a larger request.
func TestTightestGapIsTaken(t *testing.T) {
	f, a := paged(t, 16, false, memory.Config{})
	blocks := row(t, f, a, 0, 3, 1, 2, 1)
	free(t, a, blocks[0])
	free(t, a, blocks[2])
	assert.Equal(t, blocks[2].Ptr, write(t, f, a, 2*page, 1).Ptr)
	assert.Equal(t, blocks[0].Ptr, write(t, f, a, 3*page, 1).Ptr)
}

// TestUnfinishedPagesAreFollowed takes memory whose work still runs when there
// is no other: the device waits, and the host does not.
func TestUnfinishedPagesAreFollowed(t *testing.T) {
	f, a := paged(t, 4, true, memory.Config{})
	for s := range cuda.Stream(4) {
		made, _ := calls(f, func() {
			free(t, a, write(t, f, a, 4*page, s)) // the fake refuses what is not in order
		})
		assert.EqualValues(t, min(s, 1), made[memorytest.CallWaitEvent], "stream %d", s)
		assert.Zero(t, made[memorytest.CallSyncEvent])
		assert.Zero(t, made[memorytest.CallUnmap])
		require.NoError(t, a.Check())
	}
	assert.EqualValues(t, 3, served(a)[memory.RungFollow])
	assert.EqualValues(t, 4, f.Calls()[memorytest.CallMap])
}

// TestLargestPiecesMoveFirst lets a request find its pages in pieces: one unmap
// a piece, one access a run, and the pieces that are not needed stay.
func TestLargestPiecesMoveFirst(t *testing.T) {
	f, a := paged(t, 16, false, memory.Config{})
	blocks := row(t, f, a, 0, 2, 1, 3, 1, 1, 1, 4, 1, 2)
	for _, i := range []int{0, 2, 4, 6} {
		free(t, a, blocks[i])
	}
	made, log := calls(f, func() { write(t, f, a, 7*page, 0) })
	assert.Equal(t, []int64{4, 3}, sizesOf(log, memorytest.CallUnmap))
	assert.Equal(t, []int64{7}, sizesOf(log, memorytest.CallAccess))
	assert.EqualValues(t, 7, made[memorytest.CallMap])
	assert.EqualValues(t, 11, made.Driver(), "and a create that was refused")
	assert.EqualValues(t, 1, served(a)[memory.RungRemap])

	made, _ = calls(f, func() {
		assert.Equal(t, blocks[0].Ptr, write(t, f, a, 2*page, 0).Ptr)
		assert.Equal(t, blocks[4].Ptr, write(t, f, a, page, 0).Ptr)
	})
	assert.Zero(t, made.Driver(), "they lie where they lay")
	outOfMemory(t, a, page, 0)
}

// TestPieceIsCut moves no more pages than a request misses.
func TestPieceIsCut(t *testing.T) {
	f, a := paged(t, 9, false, memory.Config{})
	blocks := row(t, f, a, 0, 3, 1, 2, 1, 2)
	free(t, a, blocks[0])
	free(t, a, blocks[2])
	_, log := calls(f, func() { write(t, f, a, 4*page, 0) })
	assert.Equal(t, []int64{3, 1}, sizesOf(log, memorytest.CallUnmap))
	assert.Equal(t, blocks[2].Ptr+cuda.DevicePtr(page), write(t, f, a, page, 0).Ptr, "the end of the second piece")
}

// TestIdlePiecesMoveFirst has enough idle pages beside a larger piece that is
// not: the host need not wait.
func TestIdlePiecesMoveFirst(t *testing.T) {
	f, a := paged(t, 10, true, memory.Config{})
	idle := row(t, f, a, 0, 2, 1, 2)
	busy := row(t, f, a, 1, 1, 3, 1)
	free(t, a, idle[0])
	free(t, a, idle[2])
	outOfMemory(t, a, 9*page, 3) // so that events are recorded
	f.Complete(0)
	free(t, a, busy[1])
	made, log := calls(f, func() { write(t, f, a, 4*page, 3) })
	assert.Equal(t, []int64{2, 2}, sizesOf(log, memorytest.CallUnmap))
	assert.Zero(t, made[memorytest.CallSyncEvent])
}

// TestMovedPagesWereWaitedFor unmaps memory whose work still runs: the host
// waits before, or the device faults.
func TestMovedPagesWereWaitedFor(t *testing.T) {
	f, a := paged(t, 4, true, memory.Config{})
	blocks := row(t, f, a, 0, 1, 1, 1, 1)
	free(t, a, blocks[0])
	free(t, a, blocks[2])
	made, _ := calls(f, func() { write(t, f, a, 2*page, 1) })
	assert.EqualValues(t, 2, made[memorytest.CallUnmap])
	assert.EqualValues(t, 1, made[memorytest.CallSyncEvent], "one a stream")
}

// TestPagesChangePools brings pages of one pool to the other, each way.
func TestPagesChangePools(t *testing.T) {
	f, a := paged(t, 4, false, memory.Config{})
	small := make([]memory.Block, 8)
	for i := range small {
		small[i] = alloc(t, a, mib, 0)
	}
	s := a.Stats()
	assert.Equal(t, 4*page, s.ReservedBytes.Small.Current)
	for _, b := range small[2:] {
		free(t, a, b)
	}
	large := write(t, f, a, 3*page, 0)
	s = a.Stats()
	assert.Equal(t, page, s.ReservedBytes.Small.Current)
	assert.Equal(t, 3*page, s.ReservedBytes.Large.Current)
	assert.EqualValues(t, 2, s.Segment.All.Current)
	require.NoError(t, a.Check())
	free(t, a, large)
	for range 6 {
		alloc(t, a, mib, 0)
	}
	s = a.Stats()
	assert.Equal(t, 4*page, s.ReservedBytes.Small.Current)
	assert.Zero(t, s.ReservedBytes.Large.Current)
	assert.EqualValues(t, 4, s.NumDeviceAlloc, "no page was taken anew")
}

// TestRunsThatTouchAreOne lets a stream take the page between two runs of its
// own, for each state of its neighbours, and use all three as one.
func TestRunsThatTouchAreOne(t *testing.T) {
	for _, freed := range [][2]bool{{}, {true, false}, {false, true}, {true, true}} {
		t.Run(fmt.Sprint(freed), func(t *testing.T) {
			f, a := paged(t, 3, false, memory.Config{})
			left := write(t, f, a, page, 0)
			middle := write(t, f, a, page, 1)
			right := write(t, f, a, page, 0)
			require.Equal(t, left.Ptr+cuda.DevicePtr(2*page), right.Ptr)
			assert.EqualValues(t, 3, a.Stats().Segment.All.Current)
			free(t, a, middle)
			size := page
			if freed[0] {
				free(t, a, left)
				size += page
			}
			if freed[1] {
				free(t, a, right)
				size += page
			}
			made, _ := calls(f, func() { middle = write(t, f, a, size, 0) })
			assert.Zero(t, made.Driver())
			require.NoError(t, a.Check())
			assert.EqualValues(t, 1, a.Stats().Segment.All.Current)
			for i, b := range []memory.Block{left, right} {
				if !freed[i] {
					free(t, a, b)
				}
			}
			free(t, a, middle)
			assert.Equal(t, 3*page, a.Stats().LargestFree)
			assert.Equal(t, left.Ptr, alloc(t, a, 3*page, 0).Ptr)
		})
	}
}

// TestRunsOfTwoStreamsStayApart has pages of two streams and both pools side by
// side, each of which belongs to whom it was given.
func TestRunsOfTwoStreamsStayApart(t *testing.T) {
	f, a := paged(t, 8, false, memory.Config{})
	var blocks []memory.Block
	for i, size := range []int64{mib, page, page, mib, page, mib} {
		blocks = append(blocks, write(t, f, a, size, cuda.Stream(i%2)))
		require.NoError(t, a.Check())
	}
	assert.EqualValues(t, 4, a.Stats().Segment.All.Current)
	for _, b := range blocks {
		free(t, a, b)
		require.NoError(t, a.Check())
	}
	assert.Equal(t, 2*page, a.Stats().LargestFree)
}

// TestCutLeavesTheEnds takes a page from the front, the middle and the end of
// what a stream has.
func TestCutLeavesTheEnds(t *testing.T) {
	for at, segments := range []int64{2, 3, 2} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			f, a := paged(t, 3, false, memory.Config{})
			blocks := row(t, f, a, 0, 1, 1, 1)
			assert.EqualValues(t, 1, a.Stats().Segment.All.Current)
			free(t, a, blocks[at])
			assert.Equal(t, page, a.Stats().InactiveSplitBytes.All.Current)
			assert.Equal(t, blocks[at].Ptr, write(t, f, a, page, 1).Ptr)
			s := a.Stats()
			assert.Equal(t, segments, s.Segment.All.Current)
			assert.Zero(t, s.PinnedBytes)
			require.NoError(t, a.Check())
		})
	}
}

// TestPinnedPagesAreNotMoved has free bytes beside live ones in every page.
func TestPinnedPagesAreNotMoved(t *testing.T) {
	const size = 5 * mib / 4
	f, a := paged(t, 4, false, memory.Config{})
	var blocks []memory.Block
	for s := range cuda.Stream(4) {
		blocks = append(blocks, write(t, f, a, size, s))
	}
	made, _ := calls(f, func() {
		oom := outOfMemory(t, a, page, 0)
		assert.Equal(t, 4*(page-size), oom.Pinned)
	})
	assert.Zero(t, made[memorytest.CallUnmap])
	assert.Zero(t, made[memorytest.CallMap])
	for _, b := range blocks {
		assert.NoError(t, f.CheckAccess(b.Ptr, b.Size))
	}
	free(t, a, blocks[2])
	made, _ = calls(f, func() { assert.Equal(t, blocks[2].Ptr, alloc(t, a, page, 0).Ptr) })
	assert.Zero(t, made.Driver())
}

// TestEmptyCacheReleasesWholePages gives back what has no live byte, and no
// more.
func TestEmptyCacheReleasesWholePages(t *testing.T) {
	f, a := paged(t, 16, true, memory.Config{})
	b, c := write(t, f, a, 3*page, 0), write(t, f, a, 5*mib, 0)
	free(t, a, write(t, f, a, 2*page, 1))
	free(t, a, b)
	_, log := calls(f, func() { require.NoError(t, a.EmptyCache()) })
	assert.ElementsMatch(t, []int64{3, 2}, sizesOf(log, memorytest.CallUnmap), "one for each piece")
	assert.Equal(t, 3*page, f.Used())
	s := a.Stats()
	assert.Equal(t, f.Used(), s.ReservedBytes.All.Current)
	assert.EqualValues(t, 5, s.NumDeviceFree)
	assert.EqualValues(t, 1, s.Segment.All.Current)
	assert.NoError(t, f.CheckAccess(c.Ptr, c.Size))
	free(t, a, c)
}

// TestLimitInPages takes all that a limit allows, and not a page more.
func TestLimitInPages(t *testing.T) {
	f, a := paged(t, 16, false, memory.Config{Limit: 4 * page})
	b := write(t, f, a, 3*page, 0)
	write(t, f, a, page, 1)
	assert.Equal(t, 4*page, f.Used())
	outOfMemory(t, a, page, 1)
	free(t, a, b)
	write(t, f, a, page, 2)
	assert.Equal(t, 4*page, f.Used())

	f, a = paged(t, 16, false, memory.Config{Limit: 5*page - 1})
	write(t, f, a, 4*page, 0)
	outOfMemory(t, a, page, 0)
}

// TestPeakMovesPages has a stream ask for a new shape when it holds as much as
// its peak and hard budget allow: the pages that it has must do.
func TestPeakMovesPages(t *testing.T) {
	f, a := paged(t, 32, false, memory.Config{SoftBudget: func(int64) int64 { return 0 }})
	blocks := row(t, f, a, 0, 2, 2, 2)
	free(t, a, blocks[0])
	free(t, a, blocks[2])
	b := write(t, f, a, 4*page, 0)
	assert.Equal(t, blocks[2].Ptr, b.Ptr, "two of its pages were there")
	assert.Equal(t, 6*page, f.Used())
	assert.EqualValues(t, 1, served(a)[memory.RungGrow]-3)
}

// TestWholeFreePagesAreEnough is the promise of the virtual memory: whatever
// was allocated and freed before, on whichever stream and in either pool, pages
// without a live byte serve a request that is as large as all of them. Work
// that still uses them is waited for.
func TestWholeFreePagesAreEnough(t *testing.T) {
	const pages = 32
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			f, a := paged(t, pages, seed%2 == 1, memory.Config{})
			live := fill(t, r, f, a)
			r.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
			drop := len(live)/4 + r.IntN(len(live)/2)
			for _, b := range live[:drop] {
				if reader := cuda.Stream(r.IntN(8)); reader < 3 {
					f.Wait(reader, b.stream)
					require.NoError(t, f.Read(reader, b.Ptr, b.Size))
					free(t, a, b.Block, reader)
				} else {
					free(t, a, b.Block)
				}
			}
			f.Complete(cuda.Stream(r.IntN(3)))
			used := map[cuda.DevicePtr]bool{} // pages with a live byte
			for _, b := range live[drop:] {
				for p := b.Ptr / cuda.DevicePtr(page); p*cuda.DevicePtr(page) < b.Ptr+cuda.DevicePtr(b.Size); p++ {
					used[p] = true
				}
			}
			size := (pages - int64(len(used))) * page
			require.Positive(t, size)
			write(t, f, a, size, cuda.Stream(r.IntN(3)))
			require.NoError(t, a.Check())
			assert.Equal(t, pages*page, f.Used())
			for _, b := range live[drop:] {
				assert.NoError(t, f.CheckAccess(b.Ptr, b.Size))
			}
		})
	}
}

// placed is a block of a stream.
type placed struct {
	memory.Block
	stream cuda.Stream
}

// fill allocates blocks of about a page on three streams until no more fit.
func fill(t *testing.T, r *rand.Rand, f *memorytest.Fake, a *memory.Allocator) (live []placed) {
	t.Helper()
	for {
		s := cuda.Stream(r.IntN(3))
		b, err := a.Alloc(mib/2+r.Int64N(5*mib/2), s, memory.Untagged)
		if err != nil {
			var oom *memory.OutOfMemoryError
			require.ErrorAs(t, err, &oom)
			return live
		}
		require.NoError(t, f.Write(s, b.Ptr, b.Size))
		live = append(live, placed{b, s})
	}
}

// TestCloseWaitsForPages unmaps pages whose work still runs: the fake faults
// unless that was waited for.
func TestCloseWaitsForPages(t *testing.T) {
	f, a := paged(t, 4, true, memory.Config{})
	free(t, a, write(t, f, a, 2*page, 0))
	free(t, a, write(t, f, a, mib, 1))
	require.NoError(t, a.Close())
	assert.EqualValues(t, 2, f.Calls()[memorytest.CallSyncEvent])
}
