package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
	"tarn/tensor"
)

// TestBadMoves: each error is typed, names op and place, and leaves nothing
// allocated.
func TestBadMoves(t *testing.T) {
	type T = *tensor.Tensor
	for _, c := range []struct {
		name string
		f    func(x, i T) T // of x float32 [2,3] and i int64 [2] {0,1}
		is   error
		says string
	}{
		{"concat dim", func(x, _ T) T { return tensor.Concat(2, x, x) }, tensor.ErrShape, "Concat [2, 3], [2, 3]"},
		{"concat dims", func(x, _ T) T { return tensor.Concat(0, x, x.T()) }, tensor.ErrShape, "part 1 is [3, 2]"},
		{"concat ranks", func(x, _ T) T { return tensor.Concat(0, x, x.Unsqueeze(0)) }, tensor.ErrShape, "part 1 is [1, 2, 3]"},
		{"concat scalars", func(x, _ T) T { return tensor.Concat(0, x.Sum(), x.Sum()) }, tensor.ErrShape, "dim 0 of a tensor with 0 dims"},
		{"concat an error", func(x, _ T) T { return tensor.Concat(0, x, x.View(7)) }, tensor.ErrShape, "View [2, 3]"},
		{"stack shapes", func(x, _ T) T { return tensor.Stack(0, x, x.T()) }, tensor.ErrShape, "Stack [2, 3], [3, 2]"},
		{"stack dim", func(x, _ T) T { return tensor.Stack(3, x, x) }, tensor.ErrShape, "Unsqueeze [2, 3]"},
		{"flip twice", func(x, _ T) T { return x.Flip(1, -1) }, tensor.ErrShape, "dim -1 is named twice"},
		{"flip dim", func(x, _ T) T { return x.Flip(2) }, tensor.ErrShape, "Flip [2, 3]"},
		{"roll dim", func(x, _ T) T { return x.Roll([]int{1}, []int{2}) }, tensor.ErrShape, "Roll [2, 3]"},
		{"roll shifts", func(x, _ T) T { return x.Roll([]int{1, 2}, nil) }, tensor.ErrShape, "2 shifts for 0 dims"},
		{"repeat too few", func(x, _ T) T { return x.Repeat(2) }, tensor.ErrShape, "1 times for 2 dims"},
		{"repeat too many", func(x, _ T) T { return x.Repeat(1, 1, 1, 1, 1, 1, 1, 1, 1) }, tensor.ErrShape, "9 dims"},
		{"repeat negative", func(x, _ T) T { return x.Repeat(2, -1) }, tensor.ErrShape, "-1 times"},
		{"interleave negative", func(x, _ T) T { return x.RepeatInterleave(-2, 0) }, tensor.ErrShape, "-2 times"},
		{"interleave dim", func(x, _ T) T { return x.RepeatInterleave(2, 2) }, tensor.ErrShape, "RepeatInterleave [2, 3]"},
		{"odd pads", func(x, _ T) T { return x.Pad([]int{1}, 0) }, tensor.ErrShape, "1 pads"},
		{"pads for more dims", func(x, _ T) T { return x.PadWith(tensor.ReflectPad, make([]int, 6)) }, tensor.ErrShape, "at most 2 dims"},
		{"pads that cut too much", func(x, _ T) T { return x.Pad([]int{-2, -2}, 0) }, tensor.ErrShape, "leave dim 1 of size 3 nothing"},
		{"pads that overflow", func(x, _ T) T { return x.Pad([]int{math.MaxInt, math.MaxInt}, 0) }, tensor.ErrShape, "of size 3 overflow"},
		{"cuts that overflow", func(x, _ T) T { return x.Pad([]int{math.MinInt, math.MinInt}, 0) }, tensor.ErrShape, "leave dim 1 of size 3 nothing"},
		{"copies that overflow", func(x, _ T) T { return x.PadWith(tensor.ReplicatePad, []int{math.MaxInt, math.MaxInt}) }, tensor.ErrShape, "of size 3 overflow"},
		{"repeat that overflows", func(x, _ T) T { return x.Repeat(math.MaxInt, 2) }, tensor.ErrShape, "overflow"},
		{"pad beyond the type", func(_, i T) T { return i.Pad([]int{1, 1}, 1e300) }, tensor.ErrValue, "Pad"},
		{"reflect too far", func(x, _ T) T { return x.PadWith(tensor.ReflectPad, []int{3, 0}) }, tensor.ErrShape, "pads of 3 and 0 for dim 1 of size 3"},
		{"wrap too far", func(x, _ T) T { return x.PadWith(tensor.CircularPad, []int{0, 4}) }, tensor.ErrShape, "pads of 0 and 4"},
		{"replicate nothing", func(x, _ T) T { return x.Slice(1, 0, 0, 1).PadWith(tensor.ReplicatePad, []int{0, 1}) }, tensor.ErrShape, "of size 0"},
		{"cut by a mode", func(x, _ T) T { return x.PadWith(tensor.ReplicatePad, []int{-1, 1}) }, tensor.ErrShape, "pads of -1 and 1"},
		{"unknown mode", func(x, _ T) T { return x.PadWith(9, []int{1, 1}) }, tensor.ErrShape, "mode 9"},
		{"triangle of a row", func(_, i T) T { return i.Tril(0) }, tensor.ErrShape, "Tril [2]"},
		{"gather dim", func(x, i T) T { return x.Gather(2, i.Unsqueeze(0)) }, tensor.ErrShape, "Gather [2, 3], [1, 2]"},
		{"gather rank", func(x, i T) T { return x.Gather(0, i) }, tensor.ErrShape, "indices of 1 dims for 2"},
		{"gather more", func(x, i T) T { return x.Gather(1, i.Repeat(3, 1)) }, tensor.ErrShape, "[3, 2] along dim 0 of [2, 3]"},
		{"gather by floats", func(x, _ T) T { return x.Gather(0, x) }, tensor.ErrDType, "indices are float32"},
		{"gather past the end", func(x, i T) T { return x.Gather(0, i.AddScalar(1).Unsqueeze(0)) }, tensor.ErrIndex, "index 2 at [0 1] for a dim of 2"},
		{"gather from the end", func(x, i T) T { return x.Gather(1, i.AddScalar(-1).Unsqueeze(0)) }, tensor.ErrIndex, "index -1 at [0 0]"},
		{"select by a matrix", func(x, i T) T { return x.IndexSelect(0, i.Unsqueeze(0)) }, tensor.ErrShape, "want one dim"},
		{"select past the end", func(x, i T) T { return x.IndexSelect(0, i.AddScalar(1)) }, tensor.ErrIndex, "index 2 at"},
		{"embedding of a row", func(x, i T) T { return tensor.Embedding(x.Select(0, 0), i) }, tensor.ErrShape, "1 dims, not 2"},
		{"embedding past the end", func(x, i T) T { return tensor.Embedding(x, i.MulScalar(7)) }, tensor.ErrIndex, "index 7 at [1 0]"},
		{"scatter another type", func(x, i T) T { return x.Scatter(0, i.Unsqueeze(0), i.Unsqueeze(0)) }, tensor.ErrDType, "src is int64, want float32"},
		{"scatter of less", func(x, i T) T { return x.Scatter(0, i.Unsqueeze(0), x.Slice(1, 0, 1, 1)) }, tensor.ErrShape, "[1, 2] along dim 1 of [2, 1]"},
		{"scatter past the end", func(x, i T) T { return x.Scatter(0, i.AddScalar(1).Unsqueeze(0), x) }, tensor.ErrIndex, "index 2"},
		{"scatter into nothing", func(x, i T) T { return x.Slice(0, 0, 0, 1).Scatter(0, i.Unsqueeze(0), x) }, tensor.ErrIndex, "size 0"},
		{"adding bools", func(x, i T) T { return x.Not().ScatterAdd(0, i.Unsqueeze(0), x.Not()) }, tensor.ErrDType, "got bool"},
		{"index add of less", func(x, i T) T { return x.IndexAdd(1, i, x) }, tensor.ErrShape, "src is [2, 3], want [2, 2]"},
		{"no classes", func(_, i T) T { return i.OneHot(0) }, tensor.ErrShape, "0 classes"},
		{"a class too many", func(_, i T) T { return i.OneHot(1) }, tensor.ErrIndex, "index 1 at [1 0]"},
		{"one hot of floats", func(x, _ T) T { return x.OneHot(3) }, tensor.ErrDType, "indices are float32"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newCPU(t)
			s := tensor.NewScope()
			y := c.f(tensor.Ones(d.In(s), tensor.Float32, 2, 3), tensor.FromSlice(d.In(s), []int64{0, 1}))
			require.ErrorIs(t, y.Err(), c.is)
			var e *tensor.Error
			require.ErrorAs(t, y.Err(), &e)
			require.ErrorContains(t, y.Err(), c.says)
			require.NoError(t, s.Close())
			require.Zero(t, live(d))
		})
	}
	require.Panics(t, func() { tensor.Concat(0) })
	require.Panics(t, func() { tensor.Stack(0) })
}

