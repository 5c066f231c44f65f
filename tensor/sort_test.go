package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

func whole(t *testing.T, want []int64, got *tensor.Tensor, what string) {
	t.Helper()
	data, err := tensor.Data[int64](got)
	require.NoError(t, err, what)
	require.Equal(t, want, data, what)
}

// TestSorted has PyTorch's results where elements are equal or NaN.
func TestSorted(t *testing.T) { onDevices(t, checkSorted) }

func checkSorted(t *testing.T, d *tensor.Device) {
	x := tensor.FromSlice(d, []float64{nan, 1, 2, nan, 1})
	values, indices := x.Sort(0, false)
	same(t, []float64{1, 1, 2, nan, nan}, values, "rising")
	whole(t, []int64{1, 4, 2, 0, 3}, indices, "rising")
	values, indices = x.Sort(-1, true)
	same(t, []float64{nan, nan, 2, 1, 1}, values, "falling")
	whole(t, []int64{0, 3, 2, 1, 4}, indices, "falling")
	values, indices = x.TopK(2, 0, false)
	same(t, []float64{1, 1}, values, "smallest")
	whole(t, []int64{1, 4}, indices, "smallest")
	whole(t, []int64{1, 4, 2, 0, 3}, x.ArgSort(0, false), "argsort")
	values, indices = x.TopK(0, 0, true)
	require.Equal(t, tensor.Shape{0}, values.Shape())
	whole(t, []int64{}, indices, "none")

	y := tensor.FromSlice(d, []float64{1, 1, nan, 2, -1, -1}, 3, 2)
	values, indices = y.MaxWithIndices(1)
	same(t, []float64{1, nan, -1}, values, "max")
	whole(t, []int64{0, 0, 0}, indices, "max")
	values, indices = y.MinWithIndices(0)
	same(t, []float64{nan, -1}, values, "min")
	whole(t, []int64{1, 2}, indices, "min")
	values, indices = tensor.Scalar(d, tensor.Float64, 3).Sort(0, false)
	require.Equal(t, tensor.Shape{}, values.Shape())
	whole(t, []int64{0}, indices, "scalar")
	whole(t, []int64{0}, tensor.Scalar(d, tensor.Float64, 3).ArgMax(0), "scalar")
	same(t, []float64{3}, tensor.Scalar(d, tensor.Float64, 3).Sum(-1), "scalar")
}

// TestProductGradients have zeros among the factors.
func TestProductGradients(t *testing.T) { onDevices(t, checkProductGradients) }

func checkProductGradients(t *testing.T, d *tensor.Device) {
	for _, c := range []struct{ x, prod, cumprod []float64 }{
		{[]float64{2, 0, 4}, []float64{0, 8, 0}, []float64{1, 10, 0}},
		{[]float64{0, 2, 0}, []float64{0, 0, 0}, []float64{3, 0, 0}},
		{[]float64{0, 0, 0}, []float64{0, 0, 0}, []float64{1, 0, 0}},
	} {
		x := tensor.FromSlice(d, c.x).RequireGrad()
		require.NoError(t, x.Prod().Backward())
		same(t, c.prod, x.Grad(), "product")
		require.NoError(t, x.ZeroGrad())
		require.NoError(t, x.CumProd(0).Sum().Backward())
		same(t, c.cumprod, x.Grad(), "running product")
	}
	same(t, []float64{1}, tensor.Zeros(d, tensor.Float64, 0).Prod(), "product of nothing")
	whole(t, []int64{3, -1, 4}, tensor.FromSlice(d, []int64{3, -4, 5}).CumSum(0), "int64")
	whole(t, []int64{3, -12, -60}, tensor.FromSlice(d, []int64{3, -4, 5}).CumProd(0), "int64")
}

// TestChosenGradient goes to the first of equals alone.
func TestChosenGradient(t *testing.T) { onDevices(t, checkChosenGradient) }

func checkChosenGradient(t *testing.T, d *tensor.Device) {
	x := tensor.FromSlice(d, []float64{1, 1, nan, 2}, 2, 2).RequireGrad()
	values, _ := x.MaxWithIndices(1)
	require.NoError(t, values.Sum().Backward())
	same(t, []float64{1, 0, 1, 0}, x.Grad(), "of the largest")
}
