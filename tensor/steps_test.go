package tensor_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
	"tarn/tensor"
)

var adamW = tensor.AdamW{LR: 0.05, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, WeightDecay: 0.01}

// adam is an AdamW over parameters of a test.
type adam struct {
	params, first, second []*tensor.Tensor
	steps                 tensor.Steps
}

func newAdam(params ...*tensor.Tensor) *adam {
	a := &adam{}
	for _, p := range params {
		a.add(p)
	}
	return a
}

func (a *adam) add(p *tensor.Tensor) {
	a.params = append(a.params, p)
	a.first, a.second = append(a.first, tensor.ZerosLike(p)), append(a.second, tensor.ZerosLike(p))
}

// some returns the list without the parameters that have no gradient.
func (a *adam) some(list []*tensor.Tensor) (some []*tensor.Tensor) {
	for i, p := range a.params {
		if p.Grad() != nil {
			some = append(some, list[i])
		}
	}
	return some
}

func (a *adam) step() error {
	return a.steps.StepAdamW(a.some(a.params), a.some(a.first), a.some(a.second), adamW)
}

// TestCapturedAdamW: 20 steps, done op by op before, between and after those of
// a graph, have the losses of steps done op by op alone, to the last bit. The
// graph's parameters are of two streams.
func TestCapturedAdamW(t *testing.T) {
	_, d, s1, s2 := onStreams(t)
	eager, graph := newTrainer(d), newTrainer(s1)
	graph.b = tensor.Zeros(s2, tensor.Float32, 1).RequireGrad()
	reference, opt := newAdam(eager.w, eager.b), newAdam(graph.w, graph.b)
	loss := func(x *tensor.Tensor) float64 {
		v, err := x.Item()
		require.NoError(t, err)
		return v
	}
	const schedule = "eeecrrrreerrrerrrree" // c is a capture, whose first run is a step
	var want, got []float64
	var g *tensor.Graph
	var result *tensor.Tensor // of the graph
	for i, how := range schedule {
		require.NoError(t, errors.Join(eager.set(i), eager.train(reference.step)))
		want = append(want, loss(eager.loss))
		require.NoError(t, graph.set(i))
		switch how {
		case 'e':
			require.NoError(t, graph.train(opt.step))
			got = append(got, loss(graph.loss))
		case 'c':
			runs := 0
			var err error
			g, err = tensor.Capture(s1, func() error {
				if runs++; runs == 2 {
					got = append(got, loss(graph.loss.On(nil).Detach()))
				}
				return graph.train(opt.step)
			})
			require.NoError(t, err)
			result = graph.loss
		case 'r':
			require.NoError(t, g.Replay())
			got = append(got, loss(result))
		}
	}
	require.Equal(t, want, got)
	require.Less(t, got[19], got[0])
	require.Equal(t, data32(t, eager.w.Detach()), data32(t, graph.w.Detach()))
	require.NoError(t, errors.Join(opt.steps.Release(), g.Replay()), "the graph holds the number")
	require.NoError(t, errors.Join(g.Close(), opt.steps.Release()))
	require.NoError(t, d.Memory().Check())
}

// TestCaptureRefusesAdamW where the graph would not do what the code says.
func TestCaptureRefusesAdamW(t *testing.T) {
	_, d, _, _ := onStreams(t)
	w := tensor.Ones(d, tensor.Float32, 2).RequireGrad()
	gradients := func() error { return errors.Join(w.ZeroGrad(), w.Mul(w).Sum().Backward()) }
	a := newAdam(w)
	for name, c := range map[string]struct {
		update func() error
		say    string
	}{
		"a number of the caller": {func() error {
			h := adamW
			h.Step = 1
			return tensor.StepAdamW(a.params, a.first, a.second, h)
		}, "count with Steps"},
		"a first step": {func() error {
			a.steps = tensor.Steps{}
			return a.step()
		}, "the first run has to do that"},
	} {
		_, err := tensor.Capture(d.DefaultStream(), func() error { return errors.Join(gradients(), c.update()) })
		require.ErrorIs(t, err, tensor.ErrCapture, name)
		require.ErrorContains(t, err, "AdamW step", name)
		require.ErrorContains(t, err, c.say, name)
		require.Equal(t, 1, strings.Count(err.Error(), c.say), "told once")
	}
	require.NoError(t, errors.Join(gradients(), a.step()), "the stream goes on")
}