// TestMovesLeaveNothing: what the ops make on the way is released by them, in
// forward and in backward, without a scope and without the garbage collector.
func TestMovesLeaveNothing(t *testing.T) {
	type T = *tensor.Tensor
	for name, f := range map[string]func(x, i T) T{
		"Concat": func(x, _ T) T { return tensor.Concat(0, x, x) }, "Stack": func(x, _ T) T { return tensor.Stack(0, x, x) },
		"Flip": func(x, _ T) T { return x.Flip(0) }, "Roll": func(x, _ T) T { return x.Roll([]int{1, 2}, []int{0, 1}) },
		"Roll flat": func(x, _ T) T { return x.Roll([]int{1}, nil) }, "Repeat": func(x, _ T) T { return x.Repeat(3, 2, 2) },
		"Repeat once": func(x, _ T) T { return x.Repeat(1, 1) }, "Tile": func(x, _ T) T { return x.Tile(2) },
		"RepeatInterleave": func(x, _ T) T { return x.RepeatInterleave(2, 0) },
		"Pad":              func(x, _ T) T { return x.Pad([]int{1, 1}, 0) }, "cut": func(x, _ T) T { return x.Pad([]int{-1, 1}, 0) },
		"PadWith": func(x, _ T) T { return x.PadWith(tensor.ReplicatePad, []int{1, 1}) },
		"Triu":    func(x, _ T) T { return x.Triu(0) },
		"Gather":  func(x, i T) T { return x.Gather(0, i) }, "Scatter": func(x, i T) T { return x.Scatter(0, i, x) },
		"ScatterAdd": func(x, i T) T { return x.ScatterAdd(0, i, x) }, "Embedding": tensor.Embedding,
	} {
		d := newCPU(t)
		x := tensor.Ones(d, tensor.Float32, 2, 3).RequireGrad()
		i := tensor.Zeros(d, tensor.Int32, 2, 2)
		y := f(x, i)
		require.NoError(t, y.Err(), name)
		loss := y.Sum()
		require.NoError(t, y.Release())
		require.NoError(t, loss.Backward(), name)
		require.Equal(t, x.Shape(), x.Grad().Shape(), name)
		for _, t1 := range []T{loss, x, i} {
			require.NoError(t, t1.Release())
		}
		require.Zero(t, live(d), name)
	}
}

// TestPartsShareAGradient: the parts of a Split write into one gradient of the
// whole, where each made one of its own that had to be added up.
func TestPartsShareAGradient(t *testing.T) {
	d := newCPU(t)
	x := tensor.Ones(d, tensor.Float32, 8, 4).RequireGrad()
	fills := 0
	parts := x.Exp().Split(1, 0)
	loss := tensor.Stack(0, parts...).Sum()
	defer d.ReplaceKernels(func(id kernels.ID, run func() error) error {
		if id == kernels.Fill {
			fills++
		}
		return run()
	})()
	require.NoError(t, loss.Backward())
	require.LessOrEqual(t, fills, 2, "the upstream and the whole")
}
