package tensor_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/memory"
	"tarn/tensor"
)

// block is a residual block whose intermediates nobody releases.
func block(w, b *tensor.Tensor) func(in ...*tensor.Tensor) *tensor.Tensor {
	return func(in ...*tensor.Tensor) *tensor.Tensor {
		x := in[0]
		return x.LinearReLU(w, b).Linear(w, b).Exp().MulScalar(1e-3).Add(x)
	}
}

// chain is a model of blocks that share nothing.
type chain struct {
	w, b []*tensor.Tensor
	x    *tensor.Tensor
}

func newChain(d *tensor.Device, depth, rows, width int) chain {
	var c chain
	for k := range depth {
		c.w = append(c.w, tensor.Full(d, tensor.Float64, 0.3/float64(width)*float64(k+1), width, width).RequireGrad())
		c.b = append(c.b, tensor.Full(d, tensor.Float64, 0.01, width).RequireGrad())
	}
	c.x = tensor.Full(d, tensor.Float64, 0.5, rows, width)
	return c
}

// loss runs the chain from x; call runs one block.
func (c chain) loss(s *tensor.Scope, call func(f func(...*tensor.Tensor) *tensor.Tensor, x *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	h := c.x.In(s)
	for k := range c.w {
		y := call(block(c.w[k], c.b[k]), h)
		h.Release()
		h = y
	}
	return h.Sum()
}

func plainly(f func(...*tensor.Tensor) *tensor.Tensor, x *tensor.Tensor) *tensor.Tensor { return f(x) }

func pointwise(f func(...*tensor.Tensor) *tensor.Tensor, x *tensor.Tensor) *tensor.Tensor {
	return tensor.Checkpoint(f, x)
}

// TestCheckpointLowersThePeak: a chain keeps its blocks' inputs and one block's
// inside, and gets the very same gradients.
func TestCheckpointLowersThePeak(t *testing.T) { onDevices(t, checkCheckpointPeak) }

func checkCheckpointPeak(t *testing.T, d *tensor.Device) {
	const depth, rows, width = 12, 64, 16
	c := newChain(d, depth, rows, width)
	params := append(c.w, c.b...)
	base := live(d)
	run := func(call func(func(...*tensor.Tensor) *tensor.Tensor, *tensor.Tensor) *tensor.Tensor) (peak int64, all [][]float64) {
		d.Memory().ResetPeak()
		s := tensor.NewScope()
		require.NoError(t, c.loss(s, call).Backward())
		require.NoError(t, s.Close())
		peak = d.Memory().Stats().AllocatedBytes.All.Peak - base
		all = grads(t, params)
		for _, p := range params {
			require.NoError(t, p.ZeroGrad())
		}
		require.Equal(t, base, live(d))
		return peak, all
	}
	plainPeak, want := run(plainly)
	peak, got := run(pointwise)
	require.Equal(t, want, got, "to the last bit")
	const activation = rows * width * 8
	require.Greater(t, plainPeak, int64(4*depth*activation))
	require.Less(t, peak, int64((2*depth+12)*activation))
	pairs := func(f func(...*tensor.Tensor) *tensor.Tensor, x *tensor.Tensor) *tensor.Tensor {
		return tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor { return pointwise(f, in[0]) }, x)
	}
	nestedPeak, got := run(pairs)
	require.Equal(t, want, got, "nested")
	require.LessOrEqual(t, nestedPeak, peak+2*activation)
	runtime.KeepAlive(c) // its memory is in base
}

// TestNestedCheckpoints: a checkpoint over checkpoints keeps its input alone.
func TestNestedCheckpoints(t *testing.T) { onDevices(t, checkNestedCheckpoints) }

func checkNestedCheckpoints(t *testing.T, d *tensor.Device) {
	c := newChain(d, 4, 8, 4)
	params := append(c.w, c.b...)
	s := tensor.NewScope()
	require.NoError(t, c.loss(s, plainly).Backward())
	want := grads(t, params)
	for _, p := range params {
		require.NoError(t, p.ZeroGrad())
	}
	before := live(d)
	calls := 0
	y := tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor {
		h := in[0]
		for k := range c.w {
			h = tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor {
				calls++
				return block(c.w[k], c.b[k])(in...)
			}, h)
		}
		return h
	}, c.x.In(s))
	require.Equal(t, before+512, live(d), "the result alone")
	loss := y.Sum()
	require.Equal(t, len(c.w), calls)
	require.NoError(t, loss.Backward(tensor.Retain))
	require.Equal(t, 3*len(c.w), calls, "forward, the outer one's again, and the inner ones'")
	require.Equal(t, want, grads(t, params))
	for _, p := range params {
		require.NoError(t, p.ZeroGrad())
	}
	require.NoError(t, loss.Backward(), "a retained checkpoint is recomputed again")
	require.Equal(t, want, grads(t, params))
	require.NoError(t, s.Close())
}

