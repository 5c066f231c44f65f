package memory_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// TestConcurrent lets goroutines share streams, a device that is too small,
// and each other's blocks. It is for the race detector, for the invariants
// that Check knows, and to show that no two live blocks share bytes.
func TestConcurrent(t *testing.T) {
	for _, tc := range []struct{ workers, streams int }{{8, 3}, {2, 16}, {64, 1}} {
		t.Run(fmt.Sprintf("%d on %d", tc.workers, tc.streams), func(t *testing.T) {
			bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) { testConcurrent(t, fake, tc.workers, tc.streams) })
		})
	}
}

func testConcurrent(t *testing.T, fake memorytest.FakeConfig, workers, streams int) {
	rounds := 3200 / workers
	fake.Capacity, fake.Asynchronous, fake.KeepLog = 300*mib, true, false
	f, a := device(t, fake, memory.Config{SoftBudget: func(int64) int64 { return 32 * mib }})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var owned sync.Map // granule to the worker that has it
	claim := func(b memory.Block, w int) {
		for p := b.Ptr; p < b.Ptr+cuda.DevicePtr(b.Size); p += 64 << 10 {
			if other, taken := owned.LoadOrStore(p, w); taken {
				t.Errorf("workers %d and %v both have %#x", w, other, p)
			}
		}
	}
	disclaim := func(b memory.Block) {
		for p := b.Ptr; p < b.Ptr+cuda.DevicePtr(b.Size); p += 64 << 10 {
			owned.Delete(p)
		}
	}
	blocks := make(chan memory.Block, workers*rounds) // from whoever made them to whoever frees them
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			for range rounds {
				s := cuda.Stream(r.IntN(streams))
				b, err := a.Alloc(1+r.Int64N(64*kib<<r.IntN(9)), s, memory.Untagged)
				if oom := (*memory.OutOfMemoryError)(nil); err != nil {
					if !errors.As(err, &oom) {
						t.Error(err)
					}
				} else {
					claim(b, w)
					blocks <- b
				}
				for len(blocks) > 20 {
					b := <-blocks
					disclaim(b)
					switch r.IntN(3) {
					case 0:
						assert.NoError(t, a.Free(b.Handle))
					case 1:
						assert.NoError(t, a.Free(b.Handle, 0, 1, 2))
					default:
						a.Abandon(b.Handle, cuda.Stream(r.IntN(streams)))
					}
				}
				switch r.IntN(40) {
				case 0:
					f.Complete(s)
				case 1:
					assert.NoError(t, a.EmptyCache())
				case 2:
					assert.NoError(t, memorytest.CheckStats(a.Stats()))
				case 3:
					assert.NoError(t, a.Check())
				case 4:
					_ = a.Summary()
				}
			}
		})
	}
	done.Wait()
	close(blocks)
	for b := range blocks {
		assert.NoError(t, a.Free(b.Handle, 0, 1, 2))
	}
	f.CompleteAll()
	s := a.Stats()
	assert.Zero(t, s.AllocatedBytes.All.Current)
	assert.NoError(t, a.EmptyCache())
	assert.Zero(t, f.Used())
}

// TestCloseRacesWithUse closes an allocator that is in use: every call ends,
// with a result or ErrClosed, and nothing is left upstream.
func TestCloseRacesWithUse(t *testing.T) {
	for range 50 {
		f := memorytest.NewFake(memorytest.FakeConfig{Capacity: 300 * mib, Asynchronous: true})
		a, err := memory.New(f, memory.Config{})
		if !assert.NoError(t, err) {
			return
		}
		started := make(chan struct{}, 4)
		var done sync.WaitGroup
		for w := range cap(started) {
			done.Go(func() {
				for i := range 100 {
					b, err := a.Alloc(int64(i)*mib/4, cuda.Stream(w%2), memory.Untagged)
					if i == 10 {
						started <- struct{}{}
					}
					if errors.Is(err, memory.ErrClosed) {
						assert.NoError(t, a.Free(b.Handle))
						continue
					}
					assert.NoError(t, err)
					assert.NoError(t, a.Free(b.Handle, 5))
				}
			})
		}
		<-started
		var live *memory.LiveBlocksError
		if err := a.Close(); err != nil && !errors.As(err, &live) {
			t.Error(err)
		}
		done.Wait()
		assert.NoError(t, a.Check())
		assert.Zero(t, f.Used())
	}
}
