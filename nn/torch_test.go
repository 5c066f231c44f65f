package nn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/internal/fixture"
	"tarn/nn"
	"tarn/tensor"
)

// devices are what the tests with PyTorch's numbers run on; graph_cgo_test.go
// adds one.
var devices = map[string]func(t *testing.T) *tensor.Device{
	"cpu": func(*testing.T) *tensor.Device { return tensor.CPU() },
}

// TestThreeStepsAgainstPyTorch trains a small MLP on the fixtures' data and
// compares loss, gradients and weights after every step.
func TestThreeStepsAgainstPyTorch(t *testing.T) {
	for name, open := range devices {
		t.Run(name, func(t *testing.T) { threeStepsOn(t, open(t)) })
	}
}

func threeStepsOn(t *testing.T, dev *tensor.Device) {
	files, err := filepath.Glob("testdata/torch/three_steps_*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		f, err := fixture.Load[fixture.Training](file)
		require.NoError(t, err)
		for _, run := range f.Runs {
			t.Run(filepath.Base(file)+" "+run.DType, func(t *testing.T) {
				if run.DType == "float32" {
					threeSteps(t, dev, f, run, tensor.Float32, 1e-5)
				} else {
					threeSteps(t, dev, f, run, tensor.Float64, 1e-12)
				}
			})
		}
	}
}

func threeSteps(t *testing.T, dev *tensor.Device, f *fixture.Training, run fixture.Run, dt tensor.DType, tolerance float64) {
	model := modelOf(dev, f, dt)
	defer func() { require.NoError(t, nn.Release(model)) }()
	opt := optimizerOf(t, f.Optimizer, model.Parameters())
	weights := tolerance
	if f.Optimizer.Name == "adamw" && dt == tensor.Float32 {
		weights = 1e-4 // a gradient near 0 has any sign, and Adam makes it a whole step
	}
	for i, step := range run.Steps {
		s := tensor.NewScope()
		x := load(dev.In(s), f.Batches[i].X).To(dt)
		loss := nn.CrossEntropy(model.Forward(x), load(dev.In(s), f.Batches[i].Labels))
		require.NoError(t, opt.ZeroGrad())
		require.NoError(t, loss.Backward())
		for k, p := range model.Parameters() {
			near(t, fmt.Sprintf("step %d: gradient of %s", i, p.Name), step.Params[k].Grad, p.Grad(), tolerance)
		}
		require.NoError(t, opt.Step())
		near(t, fmt.Sprintf("step %d: loss", i), step.Loss, loss, tolerance)
		for k, p := range model.Parameters() {
			require.Equal(t, step.Params[k].Name, p.Name)
			near(t, fmt.Sprintf("step %d: %s", i, p.Name), step.Params[k].Value, p.Tensor, weights)
		}
		require.NoError(t, s.Close())
	}
}

func modelOf(dev *tensor.Device, f *fixture.Training, dt tensor.DType) *nn.Sequential {
	model := nn.NewSequential()
	for i := 0; i < len(f.Params); i += 2 {
		if i > 0 {
			model.Modules = append(model.Modules, nn.ReLU{})
		}
		model.Modules = append(model.Modules, &nn.Linear{
			Weight: load(dev, f.Params[i].Value).To(dt).RequireGrad(),
			Bias:   load(dev, f.Params[i+1].Value).To(dt).RequireGrad(),
		})
	}
	return model
}

func optimizerOf(t *testing.T, o fixture.Optimizer, params []nn.Parameter) nn.Optimizer {
	if o.Name == "adamw" {
		opt, err := nn.NewAdamW(params, nn.AdamWOptions{LR: o.LR, Beta1: o.Betas[0], Beta2: o.Betas[1], Eps: o.Eps, WeightDecay: o.WeightDecay})
		require.NoError(t, err)
		return opt
	}
	opt, err := nn.NewSGD(params, nn.SGDOptions{LR: o.LR, Momentum: o.Momentum, Dampening: o.Dampening,
		WeightDecay: o.WeightDecay, Nesterov: o.Nesterov})
	require.NoError(t, err)
	return opt
}

func load(p tensor.Place, v *fixture.Tensor) *tensor.Tensor {
	shape := make([]int, len(v.Shape))
	for i, n := range v.Shape {
		shape[i] = int(n)
	}
	if !v.IsFloat() {
		return tensor.FromSlice(p, v.Int64s(), shape...)
	}
	if v.DType == "float64" {
		return tensor.FromSlice(p, v.Float64s(), shape...)
	}
	return tensor.FromSlice(p, v.Float32s(), shape...)
}

// near demands max|d| <= tolerance * max|want|.
func near(t *testing.T, what string, want *fixture.Tensor, got *tensor.Tensor, tolerance float64) {
	t.Helper()
	require.NotNil(t, got, what)
	data, err := tensor.Data[float64](got.To(tensor.Float64))
	require.NoError(t, err, what)
	require.Len(t, data, want.Len(), what)
	largest, worst := 0.0, 0.0
	for i, w := range want.Float64s() {
		largest, worst = max(largest, math.Abs(w)), max(worst, math.Abs(w-data[i]))
	}
	require.LessOrEqual(t, worst, tolerance*largest, "%s: off by %g of %g", what, worst, largest)
}

// TestKaimingBoundsAgainstPyTorch compares the bounds of the initialisation.
func TestKaimingBoundsAgainstPyTorch(t *testing.T) {
	ops, err := fixture.Load[fixture.Ops]("../tensor/testdata/torch/ops.json")
	require.NoError(t, err)
	n := 0
	for _, c := range ops.Cases {
		if c.Op != "kaiming_uniform_bounds" {
			continue
		}
		n++
		for _, bound := range c.Output.Float64s() {
			require.InEpsilon(t, bound, nn.KaimingUniformBound(c.Attrs.FanIn), 1e-15, c.Name)
		}
	}
	require.NotZero(t, n)

	l, err := nn.NewLinear(tensor.CPU(), tensor.Float64, 100, 200, rand.New(rand.NewPCG(1, 2)))
	require.NoError(t, err)
	data, err := tensor.Data[float64](l.Weight)
	require.NoError(t, err)
	sum, squares := 0.0, 0.0
	for _, v := range data {
		require.LessOrEqual(t, math.Abs(v), 0.1)
		sum += v
		squares += v * v
	}
	require.InDelta(t, 0, sum/float64(len(data)), 2e-3)
	require.InEpsilon(t, 0.1*0.1/3, squares/float64(len(data)), 0.03, "the variance of a uniform distribution")
}
