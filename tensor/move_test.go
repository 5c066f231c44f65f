package tensor_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// moveCases are the ops that put elements in other places.
func moveCases() []gradCase {
	type T = *tensor.Tensor
	one := func(f func(a T) T) func([]T) T { return func(in []T) T { return f(in[0]) } }
	two := func(f func(a, b T) T) func([]T) T { return func(in []T) T { return f(in[0], in[1]) } }
	ints := func(a T, shape []int, i ...int64) T { return tensor.FromSlice(a.Device(), i, shape...) }
	fixed := func(a T) T { return tensor.Ones(a.Device(), tensor.Float64, 1, 3) }
	cases := []gradCase{
		{name: "Concat", shapes: [][]int{{2, 3}, {1, 3}, {4, 3}}, f: func(in []T) T { return tensor.Concat(0, in...) }},
		{name: "Concat last", shapes: [][]int{{2, 3}, {2, 1}}, f: func(in []T) T { return tensor.Concat(-1, in[0], in[1], in[0].Exp(), in[1]) }},
		{name: "Concat with nothing", shapes: [][]int{{0}, {2, 3}, {2, 0}}, f: func(in []T) T { return tensor.Concat(1, in...) }},
		{name: "Concat with constants", shapes: [][]int{{2, 3}}, f: one(func(a T) T { return tensor.Concat(0, fixed(a), a, fixed(a)) })},
		{name: "Concat of float types", shapes: [][]int{{3}}, f: one(func(a T) T { return tensor.Concat(0, ints(a, []int{2}, 4, 5), a) })},
		{name: "Stack", shapes: [][]int{{2, 3}, {2, 3}}, f: two(func(a, b T) T { return tensor.Stack(1, a, b, a) })},
		{name: "Stack last", shapes: [][]int{{}, {}}, f: two(func(a, b T) T { return tensor.Stack(-1, a, b) })},
		{name: "Split used up", shapes: [][]int{{2, 6}}, f: one(func(a T) T {
			p := a.Exp().Split(2, 1)
			return p[0].Mul(p[1]).Add(p[2].Mul(p[0]))
		})},
		{name: "Slices that overlap", shapes: [][]int{{7}}, f: one(func(a T) T { b := a.Exp(); return b.Slice(0, 0, 5, 1).Mul(b.Slice(0, 2, 7, 1)) })},
		{name: "Flip", shapes: [][]int{{2, 3, 4}}, f: one(func(a T) T { return a.Flip(0, -1) })},
		{name: "Roll", shapes: [][]int{{2, 3, 4}}, f: one(func(a T) T { return a.Roll([]int{-1, 5}, []int{1, -1}) })},
		{name: "Roll flat", shapes: [][]int{{2, 3}}, f: one(func(a T) T { return a.T().Roll([]int{2}, nil) })},
		{name: "Repeat", shapes: [][]int{{2, 3}}, f: one(func(a T) T { return a.Repeat(2, 1, 3) })},
		{name: "Repeat once", shapes: [][]int{{2, 3}}, f: one(func(a T) T { return a.Repeat(1, 1) })},
		{name: "Tile", shapes: [][]int{{2, 3}}, f: one(func(a T) T { return a.Tile(2) })},
		{name: "RepeatInterleave", shapes: [][]int{{2, 3}}, f: one(func(a T) T { return a.RepeatInterleave(2, -1) })},
		{name: "Pad", shapes: [][]int{{2, 3}}, f: one(func(a T) T { return a.Exp().Pad([]int{1, 2, 0, 1}, 7) })},
		{name: "Pad and cut", shapes: [][]int{{2, 3}}, f: one(func(a T) T { return a.Pad([]int{-1, 2, 1, -1}, 7) })},
		{name: "Triu", shapes: [][]int{{2, 3, 4}}, f: one(func(a T) T { return a.Triu(1) })},
		{name: "Tril", shapes: [][]int{{3, 4}}, f: one(func(a T) T { return a.Tril(-1) })},
		{name: "Gather", shapes: [][]int{{2, 3}}, f: one(func(a T) T { return a.Gather(1, ints(a, []int{2, 4}, 0, 0, 2, 0, 1, 1, 1, 2)) })},
		{name: "Gather less", shapes: [][]int{{3, 4}}, f: one(func(a T) T { return a.T().Gather(0, ints(a, []int{1, 2}, 3, 1)) })},
		{name: "Gather scalar", shapes: [][]int{{}}, f: one(func(a T) T { return a.Gather(0, ints(a, []int{}, 0)) })},
		{name: "IndexSelect", shapes: [][]int{{2, 3, 2}}, f: one(func(a T) T { return a.IndexSelect(1, ints(a, []int{4}, 2, 0, 0, 2)) })},
		{name: "IndexSelect nothing", shapes: [][]int{{2, 3}}, f: one(func(a T) T { return a.IndexSelect(0, ints(a, []int{0})) })},
		{name: "Embedding", shapes: [][]int{{4, 3}}, f: one(func(a T) T { return tensor.Embedding(a, ints(a, []int{2, 3}, 3, 0, 3, 1, 1, 3).T()) })},
		{name: "Embedding by int32", shapes: [][]int{{4, 3}}, f: one(func(a T) T { return tensor.Embedding(a, ints(a, []int{2}, 3, 0).To(tensor.Int32)).Sum(0) })},
		{name: "Scatter", shapes: [][]int{{2, 3}, {2, 2}}, f: two(func(a, b T) T { return a.Scatter(1, ints(a, []int{2, 2}, 0, 2, 1, 0), b) })},
		{name: "Scatter a part", shapes: [][]int{{3, 3}, {4, 3}}, f: two(func(a, b T) T { return a.Exp().Scatter(0, ints(a, []int{2, 2}, 0, 2, 1, 0), b.Exp()) })},
		{name: "ScatterAdd", shapes: [][]int{{2, 3}, {2, 4}}, f: two(func(a, b T) T { return a.ScatterAdd(1, ints(a, []int{2, 4}, 0, 0, 2, 0, 1, 1, 1, 2), b) })},
		{name: "IndexAdd", shapes: [][]int{{2, 3}, {2, 4}}, f: two(func(a, b T) T { return a.IndexAdd(1, ints(a, []int{4}, 0, 0, 2, 0), b) })},
	}
	for _, mode := range []tensor.PadMode{tensor.ReflectPad, tensor.ReplicatePad, tensor.CircularPad} {
		cases = append(cases, gradCase{name: fmt.Sprint("PadWith ", mode), shapes: [][]int{{3, 4}},
			f: one(func(a T) T { return a.PadWith(mode, []int{2, 3, 1, 2}) })})
	}
	return cases
}

