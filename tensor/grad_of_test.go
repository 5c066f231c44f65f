package tensor_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

type tensors = []*tensor.Tensor

// trial is a gradient case on a device: leaves, the function's result, and an
// upstream that differs at every element.
type trial struct {
	leaves tensors
	y, up  *tensor.Tensor
}

func (c gradCase) try(t *testing.T, d *tensor.Device, f func(in tensors) *tensor.Tensor) trial {
	r := rand.New(rand.NewPCG(7, 11))
	draw := c.draw
	if draw == nil {
		draw = (*rand.Rand).NormFloat64
	}
	numbers := func(n int) []float64 {
		data := make([]float64, n)
		for i := range data {
			data[i] = draw(r)
		}
		return data
	}
	var k trial
	for _, s := range c.shapes {
		k.leaves = append(k.leaves, tensor.FromSlice(d, numbers(tensor.Shape(s).Len()), s...).RequireGrad())
	}
	k.y = f(k.leaves)
	require.NoError(t, k.y.Err())
	k.up = tensor.FromSlice(d, numbers(k.y.Len()), k.y.Shape()...)
	return k
}

// grads returns the gradients of leaves as numbers, nil for none.
func grads(t *testing.T, ts tensors) (all [][]float64) {
	for _, x := range ts {
		if x.Grad() == nil {
			all = append(all, nil)
			continue
		}
		all = append(all, data64(t, x.Grad()))
	}
	return all
}

// TestEachWayToAGradient: all ways give, for each op, the very bits of a plain
// Backward, which is checked against finite differences elsewhere.
func TestEachWayToAGradient(t *testing.T) { onDevices(t, checkEachWay) }

func checkEachWay(t *testing.T, d *tensor.Device) {
	for _, c := range gradCases() {
		t.Run(c.name, func(t *testing.T) {
			plain := c.try(t, d, c.f)
			require.NoError(t, plain.y.BackwardWith(plain.up))
			want := grads(t, plain.leaves)

			asked := c.try(t, d, c.f)
			got, err := tensor.Grad(tensors{asked.y}, asked.leaves, tensors{asked.up}, tensor.Retain)
			require.NoError(t, err)
			for i, g := range got {
				require.Equal(t, want[i], data64(t, g), "Grad, input %d", i)
				require.Nil(t, asked.leaves[i].Grad())
				one, err := tensor.Grad(tensors{asked.y}, tensors{asked.leaves[i]}, tensors{asked.up}, tensor.Retain)
				require.NoError(t, err)
				require.Equal(t, want[i], data64(t, one[0]), "Grad of input %d alone", i)
			}
			require.NoError(t, asked.y.BackwardWith(asked.up, tensor.Retain))
			require.Equal(t, want, grads(t, asked.leaves), "a retained graph, walked again")

			point := c.try(t, d, func(in tensors) *tensor.Tensor { return tensor.Checkpoint(variadic(c.f), in...) })
			require.Equal(t, data64(t, plain.y), data64(t, point.y))
			require.NoError(t, point.y.BackwardWith(point.up))
			require.Equal(t, want, grads(t, point.leaves), "Checkpoint")

			hooked := c.try(t, d, c.f)
			for _, l := range hooked.leaves {
				_, err := l.OnGrad(func(g *tensor.Tensor) *tensor.Tensor { return g.MulScalar(2) })
				require.NoError(t, err)
			}
			require.NoError(t, hooked.y.BackwardWith(hooked.up))
			for i, l := range hooked.leaves {
				half := l.Grad().MulScalar(0.5)
				require.Equal(t, want[i], data64(t, half), "a hook that doubles, input %d", i)
			}
			strict := c.try(t, d, func(in tensors) *tensor.Tensor { return c.f(checked(in)) })
			require.NoError(t, strict.y.BackwardWith(strict.up))
			require.Equal(t, want, grads(t, strict.leaves), "DetectAnomaly")
		})
	}
}

