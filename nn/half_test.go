package nn_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/nn"
	"tarn/tensor"
)

// halfTypes returns the half types that d has kernels for: both, but on the CPU.
func halfTypes(t *testing.T, d *tensor.Device) (have []tensor.DType) {
	t.Helper()
	for _, dt := range []tensor.DType{tensor.Float16, tensor.BFloat16} {
		if err := tensor.Zeros(d, dt, 1).Err(); d.Name() != "cpu" {
			require.NoError(t, err)
		} else if err != nil {
			continue
		}
		have = append(have, dt)
	}
	return have
}

// TestHalfLinear: weights of a half type are those of float64, rounded.
func TestHalfLinear(t *testing.T) {
	for name, open := range devices {
		t.Run(name, func(t *testing.T) { checkHalfLinear(t, open(t)) })
	}
}

func checkHalfLinear(t *testing.T, d *tensor.Device) {
	const in, out, seed = 3, 5, 11
	exact, err := nn.NewLinear(d, tensor.Float64, in, out, rand.New(rand.NewPCG(seed, 0)))
	require.NoError(t, err)
	want, err := tensor.Data[float64](exact.Weight)
	require.NoError(t, err)
	for _, dt := range halfTypes(t, d) {
		l, err := nn.NewLinear(d, dt, in, out, rand.New(rand.NewPCG(seed, 0)))
		require.NoError(t, err)
		require.Equal(t, dt, l.Weight.DType())
		got := widened(t, l.Weight)
		for i, w := range want {
			require.InDelta(t, w, got[i], math.Abs(w)*0x1p-8, "%v", dt)
			require.NotZero(t, got[i])
		}
		require.NoError(t, nn.Release(l))
	}
	require.NoError(t, nn.Release(exact))
	for _, dt := range []tensor.DType{tensor.Int64, tensor.Int32, tensor.Uint8, tensor.Bool} {
		_, err := nn.NewLinear(d, dt, in, out, rand.New(rand.NewPCG(seed, 0)))
		require.ErrorIs(t, err, tensor.ErrDType)
	}
}

// widened reads a half tensor.
func widened(t *testing.T, x *tensor.Tensor) (values []float64) {
	t.Helper()
	if x.DType() == tensor.Float16 {
		data, err := tensor.Data[tensor.F16](x)
		require.NoError(t, err)
		for _, v := range data {
			values = append(values, float64(v.Float32()))
		}
		return values
	}
	data, err := tensor.Data[tensor.BF16](x)
	require.NoError(t, err)
	for _, v := range data {
		values = append(values, float64(v.Float32()))
	}
	return values
}

// TestClippingHalves: the squares of the gradients are beyond float16, their norm
// is not.
func TestClippingHalves(t *testing.T) {
	for name, open := range devices {
		t.Run(name, func(t *testing.T) { checkClippingHalves(t, open(t)) })
	}
}

func checkClippingHalves(t *testing.T, d *tensor.Device) {
	for _, dt := range halfTypes(t, d) {
		for p, norm := range map[float64]float64{1: 1200, 2: 600, 3: 300 * math.Cbrt(4), math.Inf(1): 300} {
			w := tensor.Zeros(d, dt, 4).RequireGrad()
			up := tensor.FromSlice(d, []float32{300, -300, 300, 300})
			require.NoError(t, w.BackwardWith(up.To(dt)))
			params := []nn.Parameter{{Name: "w", Tensor: w}}
			got, err := nn.ClipGradNorm(params, norm/100, p)
			require.NoError(t, err)
			require.InEpsilon(t, norm, got, 1e-5, "%v, p=%v", dt, p)
			require.InDeltaSlice(t, []float64{3, -3, 3, 3}, widened(t, w.Grad()), 3*0x1p-7)
			require.NoError(t, nn.ClipGradValue(params, 2))
			require.Equal(t, []float64{2, -2, 2, 2}, widened(t, w.Grad()))
			require.NoError(t, w.Release())
		}
	}
}

// TestOptimizersRefuseHalves by the parameter's name, before anything is made.
func TestOptimizersRefuseHalves(t *testing.T) {
	d := newDevice(t)
	for _, dt := range []tensor.DType{tensor.Float16, tensor.BFloat16} {
		params := []nn.Parameter{
			{Name: "wide", Tensor: tensor.Zeros(d, tensor.Float32, 2).RequireGrad()},
			{Name: "narrow", Tensor: ofHalves(d, dt).RequireGrad()},
		}
		for _, err := range []error{
			second(nn.NewSGD(params, nn.SGDOptions{LR: 1})), second(nn.NewAdamW(params, nn.DefaultAdamW())),
		} {
			require.ErrorIs(t, err, tensor.ErrDType)
			require.ErrorContains(t, err, "narrow")
			require.ErrorContains(t, err, dt.String())
		}
	}
}

func ofHalves(d *tensor.Device, dt tensor.DType) *tensor.Tensor {
	if dt == tensor.Float16 {
		return tensor.FromSlice(d, []tensor.F16{0, 0})
	}
	return tensor.FromSlice(d, []tensor.BF16{0, 0})
}

func second[T any](_ T, err error) error { return err }
