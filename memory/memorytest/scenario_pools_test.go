package memorytest_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// pool returns a private pool, which is closed at the end.
func (s *stage) pool(cfg memory.PoolConfig) *memory.Pool {
	s.Helper()
	p, err := s.a.NewPool(cfg)
	require.NoError(s.T, err)
	s.Cleanup(func() { assert.NoError(s.T, p.Close()) })
	return p
}

// allocIn returns a block of a private pool.
func (s *stage) allocIn(p *memory.Pool, size int64, stream cuda.Stream) memory.Block {
	s.Helper()
	b, err := p.Alloc(size, stream, memory.Untagged)
	require.NoError(s.T, err, "%d bytes on stream %d", size, stream)
	return b
}

// segments returns those of a private pool, "" for those of none.
func (s *stage) segments(pool string) (of []memory.SnapshotSegment) {
	for _, segment := range s.a.Snapshot().Segments {
		if segment.Private == pool {
			of = append(of, segment)
		}
	}
	return of
}

// customUpstream is another way to the same device, for a pool.
type customUpstream struct {
	*memorytest.Fake
	allocs, frees int
	used          int64
}

func (u *customUpstream) Alloc(size int64) (cuda.DevicePtr, error) {
	u.allocs++
	u.used += size
	return u.Fake.Alloc(size)
}

func (u *customUpstream) Free(p cuda.DevicePtr, size int64) error {
	u.frees++
	u.used -= size
	return u.Fake.Free(p, size)
}

func (s *stage) newUpstream() *customUpstream { return &customUpstream{Fake: s.fake} }

// scenarioThreadInPool has a goroutine use a pool while another does not.
func scenarioThreadInPool(t *testing.T) {
	inBothModes(t, 1024*mib, memory.Config{}, func(s *stage) {
		p := s.pool(memory.PoolConfig{})
		work := func(alloc func(int64, cuda.Stream, memory.Tag) (memory.Block, error)) {
			for range 10 {
				var blocks []memory.Block
				for range 3 {
					b, err := alloc(20*mib, 0, memory.Untagged)
					assert.NoError(s.T, err)
					blocks = append(blocks, b)
				}
				for _, b := range blocks {
					assert.NoError(s.T, s.a.Free(b.Handle))
				}
			}
		}
		var done sync.WaitGroup
		done.Go(func() { work(p.Alloc) })
		done.Go(func() { work(s.a.Alloc) })
		done.Wait()
		assert.EqualValues(s.T, 60*mib, p.Stats().Reserved, "and not 60 MiB a round")
		most := int64(120 * mib)
		if s.pages {
			// One may take what the other has idle, and the other then grows
			// within the slack of pages (see minPageSlack) to get its own back.
			most += 32 * mib
		}
		assert.LessOrEqual(s.T, s.a.Stats().ReservedBytes.All.Peak, most)
		require.NoError(s.T, p.Close())
		require.NoError(s.T, s.a.EmptyCache())
		assert.Zero(s.T, s.fake.Used())
	})
}

// scenarioPoolLiveAllocations reads out of a snapshot which blocks of a pool
// are live.
func scenarioPoolLiveAllocations(t *testing.T) {
	inBothModes(t, 1024*mib, memory.Config{}, func(s *stage) {
		live := func() (ptrs []cuda.DevicePtr) {
			for _, segment := range s.segments("graph") {
				for _, b := range segment.Blocks {
					if b.State == memory.BlockAllocated {
						ptrs = append(ptrs, b.Address)
					}
				}
			}
			return ptrs
		}
		p := s.pool(memory.PoolConfig{Name: "graph"})
		outside := s.alloc(1000)
		b, c := s.allocIn(p, 1000, 0), s.allocIn(p, 3*mib, 0)
		assert.ElementsMatch(s.T, []cuda.DevicePtr{b.Ptr, c.Ptr}, live())
		s.free(b)
		assert.Equal(s.T, []cuda.DevicePtr{c.Ptr}, live())
		s.free(c, outside)
		assert.Empty(s.T, live())
	})
}

