package memory_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// owner stands for a tensor that nobody releases. It has a pointer, as the
// runtime frees small objects without one in groups.
type owner struct{ self *owner }

// dropped allocates a block whose owner is unreachable at once.
func dropped(t testing.TB, a *memory.Allocator, size int64) {
	t.Helper()
	o := &owner{}
	o.self = o
	b := alloc(t, a, size, 0)
	runtime.AddCleanup(o, func(h memory.Handle) { a.Abandon(h) }, b.Handle)
}

// TestGarbageIsBounded drops blocks for ever, beside some that live. With the
// collector's own pacing and the background GC off, only the wait at the hard
// budget keeps reserved bytes down; without it the bound does not hold.
func TestGarbageIsBounded(t *testing.T) {
	uniform := func(*rand.Rand) int64 { return 8 * mib }
	small := func(*rand.Rand) int64 { return 100 * kib }
	mixed := func(r *rand.Rand) int64 { return 1 + r.Int64N(mib<<r.IntN(6)) }
	for _, tc := range []struct {
		name  string
		size  func(*rand.Rand) int64
		live  int64 // bytes that stay
		total int64 // bytes that are dropped
	}{
		{"8 MiB", uniform, 0, 2 << 30},
		{"8 MiB beside 256 MiB", uniform, 256 * mib, 2 << 30},
		{"small", small, 0, 1 << 30},
		{"mixed", mixed, 0, 4 << 30},
		{"mixed beside 100 MiB", mixed, 100 * mib, 4 << 30},
	} {
		t.Run(tc.name, func(t *testing.T) {
			defer memory.NoGC()()
			run := func(prepare func(*memory.Allocator)) (reserved, bound int64) {
				const seed, largest = 5, 32 * mib
				_, a := device(t, memorytest.FakeConfig{Capacity: 16 << 30}, memory.Config{NoBackgroundGC: true})
				prepare(a)
				r := rand.New(rand.NewPCG(seed, 0))
				if tc.live > 0 {
					alloc(t, a, tc.live, 0)
				}
				for sum := int64(0); sum < tc.total; {
					size := tc.size(r)
					dropped(t, a, size)
					sum += size
				}
				s := a.Stats()
				return s.ReservedBytes.All.Peak, tc.live + largest + memory.HardBudget(tc.live+largest) + largest
			}
			reserved, bound := run(func(*memory.Allocator) {})
			assert.LessOrEqual(t, reserved, bound)
			reserved, bound = run((*memory.Allocator).RemoveHardWait)
			assert.Greater(t, reserved, bound, "the wait is what bounds it")
		})
	}
}

// TestIdleShapesGoBack frees everything explicitly, in sizes that no earlier
// block has: a cache that only grew would hold them all. On two streams that the
// device is behind with, the pages that go back may be busy.
func TestIdleShapesGoBack(t *testing.T) {
	for name, fake := range map[string]memorytest.FakeConfig{
		"segments": {}, "pages": {Granularity: page}, "behind": {Granularity: page, Asynchronous: true},
	} {
		t.Run(name, func(t *testing.T) {
			fake.Capacity = 16 << 30
			f, a := device(t, fake, memory.Config{NoBackgroundGC: true})
			const largest = 80
			sum := int64(0)
			for size := int64(12); size <= largest; size += 2 {
				free(t, a, write(t, f, a, size*mib, cuda.Stream(size/2%2)))
				sum += size * mib
			}
			reserved := a.Stats().ReservedBytes.All.Peak
			assert.LessOrEqual(t, reserved, largest*mib+memory.HardBudget(largest*mib))
			assert.Greater(t, sum, 2*reserved)
		})
	}
}

// TestBudgetWithoutEnd has a program that wants no bound: nothing is given back
// for the sake of one.
func TestBudgetWithoutEnd(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{}, memory.Config{NoBackgroundGC: true, SoftBudget: func(int64) int64 { return math.MaxInt64 }})
	free(t, a, alloc(t, a, 80*mib, 0))
	require.NoError(t, a.EmptyCache())
	free(t, a, alloc(t, a, 12*mib, 0))
	alloc(t, a, 20*mib, 0)
	assert.Equal(t, 32*mib, f.Used())
}