func variadic(f func(in tensors) *tensor.Tensor) func(in ...*tensor.Tensor) *tensor.Tensor {
	return func(in ...*tensor.Tensor) *tensor.Tensor { return f(in) }
}

func checked(in tensors) (out tensors) {
	for _, x := range in {
		out = append(out, x.DetectAnomaly())
	}
	return out
}

// TestHooksAsPyTorch goes through the cases of hooks.py.
func TestHooksAsPyTorch(t *testing.T) { onDevices(t, checkHooksAsPyTorch) }

func checkHooksAsPyTorch(t *testing.T, d *tensor.Device) {
	text, err := os.ReadFile("testdata/torch/hooks.json")
	require.NoError(t, err)
	var want struct {
		Kept struct{ H, W, V []float64 } `json:"kept_after_hooks"`
		Leaf struct {
			Seen [][]float64
			W    []float64
		} `json:"leaf_hook_sees_the_sum"`
		Between struct{ H, W, Again, Left []float64 } `json:"grad_of_an_intermediate"`
		Two     struct{ W, V []float64 }              `json:"two_outputs"`
	}
	require.NoError(t, json.Unmarshal(text, &want))
	setting := func() (w, v, h, loss *tensor.Tensor) {
		w = tensor.FromSlice(d, []float64{1, -2, 3}).RequireGrad()
		v = tensor.FromSlice(d, []float64{0.5, 4, -1}).RequireGrad()
		h = w.Mul(v)
		return w, v, h, h.Mul(h).Add(h.Mul(w)).Sum()
	}
	on := func(x *tensor.Tensor, f func(g *tensor.Tensor) *tensor.Tensor) {
		_, err := x.OnGrad(f)
		require.NoError(t, err)
	}

	w, v, h, loss := setting()
	on(h, func(g *tensor.Tensor) *tensor.Tensor { return g.MulScalar(2) })
	require.NoError(t, h.KeepGrad())
	on(h, func(g *tensor.Tensor) *tensor.Tensor { return g.AddScalar(1) })
	require.NoError(t, loss.Backward(tensor.Retain))
	require.NoError(t, loss.Backward())
	require.Equal(t, [][]float64{want.Kept.H, want.Kept.W, want.Kept.V}, grads(t, tensors{h, w, v}))

	w, _, _, loss = setting()
	var seen [][]float64
	on(w, func(g *tensor.Tensor) *tensor.Tensor { seen = append(seen, data64(t, g)); return g.MulScalar(10) })
	_, err = w.AfterGrad(func(g *tensor.Tensor) error { seen = append(seen, data64(t, g)); return nil })
	require.NoError(t, err)
	require.NoError(t, loss.Backward(tensor.Retain))
	require.NoError(t, loss.Backward())
	require.Equal(t, want.Leaf.Seen, seen)
	require.Equal(t, want.Leaf.W, data64(t, w.Grad()))

	w, _, h, loss = setting()
	on(h, func(g *tensor.Tensor) *tensor.Tensor { return g.MulScalar(3) })
	on(w, func(g *tensor.Tensor) *tensor.Tensor { return g.Neg() })
	got, err := tensor.Grad(tensors{loss}, tensors{h, h}, nil, tensor.Retain)
	require.NoError(t, err)
	require.Equal(t, want.Between.H, data64(t, got[0]))
	require.Equal(t, want.Between.Again, data64(t, got[1]))
	got, err = tensor.Grad(tensors{loss}, tensors{h, w}, nil)
	require.NoError(t, err)
	require.Equal(t, want.Between.H, data64(t, got[0]), "with another input behind it too")
	require.Equal(t, want.Between.W, data64(t, got[1]))
	require.Nil(t, w.Grad())

	w, v, h, loss = setting()
	up := tensor.FromSlice(d, []float64{1, 2, 3})
	got, err = tensor.Grad(tensors{h, loss}, tensors{w, v}, tensors{up, tensor.Full(d, tensor.Float64, 0.5)})
	require.NoError(t, err)
	require.Equal(t, want.Two.W, data64(t, got[0]))
	require.Equal(t, want.Two.V, data64(t, got[1]))
}

