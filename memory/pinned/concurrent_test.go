package pinned_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/pinned"
)

// TestConcurrent lets goroutines share a pool that is too small, and each
// other's blocks. It is for the race detector, for Check, and to show that no
// two live blocks share bytes.
func TestConcurrent(t *testing.T) {
	const workers, rounds = 8, 300
	src := newSource(1 << 40)
	p, err := pinned.New(src, pinned.Config{Limit: 24 * mib, MaxCached: 8 * mib})
	require.NoError(t, err)
	seed := newSeed(t)
	var owned sync.Map // page to the worker that has it
	pages := func(b pinned.Block, each func(page uintptr)) {
		for at := b.Ptr; at < b.Ptr+uintptr(b.Size); at += 4096 {
			each(at)
		}
	}
	blocks := make(chan pinned.Block, workers*rounds) // from whoever made them to whoever frees them
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			for range rounds {
				b, err := p.Alloc(1 + r.Int64N(4*kib<<r.IntN(11)))
				if oom := (*pinned.OutOfMemoryError)(nil); err != nil {
					if !errors.As(err, &oom) {
						t.Error(err)
					}
				} else {
					pages(b, func(page uintptr) {
						if other, taken := owned.LoadOrStore(page, w); taken {
							t.Errorf("workers %d and %v both have %#x", w, other, page)
						}
					})
					blocks <- b
				}
				for len(blocks) > 20 {
					b := <-blocks
					pages(b, func(page uintptr) { owned.Delete(page) })
					if r.IntN(2) == 0 {
						assert.NoError(t, p.Free(b.Handle))
					} else {
						assert.NoError(t, p.Free(b.Handle, cuda.Stream(r.IntN(3)), 1))
					}
				}
				switch r.IntN(20) {
				case 0, 1:
					src.complete(cuda.Stream(r.IntN(3)))
				case 2:
					_, err := p.Trim(r.Int64N(8 * mib))
					assert.NoError(t, err)
				case 3:
					assert.NoError(t, p.Check())
				case 4:
					s := p.Stats()
					assert.LessOrEqual(t, s.AllocatedBytes.Peak, int64(24*mib))
				}
			}
		})
	}
	done.Wait()
	close(blocks)
	for b := range blocks {
		assert.NoError(t, p.Free(b.Handle, 1, 2))
	}
	require.NoError(t, p.Check())
	require.NoError(t, p.Close())
	assert.Zero(t, src.used)
	assert.Empty(t, src.events)
}

// TestNoLockIsHeldOverCalls calls the pool from within each call of the source.
func TestNoLockIsHeldOverCalls(t *testing.T) {
	src := newSource(1 << 40)
	p, err := pinned.New(src, pinned.Config{Limit: 4 * mib})
	require.NoError(t, err)
	seen := map[string]bool{}
	src.onCall = func(name string) {
		seen[name] = true
		assert.NoError(t, p.Check())
		p.Stats()
	}
	a := alloc(t, p, 3*mib)
	require.NoError(t, p.Free(a.Handle, 1))
	b := alloc(t, p, 2*mib)
	require.NoError(t, p.Free(b.Handle, 2))
	require.NoError(t, p.EmptyCache())
	require.NoError(t, p.Close())
	assert.Len(t, seen, 6, "all calls were made: %v", seen)
}

// gate stops the calls of one name until it is opened.
func gate(src *source, name string) (leave func()) {
	closed := make(chan struct{})
	src.onCall = func(called string) {
		if called == name {
			<-closed
		}
	}
	return func() { close(closed) }
}

// alongside allocs in a goroutine.
func alongside(p *pinned.Pool, size int64) (result chan error, b *pinned.Block) {
	result, b = make(chan error, 1), new(pinned.Block)
	go func() {
		var err error
		*b, err = p.Alloc(size)
		result <- err
	}()
	return result, b
}

