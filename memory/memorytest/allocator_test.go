package memorytest_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/memory"
	"tarn/memory/hostmem"
	"tarn/memory/memorytest"
)

// newTarget returns a caching allocator over an upstream.
func newTarget(t *testing.T, up memory.Upstream, readable bool) memorytest.Target {
	t.Helper()
	a, err := memory.New(up, memory.Config{NoBackgroundGC: true})
	require.NoError(t, err)
	return memorytest.Target{Allocator: a, Upstream: up, Readable: readable}
}

func TestAllocatorOverFakes(t *testing.T) {
	for name, cfg := range fakes() {
		t.Run(name, func(t *testing.T) {
			memorytest.TestAllocator(t, func(t *testing.T) memorytest.Target {
				return newTarget(t, memorytest.NewFake(cfg), cfg.Backed)
			})
		})
	}
}

// Ensure that a limit of the allocator's own is kept as a smaller device
// would be.
func TestAllocatorWithLimit(t *testing.T) {
	const limit = 60 * mib
	memorytest.TestAllocator(t, func(t *testing.T) memorytest.Target {
		up := memorytest.NewFake(memorytest.FakeConfig{Capacity: 1024 * mib, Asynchronous: true})
		a, err := memory.New(up, memory.Config{Limit: limit, NoBackgroundGC: true})
		require.NoError(t, err)
		return memorytest.Target{Allocator: a, Upstream: up, Limit: limit}
	})
}

func TestAllocatorOverHost(t *testing.T) {
	memorytest.TestAllocator(t, func(t *testing.T) memorytest.Target {
		up, err := hostmem.New(hostmem.Config{Capacity: 256 * mib})
		require.NoError(t, err)
		return newTarget(t, up, true)
	})
}

// Ensure that no lock is held in any upstream call: reading the books from
// inside one would never return.
func TestUpstreamIsCalledWithoutLocks(t *testing.T) {
	var a memorytest.Allocator
	inside := false
	calls := make(map[memorytest.Call]int)
	f := memorytest.NewFake(memorytest.FakeConfig{
		Capacity: 64 * mib, Asynchronous: true,
		OnCall: func(c memorytest.Call) {
			calls[c]++
			if a == nil || inside { // reading the books may call upstream too
				return
			}
			inside = true
			defer func() { inside = false }()
			assert.NoError(t, memorytest.CheckStats(a.Stats()), "in %v", c)
		},
	})
	target := newTarget(t, f, false)
	a = target.Allocator
	ops := memorytest.Generate(rand.New(rand.NewPCG(1, 1)), 1000)
	for i := range ops {
		if ops[i].Kind == memorytest.OpAbandon {
			// The books wait for those who are freeing what was abandoned, who
			// hold no lock, but cannot go on here.
			ops[i].Kind = memorytest.OpFree
		}
	}
	memorytest.Play(t, target, ops)
	for _, c := range []memorytest.Call{
		memorytest.CallAlloc, memorytest.CallFree, memorytest.CallMemInfo, memorytest.CallRecordEvent,
		memorytest.CallQueryEvent, memorytest.CallSyncEvent, memorytest.CallDestroyEvent,
	} {
		assert.Positive(t, calls[c], "%v", c)
	}
}

// FuzzAllocator looks for op lists that break the allocator: over devices with
// streams, by segments and by pages, and over the host, where contents can be
// looked at.
func FuzzAllocator(f *testing.F) {
	rng := rand.New(rand.NewPCG(0, 0))
	for _, length := range []int{1, 10, 50, 200} {
		data := make([]byte, 5*length)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ops := memorytest.Decode(data[:min(len(data), 5*400)])
		fake := memorytest.NewFake(memorytest.FakeConfig{Capacity: 64 * mib, Asynchronous: true})
		memorytest.Play(t, newTarget(t, fake, false), ops)
		pages := memorytest.NewFake(memorytest.FakeConfig{Capacity: 32 * mib, Granularity: 2 * mib, Asynchronous: true})
		memorytest.Play(t, newTarget(t, pages, false), ops)

		host, err := hostmem.New(hostmem.Config{Capacity: 64 * mib})
		require.NoError(t, err)
		memorytest.Play(t, newTarget(t, host, true), ops)
	})
}