func TestRetainedGraphs(t *testing.T) { onDevices(t, checkRetainedGraphs) }

func checkRetainedGraphs(t *testing.T, d *tensor.Device) {
	w := tensor.FromSlice(d, []float64{1, 2}).RequireGrad()
	base := live(d)
	shared := w.Exp()
	a, b := shared.Sum(), shared.Mul(shared).Sum()
	require.NoError(t, a.Backward(tensor.Retain))
	require.NoError(t, a.Backward(tensor.Retain))
	first := data64(t, w.Grad())
	require.NoError(t, b.Backward(), "it shares a graph that was retained")
	err := a.Backward()
	require.ErrorIs(t, err, tensor.ErrGraphFreed, "and that b has freed")
	require.ErrorContains(t, err, "at Exp")
	require.ErrorContains(t, err, "Retain")
	err = b.Backward()
	require.ErrorIs(t, err, tensor.ErrGraphFreed)
	require.ErrorContains(t, err, "at Sum")
	e := data64(t, shared)
	require.InDeltaSlice(t, []float64{2 * e[0], 2 * e[1]}, first, 1e-12)
	require.InDeltaSlice(t, []float64{2*e[0] + 2*e[0]*e[0], 2*e[1] + 2*e[1]*e[1]}, data64(t, w.Grad()), 1e-12)
	for _, x := range (tensors{a, b, shared}) {
		require.NoError(t, x.Release())
	}
	require.NoError(t, w.ZeroGrad())
	require.Less(t, live(d), base+4096, "the graphs are gone")
}

// TestRetainSurvivesAFailure: what a retained walk did not finish can be walked.
func TestRetainSurvivesAFailure(t *testing.T) { onDevices(t, checkRetainSurvives) }

func checkRetainSurvives(t *testing.T, d *tensor.Device) {
	w := tensor.FromSlice(d, []float64{1, 2}).RequireGrad()
	h := w.Mul(w)
	loss := h.ReLU().Sum()
	remove, err := h.OnGrad(func(g *tensor.Tensor) *tensor.Tensor { return g.Reshape(3) })
	require.NoError(t, err)
	require.ErrorIs(t, loss.Backward(tensor.Retain), tensor.ErrShape)
	remove()
	require.NoError(t, loss.Backward(tensor.Retain))
	require.Equal(t, []float64{2, 4}, data64(t, w.Grad()))
}

func TestBadGrad(t *testing.T) { onDevices(t, checkBadGrad) }

func checkBadGrad(t *testing.T, d *tensor.Device) {
	w := tensor.Ones(d, tensor.Float64, 2).RequireGrad()
	v := tensor.Ones(d, tensor.Float64, 3).RequireGrad()
	x := tensor.Ones(d, tensor.Float64, 2)
	base := live(d)
	y := x.Mul(w)
	loss := y.Sum()
	for _, c := range []struct {
		name        string
		out, in, up tensors
		is          error
		says        string
	}{
		{"no outputs", nil, tensors{w}, nil, tensor.ErrShape, "0 outputs"},
		{"upstreams", tensors{loss}, tensors{w}, tensors{nil, nil}, tensor.ErrShape, "2 upstreams"},
		{"no scalar", tensors{y}, tensors{w}, nil, tensor.ErrShape, "single element"},
		{"upstream's shape", tensors{y}, tensors{w}, tensors{v.NoGrad()}, tensor.ErrShape, "upstream"},
		{"constant input", tensors{loss}, tensors{w, x}, nil, tensor.ErrNoHistory, "input 1"},
		{"constant output", tensors{x.Sum()}, tensors{w}, nil, tensor.ErrNoHistory, "Grad"},
		{"unused input", tensors{loss}, tensors{w, v}, nil, tensor.ErrNoHistory, "input 1 [3]; AllowUnused"},
	} {
		got, err := tensor.Grad(c.out, c.in, c.up, tensor.Retain)
		require.ErrorIs(t, err, c.is, c.name)
		require.ErrorContains(t, err, c.says, c.name)
		require.ErrorContains(t, err, "grad_of_test.go", c.name)
		require.Nil(t, got, c.name)
	}
	got, err := tensor.Grad(tensors{loss}, tensors{v, w}, nil, tensor.AllowUnused)
	require.NoError(t, err)
	require.Nil(t, got[0])
	require.Equal(t, []float64{1, 1}, data64(t, got[1]))
	require.NoError(t, got[1].Mul(w).Sum().Backward(), "a result is a constant like any other")
	require.Equal(t, []float64{1, 1}, data64(t, w.Grad()))
	_, err = tensor.Grad(tensors{loss}, tensors{w}, nil)
	require.ErrorIs(t, err, tensor.ErrGraphFreed)
	require.Greater(t, live(d), base)
}