// Ensure that two requests under way do not pass the limit together: the
// second waits for the first, and is refused when that has all there is.
func TestPledgesCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, src := open(t, 1<<40, pinned.Config{Limit: 4 * mib})
		leave := gate(src, "alloc")
		first, a := alongside(p, 3*mib)
		synctest.Wait()
		second, _ := alongside(p, 3*mib)
		synctest.Wait()
		assert.NoError(t, p.Check())
		assert.Empty(t, second)
		leave()
		require.NoError(t, <-first)
		var oom *pinned.OutOfMemoryError
		require.ErrorAs(t, <-second, &oom)
		assert.EqualValues(t, 3*mib, oom.Live)
		require.NoError(t, p.Free(a.Handle))
	})
}

// Ensure that a request waits for what another goroutine is giving back.
func TestRequestWaitsForReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, src := open(t, 1<<40, pinned.Config{Limit: 4 * mib})
		require.NoError(t, p.Free(alloc(t, p, 4*mib).Handle))
		leave := gate(src, "free")
		trimmed := make(chan error, 1)
		go func() { trimmed <- p.EmptyCache() }()
		synctest.Wait()
		assert.NoError(t, p.Check())
		got, b := alongside(p, 3*mib)
		synctest.Wait()
		assert.Empty(t, got)
		leave()
		require.NoError(t, <-trimmed)
		require.NoError(t, <-got)
		require.NoError(t, p.Free(b.Handle))
	})
}

// Ensure that a request waits for the events that another goroutine waits for.
func TestRequestsWaitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, src := open(t, 1<<40, pinned.Config{Limit: 4 * mib})
		require.NoError(t, p.Free(alloc(t, p, 4*mib).Handle, 1))
		leave := gate(src, "sync")
		first, a := alongside(p, 2*mib)
		synctest.Wait()
		second, b := alongside(p, 2*mib)
		synctest.Wait()
		leave()
		require.NoError(t, <-first)
		require.NoError(t, <-second)
		require.NoError(t, p.Free(a.Handle))
		require.NoError(t, p.Free(b.Handle))
	})
}

func TestCloseDuringAnAlloc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, src := open(t, 1<<40, pinned.Config{})
		leave := gate(src, "alloc")
		got, _ := alongside(p, mib)
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- p.Close() }()
		synctest.Wait()
		assert.Empty(t, closed, "it waits for the source")
		leave()
		require.ErrorIs(t, <-got, memory.ErrClosed)
		require.NoError(t, <-closed)
		assert.Zero(t, src.used)
	})
}

// Ensure that a block is freed once, though its events are being recorded.
func TestFreeDuringAFree(t *testing.T) {
	p, src := open(t, 1<<40, pinned.Config{})
	b := alloc(t, p, mib)
	src.onCall = func(name string) {
		if name == "record" {
			assert.ErrorIs(t, p.Free(b.Handle), memory.ErrStaleHandle)
		}
	}
	require.NoError(t, p.Free(b.Handle, 1))
}

// TestCloseRacesWithUse closes a pool that is in use: every call ends, and
// nothing is left.
func TestCloseRacesWithUse(t *testing.T) {
	for range 30 {
		src := newSource(1 << 40)
		p, err := pinned.New(src, pinned.Config{})
		require.NoError(t, err)
		started := make(chan struct{}, 4)
		var done sync.WaitGroup
		for range cap(started) {
			done.Go(func() {
				for i := range int64(60) {
					b, err := p.Alloc(1 + i*mib/16)
					if i == 5 {
						started <- struct{}{}
					}
					if err != nil {
						assert.ErrorIs(t, err, memory.ErrClosed)
						continue
					}
					assert.NoError(t, p.Free(b.Handle, cuda.Stream(i%3)))
				}
			})
		}
		<-started
		var live *pinned.LiveBlocksError
		if err := p.Close(); err != nil && !errors.As(err, &live) {
			t.Error(err)
		}
		done.Wait()
		assert.NoError(t, p.Close())
		assert.NoError(t, p.Check())
		assert.Zero(t, src.used)
		assert.Empty(t, src.events)
	}
}