func scenarioPoolSnapshot(t *testing.T) {
	inBothModes(t, 1024*mib, memory.Config{}, func(s *stage) {
		p := s.pool(memory.PoolConfig{Name: "gone"})
		b := s.allocIn(p, 20*mib, 0)
		require.Len(s.T, s.segments("gone"), 1)
		require.NoError(s.T, p.Close())
		assert.Empty(s.T, s.segments("gone"))
		assert.Len(s.T, s.segments(""), 1)
		s.free(b)
		require.NoError(s.T, s.a.EmptyCache())
		assert.Empty(s.T, s.a.Snapshot().Segments)
	})
}

// scenarioPoolInactive closes a pool of another upstream while it has a live
// block.
func scenarioPoolInactive(t *testing.T) {
	inBothModes(t, 1024*mib, memory.Config{}, func(s *stage) {
		other := s.newUpstream()
		p := s.pool(memory.PoolConfig{Upstream: other})
		b := s.allocIn(p, 20*mib, 0)
		require.NoError(s.T, p.Close())
		assert.EqualValues(s.T, 20*mib, other.used)
		s.free(b)
		require.NoError(s.T, s.a.EmptyCache())
		assert.Zero(s.T, other.used)
	})
}

func scenarioPoolUpstream(t *testing.T) {
	inBothModes(t, 1024*mib, memory.Config{}, func(s *stage) {
		other := s.newUpstream()
		p := s.pool(memory.PoolConfig{Name: "own", Upstream: other})
		b, c := s.allocIn(p, mib, 0), s.allocIn(p, mib, 0)
		assert.Len(s.T, s.segments("own"), 1)
		d := s.allocIn(p, mib, 0)
		assert.Len(s.T, s.segments("own"), 2)
		assert.Equal(s.T, 2, other.allocs)
		assert.Equal(s.T, s.fake.Used(), other.used)
		s.free(b, c, d)
		require.NoError(s.T, p.Close())
		assert.Equal(s.T, 2, other.frees)
		assert.Zero(s.T, other.used)
	})
}

// scenarioPoolLimited: under a limit one pool lends and another does not.
func scenarioPoolLimited(t *testing.T) {
	inBothModes(t, 1024*mib, memory.Config{Limit: 80 * mib}, func(s *stage) {
		keeps := s.pool(memory.PoolConfig{Upstream: s.newUpstream()})
		lends := s.pool(memory.PoolConfig{Upstream: s.newUpstream(), UseOnOOM: true})
		b, c := s.allocIn(keeps, 40*mib, 0), s.allocIn(lends, 40*mib, 0)
		s.outOfMemory(40 * mib)
		s.free(b, c)
		lent := s.alloc(30 * mib)
		assert.Equal(s.T, c.Ptr, lent.Ptr)
		s.outOfMemory(30 * mib)
		s.free(lent, s.allocIn(keeps, 40*mib, 0))
		s.free(s.allocIn(lends, 40*mib, 0))
	})
}

// scenarioPoolNoSplit counts segments, so there are no pages.
func scenarioPoolNoSplit(t *testing.T) {
	s := newStage(t, memorytest.FakeConfig{Capacity: 1024 * mib}, memory.Config{})
	for _, cfg := range []memory.PoolConfig{{Name: "splits"}, {Name: "does not", NoSplit: true}} {
		p := s.pool(cfg)
		s.allocIn(p, 4*mib, 0)
		s.allocIn(p, 4*mib, 0)
	}
	splits, whole := s.segments("splits"), s.segments("does not")
	require.Len(t, splits, 1)
	assert.Len(t, splits[0].Blocks, 3)
	require.Len(t, whole, 2)
	for _, segment := range whole {
		assert.Len(t, segment.Blocks, 1)
	}
}

