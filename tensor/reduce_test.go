package tensor_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

var (
	inf = math.Inf(1)
	nan = math.NaN()
)

// same holds data against want, NaN being equal to NaN, to 1e-12 of its size.
func same(t *testing.T, want []float64, got *tensor.Tensor, what string) {
	t.Helper()
	data, err := tensor.Data[float64](got)
	require.NoError(t, err, what)
	require.Len(t, data, len(want), what)
	for i, w := range want {
		near := data[i] == w || math.IsNaN(w) && math.IsNaN(data[i]) || math.Abs(data[i]-w) <= 1e-12*math.Abs(w)
		require.True(t, near, "%s: %v, want %v", what, data, want)
	}
}

// TestHalfDeviationIsWide: the variance is beyond float16's range.
func TestHalfDeviationIsWide(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		x := tensor.FromSlice(d, []float64{-1000, 1000}).To(tensor.Float16).RequireGrad()
		y := x.Std(0)
		require.NoError(t, y.Backward())
		same(t, []float64{1000}, y.To(tensor.Float64), "deviation")
		same(t, []float64{-0.5, 0.5}, x.Grad().To(tensor.Float64), "gradient")
	})
}

// TestReductionsAtEdges has what PyTorch makes of no elements, of one, and of
// infinities.
func TestReductionsAtEdges(t *testing.T) { onDevices(t, checkReductionsAtEdges) }

func checkReductionsAtEdges(t *testing.T, d *tensor.Device) {
	none := tensor.Zeros(d, tensor.Float64, 0, 2)
	same(t, []float64{0, 0}, none.Sum(0), "sum")
	same(t, []float64{nan, nan}, none.Mean(0), "mean")
	same(t, []float64{nan, nan}, none.Var(0, 0), "var")
	same(t, []float64{nan, nan}, none.Var(-1, 0), "var of nothing, corrected upwards")
	same(t, []float64{-inf, -inf}, none.LogSumExp(0), "logsumexp")
	same(t, []float64{0}, none.Norm(2), "norm")
	require.Equal(t, tensor.Shape{0}, none.Max(1).Shape(), "nothing of nothing")

	scalar := tensor.FromSlice(d, []float64{3})
	same(t, []float64{nan}, scalar.Var(1), "var of one")
	same(t, []float64{0}, scalar.Std(0), "std of one")
	same(t, []float64{inf}, tensor.FromSlice(d, []float64{1, 2}).Var(3), "var over less than 0")
	same(t, []float64{-inf, inf, nan}, tensor.FromSlice(d, []float64{-inf, -inf, inf, 1, nan, inf}, 3, 2).LogSumExp(1), "logsumexp")
	same(t, []float64{1000 + math.Ln2}, tensor.FromSlice(d, []float64{1000, 1000}).LogSumExp(), "logsumexp of large numbers")
	x := tensor.FromSlice(d, []float64{3, -4, 0, nan}, 2, 2)
	same(t, []float64{-4, nan}, x.Min(1), "min")
	same(t, []float64{5, nan}, x.Norm(2, -1), "norm 2")
	same(t, []float64{2, 1}, x.Norm(0, 1), "norm 0")
	same(t, []float64{7, nan}, x.Norm(1, 1), "norm 1")
}

// TestReducedTypes: sums of integers are int64, and Any and All are bools.
func TestReducedTypes(t *testing.T) { onDevices(t, checkReducedTypes) }

func checkReducedTypes(t *testing.T, d *tensor.Device) {
	x := tensor.FromSlice(d, []int64{3, -4, 0, 5, 0, 0}, 3, 2)
	for _, c := range []struct {
		name string
		got  *tensor.Tensor
		want []int64
	}{
		{"sum", x.Sum(1), []int64{-1, 5, 0}}, {"max", x.Max(0), []int64{3, 5}}, {"min", x.Min(0), []int64{0, -4}},
		{"argmax", x.ArgMax(1), []int64{0, 1, 0}}, {"argmin", x.ArgMin(-1), []int64{1, 0, 0}},
		{"any", x.Any(1).Sum(), []int64{2}}, {"all", x.All(1).Sum(), []int64{1}},
		{"any of all", x.Any().Sum(), []int64{1}}, {"all of nothing", tensor.Zeros(d, tensor.Int64, 0).All().Sum(), []int64{1}},
	} {
		data, err := tensor.Data[int64](c.got)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, data, c.name)
	}
	require.Equal(t, tensor.Bool, x.AllKeep(1).DType())
	require.Equal(t, tensor.Shape{3, 1}, x.AllKeep(1).Shape())
	require.Equal(t, tensor.Shape{1, 1}, x.AnyKeep().Shape())
	require.False(t, x.Sum().RequiresGrad())
}

// TestGradientsAtZero are those of a root at 0.
func TestGradientsAtZero(t *testing.T) { onDevices(t, checkGradientsAtZero) }

func checkGradientsAtZero(t *testing.T, d *tensor.Device) {
	for _, f := range []func(*tensor.Tensor) *tensor.Tensor{
		func(x *tensor.Tensor) *tensor.Tensor { return x.Norm(2) },
		func(x *tensor.Tensor) *tensor.Tensor { return x.Norm(0) },
		func(x *tensor.Tensor) *tensor.Tensor { return x.Std(0) },
		func(x *tensor.Tensor) *tensor.Tensor { return x.Std(1) },
	} {
		x := tensor.Zeros(d, tensor.Float64, 3).RequireGrad()
		require.NoError(t, f(x).Backward())
		same(t, []float64{0, 0, 0}, x.Grad(), "gradient at 0")
	}
	for _, c := range []struct {
		p    float64
		x    []float64
		want []float64 // by PyTorch
	}{
		{0.5, []float64{0, 0}, []float64{0, 0}}, {1, []float64{3, -4, 0}, []float64{1, -1, 0}},
		{1.5, []float64{0, 0}, []float64{0, 0}}, {3, []float64{0, 0}, []float64{0, 0}}, {-1, []float64{0, 0}, []float64{0, 0}},
		{inf, []float64{2, -2, 1}, []float64{0.5, -0.5, 0}}, {-inf, []float64{3, -4, 0}, []float64{0, 0, 0}},
	} {
		x := tensor.FromSlice(d, c.x).RequireGrad()
		require.NoError(t, x.Norm(c.p).Backward())
		same(t, c.want, x.Grad(), fmt.Sprint("gradient of the norm ", c.p))
	}
	one := tensor.FromSlice(d, []float64{1}).RequireGrad()
	require.NoError(t, one.Var(1).Backward())
	same(t, []float64{nan}, one.Grad(), "gradient of the variance of one")
}
