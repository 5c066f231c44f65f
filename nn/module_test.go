package nn_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/nn"
	"tarn/tensor"
)

// residual is x plus what its parts make of x, times a factor of its own.
type residual struct {
	nn.Parts
	factor *tensor.Tensor
}

func (r *residual) Forward(x *tensor.Tensor) *tensor.Tensor {
	h := x
	for _, p := range r.Parts {
		h = p.Forward(h)
	}
	return x.Add(h.Mul(r.factor))
}

func (r *residual) Parameters() []nn.Parameter {
	return append([]nn.Parameter{{Name: "factor", Tensor: r.factor}}, r.Parts.Parameters()...)
}

func newResidual(t *testing.T, d *tensor.Device) *residual {
	norm, err := nn.NewBatchNorm(d, tensor.Float32, 3)
	require.NoError(t, err)
	up, err := nn.NewLinear(d, tensor.Float32, 3, 3, rand.New(rand.NewPCG(1, 2)))
	require.NoError(t, err)
	return &residual{factor: tensor.Ones(d, tensor.Float32, 1).RequireGrad(), Parts: nn.Parts{
		{Name: "norm", Module: norm}, {Name: "up", Module: up}, {Name: "again", Module: up},
		{Name: "drop", Module: &nn.Dropout{P: 0.5, From: tensor.NewGenerator(1)}}}}
}

func names(params []nn.Parameter) []string {
	var all []string
	for _, p := range params {
		all = append(all, p.Name)
	}
	return all
}

// TestPartsOfParts: names go by the parts on the way, a shared tensor is there once,
// buffers come last, and the modes reach every part.
func TestPartsOfParts(t *testing.T) {
	d := newDevice(t)
	inner := newResidual(t, d)
	m := nn.NewSequential(nn.Flatten{}, inner)
	params := []string{"1.factor", "1.norm.weight", "1.norm.bias", "1.up.weight", "1.up.bias"}
	require.Equal(t, params, names(m.Parameters()))
	require.Equal(t, append(params, "1.norm.running_mean", "1.norm.running_var"), names(nn.State(m)))

	norm, drop := inner.Parts[0].Module.(*nn.BatchNorm), inner.Parts[3].Module.(*nn.Dropout)
	nn.Eval(m)
	require.True(t, norm.Eval && drop.Eval)
	nn.Train(m)
	require.False(t, norm.Eval || drop.Eval)

	require.NoError(t, m.Forward(tensor.Ones(d, tensor.Float32, 4, 3)).Sum().Backward())
	_, err := nn.NewSGD(m.Parameters(), nn.SGDOptions{LR: 0.1})
	require.NoError(t, err, "no tensor is there twice")
	require.NoError(t, nn.Release(m))
	require.Error(t, inner.factor.MulScalar(2).Err())
	require.Error(t, norm.RunningVar.MulScalar(2).Err())
}

// TestFunc: a function among modules, also one that returns what it got.
func TestFunc(t *testing.T) {
	d := newDevice(t)
	same := nn.Func(func(x *tensor.Tensor) *tensor.Tensor { return x })
	m := nn.NewSequential(same, nn.Func((*tensor.Tensor).Exp), same, nn.Tanh{})
	require.Empty(t, m.Parameters())
	x := tensor.FromSlice(d, []float32{0, 1})
	y := m.Forward(x)
	want, err := tensor.Data[float32](x.Exp().Tanh())
	require.NoError(t, err)
	got, err := tensor.Data[float32](y)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.NoError(t, x.Err())
}
