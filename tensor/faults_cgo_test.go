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

// busy is a little of everything: uploads, two streams, a workspace, gradients,
// a step, a graph, downloads. It releases what it made, after an error too.
func busy(d *tensor.Device) (err error) {
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	scope := tensor.NewScope()
	defer func() { err = errors.Join(err, scope.Close(), s.Close()) }()
	w := tensor.FromSlice(s, []float32{1, -2, 3, 4}, 2, 2).RequireGrad()
	defer func() { err = errors.Join(err, w.Release()) }()
	x := tensor.FromSlice(d.In(scope), []float32{1, 2, 3, 4, 5, 6}, 3, 2)
	loss := x.On(s).MatMul(w).ReLU().Sum()
	if err := loss.Backward(); err != nil {
		return err
	}
	if err := tensor.StepSGD([]*tensor.Tensor{w}, nil, tensor.SGD{LR: 0.1}); err != nil {
		return err
	}
	g, err := tensor.Capture(s, func() error {
		y := x.On(s).Mul(x.On(s))
		z := y.On(d.DefaultStream()).AddScalar(1)
		return errors.Join(z.Err(), y.Release(), z.Release())
	})
	if err != nil {
		return err
	}
	err = errors.Join(g.Replay(), g.Close())
	_, failed := loss.Item()
	return errors.Join(err, failed)
}

// TestAnyCallMayFail: whichever call of the driver fails, once, the error is
// told unless something else could be done, the books are right, no memory is
// lost, and the same device goes on.
func TestAnyCallMayFail(t *testing.T) {
	const calls, unharmed = 140, 30 // nearly all that busy makes, and the most that it can do without
	anyCallMayFail(t, busy, calls, unharmed)
}

// anyCallMayFail does work once for each of so many calls, which fails then. All
// but unharmed of them must be told.
func anyCallMayFail(t *testing.T, work func(*tensor.Device) error, calls, unharmed int) {
	t.Helper()
	// What could not be destroyed is left, so the machine is not closed as others
	// are.
	m, err := cudasim.Open(cudasim.Config{Memory: 64 << 20})
	require.NoError(t, err)
	device, err := m.Library().Device(0)
	require.NoError(t, err)
	c, err := device.Open()
	require.NoError(t, err)
	d, err := tensor.NewCUDA(c, memory.Config{})
	require.NoError(t, err)
	require.NoError(t, work(d))
	told := 0
	for n := 1; n < calls; n++ {
		m.Fail(cudasim.Fault{N: n, Code: int(cuda.NotSupported)})
		err := work(d)
		require.NoError(t, d.Memory().Check(), "call %d", n)
		require.Zero(t, live(d), "call %d: %v", n, err)
		if err != nil {
			told++
			var call *cuda.Error
			require.ErrorAs(t, err, &call, "call %d", n)
		}
	}
	require.Greater(t, told, calls-unharmed)
	require.NoError(t, d.Close())
	_, _ = c.Close(), m.Close()
}
