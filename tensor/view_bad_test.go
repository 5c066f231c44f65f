package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// TestBadViews: each error is typed, names op, shape and place, and leaves
// nothing allocated.
func TestBadViews(t *testing.T) {
	type T = *tensor.Tensor
	first := func(parts []T) T { return parts[0] }
	for _, c := range []struct {
		name string
		f    func(x T) T // of x float32 [2,3]
		says string
	}{
		{"view that needs a copy", func(x T) T { return x.T().View(6) }, "View [3, 2] at"},
		{"view of a wrong length", func(x T) T { return x.View(4) }, "6 elements do not make [4]"},
		{"view as", func(x T) T { return x.ViewAs(x.Select(0, 0)) }, "View [2, 3] at"},
		{"view as an error", func(x T) T { return x.ViewAs(x.View(7)) }, "View [2, 3] at"},
		{"expand as", func(x T) T { return x.ExpandAs(x.T()) }, "Expand [2, 3] at"},
		{"expand as an error", func(x T) T { return x.ExpandAs(x.View(7)) }, "View [2, 3] at"},
		{"expand a new dim by -1", func(x T) T { return x.Expand(-1, 2, 3) }, "dim 0 is negative"},
		{"flatten backwards", func(x T) T { return x.Flatten(1, 0) }, "Flatten [2, 3] at"},
		{"flatten past the dims", func(x T) T { return x.Flatten(0, 2) }, "dim 2 of a tensor with 2 dims"},
		{"permute too few", func(x T) T { return x.Permute(0) }, "Permute [2, 3] at"},
		{"permute twice", func(x T) T { return x.Permute(1, -1) }, "dim -1 is named twice"},
		{"permute past the dims", func(x T) T { return x.Permute(0, 2) }, "dim 2"},
		{"move from", func(x T) T { return x.MoveDim(2, 0) }, "MoveDim [2, 3] at"},
		{"move to", func(x T) T { return x.MoveDim(0, -3) }, "dim -3"},
		{"select dim", func(x T) T { return x.Select(2, 0) }, "Select [2, 3] at"},
		{"select from the end", func(x T) T { return x.Select(1, -4) }, "-4 of dim 1 with size 3"},
		{"slice dim", func(x T) T { return x.Slice(-3, 0, 1, 1) }, "Slice [2, 3] at"},
		{"slice backwards", func(x T) T { return x.Slice(1, 2, 0, -1) }, "step -1"},
		{"squeeze twice", func(x T) T { return x.Unsqueeze(0).Squeeze(0, -3) }, "Squeeze [1, 2, 3] at"},
		{"squeeze dim", func(x T) T { return x.Squeeze(1) }, "dim 1 has size 3, not 1"},
		{"unsqueeze past the dims", func(x T) T { return x.Unsqueeze(3) }, "Unsqueeze [2, 3] at"},
		{"unsqueeze too many", func(x T) T { return x.View(2, 1, 1, 1, 1, 1, 1, 3).Unsqueeze(0) }, "8 dims already"},
		{"split by nothing", func(x T) T { return first(x.Split(0, 1)) }, "Split [2, 3] at"},
		{"split backwards", func(x T) T { return first(x.Split(-1, 1)) }, "size -1"},
		{"split dim", func(x T) T { return first(x.Split(1, 2)) }, "dim 2"},
		{"sizes too small", func(x T) T { return x.SplitSizes([]int{1, 1}, 1)[1] }, "leave 1 of 3"},
		{"sizes too large", func(x T) T { return x.SplitSizes([]int{1, 1, 2}, 1)[2] }, "part 2 has size 2 where 1 of 3"},
		{"sizes negative", func(x T) T { return x.SplitSizes([]int{4, -1}, 1)[1] }, "part 0 has size 4"},
		{"no sizes", func(x T) T { return first(x.SplitSizes(nil, 1)) }, "leave 3 of 3"},
		{"chunk by nothing", func(x T) T { return first(x.Chunk(0, 1)) }, "Chunk [2, 3] at"},
		{"chunk in too many", func(x T) T { return first(x.Slice(0, 0, 0, 1).Chunk(math.MaxInt, 0)) }, "parts of nothing"},
		{"too many chunks of no dim", func(x T) T { return x.Chunk(math.MaxInt, 2)[1<<20-1] }, "dim 2"},
		{"chunk dim", func(x T) T { return x.Chunk(3, 2)[2] }, "dim 2"},
		{"diagonal of one dim", func(x T) T { return x.Diagonal(0, 1, -1) }, "Diagonal [2, 3] at"},
		{"diagonal dim", func(x T) T { return x.Diagonal(0, 0, 2) }, "dim 2"},
		{"unfold by more", func(x T) T { return x.Unfold(0, 3, 1) }, "Unfold [2, 3] at"},
		{"unfold negative", func(x T) T { return x.Unfold(0, -1, 1) }, "size -1"},
		{"unfold step", func(x T) T { return x.Unfold(0, 1, 0) }, "step 0"},
		{"unfold dim", func(x T) T { return x.Unfold(-3, 1, 1) }, "dim -3"},
		{"unfold too many", func(x T) T { return x.View(2, 1, 1, 1, 1, 1, 1, 3).Unfold(0, 1, 1) }, "8 dims already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newCPU(t)
			s := tensor.NewScope()
			y := c.f(tensor.Ones(d.In(s), tensor.Float32, 2, 3))
			require.ErrorIs(t, y.Err(), tensor.ErrShape)
			var e *tensor.Error
			require.ErrorAs(t, y.Err(), &e)
			require.Contains(t, e.Place, "view_bad_test.go")
			require.ErrorContains(t, y.Err(), c.says)
			for _, next := range []T{y.View(1), y.Select(0, 0), y.Flatten(0, -1), y.Unfold(0, 1, 1), y.Diagonal(0, 0, 1),
				first(y.Split(1, 0)), y.Chunk(4, 0)[3], y.SplitSizes([]int{1, 2}, 0)[1], y.ExpandAs(y), y.ViewAs(y)} {
				require.Same(t, y.Err(), next.Err(), "handed on unchanged")
			}
			require.NoError(t, s.Close())
			require.Zero(t, live(d))
		})
	}
	x := tensor.Ones(newCPU(t), tensor.Float32, 2, 3)
	require.ErrorIs(t, x.Select(0, 2).Err(), tensor.ErrIndex)
	require.NoError(t, x.Release())
	require.ErrorIs(t, x.Chunk(3, 0)[2].Err(), tensor.ErrReleased)
	require.ErrorIs(t, x.Select(0, 0).Err(), tensor.ErrReleased)
	const misuse = "tensor: nil tensor used as an operand"
	one := tensor.Scalar(tensor.CPU(), tensor.Float32, 1)
	require.PanicsWithValue(t, misuse, func() { one.ExpandAs(nil) })
	var none *tensor.Tensor
	for _, f := range []func(){func() { none.Flatten(0, 0) }, func() { none.Split(1, 0) }, func() { none.Chunk(1, 0) },
		func() { none.Select(0, 0) }, func() { none.View(1) }, func() { none.ViewAs(one) }, func() { none.Unfold(0, 1, 1) }} {
		require.PanicsWithValue(t, misuse, f)
	}
}