func TestCachedHitNeverWaits(t *testing.T) {
	defer memory.NoGC()()
	_, a := device(t, memorytest.FakeConfig{}, memory.Config{SoftBudget: func(int64) int64 { return 1 }, NoBackgroundGC: true})
	b := alloc(t, a, 8*mib, 0)
	for range 100 {
		free(t, a, b)
		b = alloc(t, a, 8*mib, 0)
	}
	assert.Zero(t, a.Stats().Collections)
	alloc(t, a, 30*mib, 0)
	assert.EqualValues(t, 1, a.Stats().Collections.Waited, "a miss does, past the budget")
	alloc(t, a, 100*mib, 0)
	assert.EqualValues(t, 2, a.Stats().Collections.Waited)
}

func TestNoGCWhereNothingWasAllocated(t *testing.T) {
	defer memory.NoGC()()
	_, a := device(t, memorytest.FakeConfig{Capacity: 64 * mib}, memory.Config{NoBackgroundGC: true})
	alloc(t, a, 40*mib, 0)
	for range 3 {
		_, err := a.Alloc(40*mib, 0, memory.Untagged)
		var oom *memory.OutOfMemoryError
		require.ErrorAs(t, err, &oom)
	}
	assert.EqualValues(t, 1, a.Stats().Collections.Waited, "the second and third had nothing to find")
}

func TestBackgroundGC(t *testing.T) {
	defer memory.NoGC()()
	_, a := device(t, memorytest.FakeConfig{}, memory.Config{SoftBudget: func(int64) int64 { return 30 * mib }})
	alloc(t, a, 20*mib, 0)
	assert.Zero(t, a.Stats().Collections.Background)
	b := alloc(t, a, 9*mib, 0)
	free(t, a, b)
	alloc(t, a, 9*mib, 0)
	assert.Zero(t, a.Stats().Collections.Background, "what is released does not count")
	alloc(t, a, 9*mib, 1)
	assert.EqualValues(t, 1, a.Stats().Collections.Background, "streams count together")
	assert.Zero(t, a.Stats().Collections.Waited)
}

func TestAbandon(t *testing.T) {
	_, a := device(t, memorytest.FakeConfig{}, memory.Config{NoBackgroundGC: true})
	b, c := alloc(t, a, 1000, 0), alloc(t, a, 3*mib, 1)
	keep := alloc(t, a, 1000, 1)
	a.Abandon(b.Handle)
	a.Abandon(c.Handle)
	a.Abandon(b.Handle)
	a.Abandon(memory.Handle{})
	s := a.Stats()
	assert.Equal(t, memory.Released{Count: 2, Bytes: b.Size + c.Size}, s.GCReleased)
	assert.EqualValues(t, 1, s.Allocation.All.Current)
	assert.ErrorIs(t, a.Free(b.Handle), memory.ErrStaleHandle)

	again := alloc(t, a, 1000, 0)
	assert.Equal(t, b.Ptr, again.Ptr)
	a.Abandon(again.Handle)
	assert.Equal(t, again.Ptr, alloc(t, a, 1000, 0).Ptr, "the next Alloc frees it first")
	free(t, a, keep)
}

// TestGCSavesFromOutOfMemory fills a device with garbage.
func TestGCSavesFromOutOfMemory(t *testing.T) {
	defer memory.NoGC()()
	f, a := device(t, memorytest.FakeConfig{Capacity: 64 * mib}, memory.Config{NoBackgroundGC: true})
	for range 3 {
		dropped(t, a, 20*mib)
	}
	b := alloc(t, a, 50*mib, 0)
	s := a.Stats()
	assert.EqualValues(t, 3, s.GCReleased.Count)
	assert.Zero(t, s.NumOOMs)
	assert.EqualValues(t, 1, s.Rungs[memory.RungCollect].Served)
	assert.Equal(t, 60*mib, s.Rungs[memory.RungCollect].Gained)
	assert.EqualValues(t, 50*mib, f.Used())
	free(t, a, b)
}