func scenarioPoolDeleted(t *testing.T) {
	inBothModes(t, 1024*mib, memory.Config{Limit: 40 * mib}, func(s *stage) {
		var last *memory.Pool
		var ptrs []cuda.DevicePtr
		for range 10 {
			if last != nil {
				require.NoError(s.T, last.Close())
			}
			last = s.pool(memory.PoolConfig{UseOnOOM: true})
			b, c := s.allocIn(last, 20*mib, 0), s.allocIn(last, 20*mib, 0)
			ptrs = []cuda.DevicePtr{b.Ptr, c.Ptr}
			s.free(b, c)
		}
		b, c := s.alloc(20*mib), s.alloc(20*mib)
		assert.ElementsMatch(s.T, ptrs, []cuda.DevicePtr{b.Ptr, c.Ptr})
		assert.EqualValues(s.T, 40*mib, last.Stats().Allocated)
		s.outOfMemory(20 * mib)
		s.free(b, c)
	})
}

// inPools runs a function in four goroutines, each with a pool.
func (s *stage) inPools(body func(p *memory.Pool)) (names []string) {
	const workers = 4
	var done sync.WaitGroup
	for i := range workers {
		names = append(names, fmt.Sprintf("pool %d", i))
		p := s.pool(memory.PoolConfig{Name: names[i]})
		done.Go(func() { body(p) })
	}
	done.Wait()
	return names
}

func scenarioPoolsOfThreads(t *testing.T) {
	inBothModes(t, 1024*mib, memory.Config{}, func(s *stage) {
		names := s.inPools(func(p *memory.Pool) {
			_, err := p.Alloc(20*mib, 0, memory.Untagged)
			assert.NoError(s.T, err)
		})
		for _, name := range names {
			assert.Len(s.T, s.segments(name), 1, name)
		}
		assert.Empty(s.T, s.segments(""))
	})
}

func scenarioPoolEmptyCacheOfThreads(t *testing.T) {
	inBothModes(t, 1024*mib, memory.Config{}, func(s *stage) {
		names := s.inPools(func(p *memory.Pool) {
			b, err := p.Alloc(20*mib, 0, memory.Untagged)
			assert.NoError(s.T, err)
			assert.NoError(s.T, s.a.Free(b.Handle))
			assert.NoError(s.T, s.a.EmptyCache())
			assert.EqualValues(s.T, 20*mib, p.Stats().Reserved)
		})
		for _, name := range names {
			assert.Len(s.T, s.segments(name), 1, name)
		}
	})
}

// scenarioPoolsNested: whose Alloc is called says which pool it is; there is no
// other nesting.
func scenarioPoolsNested(t *testing.T) {
	inBothModes(t, 1024*mib, memory.Config{}, func(s *stage) {
		var pools []*memory.Pool
		for range 3 {
			pools = append(pools, s.pool(memory.PoolConfig{}))
		}
		for _, level := range []int{0, 1, 2, 1, 0} {
			s.allocIn(pools[level], 20*mib, 0)
		}
		for i, want := range []int64{40 * mib, 40 * mib, 20 * mib} {
			assert.Equal(s.T, want, pools[i].Stats().Reserved, "pool %d", i)
		}
	})
}

func scenarioPoolExpandable(t *testing.T) {
	s := newStage(t, memorytest.FakeConfig{Capacity: 1024 * mib, Granularity: 2 * mib}, memory.Config{})
	p := s.pool(memory.PoolConfig{Name: "own", Upstream: s.newUpstream()})
	s.allocIn(p, 20*mib, 0)
	s.alloc(20 * mib)
	own, rest := s.segments("own"), s.segments("")
	require.Len(t, own, 1)
	require.Len(t, rest, 1)
	assert.False(t, own[0].Pages)
	assert.True(t, rest[0].Pages)
}

func scenarioPoolOfOneThread(t *testing.T) {
	inBothModes(t, 1024*mib, memory.Config{}, func(s *stage) {
		p := s.pool(memory.PoolConfig{})
		s.free(s.allocIn(p, mib, 0))
		var done sync.WaitGroup
		done.Go(func() {
			_, err := s.a.Alloc(mib, 0, memory.Untagged)
			assert.NoError(s.T, err)
		})
		done.Wait()
		assert.Zero(s.T, p.Stats().Active)
		assert.EqualValues(s.T, mib, s.a.Stats().ActiveBytes.All.Current)
	})
}
