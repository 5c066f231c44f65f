package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// TestArange has PyTorch 2.15's lengths and, to an ulp, its numbers.
func TestArange(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		const f32, f64, f16, i32, u8 = tensor.Float32, tensor.Float64, tensor.Float16, tensor.Int32, tensor.Uint8
		for _, c := range []struct {
			dt                tensor.DType
			start, stop, step float64
			want              []float64
		}{
			{f64, 0, 1, 0.1, []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}},
			{f32, 1, 0, -0.25, []float64{1, 0.75, 0.5, 0.25}},
			{f32, 0, 5, 2, []float64{0, 2, 4}},
			{f16, 2, 2, 1, []float64{}},
			{f64, -1, 1, 1.0 / 3, []float64{-1, -2.0 / 3, -1.0 / 3, 0, 1.0 / 3, 2.0 / 3}},
			{u8, 250, 256, 2, []float64{250, 252, 254}},
			{i32, 5, -3, -3, []float64{5, 2, -1}},
			{tensor.Int64, 1 << 40, 1<<40 + 3, 1, []float64{1 << 40, 1<<40 + 1, 1<<40 + 2}},
			{f16, 0, 4098, 2049, []float64{0, 2048}},
		} {
			x := tensor.Arange(d, c.dt, c.start, c.stop, c.step)
			require.NoError(t, x.Err())
			require.Equal(t, tensor.Shape{len(c.want)}, x.Shape())
			require.InDeltaSlice(t, c.want, drawn64(t, x), 1e-15, "%v from %v to %v by %v", c.dt, c.start, c.stop, c.step)
		}
	})
}

// TestLinspace has PyTorch 2.15's numbers.
func TestLinspace(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		for _, c := range []struct {
			dt         tensor.DType
			start, end float64
			n          int
			want       []float64
		}{
			{tensor.Float64, 0, 1, 4, []float64{0, 1.0 / 3, 2.0 / 3, 1}},
			{tensor.Float32, 10, 0, 5, []float64{10, 7.5, 5, 2.5, 0}},
			{tensor.Int64, 3, 10, 6, []float64{3, 4, 5, 7, 8, 10}},
			{tensor.Int64, 0, 10, 4, []float64{0, 3, 6, 10}},
			{tensor.Float16, -2, -2, 3, []float64{-2, -2, -2}},
			{tensor.Float32, 1, 2, 1, []float64{1}},
			{tensor.Float32, 1, 2, 0, []float64{}},
		} {
			x := tensor.Linspace(d, c.dt, c.start, c.end, c.n)
			require.InDeltaSlice(t, c.want, drawn64(t, x), 2e-16, "%v from %v to %v in %d", c.dt, c.start, c.end, c.n)
		}
		x := drawn64(t, tensor.Linspace(d, tensor.Float64, 0.1, 0.7, 1001))
		require.Equal(t, []float64{0.1, 0.7}, []float64{x[0], x[1000]}, "both ends are exact")
	})
}

func TestEye(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		require.Equal(t, []float64{1, 0, 0, 0, 1, 0}, drawn64(t, tensor.Eye(d, tensor.Float32, 2, 3)))
		require.Equal(t, []float64{1, 0, 0, 1, 0, 0}, drawn64(t, tensor.Eye(d, tensor.Bool, 3, 2)))
		require.Equal(t, tensor.Shape{0, 3}, tensor.Eye(d, tensor.Int64, 0, 3).Shape())
	})
}

func TestSequencesBadInput(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		before := live(d)
		for _, c := range []struct {
			x    *tensor.Tensor
			is   error
			says string
		}{
			{tensor.Arange(d, tensor.Float32, 0, 1, 0), tensor.ErrValue, "Arange"},
			{tensor.Arange(d, tensor.Float32, 0, 1, -1), tensor.ErrValue, "against"},
			{tensor.Arange(d, tensor.Float32, 0, math.Inf(1), 1), tensor.ErrValue, "Inf"},
			{tensor.Arange(d, tensor.Float32, math.NaN(), 1, 1), tensor.ErrValue, "NaN"},
			{tensor.Arange(d, tensor.Float64, 0, 1e300, 1), tensor.ErrShape, "elements"},
			{tensor.Arange(d, tensor.Int64, 0, 5, 0.5), tensor.ErrValue, "0.5 is not whole"},
			{tensor.Arange(d, tensor.Uint8, 0, 257, 1), tensor.ErrValue, "256"},
			{tensor.Arange(d, tensor.Bool, 0, 1, 1), tensor.ErrDType, "bool"},
			{tensor.Linspace(d, tensor.Uint8, 0, 256, 3), tensor.ErrValue, "Linspace"},
			{tensor.Linspace(d, tensor.Float32, 0, 1, -1), tensor.ErrShape, "negative"},
			{tensor.Linspace(d, tensor.Bool, 0, 1, 2), tensor.ErrDType, "bool"},
			{tensor.Eye(d, tensor.Float32, -1, 2), tensor.ErrShape, "Eye"},
		} {
			require.ErrorIs(t, c.x.Err(), c.is)
			require.ErrorContains(t, c.x.Err(), c.says)
		}
		require.Equal(t, before, live(d))
	})
}
