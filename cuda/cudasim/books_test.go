//go:build cgo && (linux || darwin)

package cudasim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda/internal/shim"
)

// What went with a context is free again.
func TestReleaseGivesMemoryBack(t *testing.T) {
	m, err := Open(Config{Memory: 1 << 20})
	require.NoError(t, err)
	table, err := shim.Fill(m.symbol)
	require.NoError(t, err)
	device := table.Call(shim.DeviceGet, 0, 0, 0, 0, 0).Value
	for range 3 {
		out := table.Call(shim.PrimaryRetain, 0, device, 0, 0, 0)
		require.Zero(t, out.Code)
		c := uintptr(out.Value)
		require.Zero(t, table.Call(shim.MemAlloc, c, 400<<10, 0, 0, 0).Code)
		out = table.Call(shim.AllocAsync, c, 400<<10, 0, 0, 0)
		require.Zero(t, out.Code)
		require.Zero(t, table.Call(shim.PrimaryRelease, 0, device, 0, 0, 0).Code)
	}
	require.ErrorContains(t, m.Close(), "cuda:0: 3 allocations, cuda:0: 3 pool allocations", "it is a leak all the same")
}

// Two things that lie side by side by chance are not one, but for mappings.
func TestRunOfNeighbours(t *testing.T) {
	for _, x := range []struct {
		a, b kind
		one  bool
	}{{mapping, mapping, true}, {pinned, pinned, false}, {pinned, mapping, false}, {allocation, allocation, false}} {
		var s space
		for i, k := range []kind{x.a, x.b} {
			s.insert(&region{ptr: uint64(4096 + 64*i), kind: k, memory: &backing{bytes: make([]byte, 64)}})
		}
		require.Len(t, s.run(4096, 64), 1)
		require.Equal(t, x.one, s.run(4096+32, 64) != nil, "%v, %v", x.a, x.b)
	}
}
