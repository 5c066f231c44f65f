package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// TestCheckpointDrawsAgain: with one generator for all, dropouts in checkpoints have
// the values and gradients that they have without, in nested ones and in a second
// backward too, and the generator ends where it does without.
func TestCheckpointDrawsAgain(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		type T = *tensor.Tensor
		plain := func(f func(in ...T) T, in ...T) T { return f(in...) }
		run := func(around, inside func(f func(in ...T) T, in ...T) T) (values []float32, end tensor.GeneratorState) {
			g := tensor.NewGenerator(1)
			w := tensor.Ones(d, tensor.Float32, 41).RequireGrad()
			block := func(in ...T) T {
				h := in[0].Mul(w).Dropout(g, 0.25, true)
				h = inside(func(in ...T) T { return in[0].Dropout(g, 0.25, true).Cos() }, h)
				noise := in[0].NoGrad().MulScalar(1)
				require.NoError(t, noise.RandUniform(g, -1, 1))
				noise = noise.Add(tensor.Rand(in[0].Place(), g, tensor.Float32, 41))
				return in[0].Mul(h.Mul(w)).Mul(noise).Dropout(g, 0.25, true)
			}
			y := tensor.Full(d, tensor.Float32, 2, 41)
			for range 3 {
				y = around(block, y)
			}
			require.NoError(t, y.Sum().Backward(tensor.Retain))
			values = append(data32(t, y.Detach()), data32(t, w.Grad())...)
			require.NoError(t, w.ZeroGrad())
			require.NoError(t, y.Sum().Backward())
			return append(values, data32(t, w.Grad())...), g.State()
		}
		want, end := run(plain, plain)
		for _, kind := range [][2]func(f func(in ...T) T, in ...T) T{{tensor.Checkpoint, plain}, {plain, tensor.Checkpoint}, {tensor.Checkpoint, tensor.Checkpoint}} {
			got, at := run(kind[0], kind[1])
			require.Equal(t, want, got)
			require.Equal(t, end, at)
		}
	})
}

// TestCheckpointDrawsAnew: a generator that the function makes or sets back itself
// goes on in both calls, also to draw what has no operand.
func TestCheckpointDrawsAnew(t *testing.T) {
	d := newCPU(t)
	g := tensor.NewGenerator(3)
	x := tensor.Ones(d, tensor.Float32, 5).RequireGrad()
	y := tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor {
		g.SetState(tensor.GeneratorState{Seed: 9})
		h := in[0].Dropout(g, 0.5, true)
		return h.Mul(tensor.Rand(d.In(in[0].Scope()), g, tensor.Float32, 5))
	}, x)
	require.NoError(t, y.Sum().Backward())
	require.Equal(t, data32(t, y.Detach()), data32(t, x.Grad()), "x is 1")
}
