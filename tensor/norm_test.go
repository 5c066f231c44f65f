package tensor_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
	"tarn/tensor"
)

// normCases are the gradients of softmax, the normalisations and the losses with
// options.
func normCases() []gradCase {
	type T = *tensor.Tensor
	x34, x2345 := [][]int{{3, 4}}, [][]int{{2, 4, 3, 2}}
	running := func(a T, dims ...float64) T { return tensor.FromSlice(a.Device(), dims) }
	classes := func(a T, c ...int64) T { return tensor.FromSlice(a.Device(), c) }
	weight := func(a T) T { return tensor.FromSlice(a.Device(), []float64{0.5, 1, 2, 0.25}) }
	return []gradCase{
		{name: "Softmax", shapes: x34, f: func(in []T) T { return in[0].Softmax(-1) }},
		{name: "Softmax of dim 1", shapes: x2345, f: func(in []T) T { return in[0].Softmax(1) }},
		{name: "Softmax of a scalar", shapes: [][]int{{}}, f: func(in []T) T { return in[0].Softmax(0) }},
		{name: "Softmax used twice", shapes: x34, f: func(in []T) T { y := in[0].Softmax(1); return y.Mul(y) }},
		{name: "LogSoftmax", shapes: x34, f: func(in []T) T { return in[0].LogSoftmax(0) }},
		{name: "LogSoftmax of a transpose", shapes: x34, f: func(in []T) T { return in[0].T().LogSoftmax(1) }},
		{name: "LayerNorm", shapes: [][]int{{3, 4}, {4}, {4}}, f: func(in []T) T { return in[0].LayerNorm(in[1], in[2], 1e-3) }},
		{name: "LayerNorm of dims", shapes: [][]int{{2, 3, 4}, {3, 4}, {3, 4}}, f: func(in []T) T { return in[0].LayerNorm(in[1], in[2], 1e-3) }},
		{name: "LayerNorm, no b", shapes: [][]int{{3, 4}, {4}}, f: func(in []T) T { return in[0].LayerNorm(in[1], nil, 1e-3) }},
		{name: "LayerNorm, no w", shapes: [][]int{{3, 4}, {4}}, f: func(in []T) T { return in[0].LayerNorm(nil, in[1], 1e-3) }},
		{name: "LayerNorm of a transpose", shapes: [][]int{{4, 3}, {4}, {4}}, f: func(in []T) T { return in[0].T().LayerNorm(in[1], in[2], 1e-3) }},
		{name: "LayerNorm that needs a copy", shapes: [][]int{{3, 4, 2}, {4, 3}}, f: func(in []T) T { return in[0].Transpose(0, 2).LayerNorm(in[1], nil, 1e-3) }},
		{name: "LayerNormDims", shapes: [][]int{{2, 3, 4}}, f: func(in []T) T { return in[0].LayerNormDims(2, 1e-3) }},
		{name: "RMSNorm", shapes: [][]int{{3, 4}, {4}}, f: func(in []T) T { return in[0].RMSNorm(in[1], 1e-3) }},
		{name: "RMSNormDims", shapes: [][]int{{2, 3, 4}}, f: func(in []T) T { return in[0].RMSNormDims(2, 1e-3) }},
		{name: "GroupNorm", shapes: [][]int{{2, 4, 3}, {4}, {4}}, f: func(in []T) T { return in[0].GroupNorm(2, in[1], in[2], 1e-3) }},
		{name: "GroupNorm, no w", shapes: [][]int{{2, 4, 3, 2}, {4}}, f: func(in []T) T { return in[0].GroupNorm(4, nil, in[1], 1e-3) }},
		{name: "BatchNorm", shapes: [][]int{{3, 2, 4}, {2}, {2}}, f: func(in []T) T {
			return in[0].BatchNorm(in[1], in[2], nil, nil, tensor.BatchNormOptions{Training: true, Eps: 1e-3})
		}},
		{name: "BatchNorm of rows", shapes: [][]int{{5, 3}}, f: func(in []T) T {
			return in[0].BatchNorm(nil, nil, nil, nil, tensor.BatchNormOptions{Training: true, Eps: 1e-3})
		}},
		{name: "BatchNorm by running statistics", shapes: [][]int{{3, 2, 4}, {2}, {2}}, f: func(in []T) T {
			return in[0].BatchNorm(in[1], in[2], running(in[0], 0.5, -1), running(in[0], 2, 0.5), tensor.BatchNormOptions{Eps: 1e-3})
		}},
		{name: "CrossEntropyWith", shapes: x34, f: func(in []T) T {
			return in[0].CrossEntropyWith(classes(in[0], 1, -100, 3), tensor.CrossEntropyOptions{Weight: weight(in[0]), LabelSmoothing: 0.2})
		}},
		{name: "CrossEntropyWith dims", shapes: x2345, f: func(in []T) T {
			c := classes(in[0], 0, 1, 2, 3, -100, 1, 2, 2, 0, 0, 3, 1).Reshape(2, 3, 2)
			return in[0].CrossEntropyWith(c, tensor.CrossEntropyOptions{Reduction: tensor.NoReduction})
		}},
		{name: "CrossEntropyWith a row", shapes: [][]int{{4}}, f: func(in []T) T {
			return in[0].CrossEntropyWith(classes(in[0], 2).Reshape(), tensor.CrossEntropyOptions{Reduction: tensor.SumReduction})
		}},
		{name: "CrossEntropyWith probabilities", shapes: [][]int{{3, 4}, {3, 4}}, f: func(in []T) T {
			return in[0].CrossEntropyWith(in[1], tensor.CrossEntropyOptions{Weight: weight(in[0]), LabelSmoothing: 0.1})
		}},
		{name: "NLL", shapes: x34, f: func(in []T) T {
			return in[0].LogSoftmax(1).NLL(classes(in[0], 1, 0, 3), tensor.NLLOptions{Weight: weight(in[0]), Reduction: tensor.SumReduction})
		}},
	}
}