func TestMoveGradients(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) { checkGradientsOf(t, d, moveCases()) })
}

// TestMoves holds the ops to PyTorch's results.
func TestMoves(t *testing.T) { onDevices(t, checkMoves) }

func checkMoves(t *testing.T, d *tensor.Device) {
	x := tensor.FromSlice(d, []float64{1, 2, 3, 4, 5, 6}, 2, 3)
	i64 := func(i ...int64) *tensor.Tensor { return tensor.FromSlice(d, i) }
	two := func(i ...int64) *tensor.Tensor { return tensor.FromSlice(d, i, 2, len(i)/2) }
	for name, c := range map[string]struct {
		y     *tensor.Tensor
		shape tensor.Shape
		want  []float64
	}{
		"concat":      {tensor.Concat(1, x, x.Slice(1, 0, 1, 1)), tensor.Shape{2, 4}, []float64{1, 2, 3, 1, 4, 5, 6, 4}},
		"stack":       {tensor.Stack(-1, x, x.Neg()), tensor.Shape{2, 3, 2}, []float64{1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6}},
		"flip":        {x.Flip(0, 1), tensor.Shape{2, 3}, []float64{6, 5, 4, 3, 2, 1}},
		"roll":        {x.Roll([]int{1, 1}, []int{0, 1}), tensor.Shape{2, 3}, []float64{6, 4, 5, 3, 1, 2}},
		"roll flat":   {x.Roll([]int{-2}, nil), tensor.Shape{2, 3}, []float64{3, 4, 5, 6, 1, 2}},
		"repeat":      {x.Select(0, 0).Repeat(2, 2), tensor.Shape{2, 6}, []float64{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}},
		"repeat none": {x.Repeat(0, 1), tensor.Shape{0, 3}, nil},
		"tile":        {x.Tile(2), tensor.Shape{2, 6}, []float64{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}},
		"interleave":  {x.RepeatInterleave(2, 0), tensor.Shape{4, 3}, []float64{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}},
		"pad":         {x.Pad([]int{1, -1, 0, 1}, 9), tensor.Shape{3, 3}, []float64{9, 1, 2, 9, 4, 5, 9, 9, 9}},
		"pad to cut":  {x.Pad([]int{-4, 2}, 9), tensor.Shape{2, 1}, []float64{9, 9}},
		"reflect":     {x.PadWith(tensor.ReflectPad, []int{2, 1}), tensor.Shape{2, 6}, []float64{3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5}},
		"replicate":   {x.PadWith(tensor.ReplicatePad, []int{2, 1}), tensor.Shape{2, 6}, []float64{1, 1, 1, 2, 3, 3, 4, 4, 4, 5, 6, 6}},
		"circular":    {x.PadWith(tensor.CircularPad, []int{2, 1, 1, 0}), tensor.Shape{3, 6}, []float64{5, 6, 4, 5, 6, 4, 2, 3, 1, 2, 3, 1, 5, 6, 4, 5, 6, 4}},
		"triu":        {x.Triu(0), tensor.Shape{2, 3}, []float64{1, 2, 3, 0, 5, 6}},
		"triu far":    {x.Triu(-1 << 62), tensor.Shape{2, 3}, []float64{1, 2, 3, 4, 5, 6}},
		"tril":        {x.Tril(1), tensor.Shape{2, 3}, []float64{1, 2, 0, 4, 5, 6}},
		"gather":      {x.Gather(1, two(2, 2, 0, 1)), tensor.Shape{2, 2}, []float64{3, 3, 4, 5}},
		"select rows": {x.IndexSelect(0, i64(1, 1, 0)), tensor.Shape{3, 3}, []float64{4, 5, 6, 4, 5, 6, 1, 2, 3}},
		"scatter":     {x.Scatter(1, two(2, 2, 0, 1), x.Neg()), tensor.Shape{2, 3}, []float64{1, 2, -2, -4, -5, 6}},
		"scatter add": {x.ScatterAdd(1, two(2, 2, 0, 1), x), tensor.Shape{2, 3}, []float64{1, 2, 6, 8, 10, 6}},
		"index add":   {x.IndexAdd(0, i64(1, 1), x), tensor.Shape{2, 3}, []float64{1, 2, 3, 9, 12, 15}},
		"embedding":   {tensor.Embedding(x, two(1, 0)), tensor.Shape{2, 1, 3}, []float64{4, 5, 6, 1, 2, 3}},
		"one hot":     {i64(2, 0).OneHot(3).To(tensor.Float64), tensor.Shape{2, 3}, []float64{0, 0, 1, 1, 0, 0}},
	} {
		require.NoError(t, c.y.Err(), name)
		require.Equal(t, c.shape, c.y.Shape(), name)
		require.Equal(t, append([]float64{}, c.want...), append([]float64{}, data64(t, c.y)...), name)
	}
}

