package memorytest

import (
	"errors"
	"flag"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
)

var seedFlag = flag.Uint64("seed", 0, "replay the random tests of allocators with this seed")

// Allocator is what the suite needs of an allocator. [memory.Allocator] is one.
type Allocator interface {
	Alloc(size int64, s cuda.Stream, tag memory.Tag) (memory.Block, error)
	Free(h memory.Handle, usedOn ...cuda.Stream) error
	Abandon(h memory.Handle, usedOn ...cuda.Stream)
	EmptyCache() error
	Stats() memory.Stats
	ResetPeak()
	Check() error
	Close() error
}

// Target is an allocator under test and what it takes its memory from. The
// suite looks deeper where that is a [Fake]: at every byte of the device, at
// the order of work on streams, and at what happens when calls fail.
type Target struct {
	Allocator Allocator
	Upstream  memory.Upstream
	// Readable is set where the host can touch blocks at their addresses.
	Readable bool
	// Limit is the allocator's own bound on what it takes; 0 if it has none.
	Limit int64
}

// room returns the bytes that the allocator may take when nothing is in use.
func (target Target) room(t *testing.T) int64 {
	t.Helper()
	_, total, err := target.Upstream.MemInfo()
	require.NoError(t, err)
	if target.Limit > 0 {
		return min(target.Limit, total)
	}
	return total
}

// TestAllocator is what every allocator must pass. open returns a fresh one
// over an upstream of 64 MiB to 1 GiB that nobody else uses; the suite closes
// it.
func TestAllocator(t *testing.T, open func(t *testing.T) Target) {
	run := func(name string, test func(*testing.T, Target)) {
		t.Run(name, func(t *testing.T) {
			target := open(t)
			test(t, target)
			require.NoError(t, target.Allocator.Check())
			s := target.Allocator.Stats()
			require.NoError(t, CheckStats(s))
			require.Zero(t, s.AllocatedBytes.All.Current, "bytes that the test forgot")
			require.NoError(t, target.Allocator.Close())
			if fake, ok := target.Upstream.(*Fake); ok {
				require.NoError(t, fake.Leaked())
			}
		})
	}
	run("Random", testRandom)
	run("Peaks", testPeaks)
	run("BadRequests", testBadRequests)
	run("StaleHandles", testStaleHandles)
	run("OutOfMemory", testOutOfMemory)
	run("Concurrent", testConcurrentAllocs)
	run("Close", testClose)
	t.Run("ForeignHandles", func(t *testing.T) { testForeignHandles(t, open(t), open(t)) })
	t.Run("Faults", func(t *testing.T) { testFaults(t, open) })
	for _, scenario := range scenarios {
		run("Scenario/"+scenario.name, scenario.test)
	}
}

// Play plays ops on a fresh target with a model beside it, which is looked at
// after each, then frees everything and closes. It is the body of a fuzz test.
func Play(t *testing.T, target Target, ops []Op) {
	t.Helper()
	m := newModel(t, target)
	m.play(ops)
	m.finish()
	require.NoError(t, target.Allocator.Close())
	if m.fake != nil {
		require.NoError(t, m.fake.Leaked())
	}
}

// random returns the generator of a test and says how to replay it.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("replay with: go test -run '^%s$' -seed %d", t.Name(), seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func must(t *testing.T, a Allocator, size int64, s cuda.Stream) memory.Block {
	t.Helper()
	b, err := a.Alloc(size, s, memory.Untagged)
	require.NoError(t, err, "%d bytes on stream %d", size, s)
	return b
}

// testRandom plays several lists on one allocator, so that later ones find a
// cache that is in use.
func testRandom(t *testing.T, target Target) {
	rng := random(t)
	m := newModel(t, target)
	for range 4 {
		m.play(Generate(rng, 500))
		m.finish()
	}
}

// testPeaks compares peaks with the naive allocator's, on one stream, where
// they are exact.
func testPeaks(t *testing.T, target Target) {
	rng := random(t)
	m := newModel(t, target)
	ops := Generate(rng, 500)
	for i := range ops {
		ops[i].Stream, ops[i].Pool = 0, 0
	}
	m.play(ops)
	s := target.Allocator.Stats()
	assert.Equal(t, m.naive.PeakRequested, s.RequestedBytes.All.Peak)
	assert.GreaterOrEqual(t, s.AllocatedBytes.All.Peak, m.naive.PeakAllocated)
	m.finish()
	target.Allocator.ResetPeak()
	s = target.Allocator.Stats()
	for name, family := range families(&s) {
		assert.Zero(t, family.All.Peak, "%s after a reset", name)
	}
}