// TestStepsOfEachParameter: whichever parameters a step leaves out, each has the
// number of its own steps.
func TestStepsOfEachParameter(t *testing.T) {
	r, recorder := newRecorder(t)
	for _, d := range []*tensor.Device{newCPU(t), recorder} {
		parameters := func() []*tensor.Tensor {
			var params []*tensor.Tensor
			for i, dt := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Float32} {
				params = append(params, tensor.Full(d, dt, float64(i+1)).RequireGrad())
			}
			return params
		}
		a, b := newAdam(parameters()...), newAdam(parameters()...)
		done := make([]int64, 3)
		copies := 0 // of numbers
		for _, with := range [][]int{{1, 2}, {1, 2}, {0, 1, 2}, {1}, {0, 2}, {1, 2}, {0, 1, 2}, {0, 1, 2}} {
			var settings []tensor.AdamW
			for i := range 3 {
				require.NoError(t, errors.Join(a.params[i].ZeroGrad(), b.params[i].ZeroGrad()))
				if slices.Contains(with, i) {
					require.NoError(t, errors.Join(a.params[i].Exp().Sum().Backward(), b.params[i].Exp().Sum().Backward()))
					h := adamW
					done[i]++
					h.Step = done[i]
					settings = append(settings, h)
				}
			}
			r.take()
			require.NoError(t, a.step())
			for _, line := range r.take() {
				if line == "copy s0" {
					copies++
				}
			}
			require.NoError(t, tensor.StepAdamW(b.some(b.params), b.some(b.first), b.some(b.second), settings...))
		}
		for i := range 3 {
			got, err := a.params[i].Item()
			require.NoError(t, err)
			want, err := b.params[i].Item()
			require.NoError(t, err)
			require.Equal(t, want, got, "%v, parameter %d", d, i)
		}
		before := live(d)
		require.NoError(t, errors.Join(a.steps.Release(), a.steps.Release()))
		if d == recorder {
			require.Equal(t, 1, copies, "parameters 1 and 2 had one number")
			require.Less(t, live(d), before, "the numbers were there")
		}
	}
}

// TestStepsAreCountedWhereTheyRun: by one launch on each stream, and nobody
// waits; on the CPU by none.
func TestStepsAreCountedWhereTheyRun(t *testing.T) {
	r, _, s1, s2 := onStreams(t)
	other, d := newRecorder(t)
	var params []*tensor.Tensor
	for _, p := range []tensor.Place{s1, s2, s1, d, newCPU(t)} {
		w := tensor.Ones(p, tensor.Float32, 2).RequireGrad()
		require.NoError(t, w.Sum().Backward())
		params = append(params, w)
	}
	a := newAdam(params...)
	require.NoError(t, a.step())
	r.take()
	other.take()
	require.NoError(t, a.step())
	require.Equal(t, []string{"add s1", "adamw_step s1", "add s2", "adamw_step s2"}, r.take())
	require.Equal(t, []string{"add s0", "adamw_step s0"}, other.take())
	want := data32(t, params[0].Detach())
	for _, p := range params[1:] {
		require.Equal(t, want, data32(t, p.Detach()))
	}
}

// TestFailedStepCountsNothing: whichever launch up to the first update fails, the
// next step does what that one should have done.
func TestFailedStepCountsNothing(t *testing.T) {
	broken := errors.New("broken")
	_, recorder, s1, s2 := onStreams(t)
	// run does three steps, and before that of number at one in which launch n
	// fails.
	run := func(at, n int, places ...tensor.Place) (values []float32) {
		a := newAdam()
		for _, p := range places {
			a.add(tensor.Ones(p, tensor.Float32, 3).RequireGrad())
		}
		d := a.params[0].Device()
		for i := range 3 {
			scope := tensor.NewScope()
			for _, w := range a.params {
				w := w.In(scope)
				require.NoError(t, errors.Join(w.ZeroGrad(), w.Mul(w).Sum().Backward()))
			}
			require.NoError(t, scope.Close()) // not left to the garbage collector, which live shows
			if i == at {
				before, launches := live(d), 0
				restore := d.ReplaceKernels(func(_ kernels.ID, run func() error) error {
					if launches++; launches == n+1 {
						return broken
					}
					return run()
				})
				err := a.step()
				restore()
				require.ErrorIs(t, err, broken, "launch %d", n)
				if n < 4 && at == 0 {
					require.Equal(t, before, live(d), "launch %d", n)
				}
			}
			require.NoError(t, a.step())
		}
		for _, w := range a.params {
			values = append(values, data32(t, w.Detach())...)
			require.NoError(t, w.ZeroGrad())
		}
		require.NoError(t, a.steps.Release())
		for _, w := range slices.Concat(a.params, a.first, a.second) {
			require.NoError(t, w.Release())
		}
		return values
	}
	cpu := newCPU(t)
	require.Equal(t, run(-1, 0, cpu), run(1, 0, cpu))
	want := run(-1, 0, s1, s2)
	for n := range 6 { // a number has two, then one is counted, and an update
		require.Equal(t, want, run(0, n, s1, s2), "launch %d", n)
	}
	for n := range 2 {
		require.Equal(t, want, run(1, n, s1, s2), "launch %d", n)
	}
	require.NoError(t, recorder.Memory().Check())
}
