package nn_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/memory"
	"tarn/nn"
	"tarn/tensor"
)

func TestBadHyperparameters(t *testing.T) {
	m := mlp(t, newDevice(t), []int{2, 3, 2})
	params := m.Parameters()
	good := nn.DefaultAdamW()
	for name, f := range map[string]func() error{
		"no parameters":              func() error { _, err := nn.NewSGD(nil, nn.SGDOptions{LR: 1}); return err },
		"negative rate":              func() error { _, err := nn.NewSGD(params, nn.SGDOptions{LR: -1}); return err },
		"NaN rate":                   func() error { _, err := nn.NewSGD(params, nn.SGDOptions{LR: math.NaN()}); return err },
		"momentum":                   func() error { _, err := nn.NewSGD(params, nn.SGDOptions{LR: 1, Momentum: -1}); return err },
		"nesterov":                   func() error { _, err := nn.NewSGD(params, nn.SGDOptions{LR: 1, Nesterov: true}); return err },
		"beta":                       func() error { o := good; o.Beta1 = 1; _, err := nn.NewAdamW(params, o); return err },
		"a literal without defaults": func() error { _, err := nn.NewAdamW(params, nn.AdamWOptions{LR: 1e-3}); return err },
		"eps":                        func() error { o := good; o.Eps = -1; _, err := nn.NewAdamW(params, o); return err },
		"not a parameter": func() error {
			_, err := nn.NewSGD([]nn.Parameter{{Name: "x", Tensor: tensor.Ones(tensor.CPU(), tensor.Float32, 1)}}, nn.SGDOptions{LR: 1})
			return err
		},
		"the same one twice": func() error { _, err := nn.NewSGD(append(params, params[0]), nn.SGDOptions{LR: 1}); return err },
	} {
		require.ErrorIs(t, f(), nn.ErrHyperparameter, name)
	}
	broken := nn.Parameter{Name: "x", Tensor: tensor.Zeros(tensor.CPU(), tensor.Float32, -1)}
	_, err := nn.NewSGD([]nn.Parameter{broken}, nn.SGDOptions{LR: 1})
	require.ErrorIs(t, err, tensor.ErrShape)
}

// TestStepWithoutBackward is an error, not a model that never learns.
func TestStepWithoutBackward(t *testing.T) {
	m := mlp(t, newDevice(t), []int{2, 3, 2})
	for _, name := range []string{"sgd", "sgd_momentum", "adamw"} {
		require.ErrorIs(t, optimizerNamed(t, name, m.Parameters()).Step(), nn.ErrNoGradients)
	}
}

// TestFailedStepChangesNothing: the state does not fit, so no parameter moves.
func TestFailedStepChangesNothing(t *testing.T) {
	d := newDeviceOf(t, memory.Config{Limit: 100 << 20})
	w := tensor.Ones(d, tensor.Float32, 4<<20).RequireGrad()
	v := tensor.Ones(d, tensor.Float32, 4<<20).RequireGrad()
	s := tensor.NewScope()
	require.NoError(t, w.In(s).Mul(v).Sum().Backward())
	require.NoError(t, s.Close())
	before := d.Memory().Stats().AllocatedBytes.All.Current
	opt, err := nn.NewAdamW([]nn.Parameter{{Name: "w", Tensor: w}, {Name: "v", Tensor: v}}, nn.DefaultAdamW())
	require.NoError(t, err)
	var oom *memory.OutOfMemoryError
	require.ErrorAs(t, opt.Step(), &oom)
	sum := w.NoGrad().Sum()
	got, err := sum.Item()
	require.NoError(t, err)
	require.NoError(t, sum.Release())
	require.EqualValues(t, 4<<20, got)
	require.NoError(t, opt.Release())
	require.Equal(t, before, d.Memory().Stats().AllocatedBytes.All.Current)
}

func TestLinearRefusesBadSizes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, s := range [][2]int{{0, 1}, {1, 0}, {-1, 2}} {
		_, err := nn.NewLinear(tensor.CPU(), tensor.Float32, s[0], s[1], r)
		require.ErrorIs(t, err, tensor.ErrShape)
	}
	_, err := nn.NewLinear(tensor.CPU(), tensor.Int64, 2, 2, r)
	require.ErrorIs(t, err, tensor.ErrDType)
}

// TestReleaseGivesAllBack: a model, its gradients and its optimiser's state.
func TestReleaseGivesAllBack(t *testing.T) {
	d := newDevice(t)
	m := mlp(t, d, []int{20, 10, 5})
	opt := optimizerNamed(t, "adamw", m.Parameters())
	x, y := examples(d, 8, 20, 5)
	for range 3 {
		require.NoError(t, step(m, opt, x, y))
	}
	require.NoError(t, opt.(*nn.AdamW).Release())
	require.NoError(t, nn.Release(m))
	require.NoError(t, x.Release())
	require.NoError(t, y.Release())
	require.Zero(t, d.Memory().Stats().AllocatedBytes.All.Current)
	require.NoError(t, d.Close())
}

// TestSequentialFusesAndNamesParameters compares the fused forward with the
// plain ops.
func TestSequentialFusesAndNamesParameters(t *testing.T) {
	d := newDevice(t)
	m := mlp(t, d, []int{4, 6, 3})
	x, _ := examples(d, 5, 4, 3)
	var names []string
	for _, p := range m.Parameters() {
		names = append(names, p.Name)
	}
	require.Equal(t, []string{"0.weight", "0.bias", "2.weight", "2.bias"}, names)
	l0, l2 := m.Modules[0].(*nn.Linear), m.Modules[2].(*nn.Linear)
	want, err := tensor.Data[float32](x.MatMul(l0.Weight).Add(l0.Bias).ReLU().MatMul(l2.Weight).Add(l2.Bias))
	require.NoError(t, err)
	got, err := tensor.Data[float32](m.Forward(x))
	require.NoError(t, err)
	require.InDeltaSlice(t, want, got, 1e-6)
	same := nn.NewSequential().Forward(x)
	require.NoError(t, x.Release())
	require.NoError(t, same.Err(), "nothing in a row is the input, on a handle of its own")
}

// TestLateParameter: a parameter whose first gradient comes late starts as
// fresh as in PyTorch, whatever the others have been through.
func TestLateParameter(t *testing.T) {
	late := func(name string, others int) float64 {
		d := newDevice(t)
		u := tensor.Ones(d, tensor.Float64, 1).RequireGrad()
		w := tensor.Ones(d, tensor.Float64, 1).RequireGrad()
		var opt nn.Optimizer
		var err error
		params := []nn.Parameter{{Name: "u", Tensor: u}, {Name: "w", Tensor: w}}
		if name == "adamw" {
			opt, err = nn.NewAdamW(params, nn.DefaultAdamW())
		} else {
			opt, err = nn.NewSGD(params, nn.SGDOptions{LR: 0.1, Momentum: 0.9, Dampening: 0.5})
		}
		require.NoError(t, err)
		for range others {
			require.NoError(t, u.Sum().Backward())
			require.NoError(t, opt.Step())
			require.NoError(t, opt.ZeroGrad())
		}
		require.NoError(t, u.Add(w).Sum().Backward())
		require.NoError(t, opt.Step())
		v, err := w.Item()
		require.NoError(t, err)
		return v
	}
	for _, name := range []string{"adamw", "sgd"} {
		require.Equal(t, late(name, 0), late(name, 5), name)
	}
}
