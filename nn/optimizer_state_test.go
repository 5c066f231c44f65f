package nn_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/nn"
	"tarn/tensor"
)

// stateful are the optimisers, over a model's parameters.
var stateful = map[string]func(params []nn.Parameter) (nn.Stateful, error){
	"adamw": func(ps []nn.Parameter) (nn.Stateful, error) { return nn.NewAdamW(ps, nn.DefaultAdamW()) },
	"momentum": func(ps []nn.Parameter) (nn.Stateful, error) {
		return nn.NewSGD(ps, nn.SGDOptions{LR: 0.1, Momentum: 0.9, Dampening: 0.5})
	},
	"sgd": func(ps []nn.Parameter) (nn.Stateful, error) { return nn.NewSGD(ps, nn.SGDOptions{LR: 0.1}) },
}

// TestResume: a training that was saved goes on to the last bit as one that was not,
// also where a parameter had no gradient so far, and where the new optimiser had
// done other steps.
func TestResume(t *testing.T) {
	for name, open := range devices {
		for kind, make := range stateful {
			t.Run(name+" "+kind, func(t *testing.T) { resume(t, open(t), make) })
		}
	}
}

func resume(t *testing.T, d *tensor.Device, make func(params []nn.Parameter) (nn.Stateful, error)) {
	begin := func() (*nn.Sequential, nn.Stateful) {
		m := mlp(t, d, []int{5, 7, 3})
		opt, err := make(m.Parameters())
		require.NoError(t, err)
		return m, opt
	}
	steps := func(m *nn.Sequential, opt nn.Stateful, n int, last bool) {
		g := tensor.NewGenerator(5)
		for range n {
			x := tensor.Randn(d, g, tensor.Float32, 4, 5)
			require.NoError(t, opt.ZeroGrad())
			h := m.Modules[0].Forward(x)
			if last {
				h = m.Modules[2].Forward(h)
			}
			require.NoError(t, h.Mul(h).Sum().Backward())
			require.NoError(t, opt.Step())
		}
	}
	m, opt := begin()
	steps(m, opt, 3, false)
	var saved bytes.Buffer
	require.NoError(t, nn.Save(&saved, m, opt))
	steps(m, opt, 2, true)

	other, its := begin()
	steps(other, its, 1, true)
	r := bytes.NewReader(saved.Bytes())
	require.NoError(t, nn.Load(r, r.Size(), other, its))
	steps(other, its, 2, true)
	params := other.Parameters()
	for i, p := range m.Parameters() {
		require.Equal(t, data(t, p.Tensor), data(t, params[i].Tensor), p.Name)
	}

	require.NoError(t, nn.Load(r, r.Size(), other), "without an optimiser")
	for _, o := range []nn.Stateful{opt, its} {
		require.NoError(t, o.SetState(nil))
		state, err := o.State()
		require.NoError(t, err)
		require.Empty(t, state)
		require.NoError(t, o.Release())
	}
}

// TestSetStateRefuses: a state that does not fit changes nothing, and leaves nothing.
func TestSetStateRefuses(t *testing.T) {
	d := newDevice(t)
	m := mlp(t, d, []int{2, 3})
	adam, err := nn.NewAdamW(m.Parameters(), nn.DefaultAdamW())
	require.NoError(t, err)
	sgd, err := nn.NewSGD(m.Parameters(), nn.SGDOptions{LR: 0.1, Momentum: 0.9})
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, m.Forward(tensor.Ones(d, tensor.Float32, 1, 2)).Sum().Backward())
		require.NoError(t, adam.Step())
		require.NoError(t, sgd.Step())
	}
	cpu, f32 := tensor.CPU(), tensor.Float32
	moment, step := tensor.Ones(cpu, f32, 2, 3), tensor.FromSlice(cpu, []int64{4})
	live := d.Memory().Stats().AllocatedBytes.All.Current
	for name, c := range map[string]struct {
		to    nn.Stateful
		state []nn.Parameter
		says  string
	}{
		"unknown": {sgd, []nn.Parameter{{Name: "momentum_buffer.0.weight", Tensor: moment}, {Name: "exp_avg.0.weight", Tensor: moment}}, "exp_avg.0.weight for nothing"},
		"shape":   {sgd, []nn.Parameter{{Name: "momentum_buffer.0.bias", Tensor: moment}}, "[2, 3], not float32 [3]"},
		"part":    {adam, []nn.Parameter{{Name: "exp_avg.0.weight", Tensor: moment}, {Name: "step.0.weight", Tensor: step}}, "only a part"},
		"steps": {adam, []nn.Parameter{{Name: "exp_avg.0.weight", Tensor: moment}, {Name: "exp_avg_sq.0.weight", Tensor: moment},
			{Name: "step.0.weight", Tensor: tensor.FromSlice(cpu, []int64{-4})}}, "step of 0.weight is [-4]"},
	} {
		err := c.to.SetState(c.state)
		require.ErrorIs(t, err, nn.ErrState, name)
		require.ErrorContains(t, err, c.says)
	}
	require.Equal(t, live, d.Memory().Stats().AllocatedBytes.All.Current)
	state, err := adam.State()
	require.NoError(t, err)
	require.Len(t, state, 6)
	for _, p := range state[4:] {
		n, err := tensor.Data[int64](p.Tensor)
		require.NoError(t, err)
		require.Equal(t, []int64{2}, n, p.Name)
	}
}