// TestRunningStatistics: training moves them in place, with the variance of n-1
// elements; inference leaves them, and a changed one is found by backward.
func TestRunningStatistics(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		x := tensor.FromSlice(d, []float64{1, 2, 3, 6, 0, -1}, 3, 2).RequireGrad()
		mean, variance := tensor.FromSlice(d, []float64{1, -1}), tensor.FromSlice(d, []float64{2, 4})
		o := tensor.BatchNormOptions{Training: true, Momentum: 0.25}
		require.NoError(t, x.BatchNorm(nil, nil, mean, variance, o).Err())
		near(t, []float64{0.75 + 0.25*4/3, -0.75 + 0.25*7/3}, mean)
		near(t, []float64{1.5 + 0.25*7/3, 3 + 0.25*37/3}, variance)
		y := x.BatchNorm(nil, nil, mean, variance, tensor.BatchNormOptions{})
		near(t, []float64{0.75 + 0.25*4/3, -0.75 + 0.25*7/3}, mean)
		require.NoError(t, mean.Fill(0))
		require.ErrorIs(t, y.Sum().Backward(), tensor.ErrInPlace)

		none := tensor.Zeros(d, tensor.Float64, 0, 2)
		require.NoError(t, none.BatchNorm(nil, nil, mean, variance, o).Err())
		near(t, []float64{0, 0}, mean)
	})
}

func near(t *testing.T, want []float64, got *tensor.Tensor) {
	t.Helper()
	data, err := tensor.Data[float64](got)
	require.NoError(t, err)
	require.InDeltaSlice(t, want, data, 1e-12)
}

