//go:build cgo && (linux || darwin)

package tensor_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda/cudasim"
	"tarn/internal/invariants"
	"tarn/tensor"
)

// TestOpsCaptured records each op, forwards and backwards, and replays it on other
// numbers: the results are those of the op by itself. What cannot be recorded is
// [tensor.ErrCapture], and leaves the stream as good as before.
func TestOpsCaptured(t *testing.T) {
	d := newSim(t, cudasim.Config{})[0]
	s, err := d.NewStream()
	require.NoError(t, err)
	bench := &opBench{reference: newReference(t)}
	// Random numbers would be the same at each replay; the others' samples make data of
	// their own on the way, which goes by the host.
	may := []string{"Bernoulli", "Dropout", "MaskedFill", "Scatter", "Std"}
	replays := 0
	for _, op := range tensor.Ops() {
		for i, sample := range opSamples[op.Name] {
			if (testing.Short() || invariants.Enabled) && i%3 != 0 {
				continue
			}
			dt := op.DTypes[i%len(op.DTypes)]
			c := &recordedOp{s: sample, dt: dt, back: op.Differentiable && !sample.constant && dt.IsFloat()}
			c.says = fmt.Sprintf("%s of %v %v", op.Name, dt, sample)
			c.first, c.second = sample.data(t, bench, dt, layouts[0], 1), sample.data(t, bench, dt, layouts[0], 2)
			if err := c.try(t, d, s); err != nil {
				require.ErrorIs(t, err, tensor.ErrCapture, c.says)
				require.Contains(t, may, op.Name, "%v", err)
				continue
			}
			replays++
		}
	}
	require.NoError(t, s.Close())
	t.Logf("%d samples replayed", replays)
}

// recordedOp is an op on one sample, on its way through a graph.
type recordedOp struct {
	s             opSample
	dt            tensor.DType
	back          bool
	says          string
	first, second [][]float64
}

// try captures the op on the first numbers and replays it on the second ones.
func (c *recordedOp) try(t *testing.T, d *tensor.Device, s *tensor.Stream) error {
	scope := tensor.NewScope()
	defer func() { require.NoError(t, scope.Close(), c.says) }()
	in, seen := c.inputs(t, s.In(scope), c.first)
	var y *tensor.Tensor
	var grads []*tensor.Tensor
	g, err := tensor.Capture(s, func() error {
		var err error
		y, grads, err = c.run(s, scope, seen)
		return err
	})
	if err != nil {
		after := tensor.Ones(s.In(scope), tensor.Float32, 3).Sum()
		v, failed := after.Item()
		require.NoError(t, failed, c.says)
		require.Equal(t, 3.0, v, c.says)
		return err
	}
	other, otherSeen := c.inputs(t, s.In(scope), c.second)
	for i := range in {
		require.NoError(t, in[i].NoGrad().CopyInPlace(other[i].NoGrad()), c.says)
	}
	want, wantGrads, err := c.run(s, scope, otherSeen)
	require.NoError(t, err, c.says)
	require.NoError(t, g.Replay(), c.says)
	c.same(t, want, y, "result")
	for i := range grads {
		c.same(t, wantGrads[i], grads[i], fmt.Sprintf("gradient %d", i))
	}
	require.NoError(t, g.Close(), c.says)
	return nil
}

func (c *recordedOp) inputs(t *testing.T, p tensor.Place, data [][]float64) (leaves, seen []*tensor.Tensor) {
	leaves, seen = c.s.make(t, p, c.dt, layouts[0], data)
	for i, in := range c.s.in {
		if in.isLeaf() && c.back {
			seen[i] = seen[i].RequireGrad()
		}
	}
	return seen, seen
}

// run returns the result, and copies of the gradients, which it takes away.
func (c *recordedOp) run(s *tensor.Stream, scope *tensor.Scope, in []*tensor.Tensor) (y *tensor.Tensor, grads []*tensor.Tensor, err error) {
	y = c.s.f(in)
	if y.Err() != nil || !c.back {
		return y, nil, y.Err()
	}
	up := tensor.Full(s.In(scope), y.DType(), 0.5, y.Shape()...)
	err = errors.Join(up.Err(), y.BackwardWith(up))
	for _, x := range in {
		if g := x.Grad(); g != nil {
			grads = append(grads, g.In(scope).Clone())
			err = errors.Join(err, x.ZeroGrad())
		}
	}
	return y, grads, err
}

func (c *recordedOp) same(t *testing.T, want, got *tensor.Tensor, what string) {
	w, err := tensor.Data[float64](want.NoGrad().To(tensor.Float64))
	require.NoError(t, err, c.says)
	g, err := tensor.Data[float64](got.NoGrad().To(tensor.Float64))
	require.NoError(t, err, c.says)
	require.Equal(t, fmt.Sprint(w), fmt.Sprint(g), "%s: %s", c.says, what)
}