// TestGradLeavesOtherBranches: what is not between outputs and inputs is
// neither computed nor freed.
func TestGradLeavesOtherBranches(t *testing.T) { onDevices(t, checkGradLeavesBranches) }

func checkGradLeavesBranches(t *testing.T, d *tensor.Device) {
	w := tensor.FromSlice(d, []float64{1, 2}).RequireGrad()
	v := tensor.FromSlice(d, []float64{3, 4}).RequireGrad()
	a, b := w.Mul(w), v.Mul(v)
	remove, err := b.OnGrad(func(*tensor.Tensor) *tensor.Tensor { t.Error("b's gradient is not asked for"); return nil })
	require.NoError(t, err)
	got, err := tensor.Grad(tensors{a.Mul(b).Sum()}, tensors{w}, nil)
	require.NoError(t, err)
	require.Equal(t, []float64{18, 64}, data64(t, got[0]))
	remove()
	got, err = tensor.Grad(tensors{b.AddScalar(0).Sum()}, tensors{b}, nil)
	require.NoError(t, err, "an input's own op is not walked")
	require.Equal(t, []float64{1, 1}, data64(t, got[0]))
}

func TestWaysSeeInPlaceChanges(t *testing.T) { onDevices(t, checkWaysSeeInPlaceChanges) }

func checkWaysSeeInPlaceChanges(t *testing.T, d *tensor.Device) {
	w := tensor.Ones(d, tensor.Float64, 2).RequireGrad()
	x := tensor.Ones(d, tensor.Float64, 2)
	mul := func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Mul(w) }
	plain, point := x.Mul(w).Sum(), tensor.Checkpoint(mul, x).Sum()
	require.NoError(t, plain.Backward(tensor.Retain))
	require.NoError(t, point.Backward(tensor.Retain))
	require.NoError(t, x.Fill(5))
	for _, loss := range (tensors{plain, point}) {
		require.ErrorIs(t, loss.Backward(tensor.Retain), tensor.ErrInPlace)
		_, err := tensor.Grad(tensors{loss}, tensors{w}, nil, tensor.Retain)
		require.ErrorIs(t, err, tensor.ErrInPlace)
	}
	require.ErrorContains(t, point.Backward(), "Checkpoint backward")

	point = tensor.Checkpoint(mul, x).Sum()
	require.NoError(t, w.NoGrad().Fill(3))
	err := point.Backward()
	require.ErrorIs(t, err, tensor.ErrInPlace, "a parameter in the closure")
	require.ErrorContains(t, err, "a leaf that the function reads")

	loss := x.Mul(w).Sum()
	_, err = w.OnGrad(func(g *tensor.Tensor) *tensor.Tensor { require.NoError(t, g.Fill(1)); return nil })
	require.NoError(t, err)
	require.ErrorIs(t, loss.Backward(), tensor.ErrInPlace, "a hook must return another")
}