func testBadRequests(t *testing.T, target Target) {
	a := target.Allocator
	before := a.Stats()
	for _, size := range []int64{-1, -1 << 63, 1<<60 + 1, 1<<63 - 1} {
		b, err := a.Alloc(size, 0, memory.Untagged)
		var request *memory.RequestError
		require.ErrorAs(t, err, &request, "%d bytes", size)
		assert.Equal(t, size, request.Size)
		assert.Zero(t, b)
	}
	_, err := a.Alloc(1, 0, memory.Tag(255))
	var request *memory.RequestError
	require.ErrorAs(t, err, &request, "a tag that nobody made")

	b := must(t, a, 0, 0)
	assert.Zero(t, b, "0 bytes are no block")
	require.NoError(t, a.Free(b.Handle))
	assert.Equal(t, before, a.Stats(), "nothing of this leaves a trace")
}

func testStaleHandles(t *testing.T, target Target) {
	a := target.Allocator
	refused := func(h memory.Handle, what string) {
		t.Helper()
		before := a.Stats()
		err := a.Free(h)
		require.ErrorIs(t, err, memory.ErrStaleHandle, what)
		var handle *memory.HandleError
		require.ErrorAs(t, err, &handle)
		assert.Equal(t, h, handle.Handle)
		a.Abandon(h) // ignored
		assert.Equal(t, before, a.Stats(), what)
	}
	b := must(t, a, 1000, 0)
	require.NoError(t, a.Free(b.Handle))
	refused(b.Handle, "freed twice")
	again := must(t, a, 1000, 0)
	refused(b.Handle, "freed after its memory went to another block")
	require.NoError(t, a.Free(again.Handle))

	c := must(t, a, 1000, 0)
	a.Abandon(c.Handle)
	a.Abandon(c.Handle)
	a.Stats()
	refused(c.Handle, "freed after it was abandoned")

	d := must(t, a, 1000, 0)
	require.NoError(t, a.Free(d.Handle, 1))
	refused(d.Handle, "freed while it waits for another stream")
	require.NoError(t, a.EmptyCache())
	refused(d.Handle, "freed after its segment went back")
}

func testForeignHandles(t *testing.T, ours, theirs Target) {
	b := must(t, theirs.Allocator, 1000, 0)
	require.ErrorIs(t, ours.Allocator.Free(b.Handle), memory.ErrForeignBlock, "an allocator without streams")
	own := must(t, ours.Allocator, 1000, 0)
	require.ErrorIs(t, ours.Allocator.Free(b.Handle), memory.ErrForeignBlock)
	require.ErrorIs(t, ours.Allocator.Free(b.Handle, 1, 2), memory.ErrForeignBlock)
	ours.Allocator.Abandon(b.Handle) // ignored
	assert.EqualValues(t, 1, ours.Allocator.Stats().Allocation.All.Current)
	require.NoError(t, ours.Allocator.Free(own.Handle))
	require.NoError(t, theirs.Allocator.Free(b.Handle))
	require.NoError(t, ours.Allocator.Close())
	require.NoError(t, theirs.Allocator.Close())
}

