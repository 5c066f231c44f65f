//go:build cgo && (linux || darwin) && !race

package gpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
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

// TestRunAllocatesNothing: an op allocates no more than launching its kernel
// does. The simulated driver, in this process, allocates for itself, for each
// pointer that it is passed and now and then more: the least of some tries counts.
func TestRunAllocatesNothing(t *testing.T) {
	k := simulatedAs(t, cudasim.Config{Lazy: true})
	x := k.matrix(t, make([]float32, 64), 8, 8)
	y := x
	y.Strides = [kernels.MaxRank]int64{1, 8}
	out := k.matrix(t, make([]float32, 64), 8, 8)
	least := func(f func()) float64 {
		n := math.Inf(1)
		for range 5 {
			n = min(n, testing.AllocsPerRun(100, f))
			require.NoError(t, k.context.SyncStream(0))
		}
		return n
	}
	w := walkOver(&out, &x, &y)
	launch := least(func() {
		l, err := k.prepare(elementwise[kernels.Add].f32.index32)
		require.NoError(t, err)
		l.Ptr(cuda.DevicePtr(out.Ptr)).Ptr(cuda.DevicePtr(x.Ptr)).Ptr(cuda.DevicePtr(y.Ptr))
		_ = w.pass(l, false).Run(0, k.line(64))
	})
	half := k.dense(t, kernels.Float16, make([]byte, 128), 8, 8)
	half2 := k.dense(t, kernels.Float16, make([]byte, 128), 8, 8)
	for name, c := range map[string]struct {
		id       kernels.ID
		out      kernels.View
		in       []kernels.View
		launches float64
	}{
		"dense": {kernels.Add, out, []kernels.View{x, x}, 1}, "strided": {kernels.Add, out, []kernels.View{x, y}, 1},
		"transposed": {kernels.Copy, out, []kernels.View{y}, 1}, "reduced": {kernels.Sum, out, []kernels.View{x}, 1},
		"converted": {kernels.Copy, half, []kernels.View{x}, 1}, "half": {kernels.MaxGrad, half, []kernels.View{half2, half2, half2}, 4},
	} {
		a := kernels.NewArgs()
		a.Out, a.In = append(a.Out, c.out), append(a.In, c.in...)
		q, op := k.Queue(0), k.Table()[c.id]
		if size := op.Workspace(a); size > 0 {
			a.Work.Ptr = uintptr(k.alloc(t, size))
		}
		require.NoError(t, op.Run(q, a))
		got := least(func() { _ = op.Run(q, a) })
		require.LessOrEqual(t, got, c.launches*launch, name)
		a.Put()
	}
}
