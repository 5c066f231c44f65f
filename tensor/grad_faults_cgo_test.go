//go:build cgo && (linux || darwin)

package tensor_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
	"tarn/memory"
	"tarn/tensor"
)

// walks goes over graphs in each way that there is. It releases what it made,
// after an error too.
func walks(d *tensor.Device) (err error) {
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	scope := tensor.NewScope()
	defer func() { err = errors.Join(err, scope.Close(), s.Close()) }()
	w := tensor.FromSlice(s, []float32{1, -2, 3, 4}, 2, 2).RequireGrad()
	defer func() { err = errors.Join(err, w.Release()) }()
	if w.Err() != nil {
		return w.Err()
	}
	remove, err := w.OnGrad(func(g *tensor.Tensor) *tensor.Tensor { return g.MulScalar(2) })
	if err != nil {
		return err
	}
	defer remove()
	x := tensor.FromSlice(d.In(scope), []float32{1, 2, 3, 4}, 2, 2)
	f := func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].MatMul(w).ReLU().On(s).MulScalar(2) }
	h := tensor.Checkpoint(f, x.On(s))
	loss := tensor.Checkpoint(f, h).Mul(h).Sum()
	if loss.Err() != nil {
		return loss.Err()
	}
	if err := h.KeepGrad(); err != nil {
		return err
	}
	if _, err := tensor.Grad(tensors{loss}, tensors{w, h}, nil, tensor.Retain); err != nil {
		return err
	}
	if err := loss.Backward(); err != nil {
		return err
	}
	_, err = h.Grad().Sum().Item()
	square := w.In(scope).DetectAnomaly().Mul(w)
	sum := square.Sum()
	return errors.Join(err, sum.Backward(), sum.Release(), square.Release())
}

// TestAnyCallOfAWalkMayFail: whichever call of the driver fails, once, no
// memory is lost and the same device goes on.
func TestAnyCallOfAWalkMayFail(t *testing.T) {
	m, err := cudasim.Open(cudasim.Config{Memory: 64 << 20})
	require.NoError(t, err)
	device, err := m.Library().Device(0)
	require.NoError(t, err)
	c, err := device.Open()
	require.NoError(t, err)
	d, err := tensor.NewCUDA(c, memory.Config{})
	require.NoError(t, err)
	require.NoError(t, walks(d))
	const calls = 160 // nearly all that walks makes
	told := 0
	for n := 1; n < calls; n++ {
		m.Fail(cudasim.Fault{N: n, Code: int(cuda.NotSupported)})
		err := walks(d)
		require.NoError(t, d.Memory().Check(), "call %d", n)
		require.Zero(t, live(d), "call %d: %v", n, err)
		if err != nil {
			told++
			var call *cuda.Error
			require.ErrorAs(t, err, &call, "call %d", n)
		}
	}
	require.Greater(t, told, calls/2)
	require.NoError(t, d.Close())
	_, _ = c.Close(), m.Close()
}
