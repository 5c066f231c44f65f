package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// TestDropout: elements are 0 or times 1/(1-p), about as many as they should be,
// and backward has the same mask.
func TestDropout(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		const n, p = 1000, 0.25
		x := tensor.Ones(d, tensor.Float32, n).RequireGrad()
		y := x.Dropout(tensor.NewGenerator(1), p, true)
		out := data32(t, y)
		kept := 0
		for _, v := range out {
			if v != 0 {
				require.Equal(t, float32(1/(1-p)), v)
				kept++
			}
		}
		require.InDelta(t, n*(1-p), kept, 4*math.Sqrt(n*p*(1-p)))
		require.NoError(t, y.Sum().Backward())
		require.Equal(t, out, data32(t, x.Grad()))
	})
}

func TestDropoutOfAllAndOfNone(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		x := tensor.FromSlice(d, []float32{1, -2, 3}).RequireGrad()
		g := tensor.NewGenerator(1)
		for _, v := range data32(t, x.Dropout(g, 1, true)) {
			require.Zero(t, math.Abs(float64(v))) // -0 is 0
		}
		require.Equal(t, []float32{1, -2, 3}, data32(t, x.Dropout(g, 0, true)))
		state := g.State()
		y := x.Dropout(g, 0.5, false)
		require.Equal(t, state, g.State(), "nothing is drawn where it does not train")
		require.NoError(t, y.MulScalar(2).Sum().Backward())
		require.Equal(t, []float32{2, 2, 2}, data32(t, x.Grad()))
		nan := tensor.FromSlice(d, []float32{float32(math.Inf(1))}).Dropout(g, 1, true)
		require.True(t, math.IsNaN(float64(data32(t, nan)[0])))
	})
}

// TestDropoutKeepsNothing: the graph holds neither mask nor operand.
func TestDropoutKeepsNothing(t *testing.T) {
	d := newCPU(t)
	x := tensor.Ones(d, tensor.Float32, 1<<10).RequireGrad()
	h := x.MulScalar(2)
	before := live(d)
	y := h.Dropout(tensor.NewGenerator(1), 0.5, true)
	require.NoError(t, h.Release())
	require.Equal(t, before, live(d), "y has taken h's place")
	require.NoError(t, y.Sum().Backward())
}

func TestDropoutGradient(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		checkGradientsOf(t, d, []gradCase{
			{name: "Dropout", shapes: [][]int{{3, 5}}, f: func(in []*tensor.Tensor) *tensor.Tensor {
				return in[0].Dropout(tensor.NewGenerator(4), 0.4, true)
			}},
			{name: "Dropout of a transpose", shapes: [][]int{{3, 5}}, f: func(in []*tensor.Tensor) *tensor.Tensor {
				return in[0].T().Dropout(tensor.NewGenerator(4), 0.4, true).T()
			}},
			{name: "Dropout in a checkpoint", shapes: [][]int{{3, 5}}, f: func(in []*tensor.Tensor) *tensor.Tensor {
				return tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor {
					return in[0].Exp().Dropout(tensor.NewGenerator(4), 0.4, true)
				}, in[0])
			}},
		})
	})
}
