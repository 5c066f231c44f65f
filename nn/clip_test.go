package nn_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/nn"
	"tarn/tensor"
)

// number is a float of a fixture, where infinities and NaNs are strings.
type number float64

func (n *number) UnmarshalJSON(text []byte) error {
	if s, err := strconv.Unquote(string(text)); err == nil {
		text = []byte(s)
	}
	v, err := strconv.ParseFloat(string(text), 64)
	*n = number(v)
	return err
}

type clipCase struct {
	Name           string
	P, Max, Norm   number
	Given, Clipped [][]number
}

func clipCases(t *testing.T) (cases []clipCase) {
	text, err := os.ReadFile("testdata/torch/clip.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &cases))
	return cases
}

// withGradients returns parameters on d that have the given gradients.
func withGradients(t *testing.T, d *tensor.Device, grads [][]number) (ps []nn.Parameter) {
	for i, g := range grads {
		values := make([]float32, len(g))
		for k := range g {
			values[k] = float32(g[k])
		}
		p := tensor.Zeros(d, tensor.Float32, len(g)).RequireGrad()
		up := tensor.FromSlice(d, values)
		require.NoError(t, p.BackwardWith(up))
		require.NoError(t, up.Release())
		ps = append(ps, nn.Parameter{Name: fmt.Sprint("p", i), Tensor: p})
	}
	return ps
}

func requireGradients(t *testing.T, want [][]number, ps []nn.Parameter) {
	t.Helper()
	for i, p := range ps {
		got, err := tensor.Data[float32](p.Grad())
		require.NoError(t, err)
		for k, w := range want[i] {
			if w := float64(w); math.IsNaN(w) {
				require.True(t, math.IsNaN(float64(got[k])))
			} else {
				require.InDelta(t, w, float64(got[k]), 3e-6*math.Abs(w)+1e-30, "%s[%d]", p.Name, k)
			}
		}
	}
}

// TestClippingAsPyTorch: norms and gradients are PyTorch's, except that a norm
// that is not finite is an error that changes nothing.
func TestClippingAsPyTorch(t *testing.T) {
	for name, open := range devices {
		t.Run(name, func(t *testing.T) { checkClipping(t, open(t)) })
	}
}

func checkClipping(t *testing.T, d *tensor.Device) {
	for _, c := range clipCases(t) {
		t.Run(fmt.Sprintf("%s p=%v max=%v", c.Name, c.P, c.Max), func(t *testing.T) {
			ps := withGradients(t, d, c.Given)
			before := d.Memory().Stats().AllocatedBytes.All.Current
			switch {
			case c.P == 0:
				require.NoError(t, nn.ClipGradValue(ps, float64(c.Max)))
				requireGradients(t, c.Clipped, ps)
			case math.IsNaN(float64(c.Norm)) || math.IsInf(float64(c.Norm), 0):
				norm, err := nn.ClipGradNorm(ps, float64(c.Max), float64(c.P))
				require.ErrorIs(t, err, nn.ErrNotFinite)
				require.Equal(t, fmt.Sprint(c.Norm), fmt.Sprint(number(norm)))
				requireGradients(t, c.Given, ps)
			default:
				norm, err := nn.ClipGradNorm(ps, float64(c.Max), float64(c.P))
				require.NoError(t, err)
				require.InEpsilon(t, 1+float64(c.Norm), 1+norm, 3e-6)
				requireGradients(t, c.Clipped, ps)
			}
			require.LessOrEqual(t, d.Memory().Stats().AllocatedBytes.All.Current, before)
		})
	}
}

func TestClippingManyShapesAndDTypes(t *testing.T) {
	for name, open := range devices {
		t.Run(name, func(t *testing.T) { checkClippingMany(t, open(t)) })
	}
}

func checkClippingMany(t *testing.T, d *tensor.Device) {
	scalar := tensor.Full(d, tensor.Float64, 2).RequireGrad()
	matrix := tensor.Full(d, tensor.Float32, 3, 2, 2).RequireGrad()
	empty := tensor.Zeros(d, tensor.Float32, 0, 3).RequireGrad()
	unreached := tensor.Ones(d, tensor.Float32, 5).RequireGrad()
	for _, p := range []*tensor.Tensor{scalar, matrix, empty} {
		require.NoError(t, p.Mul(p).Sum().Backward())
	}
	ps := []nn.Parameter{{Name: "scalar", Tensor: scalar}, {Name: "matrix", Tensor: matrix},
		{Name: "empty", Tensor: empty}, {Name: "unreached", Tensor: unreached}}
	norm, err := nn.ClipGradNorm(ps, 1, 2)
	require.NoError(t, err)
	require.InDelta(t, math.Sqrt(16+4*36), norm, 1e-6)
	norm, err = nn.ClipGradNorm(ps, 1, 2)
	require.NoError(t, err)
	require.InDelta(t, 1, norm, 1e-6)
	require.NoError(t, nn.ClipGradValue(ps, 0.25))
	norm, err = nn.ClipGradNorm(ps, 1, math.Inf(1))
	require.NoError(t, err)
	require.Equal(t, 0.25, norm)
	require.Nil(t, unreached.Grad())

	norm, err = nn.ClipGradNorm(nil, 1, 2)
	require.NoError(t, err)
	require.Zero(t, norm)
	for _, bad := range [][2]float64{{-1, 2}, {math.NaN(), 2}, {1, 0}, {1, -2}, {1, math.NaN()}} {
		_, err = nn.ClipGradNorm(ps, bad[0], bad[1])
		require.ErrorIs(t, err, nn.ErrHyperparameter)
	}
	require.ErrorIs(t, nn.ClipGradValue(ps, -1), nn.ErrHyperparameter)
	require.NoError(t, matrix.Release())
	_, err = nn.ClipGradNorm(ps, 1, 2)
	require.NoError(t, err, "without its gradient it counts as 0")
}

// TestClippingOnTwoDevices: the norm is over both.
func TestClippingOnTwoDevices(t *testing.T) {
	for name, open := range devices {
		t.Run(name, func(t *testing.T) { checkClippingOnTwo(t, tensor.CPU(), open(t)) })
	}
}

func checkClippingOnTwo(t *testing.T, a, b *tensor.Device) {
	ps := append(withGradients(t, a, [][]number{{3}}), withGradients(t, b, [][]number{{-4}})...)
	norm, err := nn.ClipGradNorm(ps, 2.5, 2)
	require.NoError(t, err)
	require.InDelta(t, 5, norm, 1e-6)
	requireGradients(t, [][]number{{1.5}, {-2}}, ps)
}
