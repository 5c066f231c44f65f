package nn_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/nn"
	"tarn/tensor"
)

// TestInitialisers: the numbers have PyTorch's deviations, within three parts in
// a hundred, and lie within the bounds of a uniform distribution.
func TestInitialisers(t *testing.T) {
	const in, out = 100, 300
	w := tensor.Zeros(tensor.CPU(), tensor.Float64, in, out).RequireGrad()
	g := tensor.NewGenerator(1)
	for _, c := range []struct {
		name      string
		init      func() error
		deviation float64
		uniform   bool
	}{
		{"kaiming uniform", func() error { return nn.KaimingUniform(w, g, in, 0) }, math.Sqrt(2.0 / in), true},
		{"kaiming uniform, leaky", func() error { return nn.KaimingUniform(w, g, in, math.Sqrt(5)) }, math.Sqrt(1.0 / 3 / in), true},
		{"kaiming normal", func() error { return nn.KaimingNormal(w, g, in, 0) }, math.Sqrt(2.0 / in), false},
		{"xavier uniform", func() error { return nn.XavierUniform(w, g, in, out, 2) }, 2 * math.Sqrt(2.0/(in+out)), true},
		{"xavier normal", func() error { return nn.XavierNormal(w, g, in, out, 1) }, math.Sqrt(2.0 / (in + out)), false},
	} {
		require.NoError(t, c.init(), c.name)
		x, err := tensor.Data[float64](w)
		require.NoError(t, err)
		sum, squares, most := 0.0, 0.0, 0.0
		for _, v := range x {
			sum += v
			squares += v * v
			most = max(most, math.Abs(v))
		}
		require.InDelta(t, 0, sum/in/out, 4*c.deviation/math.Sqrt(in*out), c.name)
		require.InEpsilon(t, c.deviation, math.Sqrt(squares/in/out), 0.03, c.name)
		if c.uniform {
			require.InEpsilon(t, math.Sqrt(3)*c.deviation, most, 0.01, c.name)
		} else {
			require.Greater(t, most, 3*c.deviation, c.name)
		}
	}
	require.ErrorIs(t, nn.KaimingNormal(w, g, 0, 0), tensor.ErrShape)
	require.ErrorIs(t, nn.XavierUniform(w, g, 3, 0, 1), tensor.ErrShape)
	require.True(t, w.RequiresGrad())
}

// TestLinearInit: the distribution is that of NewLinear.
func TestLinearInit(t *testing.T) {
	l, err := nn.NewLinear(tensor.CPU(), tensor.Float32, 25, 40, rand.New(rand.NewPCG(1, 2)))
	require.NoError(t, err)
	require.NoError(t, l.Init(tensor.NewGenerator(3)))
	for _, p := range l.Parameters() {
		x, err := tensor.Data[float32](p.Tensor)
		require.NoError(t, err)
		most := float32(0)
		for _, v := range x {
			most = max(most, v, -v)
		}
		require.LessOrEqual(t, most, float32(0.2))
		require.Greater(t, most, float32(0.18))
	}
}

// TestDropoutModule: it drops in training and passes its input on otherwise.
func TestDropoutModule(t *testing.T) {
	x := tensor.Ones(tensor.CPU(), tensor.Float32, 64)
	d := &nn.Dropout{P: 0.5, From: tensor.NewGenerator(1)}
	s := &nn.Sequential{Modules: []nn.Module{nn.ReLU{}, d}}
	y, err := tensor.Data[float32](s.Forward(x))
	require.NoError(t, err)
	require.Contains(t, y, float32(0))
	require.Contains(t, y, float32(2))
	d.Eval = true
	y, err = tensor.Data[float32](s.Forward(x))
	require.NoError(t, err)
	require.NotContains(t, y, float32(0))
	require.NotContains(t, y, float32(2))
	require.Empty(t, s.Parameters())
}