// TestLossesThatCountNothing: PyTorch's values where all is ignored.
func TestLossesThatCountNothing(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		x := tensor.FromSlice(d, []float64{1, 2, 3, 4, 5, 6}, 2, 3)
		zero := int64(0)
		ignored := tensor.FromSlice(d, []int64{0, 0})
		loss := func(r tensor.Reduction) *tensor.Tensor {
			return x.CrossEntropyWith(ignored, tensor.CrossEntropyOptions{IgnoreIndex: &zero, Reduction: r})
		}
		near(t, []float64{0}, loss(tensor.SumReduction).Reshape(1))
		near(t, []float64{0, 0}, loss(tensor.NoReduction))
		mean, err := loss(tensor.MeanReduction).Item()
		require.NoError(t, err)
		require.True(t, math.IsNaN(mean))
	})
}

// TestFusedAndOptionalLossAgree: CrossEntropyWith without options is
// CrossEntropy.
func TestFusedAndOptionalLossAgree(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		r := rand.New(rand.NewPCG(3, 5))
		x, classes := make([]float64, 7*11), make([]int64, 7)
		for i := range x {
			x[i] = 10 * r.NormFloat64()
		}
		for i := range classes {
			classes[i] = r.Int64N(11)
		}
		want, err := tensor.FromSlice(d, x, 7, 11).CrossEntropy(tensor.FromSlice(d, classes)).Item()
		require.NoError(t, err)
		got, err := tensor.FromSlice(d, x, 7, 11).CrossEntropyWith(tensor.FromSlice(d, classes), tensor.CrossEntropyOptions{}).Item()
		require.NoError(t, err)
		require.InEpsilon(t, want, got, 1e-12)
	})
}

