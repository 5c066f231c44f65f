package nn_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/internal/fixture"
	"tarn/nn"
	"tarn/tensor"
)

// made makes the layers of layers.py, by their names there.
var made = map[string]func(*maker) nn.Module{
	"Linear":         func(m *maker) nn.Module { return layer(m.t)(nn.NewLinear(m.d, m.dt, 6, 4, m.r)) },
	"Linear/no bias": func(m *maker) nn.Module { return layer(m.t)(nn.NewLinear(m.d, m.dt, 6, 4, m.r, nn.NoBias)) },
	"Conv2D": func(m *maker) nn.Module {
		c := tensor.Conv{Stride: [2]int{2, 1}, Padding: [2]int{1, 0}, Groups: 2}
		return layer(m.t)(nn.NewConv2D(m.d, m.dt, 4, 6, [2]int{3, 2}, c, m.r))
	},
	"Conv2D/no bias": func(m *maker) nn.Module {
		return layer(m.t)(nn.NewConv2D(m.d, m.dt, 4, 3, [2]int{3, 3}, tensor.Conv{Dilation: [2]int{1, 2}}, m.r, nn.NoBias))
	},
	"Conv1D": func(m *maker) nn.Module {
		return layer(m.t)(nn.NewConv1D(m.d, m.dt, 3, 4, 3, tensor.Conv{Stride: [2]int{2}, Padding: [2]int{1}}, m.r))
	},
	"BatchNorm":      func(m *maker) nn.Module { return layer(m.t)(nn.NewBatchNorm(m.d, m.dt, 4)) },
	"BatchNorm/rows": func(m *maker) nn.Module { return layer(m.t)(nn.NewBatchNorm(m.d, m.dt, 6)) },
	"BatchNorm/no running statistics": func(m *maker) nn.Module {
		b := layer(m.t)(nn.NewBatchNorm(m.d, m.dt, 4)).(*nn.BatchNorm)
		b.RunningMean, b.RunningVar = nil, nil
		return b
	},
	"LayerNorm":              func(m *maker) nn.Module { return layer(m.t)(nn.NewLayerNorm(m.d, m.dt, []int{3, 6})) },
	"LayerNorm/no bias":      func(m *maker) nn.Module { return layer(m.t)(nn.NewLayerNorm(m.d, m.dt, []int{6}, nn.NoBias)) },
	"RMSNorm":                func(m *maker) nn.Module { return layer(m.t)(nn.NewRMSNorm(m.d, m.dt, []int{6})) },
	"GroupNorm":              func(m *maker) nn.Module { return layer(m.t)(nn.NewGroupNorm(m.d, m.dt, 2, 4)) },
	"Embedding":              func(m *maker) nn.Module { return layer(m.t)(nn.NewEmbedding(m.d, m.dt, 7, 3, m.r)) },
	"Dropout/after training": func(*maker) nn.Module { return &nn.Dropout{P: 0.5, From: tensor.NewGenerator(1)} },
	"MaxPool2D": func(*maker) nn.Module {
		return nn.MaxPool2D{Kernel: [2]int{2, 3}, Stride: [2]int{1, 2}, Padding: [2]int{1, 0}}
	},
	"AvgPool2D":         func(*maker) nn.Module { return nn.AvgPool2D{Kernel: [2]int{2, 2}} },
	"AdaptiveAvgPool2D": func(*maker) nn.Module { return nn.AdaptiveAvgPool2D{H: 3, W: 2} },
	"Flatten":           func(*maker) nn.Module { return nn.Flatten{} },
	"ReLU":              func(*maker) nn.Module { return nn.ReLU{} },
	"LeakyReLU":         func(*maker) nn.Module { return nn.LeakyReLU{Slope: 0.1} },
	"ELU":               func(*maker) nn.Module { return nn.ELU{Alpha: 1.5} },
	"GELU":              func(*maker) nn.Module { return nn.GELU{} },
	"GELUTanh":          func(*maker) nn.Module { return nn.GELUTanh{} },
	"SiLU":              func(*maker) nn.Module { return nn.SiLU{} },
	"Sigmoid":           func(*maker) nn.Module { return nn.Sigmoid{} },
	"Tanh":              func(*maker) nn.Module { return nn.Tanh{} },
	"Softplus":          func(*maker) nn.Module { return nn.Softplus{Beta: 2, Threshold: 3} },
}

// maker is what layers are made with.
type maker struct {
	t  *testing.T
	d  *tensor.Device
	dt tensor.DType
	r  *rand.Rand
}

// layer returns a function that demands that a layer was made.
func layer(t *testing.T) func(m nn.Module, err error) nn.Module {
	return func(m nn.Module, err error) nn.Module {
		require.NoError(t, err)
		return m
	}
}

