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

// TestInit: Init draws from the distribution of the constructor, whose bound for 25
// elements is PyTorch's 1/5.
func TestInit(t *testing.T) {
	const f32 = tensor.Float32
	d, r := tensor.CPU(), rand.New(rand.NewPCG(1, 2))
	for name, f := range map[string]func() (nn.Module, error){
		"Linear": func() (nn.Module, error) { return nn.NewLinear(d, f32, 25, 60, r) },
		"Conv2D": func() (nn.Module, error) { return nn.NewConv2D(d, f32, 2, 60, [2]int{5, 5}, tensor.Conv{Groups: 2}, r) },
		"Conv1D": func() (nn.Module, error) { return nn.NewConv1D(d, f32, 5, 60, 5, tensor.Conv{}, r) },
	} {
		l, err := f()
		require.NoError(t, err)
		require.Len(t, l.Parameters(), 2)
		checkBound(t, name+" made", l, 0.2)
		require.NoError(t, l.(interface{ Init(*tensor.Generator) error }).Init(tensor.NewGenerator(3)))
		checkBound(t, name+" drawn anew", l, 0.2)
	}
}

// checkBound demands that each parameter comes near to the bound and not beyond it.
func checkBound(t *testing.T, what string, m nn.Module, bound float32) {
	t.Helper()
	for _, p := range m.Parameters() {
		x, err := tensor.Data[float32](p.Tensor)
		require.NoError(t, err)
		most := float32(0)
		for _, v := range x {
			most = max(most, v, -v)
		}
		require.LessOrEqual(t, most, bound, "%s: %s", what, p.Name)
		require.Greater(t, most, 0.9*bound, "%s: %s", what, p.Name)
	}
}

// TestEmbeddingInit: rows are normal with a deviation of 1, as PyTorch's.
func TestEmbeddingInit(t *testing.T) {
	e, err := nn.NewEmbedding(tensor.CPU(), tensor.Float64, 100, 50, rand.New(rand.NewPCG(1, 2)))
	require.NoError(t, err)
	mean, err := e.Weight.NoGrad().Mean().Item()
	require.NoError(t, err)
	deviation, err := e.Weight.NoGrad().Std(1).Item()
	require.NoError(t, err)
	require.InDelta(t, 0, mean, 0.05)
	require.InDelta(t, 1, deviation, 0.05)
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
