package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// ramp returns n numbers from first on.
func ramp(first float64, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = first + float64(i)
	}
	return values
}

func data64(t *testing.T, x *tensor.Tensor) []float64 {
	t.Helper()
	got, err := tensor.Data[float64](x)
	require.NoError(t, err)
	return got
}

// TestViews has what PyTorch answers for x = arange(12).reshape(3, 4), and for
// edges of the rules.
func TestViews(t *testing.T) { onDevices(t, checkViews) }

func checkViews(t *testing.T, d *tensor.Device) {
	type T = *tensor.Tensor
	x := tensor.FromSlice(d, ramp(0, 12), 3, 4)
	one := tensor.Scalar(d, tensor.Float64, 7)
	none := tensor.Zeros(d, tensor.Float64, 0, 4)
	for _, c := range []struct {
		name  string
		got   T
		shape tensor.Shape
		want  []float64
	}{
		{"Select", x.Select(0, 1), tensor.Shape{4}, []float64{4, 5, 6, 7}},
		{"Select from the end", x.Select(-1, -4), tensor.Shape{3}, []float64{0, 4, 8}},
		{"Slice clips", x.Slice(1, -100, 100, 3), tensor.Shape{3, 2}, []float64{0, 3, 4, 7, 8, 11}},
		{"Slice from the end", x.Slice(0, -2, -1, 1), tensor.Shape{1, 4}, []float64{4, 5, 6, 7}},
		{"Slice of nothing", x.Slice(1, 3, 1, 1), tensor.Shape{3, 0}, []float64{}},
		{"Slice past the end", x.Slice(0, 7, 9, 1), tensor.Shape{0, 4}, []float64{}},
		{"Slice by a huge step", x.Slice(1, math.MinInt, math.MaxInt, math.MaxInt), tensor.Shape{3, 1}, []float64{0, 4, 8}},
		{"Permute", x.Reshape(3, 2, 2).Permute(2, 0, -2), tensor.Shape{2, 3, 2}, []float64{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}},
		{"Permute of a scalar", one.Permute(), tensor.Shape{}, []float64{7}},
		{"MoveDim", x.Reshape(3, 2, 2).MoveDim(0, -1), tensor.Shape{2, 2, 3}, []float64{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
		{"MoveDim back", x.Reshape(3, 2, 2).MoveDim(2, 0), tensor.Shape{2, 3, 2}, []float64{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}},
		{"SwapDims", x.SwapDims(0, 1), tensor.Shape{4, 3}, []float64{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
		{"Expand keeps", x.Slice(1, 2, 3, 1).Expand(2, -1, 2), tensor.Shape{2, 3, 2}, []float64{2, 2, 6, 6, 10, 10, 2, 2, 6, 6, 10, 10}},
		{"Expand to nothing", one.Expand(2, 0), tensor.Shape{2, 0}, []float64{}},
		{"ExpandAs", one.ExpandAs(x.Select(0, 0)), tensor.Shape{4}, []float64{7, 7, 7, 7}},
		{"Squeeze all", x.Slice(0, 0, 1, 1).Unsqueeze(-1).Squeeze(), tensor.Shape{4}, []float64{0, 1, 2, 3}},
		{"Squeeze some", x.Slice(0, 0, 1, 1).Unsqueeze(0).Unsqueeze(-1).Squeeze(0, -1), tensor.Shape{1, 4}, []float64{0, 1, 2, 3}},
		{"Unsqueeze at the end", one.Unsqueeze(-1), tensor.Shape{1}, []float64{7}},
		{"Flatten", x.Reshape(3, 2, 2).Flatten(0, 1), tensor.Shape{6, 2}, ramp(0, 12)},
		{"Flatten all", x.Flatten(0, -1), tensor.Shape{12}, ramp(0, 12)},
		{"Flatten of one dim", x.Flatten(1, 1), tensor.Shape{3, 4}, ramp(0, 12)},
		{"Flatten of a scalar", one.Flatten(0, -1), tensor.Shape{1}, []float64{7}},
		{"Flatten of a transpose", x.T().Flatten(0, -1), tensor.Shape{12}, []float64{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
		{"View", x.View(2, -1), tensor.Shape{2, 6}, ramp(0, 12)},
		{"View of a transpose", x.T().View(2, 2, 1, 3), tensor.Shape{2, 2, 1, 3}, []float64{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
		{"View of nothing", none.View(-1, 3), tensor.Shape{0, 3}, []float64{}},
		{"ViewAs", x.ViewAs(tensor.Zeros(d, tensor.Int64, 4, 3)), tensor.Shape{4, 3}, ramp(0, 12)},
		{"Diagonal", x.Diagonal(0, 0, 1), tensor.Shape{3}, []float64{0, 5, 10}},
		{"Diagonal above", x.Diagonal(2, 0, 1), tensor.Shape{2}, []float64{2, 7}},
		{"Diagonal below", x.Diagonal(-1, 0, 1), tensor.Shape{2}, []float64{4, 9}},
		{"Diagonal of swapped dims", x.Diagonal(-1, -1, 0), tensor.Shape{3}, []float64{1, 6, 11}},
		{"Diagonal past the edge", x.Diagonal(4, 0, 1), tensor.Shape{0}, []float64{}},
		{"Diagonal far past the edge", x.Diagonal(math.MinInt, 0, 1), tensor.Shape{0}, []float64{}},
		{"Diagonal of three dims", x.Reshape(3, 2, 2).Diagonal(0, 1, 2), tensor.Shape{3, 2}, []float64{0, 3, 4, 7, 8, 11}},
		{"Unfold", x.Unfold(1, 2, 1), tensor.Shape{3, 3, 2}, []float64{0, 1, 1, 2, 2, 3, 4, 5, 5, 6, 6, 7, 8, 9, 9, 10, 10, 11}},
		{"Unfold of rows", x.Unfold(0, 2, 2), tensor.Shape{1, 4, 2}, []float64{0, 4, 1, 5, 2, 6, 3, 7}},
		{"Unfold of the whole", x.Unfold(-1, 4, math.MaxInt), tensor.Shape{3, 1, 4}, ramp(0, 12)},
		{"Unfold to nothing", x.Unfold(1, 0, 1), tensor.Shape{3, 5, 0}, []float64{}},
	} {
		require.NoError(t, c.got.Err(), c.name)
		require.Equal(t, c.shape, c.got.Shape(), c.name)
		require.Equal(t, c.want, data64(t, c.got), c.name)
	}
}

// TestParts has what PyTorch answers for how many parts there are and of which
// size.
func TestParts(t *testing.T) { onDevices(t, checkParts) }

func checkParts(t *testing.T, d *tensor.Device) {
	type T = *tensor.Tensor
	x := tensor.FromSlice(d, ramp(0, 14), 2, 7)
	none := tensor.Zeros(d, tensor.Float64, 2, 0)
	for _, c := range []struct {
		name  string
		of    T
		parts []T
		want  []int
	}{
		{"Split", x, x.Split(3, 1), []int{3, 3, 1}},
		{"Split from the end", x, x.Split(7, -1), []int{7}},
		{"Split by more", x, x.Split(100, 1), []int{7}},
		{"Split of nothing", none, none.Split(3, 1), []int{0}},
		{"Split of nothing by nothing", none, none.Split(0, 1), []int{0}},
		{"SplitSizes", x, x.SplitSizes([]int{1, 0, 6}, 1), []int{1, 0, 6}},
		{"SplitSizes of nothing", none, none.SplitSizes(nil, 1), []int{}},
		{"Chunk", x, x.Chunk(3, 1), []int{3, 3, 1}},
		{"Chunk to fewer", x, x.Chunk(5, 1), []int{2, 2, 2, 1}},
		{"Chunk to single ones", x, x.Chunk(9, 1), []int{1, 1, 1, 1, 1, 1, 1}},
		{"Chunk of nothing", none, none.Chunk(3, 1), []int{0, 0, 0}},
	} {
		sizes, from := []int{}, 0
		for _, p := range c.parts {
			require.NoError(t, p.Err(), c.name)
			n := p.Dim(1)
			require.Equal(t, data64(t, c.of.Slice(1, from, from+n, 1)), data64(t, p), c.name)
			sizes, from = append(sizes, n), from+n
		}
		require.Equal(t, c.want, sizes, c.name)
	}
}

// TestViewsShareBytes: nothing is copied, and what is written through a view is
// seen in its origin.
func TestViewsShareBytes(t *testing.T) { onDevices(t, checkViewsShareBytes) }

func checkViewsShareBytes(t *testing.T, d *tensor.Device) {
	x := tensor.Zeros(d, tensor.Float64, 4, 4)
	before := live(d)
	row := x.Select(0, 1)
	views := []*tensor.Tensor{row, x.Diagonal(1, 0, 1), x.Unfold(1, 2, 1), x.Permute(1, 0), x.Chunk(2, 0)[1],
		x.Flatten(0, 1), x.T().View(4, 2, 2), x.MoveDim(0, 1), x.Squeeze(), x.Split(3, 1)[1], row.ExpandAs(x)}
	for _, v := range views {
		require.NoError(t, v.Err())
	}
	require.Equal(t, before, live(d))
	require.NoError(t, row.Fill(1))
	require.NoError(t, x.Diagonal(0, 0, 1).Fill(2))
	s := tensor.NewScope()
	require.NoError(t, x.Chunk(2, 1)[1].Slice(0, 2, 4, 1).AddInPlace(tensor.Full(d.In(s), tensor.Float64, 5, 2, 1)))
	require.NoError(t, x.Unfold(0, 1, 2).Select(0, 0).MulInPlace(tensor.Full(d.In(s), tensor.Float64, -1, 4, 1)))
	require.NoError(t, s.Close())
	require.Equal(t, []float64{-2, 0, 0, 0, 1, 2, 1, 1, 0, 0, 7, 5, 0, 0, 5, 7}, data64(t, x))
	require.NoError(t, x.Release())
	require.Equal(t, []float64{1, 2, 1, 1}, data64(t, row), "a view has a hold of its own")
	for _, v := range views {
		require.NoError(t, v.Release())
	}
}

// TestViewsThatRepeatAreNotWritten: an in-place change of an element that stands
// at two indices has no meaning.
func TestViewsThatRepeatAreNotWritten(t *testing.T) { onDevices(t, checkViewsThatRepeatAreNotWritten) }

func checkViewsThatRepeatAreNotWritten(t *testing.T, d *tensor.Device) {
	x := tensor.FromSlice(d, ramp(0, 12), 3, 4)
	for name, v := range map[string]*tensor.Tensor{
		"overlapping windows":        x.Unfold(1, 3, 1),
		"overlapping rows":           x.Unfold(0, 2, 1),
		"a row of them":              x.Unfold(1, 3, 1).Select(0, 2),
		"permuted":                   x.Unfold(1, 2, 1).Permute(2, 1, 0),
		"expanded":                   x.Unsqueeze(0).Expand(2, 3, 4),
		"expanded and sliced":        x.Unsqueeze(0).Expand(5, 3, 4).Slice(0, 1, 4, 2),
		"expanded from a scalar":     tensor.Scalar(d, tensor.Float64, 1).Expand(2),
		"windows of an expanded one": x.Select(1, 0).Unsqueeze(1).Expand(3, 4).Unfold(1, 2, 2),
	} {
		require.NoError(t, v.Err(), name)
		ones := tensor.Ones(d, tensor.Float64, v.Shape()...)
		for op, err := range map[string]error{
			"Fill": v.Fill(1), "Add": v.AddInPlace(ones), "Sub": v.SubInPlace(ones), "Mul": v.MulInPlace(ones),
			"Copy": v.CopyInPlace(ones), "CopyFrom": tensor.CopyFrom(v, make([]float64, v.Len())),
		} {
			require.ErrorIs(t, err, tensor.ErrInPlace, "%s: %s", name, op)
			require.ErrorContains(t, err, "share memory")
		}
	}
	for name, v := range map[string]*tensor.Tensor{
		"windows side by side": x.Unfold(1, 2, 2), "windows apart": x.Unfold(1, 1, 3), "one window": x.Unfold(1, 3, 2),
		"one of the windows": x.Unfold(1, 3, 1).Select(1, 1), "every other window": x.Unfold(1, 2, 1).Slice(1, 0, 3, 2),
		"expanded by 1": x.Expand(1, 3, 4), "a diagonal of windows": x.Unfold(1, 2, 1).Diagonal(0, 0, 2),
	} {
		require.NoError(t, v.Fill(1), name)
	}
}

// TestWritesThroughViewsAreSeen by a backward that needs the old values.
func TestWritesThroughViewsAreSeen(t *testing.T) { onDevices(t, checkWritesThroughViewsAreSeen) }

func checkWritesThroughViewsAreSeen(t *testing.T, d *tensor.Device) {
	w := tensor.Ones(d, tensor.Float64, 2, 3).RequireGrad()
	for _, write := range []func(x *tensor.Tensor) error{
		func(x *tensor.Tensor) error { return x.Select(0, 0).Fill(2) },
		func(x *tensor.Tensor) error { return x.Diagonal(0, 0, 1).AddInPlace(x.Select(1, 0).Expand(2)) },
		func(x *tensor.Tensor) error { return tensor.CopyFrom(x.Unfold(1, 1, 2), make([]float64, 4)) },
		func(x *tensor.Tensor) error { return x.Flatten(0, 1).CopyInPlace(tensor.Scalar(d, tensor.Float64, 3)) },
	} {
		x := tensor.Ones(d, tensor.Float64, 2, 3)
		loss := x.Slice(1, 0, 2, 1).Mul(w.Slice(1, 1, 3, 1)).Sum()
		require.NoError(t, write(x))
		require.ErrorIs(t, loss.Backward(), tensor.ErrInPlace)
	}
	require.ErrorIs(t, w.Select(0, 0).Fill(1), tensor.ErrInPlace, "it has history")
	require.NoError(t, w.NoGrad().Select(0, 0).Fill(4))
	require.Equal(t, []float64{4, 4, 4, 1, 1, 1}, data64(t, w))
}