// TestBadNorms: bad input is a typed error and leaves nothing behind.
func TestBadNorms(t *testing.T) {
	type T = *tensor.Tensor
	const f32 = tensor.Float32
	train := tensor.BatchNormOptions{Training: true}
	for name, c := range map[string]struct {
		f   func(d *tensor.Device, x T) T // x float32 [2,3]
		is  error
		say string
	}{
		"softmax dim":          {func(_ *tensor.Device, x T) T { return x.Softmax(2) }, tensor.ErrShape, "dim 2"},
		"softmax of int":       {func(d *tensor.Device, _ T) T { return tensor.Zeros(d, tensor.Int64, 2).LogSoftmax(0) }, tensor.ErrDType, "LogSoftmax"},
		"layer norm's w":       {func(d *tensor.Device, x T) T { return x.LayerNorm(tensor.Ones(d, f32, 2), nil, 0) }, tensor.ErrShape, "LayerNorm"},
		"layer norm's b":       {func(d *tensor.Device, x T) T { return x.LayerNorm(tensor.Ones(d, f32, 3), tensor.Ones(d, f32, 1), 0) }, tensor.ErrShape, "LayerNorm"},
		"neither w nor b":      {func(_ *tensor.Device, x T) T { return x.LayerNorm(nil, nil, 0) }, tensor.ErrShape, "neither"},
		"no w":                 {func(_ *tensor.Device, x T) T { return x.RMSNorm(nil, 0) }, tensor.ErrShape, "no w"},
		"layer norm of 0 dims": {func(_ *tensor.Device, x T) T { return x.LayerNormDims(0, 0) }, tensor.ErrShape, "last 0 dims"},
		"layer norm of 3 dims": {func(_ *tensor.Device, x T) T { return x.RMSNormDims(3, 0) }, tensor.ErrShape, "last 3 dims"},
		"mixed dtypes":         {func(d *tensor.Device, x T) T { return x.LayerNorm(tensor.Ones(d, tensor.Float64, 3), nil, 0) }, tensor.ErrDType, "float64"},
		"groups":               {func(_ *tensor.Device, x T) T { return x.GroupNorm(2, nil, nil, 0) }, tensor.ErrShape, "2 groups of 3"},
		"batch norm's mean":    {func(d *tensor.Device, x T) T { return x.BatchNorm(nil, nil, tensor.Ones(d, f32, 3), nil, train) }, tensor.ErrShape, "go together"},
		"no statistics":        {func(_ *tensor.Device, x T) T { return x.BatchNorm(nil, nil, nil, nil, tensor.BatchNormOptions{}) }, tensor.ErrShape, "needed"},
		"statistics of 2": {func(d *tensor.Device, x T) T {
			return x.BatchNorm(nil, nil, tensor.Ones(d, f32, 2), tensor.Ones(d, f32, 2), train)
		}, tensor.ErrShape, "3 channels"},
		"statistics that require grad": {func(d *tensor.Device, x T) T {
			return x.BatchNorm(nil, nil, tensor.Ones(d, f32, 3).RequireGrad(), tensor.Ones(d, f32, 3), train)
		}, tensor.ErrInPlace, "requires grad"},
		"one element a channel": {func(d *tensor.Device, x T) T { return x.Slice(0, 0, 1, 1).BatchNorm(nil, nil, nil, nil, train) }, tensor.ErrShape, "more than one"},
		"classes of float":      {func(d *tensor.Device, x T) T { return x.NLL(tensor.Ones(d, f32, 2), tensor.NLLOptions{}) }, tensor.ErrDType, "int64"},
		"classes of 3": {func(d *tensor.Device, x T) T {
			return x.CrossEntropyWith(tensor.Zeros(d, tensor.Int64, 3), tensor.CrossEntropyOptions{})
		}, tensor.ErrShape, "want [2]"},
		"class of 3": {func(d *tensor.Device, x T) T {
			return x.NLL(tensor.FromSlice(d, []int64{0, 3}), tensor.NLLOptions{})
		}, tensor.ErrIndex, "row 1"},
		"smoothing": {func(d *tensor.Device, x T) T {
			return x.CrossEntropyWith(tensor.Zeros(d, tensor.Int64, 2), tensor.CrossEntropyOptions{LabelSmoothing: 2})
		}, kernels.ErrAttr, "smoothing 2"},
		"weights": {func(d *tensor.Device, x T) T {
			return x.CrossEntropyWith(tensor.Zeros(d, tensor.Int64, 2), tensor.CrossEntropyOptions{Weight: tensor.Ones(d, f32, 2)})
		}, tensor.ErrShape, "weights"},
		"probabilities": {func(d *tensor.Device, x T) T {
			return x.CrossEntropyWith(tensor.Ones(d, f32, 2), tensor.CrossEntropyOptions{})
		}, tensor.ErrShape, "probabilities"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newCPU(t)
			x := tensor.Ones(d, f32, 2, 3)
			y := c.f(d, x)
			require.ErrorIs(t, y.Err(), c.is)
			require.ErrorContains(t, y.Err(), c.say)
			require.ErrorIs(t, y.Backward(), c.is)
		})
	}
}

func TestNormsKeepTheSignOfZero(t *testing.T) { onDevices(t, checkNormsKeepTheSignOfZero) }

// checkNormsKeepTheSignOfZero: where there is no bias nothing is added.
func checkNormsKeepTheSignOfZero(t *testing.T, d *tensor.Device) {
	minus := math.Copysign(0, -1)
	for _, dt := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Float16} {
		x := tensor.FromSlice(d, []float64{minus, 0, minus, 1}, 1, 4).To(dt)
		w := tensor.FromSlice(d, []float64{1, -1, 2, minus}).To(dt)
		for what, c := range map[string]struct {
			y    *tensor.Tensor
			want []bool
		}{
			"plain": {x.RMSNormDims(1, 0.1), []bool{true, false, true, false}}, "weighted": {x.RMSNorm(w, 0.1), []bool{true, true, true, true}},
		} {
			y, err := tensor.Data[float64](c.y.To(tensor.Float64))
			require.NoError(t, err)
			require.Equal(t, c.want, converted(y, math.Signbit), "%s %v: %v", what, dt, y)
		}
	}
}
