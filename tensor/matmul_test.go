package tensor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// matMulShapes are factors of all ranks, with dims that broadcast.
var matMulShapes = [][2][]int{
	{{4}, {4}}, {{4}, {4, 3}}, {{3, 4}, {4}}, {{3, 4}, {4, 5}}, {{2, 3, 4}, {2, 4, 5}}, {{2, 3, 4}, {4, 5}},
	{{3, 4}, {2, 4, 5}}, {{2, 3, 4}, {4}}, {{4}, {2, 4, 3}}, {{2, 1, 3, 4}, {3, 4, 2}}, {{1, 3, 4}, {2, 4, 2}},
	{{2, 3, 4}, {1, 4, 2}}, {{2, 2, 1, 3}, {3, 2}}, {{2, 1, 1, 2, 1, 1, 2, 3}, {3, 2}}, {{1, 2, 1, 1, 2, 1, 2, 3}, {2, 1, 1, 1, 1, 1, 3, 1}},
}

func matMulCases() []gradCase {
	type T = *tensor.Tensor
	two := func(f func(a, b T) T) func([]T) T { return func(in []T) T { return f(in[0], in[1]) } }
	var cases []gradCase
	for _, s := range matMulShapes {
		cases = append(cases, gradCase{name: fmt.Sprint("MatMul", s), shapes: s[:], f: two(T.MatMul)})
	}
	return append(cases,
		gradCase{name: "MatMul of no sums", shapes: [][]int{{2, 3, 0}, {0, 4}}, f: two(T.MatMul)},
		gradCase{name: "MatMul of transposes", shapes: [][]int{{4, 3, 2}, {5, 4}}, f: two(func(a, b T) T { return a.Transpose(0, 2).MatMul(b.T()) })},
		gradCase{name: "MatMul of permuted heads", shapes: [][]int{{2, 3, 2, 4}, {2, 5, 2, 4}}, f: two(func(a, b T) T {
			return a.Transpose(1, 2).MatMul(b.Permute(0, 2, 3, 1))
		})},
		gradCase{name: "MatMul of a batch with itself", shapes: [][]int{{2, 3, 3}}, f: func(in []T) T { return in[0].MatMul(in[0]) }},
		gradCase{name: "Dot", shapes: [][]int{{5}, {5}}, f: two(T.Dot)},
		gradCase{name: "Dot with itself", shapes: [][]int{{5}}, f: func(in []T) T { return in[0].Dot(in[0]) }},
		gradCase{name: "Outer", shapes: [][]int{{3}, {4}}, f: two(T.Outer)},
		gradCase{name: "Linear of a vector", shapes: [][]int{{4}, {4, 5}, {5}}, f: func(in []T) T { return in[0].Linear(in[1], in[2]) }},
		gradCase{name: "Linear without a bias", shapes: [][]int{{2, 3, 4}, {4, 5}}, f: func(in []T) T { return in[0].Linear(in[1], nil) }},
		gradCase{name: "LinearReLU without a bias", shapes: [][]int{{3, 4}, {4, 5}}, f: func(in []T) T { return in[0].LinearReLU(in[1], nil) }},
		gradCase{name: "Linear of a batch", shapes: [][]int{{2, 3, 4}, {4, 5}, {5}}, f: func(in []T) T { return in[0].Linear(in[1], in[2]) }},
		gradCase{name: "LinearReLU of a batch", shapes: [][]int{{2, 1, 3, 4}, {4, 5}, {5}}, f: func(in []T) T { return in[0].LinearReLU(in[1], in[2]) }},
		gradCase{name: "Linear of a transposed batch", shapes: [][]int{{3, 2, 4}, {4, 5}, {5}}, f: func(in []T) T { return in[0].Transpose(0, 1).Linear(in[1], in[2]) }},
	)
}

// TestMatMulOfAllRanks compares products with loops over their definition.
func TestMatMulOfAllRanks(t *testing.T) { onDevices(t, checkMatMulOfAllRanks) }

func checkMatMulOfAllRanks(t *testing.T, d *tensor.Device) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, s := range matMulShapes {
		x, y := randomOf(d, r, s[0]), randomOf(d, r, s[1])
		got := x.MatMul(y)
		require.NoError(t, got.Err())
		want := naiveMatMul(t, x, y)
		require.Equal(t, want.Shape(), got.Shape(), "%v", s)
		requireNear(t, want, got, fmt.Sprint(s))
	}
}