// TestMovesOfEveryType: what only moves elements takes all types.
func TestMovesOfEveryType(t *testing.T) { onDevices(t, checkMovesOfEveryType) }

func checkMovesOfEveryType(t *testing.T, d *tensor.Device) {
	for _, dt := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Float16, tensor.BFloat16, tensor.Int64, tensor.Int32, tensor.Uint8, tensor.Bool} {
		x := tensor.FromSlice(d, []float64{1, 0, 0, 1}, 2, 2).To(dt)
		index := tensor.FromSlice(d, []int64{1, 0}, 2, 1)
		for name, c := range map[string]struct {
			y    *tensor.Tensor
			want []float64
		}{
			"gather": {x.Gather(1, index), []float64{0, 0}}, "scatter": {x.Scatter(1, index, x.Flip(0)), []float64{1, 0, 1, 1}},
			"concat": {tensor.Concat(0, x, x.Flip(0)), []float64{1, 0, 0, 1, 0, 1, 1, 0}}, "pad": {x.Slice(0, 0, 1, 1).Pad([]int{1, 1}, 1), []float64{1, 1, 0, 1}},
			"wrap": {x.Slice(0, 0, 1, 1).PadWith(tensor.CircularPad, []int{1, 1}), []float64{0, 1, 0, 1}}, "triu": {tensor.Ones(d, dt, 2, 2).Triu(1), []float64{0, 1, 0, 0}},
		} {
			require.NoError(t, c.y.Err(), "%v %s", dt, name)
			require.Equal(t, dt, c.y.DType(), name)
			require.Equal(t, c.want, data64(t, c.y.To(tensor.Float64)), "%v %s", dt, name)
		}
	}
}