func TestCheckpointFindsParameters(t *testing.T) { onDevices(t, checkCheckpointParameters) }

func checkCheckpointParameters(t *testing.T, d *tensor.Device) {
	type T = *tensor.Tensor
	w := tensor.FromSlice(d, []float64{1, 2}).RequireGrad()
	v := tensor.FromSlice(d, []float64{3, 4}).RequireGrad()
	x := tensor.FromSlice(d, []float64{5, 6})
	for _, c := range []struct {
		name   string
		in     tensors
		f      func(in ...T) T
		record bool
	}{
		{"only in the closure", tensors{x}, func(in ...T) T { return in[0].Mul(w) }, true},
		{"products of parameters", tensors{x}, func(in ...T) T { return w.Mul(v).Mul(in[0]) }, true},
		{"parameters alone", tensors{x}, func(...T) T { return w.Mul(v) }, true},
		{"the input itself", tensors{w}, func(in ...T) T { return in[0] }, true},
		{"a view of the input", tensors{w}, func(in ...T) T { return in[0].Reshape(2, 1) }, true},
		{"a leaf", tensors{x}, func(...T) T { return w }, false},
		{"no parameter", tensors{x}, func(in ...T) T { return in[0].Exp() }, false},
		{"NoGrad", tensors{w.NoGrad()}, func(in ...T) T { return in[0].Mul(v) }, false},
		{"history", tensors{x.Mul(w), v.NoGrad()}, func(in ...T) T { return in[0].Mul(in[1]) }, true},
		{"an input that is not used", tensors{w, v}, func(in ...T) T { return in[1].Mul(in[1]) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			plain := c.f(c.in...)
			y := tensor.Checkpoint(c.f, c.in...)
			require.NoError(t, y.Err())
			require.Equal(t, data64(t, plain), data64(t, y))
			require.Equal(t, c.record, y.RequiresGrad())
			if !c.record {
				require.ErrorIs(t, y.Sum().Backward(), tensor.ErrNoHistory)
				return
			}
			require.NoError(t, y.Mul(y).Sum().Backward())
			got := grads(t, tensors{w, v})
			require.NoError(t, errors.Join(w.ZeroGrad(), v.ZeroGrad()))
			plain = c.f(c.in...)
			if c.name != "history" { // whose input has been walked
				require.NoError(t, plain.Mul(plain).Sum().Backward())
				require.Equal(t, grads(t, tensors{w, v}), got)
			}
			require.NoError(t, errors.Join(w.ZeroGrad(), v.ZeroGrad()))
		})
	}
}

func TestCheckpointScopes(t *testing.T) { onDevices(t, checkCheckpointScopes) }

func checkCheckpointScopes(t *testing.T, d *tensor.Device) {
	w := tensor.Ones(d, tensor.Float64, 64).RequireGrad()
	x := tensor.Ones(d, tensor.Float64, 64)
	base := live(d)
	var inside *tensor.Tensor
	f := func(in ...*tensor.Tensor) *tensor.Tensor {
		inside = in[0].Mul(w)
		return inside.Exp()
	}
	y := tensor.Checkpoint(f, x)
	require.Nil(t, y.Scope())
	require.Equal(t, base+512, live(d), "without a scope too")
	require.ErrorIs(t, inside.Exp().Err(), tensor.ErrReleased)
	loss := y.Sum()
	require.NoError(t, loss.Backward())
	require.ErrorIs(t, inside.Exp().Err(), tensor.ErrReleased)
	require.NoError(t, errors.Join(y.Release(), loss.Release(), w.ZeroGrad()))
	require.Equal(t, base, live(d))

	s := tensor.NewScope()
	y = tensor.Checkpoint(f, x.In(s))
	require.Same(t, s, y.Scope())
	loss = y.In(nil).Sum()
	require.NoError(t, s.Close())
	err := loss.Backward()
	require.ErrorIs(t, err, tensor.ErrReleased)
	require.NoError(t, loss.Release())
	require.Equal(t, base, live(d))
}

func TestCheckpointFailures(t *testing.T) { onDevices(t, checkCheckpointFailures) }