// TestLayersAgainstPyTorch calls every layer as layers.py does, and compares
// results, gradients and buffers.
func TestLayersAgainstPyTorch(t *testing.T) {
	f, err := fixture.Load[fixture.Layers]("testdata/torch/layers.json")
	require.NoError(t, err)
	require.Len(t, f.Cases, len(made))
	for name, open := range devices {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			for _, c := range f.Cases {
				for _, dt := range []tensor.DType{tensor.Float32, tensor.Float64} {
					t.Run(c.Name+" "+dt.String(), func(t *testing.T) { checkLayer(t, d, dt, c) })
				}
			}
		})
	}
}

func checkLayer(t *testing.T, d *tensor.Device, dt tensor.DType, c fixture.Layer) {
	require.NotNil(t, made[c.Name])
	m := made[c.Name](&maker{t: t, d: d, dt: dt, r: rand.New(rand.NewPCG(1, 2))})
	state := nn.State(m)
	require.Len(t, state, len(c.State))
	for i, p := range state {
		require.Equal(t, c.State[i].Name, p.Name)
		require.Equal(t, dt, p.DType())
		require.NoError(t, p.NoGrad().CopyInPlace(load(d, c.State[i].Value)))
	}
	const tolerance = 1e-5 // the values are float32
	for _, call := range c.Calls {
		if nn.Train(m); !call.Training {
			nn.Eval(m)
		}
		x := load(d, call.X)
		if call.DX != nil {
			x = x.To(dt).RequireGrad()
		}
		y := m.Forward(x)
		near(t, "y", call.Y, y, tolerance)
		require.Equal(t, dt, y.DType())
		require.NoError(t, y.BackwardWith(load(d, call.Upstream).To(dt)))
		if call.DX != nil {
			near(t, "dx", call.DX, x.Grad(), tolerance)
		}
		require.Len(t, m.Parameters(), len(call.Grads))
		for i, p := range m.Parameters() {
			near(t, p.Name, call.Grads[i].Value, p.Grad(), tolerance)
			require.NoError(t, p.ZeroGrad())
		}
		for i, p := range state[len(call.Grads):] {
			near(t, p.Name, call.Buffers[i].Value, p.Tensor, tolerance)
		}
	}
	require.NoError(t, nn.Release(m))
	for _, p := range state {
		require.ErrorIs(t, p.MulScalar(2).Err(), tensor.ErrReleased)
	}
}

// TestLayersBadSizes: no layer is made, and nothing is left of it.
func TestLayersBadSizes(t *testing.T) {
	d, r := newDevice(t), rand.New(rand.NewPCG(1, 2))
	const dt = tensor.Float32
	for name, f := range map[string]func() (nn.Module, error){
		"Linear":       func() (nn.Module, error) { return nn.NewLinear(d, dt, 0, 3, r) },
		"Conv2D":       func() (nn.Module, error) { return nn.NewConv2D(d, dt, 3, 3, [2]int{3, 0}, tensor.Conv{}, r) },
		"Conv2D(4, 6":  func() (nn.Module, error) { return nn.NewConv2D(d, dt, 4, 6, [2]int{3, 3}, tensor.Conv{Groups: 4}, r) },
		"Conv1D":       func() (nn.Module, error) { return nn.NewConv1D(d, dt, 3, 3, 0, tensor.Conv{}, r) },
		"BatchNorm":    func() (nn.Module, error) { return nn.NewBatchNorm(d, dt, 0) },
		"LayerNorm":    func() (nn.Module, error) { return nn.NewLayerNorm(d, dt, nil) },
		"RMSNorm":      func() (nn.Module, error) { return nn.NewRMSNorm(d, dt, []int{2, -1}) },
		"GroupNorm":    func() (nn.Module, error) { return nn.NewGroupNorm(d, dt, 2, 3) },
		"Embedding(0,": func() (nn.Module, error) { return nn.NewEmbedding(d, dt, 0, 3, r) },
	} {
		_, err := f()
		require.ErrorIs(t, err, tensor.ErrShape, name)
		require.ErrorContains(t, err, "nn: "+name)
	}
	for name, f := range map[string]func() (nn.Module, error){
		"Conv2D":    func() (nn.Module, error) { return nn.NewConv2D(d, tensor.Int64, 3, 3, [2]int{3, 3}, tensor.Conv{}, r) },
		"BatchNorm": func() (nn.Module, error) { return nn.NewBatchNorm(d, tensor.Int64, 3) },
		"Embedding": func() (nn.Module, error) { return nn.NewEmbedding(d, tensor.Int64, 3, 3, r) },
	} {
		_, err := f()
		require.ErrorIs(t, err, tensor.ErrDType, name)
	}
	require.NoError(t, d.Close(), "nothing is left")
}
