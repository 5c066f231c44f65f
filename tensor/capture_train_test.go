package tensor_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// trainer is a small regression, its step as a function of nothing.
type trainer struct {
	w, b, x, y, momentum, loss *tensor.Tensor
}

func newTrainer(p tensor.Place) *trainer {
	return &trainer{
		w: tensor.FromSlice(p, []float32{0.1, -0.2, 0.3}, 3, 1).RequireGrad(), b: tensor.Zeros(p, tensor.Float32, 1).RequireGrad(),
		x: tensor.Zeros(p, tensor.Float32, 4, 3), y: tensor.Zeros(p, tensor.Float32, 4, 1),
	}
}

// set gives the data of step i.
func (tr *trainer) set(i int) error {
	x, y := make([]float32, 12), make([]float32, 4)
	for j := range x {
		x[j] = float32((i*7+j*5)%11)/11 - 0.5
	}
	for j := range y {
		y[j] = x[3*j] - 2*x[3*j+1] + 0.5*x[3*j+2]
	}
	return errors.Join(tensor.CopyFrom(tr.x, x), tensor.CopyFrom(tr.y, y))
}

// train does a step: gradients, and what update makes of them.
func (tr *trainer) train(update func() error) error {
	s := tensor.NewScope()
	d := tr.x.In(s).Linear(tr.w, tr.b).Sub(tr.y)
	loss := d.Mul(d).Mean()
	if err := errors.Join(tr.w.ZeroGrad(), tr.b.ZeroGrad(), loss.Backward(), update()); err != nil {
		return err
	}
	if err := s.Keep(loss); err != nil {
		return err
	}
	tr.loss = loss
	return s.Close()
}

// step trains with momentum; the first step differs from the others.
func (tr *trainer) step(first *bool) error {
	return tr.train(func() error {
		if tr.momentum == nil {
			tr.momentum = tensor.ZerosLike(tr.w)
		}
		h := tensor.SGD{LR: 0.1, Momentum: 0.9, First: *first}
		*first = false
		return errors.Join(tensor.StepSGD([]*tensor.Tensor{tr.w}, []*tensor.Tensor{tr.momentum}, h),
			tensor.StepSGD([]*tensor.Tensor{tr.b}, nil, tensor.SGD{LR: 0.1}))
	})
}

// TestCapturedTrainingIsTheSame: to the last bit.
func TestCapturedTrainingIsTheSame(t *testing.T) {
	_, d, s1, _ := onStreams(t)
	eager, graph := newTrainer(d), newTrainer(s1)
	const steps = 20
	var want []float64
	first := true
	for i := range steps {
		require.NoError(t, eager.set(i))
		require.NoError(t, eager.step(&first))
		loss, err := eager.loss.Item()
		require.NoError(t, err)
		want = append(want, loss)
	}

	require.NoError(t, graph.set(0))
	first = true
	var got []float64
	runs := 0
	g, err := tensor.Capture(s1, func() error {
		if runs++; runs == 2 {
			loss, err := graph.loss.On(nil).Detach().Item()
			require.ErrorIs(t, err, nil)
			got = append(got, loss)
		}
		return graph.step(&first)
	})
	require.NoError(t, err)
	for i := 1; i < steps; i++ {
		require.NoError(t, graph.set(i))
		require.NoError(t, g.Replay())
		loss, err := graph.loss.Item()
		require.NoError(t, err)
		got = append(got, loss)
	}
	require.Equal(t, want, got)
	require.Less(t, got[steps-1], got[0])
	require.NoError(t, d.Memory().Check())
	require.NoError(t, g.Close())
}

// TestCaptureOfTheFirstStep is refused: a graph would do a first step each time.
func TestCaptureOfTheFirstStep(t *testing.T) {
	_, d, _, _ := onStreams(t)
	tr := newTrainer(d)
	_, err := tensor.Capture(d.DefaultStream(), func() error {
		first := true
		return tr.step(&first)
	})
	require.ErrorIs(t, err, tensor.ErrCapture)
	require.ErrorContains(t, err, "SGD step")
}