func checkCheckpointFailures(t *testing.T, d *tensor.Device) {
	w := tensor.Ones(d, tensor.Float64, 8).RequireGrad()
	x := tensor.Ones(d, tensor.Float64, 8)
	base := live(d)
	bad := tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Mul(w).Reshape(3) }, x)
	require.ErrorIs(t, bad.Err(), tensor.ErrShape)
	require.ErrorContains(t, bad.Err(), "Reshape", "the first cause")
	require.Equal(t, base, live(d))
	for name, again := range map[string]func(y *tensor.Tensor) *tensor.Tensor{
		"Reshape":         func(y *tensor.Tensor) *tensor.Tensor { return y.Reshape(3) },
		"[] on":           func(y *tensor.Tensor) *tensor.Tensor { return y.Sum() },
		"float32":         func(y *tensor.Tensor) *tensor.Tensor { return y.To(tensor.Float32) },
		"another failure": func(y *tensor.Tensor) *tensor.Tensor { return tensor.FromError(y, errors.New("another failure")) },
	} {
		calls := 0
		y := tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor {
			if calls++; calls > 1 {
				return again(in[0].Mul(w))
			}
			return in[0].Mul(w)
		}, x)
		loss := y.Sum()
		err := loss.Backward()
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, "tensor: Checkpoint backward [8]")
		require.ErrorContains(t, err, "calling the function again")
		require.Nil(t, w.Grad())
		require.NoError(t, errors.Join(y.Release(), loss.Release()))
		require.Equal(t, base, live(d))
	}
	require.Panics(t, func() { tensor.Checkpoint(nil, x) })
	require.Panics(t, func() { tensor.Checkpoint(block(w, w)) })
	require.Panics(t, func() { tensor.Checkpoint(func(...*tensor.Tensor) *tensor.Tensor { return nil }, x) })
	require.Equal(t, base, live(d))
	_, err := tensor.Grad(tensors{tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Mul(w) }, x).Sum()}, tensors{w}, nil)
	require.NoError(t, err, "Grad finds a parameter that shows in the recomputation")
}

// TestCheckpointRunsOutOfMemory under limits that stop it at each place.
func TestCheckpointRunsOutOfMemory(t *testing.T) {
	done, step := false, int64(2<<20)
	if testing.Short() {
		step *= 3
	}
	for limit := int64(6 << 20); !done; limit += step {
		d := newDevice(t, func(c *memory.Config) { c.Limit = limit })
		c := newChain(d, 3, 4096, 64) // activations of 2 MiB, which little work fills
		base := live(d)
		s := tensor.NewScope()
		err := c.loss(s, pointwise).Backward()
		var oom *memory.OutOfMemoryError
		if done = err == nil; !done {
			require.ErrorAs(t, err, &oom)
		}
		require.NoError(t, s.Close())
		for _, p := range append(c.w, c.b...) {
			require.NoError(t, p.ZeroGrad())
		}
		require.Equal(t, base, live(d), "limit %d", limit)
		runtime.KeepAlive(c)
		require.Less(t, limit, int64(256<<20))
	}
}

// TestLeafHookWaitsForCheckpoints: while some of the graph is yet to be
// recomputed nobody knows how many pieces of a leaf's gradient come.
func TestLeafHookWaitsForCheckpoints(t *testing.T) { onDevices(t, checkLeafHookWaits) }

func checkLeafHookWaits(t *testing.T, d *tensor.Device) {
	w := tensor.FromSlice(d, []float64{2, 3}).RequireGrad()
	x := tensor.FromSlice(d, []float64{5, 7})
	mul := func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Mul(w) }
	var seen [][]float64
	_, err := w.OnGrad(func(g *tensor.Tensor) *tensor.Tensor { seen = append(seen, data64(t, g)); return nil })
	require.NoError(t, err)
	steps := 0
	_, err = w.AfterGrad(func(*tensor.Tensor) error { steps++; return nil })
	require.NoError(t, err)
	y := tensor.Checkpoint(mul, tensor.Checkpoint(mul, x.Mul(w)).Mul(w))
	require.NoError(t, y.Sum().Backward()) // x w^4
	require.Equal(t, [][]float64{{4 * 5 * 8, 4 * 7 * 27}}, seen, "once, with the sum")
	require.Equal(t, 1, steps)
	require.Equal(t, seen[0], data64(t, w.Grad()))
}

