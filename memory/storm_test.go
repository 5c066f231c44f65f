package memory_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// TestStorm has goroutines do all there is at once on a device of pages that is
// too small: pools come and go, streams are captured and retired, settings and
// history change. The fake refuses work that touches memory too early.
func TestStorm(t *testing.T) {
	const workers, rounds = 6, 120
	f, a := device(t, memorytest.FakeConfig{Capacity: 150 * page, Granularity: page, Asynchronous: true},
		memory.Config{SoftBudget: func(int64) int64 { return 32 * mib }})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := &storm{f: f, a: a, blocks: make(chan stormBlock, workers*rounds*2)}
	for i := range s.pools {
		s.pools[i] = newPool(t, a, memory.PoolConfig{})
	}
	var done sync.WaitGroup
	for w := range workers {
		r := rand.New(rand.NewPCG(seed, uint64(w)))
		done.Go(func() {
			for range rounds {
				assert.NoError(t, s.alloc(r, s.pool(r), cuda.Stream(r.IntN(5))))
				for len(s.blocks) > 12 {
					assert.NoError(t, s.free(r))
				}
				assert.NoError(t, s.disturb(r, cuda.Stream(100*(w+1))))
			}
		})
	}
	done.Wait()
	for len(s.blocks) > 0 {
		require.NoError(t, s.free(rand.New(rand.NewPCG(seed, 0))))
	}
	for _, p := range s.pools {
		require.NoError(t, p.Close())
	}
	require.NoError(t, a.EmptyCache())
	assert.Zero(t, a.Stats().ActiveBytes.All.Current)
	assert.Zero(t, f.Used())
}

type storm struct {
	f      *memorytest.Fake
	a      *memory.Allocator
	blocks chan stormBlock // from whoever made them to whoever frees them

	mu    sync.Mutex // guards pools
	pools [3]*memory.Pool
}

type stormBlock struct {
	memory.Block
	stream cuda.Stream
}

func (s *storm) pool(r *rand.Rand) *memory.Pool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pools[r.IntN(len(s.pools))]
}

// alloc allocates a block, out of p at times, and queues work on it.
func (s *storm) alloc(r *rand.Rand, p *memory.Pool, stream cuda.Stream) error {
	from := s.a.Alloc
	if r.IntN(3) == 0 {
		from = p.Alloc
	}
	b, err := from(1+r.Int64N(64*kib<<r.IntN(10)), stream, memory.Untagged)
	var oom *memory.OutOfMemoryError
	if errors.As(err, &oom) || errors.Is(err, memory.ErrClosed) {
		return nil
	}
	if err == nil {
		err = s.f.Write(stream, b.Ptr, b.Size)
		s.blocks <- stormBlock{b, stream}
	}
	return err
}

// free ends a block in some way, after another stream has read it at times.
func (s *storm) free(r *rand.Rand) error {
	var b stormBlock
	select {
	case b = <-s.blocks:
	default:
		return nil
	}
	reader := cuda.Stream(r.IntN(5))
	kind := r.IntN(3)
	if kind == 0 {
		return s.a.Free(b.Handle)
	}
	s.f.Wait(reader, b.stream)
	if err := s.f.Read(reader, b.Ptr, b.Size); err != nil {
		return err
	}
	if kind == 1 {
		return s.a.Free(b.Handle, reader)
	}
	s.a.Abandon(b.Handle, reader)
	return nil
}

// disturb does something else at times. own is a stream that nobody else uses.
func (s *storm) disturb(r *rand.Rand, own cuda.Stream) error {
	a := s.a
	switch r.IntN(30) {
	case 0, 1:
		s.f.Complete(cuda.Stream(r.IntN(5)))
	case 2:
		return a.EmptyCache()
	case 3:
		return memorytest.CheckStats(a.Stats())
	case 4:
		return a.Check()
	case 5:
		_, _ = a.Summary(), a.Snapshot()
	case 6:
		a.RecordHistory(memory.History{Events: r.IntN(200), Stacks: memory.StackMode(r.IntN(3))})
	case 7:
		a.ResetPeak()
	case 8:
		return a.SetSettings(memory.Settings{Expandable: memory.Expandable(r.IntN(3))})
	case 9:
		return s.renew(r)
	case 10:
		return s.pool(r).EmptyCache()
	case 11:
		return s.capture(r, own)
	case 12:
		err := s.alloc(r, s.pool(r), own+1)
		return errors.Join(err, a.RetireStream(own+1))
	case 13:
		defer a.OnShortage(func(int64) { _ = errors.Join(s.free(r), a.EmptyCache()) })()
		return s.alloc(r, s.pool(r), own)
	}
	return nil
}

// renew closes a pool and opens another in its place.
func (s *storm) renew(r *rand.Rand) error {
	p, err := s.a.NewPool(memory.PoolConfig{
		Limit: int64(r.IntN(2)) * 40 * mib, NoSplit: r.IntN(3) == 0, UseOnOOM: r.IntN(2) == 0,
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := r.IntN(len(s.pools))
	old := s.pools[i]
	s.pools[i] = p
	return old.Close()
}

func (s *storm) capture(r *rand.Rand, own cuda.Stream) error {
	p := s.pool(r)
	if p.BeginCapture(own) != nil { // it was closed
		return nil
	}
	b, err := p.Alloc(1+r.Int64N(4*mib), own, memory.Untagged)
	if err == nil {
		err = s.a.Free(b.Handle, cuda.Stream(r.IntN(5)))
	}
	var oom *memory.OutOfMemoryError
	if errors.As(err, &oom) || errors.Is(err, memory.ErrClosed) {
		err = nil
	}
	return errors.Join(err, p.EndCapture(own))
}
