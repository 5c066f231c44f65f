package tensor_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
	"tarn/tensor"
)

// here is the caller's file and line, as errors name it.
func here() string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", file, line)
}

func TestAnomalyInForward(t *testing.T) { onDevices(t, checkAnomalyInForward) }

func checkAnomalyInForward(t *testing.T, d *tensor.Device) {
	base := live(d)
	s := tensor.NewScope()
	x := tensor.FromSlice(d.In(s), []float32{1, -1, 0, 4}, 2, 2).DetectAnomaly()
	y, at := x.Log(), here()
	err := y.Exp().Sum().Err()
	require.ErrorIs(t, err, tensor.ErrNotFinite)
	require.ErrorContains(t, err, "tensor: Log [2, 2] at "+at)
	require.ErrorContains(t, err, "NaN at [0, 1], the first of 2 among 4 elements")
	require.ErrorIs(t, x.T().Contiguous().Exp().MulScalar(math.Inf(1)).Err(), tensor.ErrNotFinite)
	require.ErrorContains(t, x.MulInPlace(tensor.Full(d.In(s), tensor.Float32, math.NaN())), "MulInPlace")
	require.NoError(t, tensor.FromSlice(d.In(s), []float32{-1}).Log().Err(), "nobody asked")
	require.NoError(t, s.Close())
	require.Equal(t, base, live(d))
}

func TestAnomalyInBackward(t *testing.T) { onDevices(t, checkAnomalyInBackward) }

func checkAnomalyInBackward(t *testing.T, d *tensor.Device) {
	w := tensor.FromSlice(d, []float64{4, 0, 9}).RequireGrad()
	base := live(d)
	s := tensor.NewScope()
	root, at := w.In(s).DetectAnomaly().Sqrt(), here()
	loss := root.MulScalar(2).Sum()
	err, call := loss.Backward(), here()
	require.ErrorIs(t, err, tensor.ErrNotFinite)
	require.ErrorContains(t, err, "Sqrt backward [3] at "+call)
	require.ErrorContains(t, err, "the gradient of operand 0 of the Sqrt at "+at)
	require.ErrorContains(t, err, "+Inf at [1], the first of 1 among 3 elements")
	require.Nil(t, w.Grad())

	one := tensor.Ones(d.In(s), tensor.Float64, 3)
	h := one.DetectAnomaly().Mul(w)
	err = h.BackwardWith(tensor.FromSlice(d.In(s), []float64{1, math.NaN(), 1}))
	require.ErrorContains(t, err, "the upstream gradient: value is not finite: NaN at [1]")

	h = one.DetectAnomaly().Mul(w)
	_, err = h.OnGrad(func(g *tensor.Tensor) *tensor.Tensor { return g.MulScalar(math.Inf(-1)) })
	require.NoError(t, err)
	err = h.Sum().Backward()
	require.ErrorIs(t, err, tensor.ErrNotFinite)
	require.ErrorContains(t, err, "a hook on the gradient of Mul")

	up := tensor.Full(d.In(s), tensor.Float64, math.MaxFloat64, 3)
	h, at = one.DetectAnomaly().Mul(w), here()
	_, err = tensor.Grad(tensors{h, h}, tensors{w}, tensors{up, up})
	require.ErrorIs(t, err, tensor.ErrNotFinite)
	require.ErrorContains(t, err, "the sum of the gradients of the result of Mul at "+at)
	require.NoError(t, s.Close())
	require.NoError(t, w.ZeroGrad())
	require.Equal(t, base, live(d))
}

func TestAnomalyInACheckpoint(t *testing.T) { onDevices(t, checkAnomalyInACheckpoint) }

func checkAnomalyInACheckpoint(t *testing.T, d *tensor.Device) {
	w := tensor.FromSlice(d, []float64{4, 0}).RequireGrad()
	var at string
	root := func(in ...*tensor.Tensor) (y *tensor.Tensor) {
		y, at = in[0].Sqrt(), here()
		return y
	}
	err := tensor.Checkpoint(root, w.DetectAnomaly()).Sum().Backward()
	require.ErrorIs(t, err, tensor.ErrNotFinite)
	require.ErrorContains(t, err, "of the Sqrt at "+at)
	y := tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Log() }, w.DetectAnomaly())
	require.ErrorIs(t, y.Err(), tensor.ErrNotFinite)
}

// TestFailuresOfEachWayLeakNothing lets each launch of a walk with all its
// extras fail once.
func TestFailuresOfEachWayLeakNothing(t *testing.T) {
	_, d := newRecorder(t)
	w := tensor.Ones(d, tensor.Float64, 64).RequireGrad()
	v := tensor.Ones(d, tensor.Float64, 64).RequireGrad()
	double := func(g *tensor.Tensor) *tensor.Tensor { return g.MulScalar(2) }
	_, err := w.OnGrad(double)
	require.NoError(t, err)
	base := live(d)
	for _, retain := range []tensor.BackwardOption{0, tensor.Retain} {
		for _, way := range []string{"Backward", "Grad"} {
			for fail := 0; ; fail++ {
				h := w.Mul(v)
				point := tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor {
					y := in[0].Mul(v).Exp()
					return tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Mul(w) }, y)
				}, h)
				z := point.Mul(h)
				loss := z.Sum()
				require.NoError(t, h.KeepGrad())
				_, err := h.OnGrad(double)
				require.NoError(t, err)
				n := 0
				restore := d.ReplaceKernels(func(id kernels.ID, run func() error) error {
					if n++; n > fail {
						return &kernels.Error{Op: id, Err: kernels.ErrNoOp, Detail: "made to fail"}
					}
					return run()
				})
				var got tensors
				if way == "Grad" {
					got, err = tensor.Grad(tensors{loss}, tensors{w, h, v}, nil, retain)
				} else {
					err = loss.Backward(retain)
				}
				restore()
				if err != nil {
					require.ErrorIs(t, err, kernels.ErrNoOp)
					require.Nil(t, got)
				}
				for _, x := range append(got, h, point, z, loss) {
					require.NoError(t, x.Release())
				}
				require.NoError(t, w.ZeroGrad())
				require.NoError(t, v.ZeroGrad())
				require.Equal(t, base, live(d), "%s fails at launch %d", way, fail)
				if err == nil {
					require.Greater(t, fail, 10)
					break
				}
			}
		}
	}
}