// testOutOfMemory fills the device and demands that a failure changes nothing,
// and that whatever is freed is enough to go on.
func testOutOfMemory(t *testing.T, target Target) {
	const size = 12 << 20
	a := target.Allocator
	var live []memory.Block
	var err error
	for err == nil {
		var b memory.Block
		if b, err = a.Alloc(size, 0, memory.Untagged); err == nil {
			live = append(live, b)
		}
	}
	var oom *memory.OutOfMemoryError
	require.ErrorAs(t, err, &oom)
	assert.EqualValues(t, size, oom.Requested)
	s := a.Stats()
	assert.EqualValues(t, 1, s.NumOOMs)
	assert.EqualValues(t, len(live), s.Allocation.All.Current)
	require.NoError(t, a.Check())

	_, err = a.Alloc(size, 0, memory.Untagged)
	require.ErrorAs(t, err, &oom, "it does not come of itself")
	last := len(live) - 1
	require.NoError(t, a.Free(live[last].Handle))
	live[last] = must(t, a, size, 0)

	require.Greater(t, last, 2, "the device is too small for this test")
	require.NoError(t, a.Free(live[0].Handle))
	require.NoError(t, a.Free(live[2].Handle))
	live[0], live[2] = must(t, a, 2*size, 0), memory.Block{} // two segments made room for one

	if fake, ok := target.Upstream.(*Fake); ok {
		require.NoError(t, fake.Read(1, live[last].Ptr, live[last].Size))
	}
	require.NoError(t, a.Free(live[last].Handle, 1))
	live[last] = must(t, a, size, 0) // waited for stream 1
	for _, b := range live {
		require.NoError(t, a.Free(b.Handle))
	}
}

func testClose(t *testing.T, target Target) {
	a := target.Allocator
	b := must(t, a, 3<<20, 0)
	must(t, a, 100, 1)
	var lost *memory.LiveBlocksError
	require.ErrorAs(t, a.Close(), &lost)
	assert.EqualValues(t, 2, lost.Count)
	require.NoError(t, a.Close(), "a second Close does nothing")
	_, err := a.Alloc(1, 0, memory.Untagged)
	require.ErrorIs(t, err, memory.ErrClosed)
	_, err = a.Alloc(1, 7, memory.Untagged)
	require.ErrorIs(t, err, memory.ErrClosed)
	require.NoError(t, a.Free(b.Handle), "there is nothing left to free")
	require.NoError(t, a.Free(b.Handle, 1))
	a.Abandon(b.Handle)
	require.NoError(t, a.EmptyCache())
	free, total, err := target.Upstream.MemInfo()
	require.NoError(t, err)
	assert.Equal(t, total, free, "everything went back")
}

// testConcurrentAllocs is for the race detector, and for the promise that
// nobody gets bytes that somebody has. Each worker allocates on its own
// stream and frees what its neighbour allocated.
func testConcurrentAllocs(t *testing.T, target Target) {
	const workers, rounds = 4, 300
	a := target.Allocator
	base := random(t).Uint64()
	var mu sync.Mutex
	var spans regions // of all live blocks; guarded by mu
	pass := make([]chan *held, workers)
	for i := range pass {
		pass[i] = make(chan *held, rounds)
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(base, uint64(w)))
			for i := range rounds {
				size := decodeSize(byte(rng.Uint32()), byte(rng.Uint32()%15))
				b, err := a.Alloc(size, cuda.Stream(w), memory.Untagged)
				if oom := (*memory.OutOfMemoryError)(nil); errors.As(err, &oom) || size == 0 {
					continue
				}
				if !assert.NoError(t, err) {
					return
				}
				h := &held{Block: b}
				if target.Readable {
					h.stamp = uint64(w*rounds + i + 1)
					h.write()
				}
				mu.Lock()
				if assert.False(t, spans.overlaps(b.Ptr, b.Size), "%d bytes at %#x", b.Size, uintptr(b.Ptr)) {
					spans.insert(region{ptr: b.Ptr, size: b.Size})
				}
				mu.Unlock()
				pass[(w+1)%workers] <- h // it has room for all
				select {
				case h := <-pass[w]:
					freeOne(t, a, h, cuda.Stream(w), &mu, &spans)
				default: // the neighbour is behind
				}
				if rng.IntN(64) == 0 {
					assert.NoError(t, a.EmptyCache())
					assert.NoError(t, CheckStats(a.Stats()))
					assert.NoError(t, a.Check())
				}
			}
		})
	}
	wg.Wait()
	for w := range pass {
		close(pass[w])
		for h := range pass[w] {
			freeOne(t, a, h, cuda.Stream(w), &mu, &spans)
		}
	}
}

func freeOne(t *testing.T, a Allocator, h *held, s cuda.Stream, mu *sync.Mutex, spans *regions) {
	mu.Lock()
	at, _ := spans.find(h.Ptr)
	spans.remove(at, at+1)
	mu.Unlock()
	assert.NoError(t, h.verify())
	assert.NoError(t, a.Free(h.Handle, s))
}
