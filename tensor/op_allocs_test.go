//go:build !race && !invariants

package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// Not under the race detector, where pools drop records at random, nor with the
// allocator's checks after each step, which allocate.

// TestOpAllocations holds the Go allocations of recorded ops: the handle, the
// storage and the node in a scope; without one, what the runtime's cleanup costs
// too.
func TestOpAllocations(t *testing.T) {
	for _, c := range tinyOps() {
		t.Run(c.name, func(t *testing.T) {
			owned := c.make(newCPU(t))
			owned[len(owned)-1].RequireGrad()
			s := tensor.NewScope()
			in := make([]*tensor.Tensor, len(owned))
			for i, x := range owned {
				in[i] = x.In(s)
			}
			require.LessOrEqual(t, testing.AllocsPerRun(100, func() { c.run(in).Release() }), 3.0, "in a scope")
			require.LessOrEqual(t, testing.AllocsPerRun(100, func() { c.run(owned).Release() }), 6.0, "without")
			require.NoError(t, s.Close())
		})
	}
}
