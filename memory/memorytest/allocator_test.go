package memorytest_test

import (
	"testing"

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

func TestAllocatorOverHost(t *testing.T) {
	memorytest.TestAllocator(t, func(t *testing.T) memorytest.Target {
		up, err := hostmem.New(hostmem.Config{Capacity: 256 * mib})
		require.NoError(t, err)
		return newTarget(t, up, true)
	})
}
