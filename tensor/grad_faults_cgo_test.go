//go:build cgo && (linux || darwin)

package tensor_test

import (
	"errors"
	"testing"

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
	const calls = 160 // nearly all that walks makes
	anyCallMayFail(t, walks, calls, calls/2)
}