// TestCheckpointsOnStreams: the function runs where its inputs do, both times.
func TestCheckpointsOnStreams(t *testing.T) {
	_, d, s1, s2 := onStreams(t)
	w := tensor.FromSlice(d, []float64{2, 3}).RequireGrad()
	x := tensor.FromSlice(d, []float64{5, 7})
	base := live(d)
	scope := tensor.NewScope()
	y := tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor {
		return in[0].Mul(w).On(s2).Exp().On(s1).Mul(in[0])
	}, x.In(scope).On(s1))
	require.NoError(t, y.Sum().Backward())
	require.NoError(t, scope.Close())
	require.NoError(t, w.ZeroGrad())
	require.Equal(t, base, live(d))
}

func TestCheckpointOfACondition(t *testing.T) { onDevices(t, checkCheckpointOfACondition) }

// checkCheckpointOfACondition: only floats have a gradient to take.
func checkCheckpointOfACondition(t *testing.T, d *tensor.Device) {
	x := tensor.Ones(d, tensor.Float32, 3).RequireGrad()
	is := tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Lt(in[0]) }, x)
	require.NoError(t, is.Err())
	require.False(t, is.RequiresGrad())
	require.ErrorIs(t, is.BackwardWith(is), tensor.ErrNoHistory)
	require.NoError(t, is.Release())
	require.NoError(t, x.Release())
	require.Zero(t, live(d))
}

// TestCheckpointMovesStatisticsOnce: running statistics are after a backward what
// they are without checkpoints, in nested ones too.
func TestCheckpointMovesStatisticsOnce(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		type T = *tensor.Tensor
		plain := func(f func(in ...T) T, in ...T) T { return f(in...) }
		run := func(around, inside func(f func(in ...T) T, in ...T) T) []float32 {
			mean, variance := tensor.Zeros(d, tensor.Float32, 3), tensor.Ones(d, tensor.Float32, 3)
			norm := func(in ...T) T {
				return in[0].BatchNorm(nil, nil, mean, variance, tensor.BatchNormOptions{Training: true, Momentum: 0.25, Eps: 1e-3})
			}
			x := tensor.Randn(d, tensor.NewGenerator(1), tensor.Float32, 4, 3).RequireGrad()
			y := around(func(in ...T) T { return norm(inside(norm, in[0].MulScalar(3)).Exp()) }, x)
			require.NoError(t, y.Mul(y).Mul(y).Sum().Backward())
			return append(append(data32(t, mean), data32(t, variance)...), data32(t, x.Grad())...)
		}
		want := run(plain, plain)
		require.Equal(t, want, run(tensor.Checkpoint, plain))
		require.Equal(t, want, run(plain, tensor.Checkpoint))
		require.Equal(t, want, run(tensor.Checkpoint, tensor.Checkpoint))
	})
}

func TestCheckpointOfConstants(t *testing.T) { onDevices(t, checkCheckpointOfConstants) }

// checkCheckpointOfConstants: what a function makes of a constant and of a tensor
// with history in its closure is not recorded before backward either, and random
// ops of constants are told apart from others.
func checkCheckpointOfConstants(t *testing.T, d *tensor.Device) {
	x := tensor.Ones(d, tensor.Float32, 64).RequireGrad()
	history := x.MulScalar(2)
	c := tensor.Full(d, tensor.Float32, 3, 64)
	f := func(g *tensor.Generator) func(in ...*tensor.Tensor) *tensor.Tensor {
		return func(in ...*tensor.Tensor) *tensor.Tensor {
			dropped := in[0].Dropout(g, 0.5, true)
			return history.Mul(dropped).Add(in[1].Dropout(g, 0.5, true))
		}
	}
	run := func(y *tensor.Tensor) (value, grad []float32) {
		up := y.Detach()
		require.NoError(t, y.BackwardWith(up, tensor.Retain))
		value, grad = data32(t, y), data32(t, x.Grad())
		require.NoError(t, x.ZeroGrad())
		require.NoError(t, up.Release())
		require.NoError(t, y.Release())
		return value, grad
	}
	before := live(d)
	value, grad := run(tensor.Checkpoint(f(tensor.NewGenerator(3)), c.NoGrad(), x))
	require.Equal(t, before, live(d))
	wantValue, wantGrad := run(f(tensor.NewGenerator(3))(c.NoGrad(), x))
	require.Equal(t, wantValue, value)
	require.Equal(t, wantGrad, grad)
	y := tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Mul(x) }, c.NoGrad())
	require.False(t, y.RequiresGrad(), "a leaf beside a constant")
}
