//go:build cgo && (linux || darwin)

package gpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
)

func TestMatMulBatch(t *testing.T) {
	for _, d := range []kernels.DType{kernels.Float32, kernels.Float64} {
		l := newMatMulLab(t, d)
		const batch, m, n = 3, 36, 20
		for _, k := range []int64{0, 17, 40, 400} {
			x := l.matrix(0, []int64{batch, m, k}, []int64{m*k + 8, k, 1})
			y := l.matrix(0, []int64{batch, k, n}, []int64{0, 1, k}) // one for all
			bias := l.matrix(0, []int64{batch, m, n}, []int64{n, 0, 1})
			for i, strides := range [][]int64{{m * n, n, 1}, {m * n, 1, m}, {1, n * batch, batch}} {
				if leftOut(i) {
					continue
				}
				out := l.matrix(0, []int64{batch, m, n}, strides)
				attr := kernels.Attr{Activation: kernels.Rectify}
				a := l.args(out, attr, x, y, bias)
				op := l.k.Table()[kernels.MatMul]
				if size := op.Workspace(a); size > 0 {
					require.ErrorIs(t, op.Run(l.k.Queue(0), a), kernels.ErrAddress, "no workspace")
					a.Work.Ptr = uintptr(l.alloc(make([]byte, size)))
				}
				require.NoError(t, op.Run(l.k.Queue(0), a))
				got := l.fetch(out)
				l.near(l.reference(out, attr, x, y, bias), got, k, strides)
			}
		}
	}
}

// A batch may take several launches.
func TestMatMulBatchInLaunches(t *testing.T) {
	l := newMatMulLab(t, kernels.Float32)
	const batch, n = 5, 8
	square := func(step int64) *matrix { return l.matrix(0, []int64{batch, n, n}, []int64{step, n, 1}) }
	x, y, bias, out := square(n*n), square(0), square(3), square(100)
	b := newBatches(l.args(out, kernels.Attr{}, x, y, bias))
	p := b.first(&kernels.Args{})
	p.kpart, p.tilesM, p.tilesN = matmulStep, 1, 1
	var sizes []int64
	require.NoError(t, p.inLaunches(batch, 2, elementSizes{4, 4, 4}, func(n int64) error {
		sizes = append(sizes, n)
		return l.k.launchProduct(0, &p, &matmulF32.list[len(matmulF32.list)-1], 1, n)
	}))
	require.Equal(t, []int64{2, 2, 1}, sizes)
	got := l.fetch(out)
	l.near(l.reference(out, kernels.Attr{}, x, y, bias), got, n, "in launches")
}

// TestMatMulBatchOfManyDims: dims of the batch that are not one take launches of
// their own, and the longest of them is that of a launch.
func TestMatMulBatchOfManyDims(t *testing.T) {
	l := newMatMulLab(t, kernels.Float32)
	dims := func(m, n int64) []int64 { return []int64{2, 5, 3, m, n} }
	x := l.matrix(0, dims(4, 6), []int64{24 * 20, 24 * 4, 24, 6, 1})
	y := l.matrix(0, dims(6, 3), []int64{18, 0, 36, 3, 1})
	out := l.matrix(0, dims(4, 3), []int64{12 * 15, 12 * 3, 12, 3, 1})
	a := l.args(out, kernels.Attr{}, x, y)
	b := newBatches(a)
	require.Equal(t, int64(5), b.inOne)
	require.Equal(t, int64(6), b.Count())
	require.NoError(t, l.k.Table()[kernels.MatMul].Run(l.k.Queue(0), a))
	flat := *out // dense
	flat.view.Rank, flat.view.Dims, flat.view.Strides = 2, [8]int64{120, 3}, [8]int64{3, 1}
	got := l.fetch(&flat)
	l.reference(out, kernels.Attr{}, x, y)
	l.near(elements(out.bytes, flat.view), got, 6, "many dims")
}
