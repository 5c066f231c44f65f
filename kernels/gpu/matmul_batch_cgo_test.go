//go:build cgo && (linux || darwin)

package gpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
)

// product returns x's i-th matrix.
func (x *matrix) product(i int64) *matrix {
	y := *x
	y.onHost = firstOf(&x.onHost)
	y.onHost.Ptr += uintptr(i * x.view.Strides[0] * x.view.DType.Size())
	return &y
}

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
				if size := l.k.MatMulBatchWorkspace(a); size > 0 {
					require.ErrorIs(t, l.k.MatMulBatch(l.k.Queue(0), a), kernels.ErrAddress, "no workspace")
					a.Work.Ptr = uintptr(l.alloc(make([]byte, size)))
				}
				require.NoError(t, l.k.MatMulBatch(l.k.Queue(0), a))
				got := l.fetch(out)
				for i := range int64(batch) {
					l.reference(out.product(i), attr, x.product(i), y.product(i), bias.product(i))
				}
				l.near(elements(out.bytes, out.view), got, k, strides)
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
	p := newProduct(l.args(out, kernels.Attr{}, x, y, bias), 1)
	p.kpart, p.tilesM, p.tilesN = matmulStep, 1, 1
	var sizes []int64
	require.NoError(t, p.inLaunches(batch, 2, elementSizes{4, 4, 4}, func(n int64) error {
		sizes = append(sizes, n)
		return l.k.launchProduct(0, &p, &matmulF32.list[len(matmulF32.list)-1], 1, n)
	}))
	require.Equal(t, []int64{2, 2, 1}, sizes)
	got := l.fetch(out)
	for i := range int64(batch) {
		l.reference(out.product(i), kernels.Attr{}, x.product(i), y.product(i), bias.product(i))
	}
	l.near(elements(out.bytes, out.view), got, n, "in launches")
}

func TestMatMulBatchRefuses(t *testing.T) {
	l := newMatMulLab(t, kernels.Float32)
	any := func(dims ...int64) *matrix { return l.matrix(0, dims, []int64{100, 10, 1}[3-len(dims):]) }
	two := any(2, 4, 4)
	for _, c := range []struct {
		err error
		out *matrix
		in  []*matrix
	}{
		{err: kernels.ErrArgs, out: two, in: []*matrix{two}},
		{err: kernels.ErrDims, out: two, in: []*matrix{any(2, 4, 5), any(2, 4, 4)}},
		{err: kernels.ErrDims, out: two, in: []*matrix{any(2, 4, 4), any(3, 4, 4)}},
		{err: kernels.ErrDims, out: two, in: []*matrix{any(2, 4, 4), any(4, 4)}},
		{err: kernels.ErrDims, out: any(4, 4), in: []*matrix{any(4, 4), any(4, 4)}},
		{err: kernels.ErrDims, out: any(4, 4), in: []*matrix{any(4, 4, 4), any(4, 4, 4)}},
		{err: kernels.ErrOverlap, out: two, in: []*matrix{two, any(2, 4, 4)}},
		{err: kernels.ErrOverlap, out: l.matrix(0, []int64{2, 4, 4}, []int64{0, 4, 1}), in: []*matrix{any(2, 4, 4), any(2, 4, 4)}},
	} {
		require.ErrorIs(t, l.k.MatMulBatch(l.k.Queue(0), l.args(c.out, kernels.Attr{}, c.in...)), c.err)
	}
	none := any(0, 4, 4)
	require.NoError(t, l.k.MatMulBatch(l.k.Queue(0), l.args(none, kernels.Attr{}, any(0, 4, 4), any(0, 4, 4))))
	require.ErrorIs(t, l.k.MatMulBatch(l.k.Queue(0), &kernels.Args{}), kernels.ErrArgs)
}
