//go:build cgo && (linux || darwin)

package nn_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda/cudasim"
	"tarn/memory"
	"tarn/nn"
	"tarn/tensor"
)

func init() {
	devices["sim"] = func(t *testing.T) *tensor.Device {
		return simulated(t, func(err error) { // what a test leaves to the collector is no fault
			var live *memory.LiveBlocksError
			assert.True(t, err == nil || errors.As(err, &live), "%v", err)
		})
	}
}

// simulated returns a device of a simulated machine. closed gets the error of
// its Close.
func simulated(t *testing.T, closed func(error)) *tensor.Device {
	m, err := cudasim.Open(cudasim.Config{Memory: 64 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.Close()) })
	device, err := m.Library().Device(0)
	require.NoError(t, err)
	c, err := device.Open()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	d, err := tensor.NewCUDA(c, memory.Config{})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, d.Memory().Check())
		closed(d.Close())
	})
	return d
}

// run is a training of an MLP whose input stays in the same tensors.
type run struct {
	model      *nn.Sequential
	opt        nn.Optimizer
	x, y, loss *tensor.Tensor
	random     *rand.Rand
}

func newRun(t *testing.T, d *tensor.Device, optimizer string) *run {
	r := &run{model: mlp(t, d, []int{6, 16, 8, 3}), random: rand.New(rand.NewPCG(5, 6)),
		x: tensor.Zeros(d, tensor.Float32, 10, 6), y: tensor.Zeros(d, tensor.Int64, 10)}
	var err error
	if optimizer == "adamw" {
		r.opt, err = nn.NewAdamW(r.model.Parameters(), nn.DefaultAdamW())
	} else {
		r.opt, err = nn.NewSGD(r.model.Parameters(), nn.SGDOptions{LR: 0.1, Momentum: 0.9})
	}
	require.NoError(t, err)
	return r
}

// next copies new examples to where the model reads them.
func (r *run) next(t *testing.T) {
	x, y := make([]float32, 60), make([]int64, 10)
	for i := range x {
		x[i] = r.random.Float32()
	}
	for i := range y {
		y[i] = int64(3 * x[6*i])
	}
	require.NoError(t, tensor.CopyFrom(r.x, x))
	require.NoError(t, tensor.CopyFrom(r.y, y))
}

func (r *run) gradients() error {
	s := tensor.NewScope()
	defer s.Close()
	loss := nn.CrossEntropy(r.model.Forward(r.x.In(s)), r.y)
	if err := r.opt.ZeroGrad(); err != nil {
		return err
	}
	if err := loss.Backward(); err != nil {
		return err
	}
	if r.loss != nil {
		r.loss.Release()
	}
	r.loss = loss
	return s.Keep(loss)
}

func (r *run) step() error {
	if err := r.gradients(); err != nil {
		return err
	}
	return r.opt.Step()
}

func (r *run) release(t *testing.T) {
	for _, x := range []*tensor.Tensor{r.x, r.y, r.loss} {
		require.NoError(t, x.Release())
	}
	require.NoError(t, r.opt.Release())
	require.NoError(t, nn.Release(r.model))
}

func item(t *testing.T, x *tensor.Tensor) float64 {
	v, err := x.Item()
	require.NoError(t, err)
	return v
}

// TestStepAsAGraph: the losses of a training step that is captured, with steps
// op by op before, between and after, are those of the same step run op by op
// alone, to the last bit.
func TestStepAsAGraph(t *testing.T) {
	const schedule = "eecrrrerree" // c is a capture, whose first run is a step
	for _, optimizer := range []string{"sgd", "adamw"} {
		t.Run(optimizer, func(t *testing.T) {
			d := simulated(t, func(err error) { assert.NoError(t, err, "all was released") })
			eager := newRun(t, d, optimizer)
			var want, got []float64
			for range schedule {
				eager.next(t)
				require.NoError(t, eager.step())
				want = append(want, item(t, eager.loss))
			}
			eager.release(t)

			graph := newRun(t, d, optimizer)
			var g *tensor.Graph
			var loss *tensor.Tensor // of the graph
			for i, how := range schedule {
				graph.next(t)
				switch how {
				case 'e':
					require.NoError(t, graph.step())
					got = append(got, item(t, graph.loss))
				case 'c':
					var err error
					g, err = tensor.Capture(d.DefaultStream(), graph.step)
					require.NoError(t, err)
					got = append(got, want[i]) // the first run's loss went with the second
					loss, graph.loss = graph.loss, nil
				case 'r':
					require.NoError(t, g.Replay())
					got = append(got, item(t, loss))
				}
			}
			require.Equal(t, want, got)
			require.NotEqual(t, got[0], got[1])
			graph.release(t)
			require.NoError(t, errors.Join(g.Close(), loss.Release()))
		})
	}
}
