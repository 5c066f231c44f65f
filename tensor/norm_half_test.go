package tensor_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// rowOp is a softmax, a normalisation or a loss of x [4,6,5], by w and b [n]; n is
// 1 where it has none.
type rowOp struct {
	name string
	n    int
	f    func(x, w, b *tensor.Tensor) *tensor.Tensor
}

func rowOps() []rowOp {
	type T = *tensor.Tensor
	batch := func(x, w, b T) T {
		return x.BatchNorm(w, b, nil, nil, tensor.BatchNormOptions{Training: true, Eps: 1e-3})
	}
	infer := func(x, w, b T) T {
		dt := tensor.Float32
		if x.DType() == tensor.Float64 {
			dt = tensor.Float64
		}
		mean, variance := tensor.Full(x.Device(), dt, 0.125, 6), tensor.Full(x.Device(), dt, 1.5, 6)
		return x.BatchNorm(w, b, mean, variance, tensor.BatchNormOptions{Eps: 1e-3})
	}
	classes := func(x T) T {
		c := make([]int64, 4*5)
		for i := range c {
			c[i] = int64(i % 6)
		}
		return tensor.FromSlice(x.Device(), c, 4, 5)
	}
	return []rowOp{
		{"LayerNorm", 5, func(x, w, b T) T { return x.LayerNorm(w, b, 1e-3) }},
		{"LayerNorm, no b", 5, func(x, w, _ T) T { return x.LayerNorm(w, nil, 1e-3) }},
		{"LayerNorm of a view", 6, func(x, w, b T) T { return x.Transpose(1, 2).LayerNorm(w, b, 1e-3) }},
		{"RMSNorm", 5, func(x, w, _ T) T { return x.RMSNorm(w, 1e-3) }},
		{"GroupNorm", 6, func(x, w, b T) T { return x.GroupNorm(3, w, b, 1e-3) }},
		{"BatchNorm", 6, batch},
		{"BatchNorm by running statistics", 6, infer},
		{"Softmax", 1, func(x, _, _ T) T { return x.Softmax(1) }},
		{"LogSoftmax", 1, func(x, _, _ T) T { return x.LogSoftmax(-1) }},
		{"NLL", 1, func(x, _, _ T) T { return x.NLL(classes(x), tensor.NLLOptions{Reduction: tensor.NoReduction}) }},
	}
}

// TestHalfRows: softmax, normalisations and NLL of half types are those of
// float64, rounded once, with weights of the half type and with float32 ones,
// which no half could hold; each gradient has its operand's type and precision.
func TestHalfRows(t *testing.T) { onDevices(t, checkHalfRows) }

func checkHalfRows(t *testing.T, d *tensor.Device) {
	for _, op := range rowOps() {
		for _, dt := range []tensor.DType{tensor.Float16, tensor.BFloat16} {
			for _, weights := range []tensor.DType{dt, tensor.Float32} {
				if op.n == 1 && weights != dt {
					continue
				}
				t.Run(op.name+" "+dt.String()+" "+weights.String(), func(t *testing.T) { checkHalfRow(t, d, op, dt, weights) })
			}
		}
	}
}

func checkHalfRow(t *testing.T, d *tensor.Device, op rowOp, dt, weights tensor.DType) {
	r := rand.New(rand.NewPCG(2, 3))
	draw := func(to tensor.DType, mean float64, shape ...int) *tensor.Tensor {
		data := make([]float64, tensor.Shape(shape).Len())
		for i := range data {
			data[i] = mean + r.NormFloat64()/4
		}
		return tensor.FromSlice(d, data, shape...).To(to)
	}
	in := []*tensor.Tensor{draw(dt, 0, 4, 6, 5), draw(weights, 1, op.n), draw(weights, 0, op.n)}
	exact := make([]*tensor.Tensor, len(in))
	for i := range in {
		exact[i] = in[i].To(tensor.Float64).RequireGrad()
		in[i] = in[i].RequireGrad()
	}
	y, want := op.f(in[0], in[1], in[2]), op.f(exact[0], exact[1], exact[2])
	require.Equal(t, dt, y.DType())
	closeTo(t, want, y, 1e-5)
	// The gradients of the softmaxes are made of their rounded results, here times
	// factors below 1/2; the others are of what was not rounded.
	beyond := 1e-5
	if op.n == 1 {
		beyond += epsilons[dt] / 4
	}
	up := draw(dt, 0, y.Shape()...)
	require.NoError(t, y.BackwardWith(up))
	require.NoError(t, want.BackwardWith(up.To(tensor.Float64)))
	for i := range in {
		if exact[i].Grad() == nil {
			require.Nil(t, in[i].Grad())
			continue
		}
		require.Equal(t, in[i].DType(), in[i].Grad().DType())
		closeTo(t, exact[i].Grad(), in[i].Grad(), beyond)
	}
}

// closeTo demands that got is want rounded to its own type, but for beyond.
func closeTo(t *testing.T, want, got *tensor.Tensor, beyond float64) {
	t.Helper()
	w, err := tensor.Data[float64](want.Detach())
	require.NoError(t, err)
	g, err := tensor.Data[float64](got.Detach().To(tensor.Float64))
	require.NoError(t, err)
	require.Len(t, g, len(w))
	for i := range w {
		rounding := 0.0
		if got.DType() != tensor.Float32 {
			rounding = epsilons[got.DType()] / 2 * math.Abs(w[i])
		}
		require.InDelta(t, w[i], g[i], rounding+beyond, "element %d", i)
	}
}

// TestHalfBiasAlone: a float32 b without a w leaves the result the type of x.
func TestHalfBiasAlone(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		x := tensor.FromSlice(d, []float64{1, 3, -2, 2}, 2, 2).To(tensor.BFloat16).RequireGrad()
		b := tensor.FromSlice(d, []float32{0.5, 1}).RequireGrad()
		for name, y := range map[string]*tensor.Tensor{
			"LayerNorm": x.LayerNorm(nil, b, 0),
			"GroupNorm": x.GroupNorm(1, nil, b, 0),
		} {
			require.Equal(t, tensor.BFloat16, y.DType(), name)
			near(t, []float64{-0.5, 2, -0.5, 2}, y.To(tensor.Float64))
			require.NoError(t, y.Sum().Backward())
		}
		near(t, []float64{4, 4}, b.Grad().To(tensor.Float64))
		require.Equal(t, tensor.Float32, b.Grad().DType())
	})
}

// TestNormWeightTypes: w and b of one type, which is x's or float32 for a half.
func TestNormWeightTypes(t *testing.T) {
	d := newCPU(t)
	x := func(dt tensor.DType) *tensor.Tensor { return tensor.Ones(d, dt, 2, 3) }
	w := func(dt tensor.DType) *tensor.Tensor { return tensor.Ones(d, dt, 3) }
	for _, y := range []*tensor.Tensor{
		x(tensor.Float16).LayerNorm(w(tensor.Float32), w(tensor.Float16), 0),
		x(tensor.Float16).LayerNorm(w(tensor.Float16), w(tensor.Float32), 0),
		x(tensor.Float16).RMSNorm(w(tensor.BFloat16), 0),
		x(tensor.BFloat16).GroupNorm(1, w(tensor.Float64), nil, 0),
		x(tensor.Float32).LayerNorm(w(tensor.BFloat16), nil, 0),
	} {
		require.ErrorIs(t, y.Err(), tensor.ErrDType)
	}
}