func randomOf(d *tensor.Device, r *rand.Rand, shape []int) *tensor.Tensor {
	data := make([]float64, tensor.Shape(shape).Len())
	for i := range data {
		data[i] = r.NormFloat64()
	}
	return tensor.FromSlice(d, data, shape...)
}

func requireNear(t *testing.T, want, got *tensor.Tensor, what string) {
	t.Helper()
	w, err := tensor.Data[float64](want)
	require.NoError(t, err)
	g, err := tensor.Data[float64](got)
	require.NoError(t, err)
	require.Len(t, g, len(w))
	for i := range w {
		require.InDelta(t, w[i], g[i], 1e-9, "%s: element %d", what, i)
	}
}

// naiveMatMul multiplies elementwise and adds up.
func naiveMatMul(t *testing.T, x, y *tensor.Tensor) *tensor.Tensor {
	row, column := len(x.Shape()) == 1, len(y.Shape()) == 1
	if row {
		x = x.Unsqueeze(0)
	}
	if column {
		y = y.Unsqueeze(1)
	}
	if len(x.Shape()) == tensor.MaxRank { // has no room for one more dim, but some of size 1
		require.Equal(t, 1, x.Shape()[2])
		x = x.Squeeze(2)
		if len(y.Shape()) == tensor.MaxRank {
			y = y.Squeeze(2)
		}
		out := naiveMatMul(t, x, y)
		return out.Unsqueeze(2)
	}
	out := x.Unsqueeze(-1).Mul(y.Unsqueeze(-3)).Sum(-2)
	if column {
		out = out.Squeeze(-1)
	}
	if row {
		if column {
			return out.Squeeze(-1)
		}
		return out.Squeeze(-2)
	}
	return out
}

// TestMatMulOfNothing: no terms make 0, and no matrices, rows or columns nothing.
func TestMatMulOfNothing(t *testing.T) { onDevices(t, checkMatMulOfNothing) }

func checkMatMulOfNothing(t *testing.T, d *tensor.Device) {
	for _, c := range []struct{ x, y, out []int }{
		{[]int{0}, []int{0}, []int{}}, {[]int{2, 0}, []int{0, 3}, []int{2, 3}}, {[]int{4, 2, 0}, []int{0, 3}, []int{4, 2, 3}},
		{[]int{0, 2, 3}, []int{0, 3, 4}, []int{0, 2, 4}}, {[]int{0, 2, 3}, []int{3, 4}, []int{0, 2, 4}}, {[]int{1, 2, 3}, []int{0, 3, 4}, []int{0, 2, 4}},
		{[]int{5, 0, 3}, []int{3, 4}, []int{5, 0, 4}}, {[]int{0, 3}, []int{3}, []int{0}}, {[]int{3}, []int{2, 3, 0}, []int{2, 0}},
	} {
		x, y := tensor.Ones(d, tensor.Float64, c.x...).RequireGrad(), tensor.Ones(d, tensor.Float64, c.y...).RequireGrad()
		out := x.MatMul(y)
		require.NoError(t, out.Err())
		require.Equal(t, tensor.Shape(c.out), out.Shape())
		require.NoError(t, out.Sum().Backward())
		for _, g := range []*tensor.Tensor{out.NoGrad(), x.Grad(), y.Grad()} {
			data, err := tensor.Data[float64](g)
			require.NoError(t, err)
			require.Equal(t, make([]float64, len(data)), data, "%v times %v", c.x, c.y)
		}
		require.Equal(t, []tensor.Shape{c.x, c.y}, []tensor.Shape{x.Grad().Shape(), y.Grad().Shape()})
	}
}

// TestMatMulBackwardReleases: what backward makes on its way is gone after it.
func TestMatMulBackwardReleases(t *testing.T) {
	d := newCPU(t)
	live := func() int64 { return d.Memory().Stats().AllocatedBytes.All.Current }
	before := live()
	for _, s := range matMulShapes {
		x, y := tensor.Ones(d, tensor.Float32, s[0]...).RequireGrad(), tensor.Ones(d, tensor.Float32, s[1]...).RequireGrad()
		out := x.MatMul(y)
		sum := out.Sum()
		require.NoError(t, sum.Backward())
		for _, v := range []*tensor.Tensor{sum, out, x.Grad(), y.Grad(), x, y} {
			require.NoError(t, v.Release())
		}
	}
	require.Equal(t, before, live())
}
