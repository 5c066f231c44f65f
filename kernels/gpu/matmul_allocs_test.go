//go:build cgo && (linux || darwin) && !race

package gpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda/cudasim"
	"tarn/kernels"
)

// Not under the race detector, where pools drop records at random.

// A product allocates no more than the launch of its kernels does; the
// simulated driver, in this process, allocates for itself.
func TestMatMulAllocatesNothing(t *testing.T) {
	l := &matmulLab{t, simulatedAs(t, cudasim.Config{Lazy: true}), kernels.Float32, rand.New(rand.NewPCG(1, 2))}
	for _, k := range []int64{16, 400} {
		x, y := l.matrix(0, []int64{16, k}, []int64{k, 1}), l.matrix(0, []int64{k, 16}, []int64{16, 1})
		out := l.matrix(0, []int64{16, 16}, []int64{16, 1})
		a := l.args(out, kernels.Attr{}, x, y)
		op := l.k.Table()[kernels.MatMul]
		launches := 1
		if size := op.Workspace(a); size > 0 {
			a.Work.Ptr = uintptr(l.alloc(make([]byte, size)))
			launches = 2
		}
		require.NoError(t, op.Run(l.k.Queue(0), a))
		b := newBatches(a)
		p := b.first(a)
		p.lie(4)
		p.kpart, p.tilesM, p.tilesN = 16, 1, 1
		launch := testing.AllocsPerRun(100, func() { _ = l.k.launchProduct(0, &p, &matmulF32.list[3], 1, 1) })
		q := l.k.Queue(0)
		got := testing.AllocsPerRun(100, func() {
			op.Workspace(a)
			_ = op.Run(q, a)
		})
		require.LessOrEqual(t, got, float64(launches)*launch, "K of %d", k)
	}
	require.NoError(t, l.k.context.SyncStream(0))
}
