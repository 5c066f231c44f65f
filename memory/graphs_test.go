package memory_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// TestGraphKeepsItsAddresses: a graph goes on using what was freed in its
// capture. Whatever is asked of the pool or of others, that stays mapped.
func TestGraphKeepsItsAddresses(t *testing.T) {
	const stream = cuda.Stream(7)
	for name, press := range map[string]func(a *memory.Allocator, p *memory.Pool){
		"full device": func(a *memory.Allocator, p *memory.Pool) {
			b, _ := p.Alloc(80*mib, stream, memory.Untagged) // pages may grow where they are
			_, err := a.Alloc(80*mib, 0, memory.Untagged)
			assert.Error(t, err)
			assert.NoError(t, a.Free(b.Handle))
		},
		"EmptyCache":         func(a *memory.Allocator, p *memory.Pool) { assert.NoError(t, p.EmptyCache()) },
		"EmptyCache of both": func(a *memory.Allocator, p *memory.Pool) { assert.NoError(t, a.EmptyCache()) },
		"idle for long": func(a *memory.Allocator, p *memory.Pool) {
			for range 100 {
				b, err := a.Alloc(20*mib, 0, memory.Untagged)
				assert.NoError(t, err)
				assert.NoError(t, a.Free(b.Handle))
				assert.NoError(t, a.EmptyCache())
			}
		},
		"past the peak": func(a *memory.Allocator, p *memory.Pool) {
			b, err := p.Alloc(42*mib, stream, memory.Untagged)
			assert.NoError(t, err)
			assert.NoError(t, a.Free(b.Handle))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
				fake.Asynchronous = true
				f, a := device(t, fake, memory.Config{
					SoftBudget: func(int64) int64 { return 0 },
					Settings:   memory.Settings{GCThreshold: 0.2},
				})
				p := newPool(t, a, memory.PoolConfig{})
				require.NoError(t, p.BeginCapture(stream))
				used := poolAlloc(t, p, 40*mib, stream)
				free(t, a, used)
				require.NoError(t, p.EndCapture(stream))
				press(a, p)
				require.NoError(t, f.Write(stream, used.Ptr, used.Size), "the replay")
				f.Sync(stream)
				require.NoError(t, a.Check())
				require.NoError(t, p.Close())
				require.NoError(t, a.EmptyCache())
				assert.Zero(t, f.Used(), "the graph is gone")
			})
		})
	}
}

// TestCaptureGivesNothingBack: past the hard budget too, a request in a capture
// only takes memory.
func TestCaptureGivesNothingBack(t *testing.T) {
	const stream = cuda.Stream(7)
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		fake.Asynchronous = true
		f, a := device(t, fake, memory.Config{
			SoftBudget: func(int64) int64 { return 0 },
			Settings:   memory.Settings{GCThreshold: 0.2},
		})
		p := newPool(t, a, memory.PoolConfig{})
		free(t, a, alloc(t, a, 30*mib, 0))
		require.NoError(t, p.BeginCapture(stream))
		began := len(f.Log())
		free(t, a, poolAlloc(t, p, 20*mib, stream))
		free(t, a, poolAlloc(t, p, 24*mib, stream))
		for _, e := range f.Log()[began:] {
			back := []memorytest.Call{memorytest.CallUnmap, memorytest.CallFree, memorytest.CallRelease, memorytest.CallSyncEvent}
			assert.False(t, slices.Contains(back, e.Call), "%v in a capture", e)
		}
		require.NoError(t, p.EndCapture(stream))
	})
}

// TestClosedPoolsKeepTheBound: what closed pools have left goes back before
// others take more than the bound allows.
func TestClosedPoolsKeepTheBound(t *testing.T) {
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		fake.Capacity = 1024 * mib
		f, a := device(t, fake, memory.Config{SoftBudget: func(int64) int64 { return 32 * mib }})
		for range 50 {
			p := newPool(t, a, memory.PoolConfig{})
			free(t, a, poolAlloc(t, p, 10*mib, 0))
			require.NoError(t, p.Close())
			assert.LessOrEqual(t, f.Used(), (10+64+20)*mib, "peak live, the hard budget and a segment")
		}
	})
}
