package tensor_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// indexMap is the oracle of views: which element of the origin stands at each
// index, in row-major order.
type indexMap struct {
	shape []int
	from  []int
}

// remapped is the map of a view with another shape, whose element at index i is
// m's at source(i). Where source is nil the elements keep their order.
func (m indexMap) remapped(shape []int, source func(i []int) []int) indexMap {
	n := tensor.Shape(shape).Len()
	out := indexMap{shape, make([]int, n)}
	for k := range n {
		if source == nil {
			out.from[k] = m.from[k]
			continue
		}
		i, rest := make([]int, len(shape)), k
		for d := len(shape) - 1; d >= 0; d-- {
			i[d], rest = rest%shape[d], rest/shape[d]
		}
		at := 0
		for d, v := range source(i) {
			at = at*m.shape[d] + v
		}
		out.from[k] = m.from[at]
	}
	return out
}

// step is a view that was drawn: its name, what it does to the map and to a
// tensor.
type step struct {
	name string
	m    indexMap
	run  func(x *tensor.Tensor) *tensor.Tensor
}

// maxChain bounds the elements of a view that is drawn.
const maxChain = 400

// drawStep draws a view of what m describes.
func drawStep(r *rand.Rand, m indexMap) step {
	for {
		s := viewSteps[r.IntN(len(viewSteps))](r, m)
		if s.run != nil && len(s.m.shape) <= tensor.MaxRank && len(s.m.from) <= maxChain {
			return s
		}
	}
}

// drawDim returns a dim and how it is written, from either end.
func drawDim(r *rand.Rand, rank int) (d, written int) {
	d = r.IntN(rank)
	return d, d - rank*r.IntN(2)
}

// with returns a copy of s in which at goes to values in its place.
func with(s []int, at int, values ...int) []int {
	return slices.Replace(slices.Clone(s), at, at+1, values...)
}

// viewSteps draw one view each; a step without run does not fit m.
var viewSteps = []func(r *rand.Rand, m indexMap) step{
	func(r *rand.Rand, m indexMap) step { // Permute
		order := r.Perm(len(m.shape))
		shape, written := make([]int, len(order)), make([]int, len(order))
		for i, d := range order {
			shape[i], written[i] = m.shape[d], d-len(order)*r.IntN(2)
		}
		return step{fmt.Sprint("Permute", written), m.remapped(shape, func(i []int) []int {
			at := make([]int, len(i))
			for k, d := range order {
				at[d] = i[k]
			}
			return at
		}), func(x *tensor.Tensor) *tensor.Tensor { return x.Permute(written...) }}
	},
	func(r *rand.Rand, m indexMap) step { // MoveDim
		if len(m.shape) == 0 {
			return step{}
		}
		a, from := drawDim(r, len(m.shape))
		b, to := drawDim(r, len(m.shape))
		shape := slices.Insert(slices.Delete(slices.Clone(m.shape), a, a+1), b, m.shape[a])
		return step{fmt.Sprint("MoveDim ", from, to), m.remapped(shape, func(i []int) []int {
			return slices.Insert(slices.Delete(slices.Clone(i), b, b+1), a, i[b])
		}), func(x *tensor.Tensor) *tensor.Tensor { return x.MoveDim(from, to) }}
	},
	func(r *rand.Rand, m indexMap) step { // Transpose
		if len(m.shape) == 0 {
			return step{}
		}
		a, from := drawDim(r, len(m.shape))
		b, to := drawDim(r, len(m.shape))
		swap := func(s []int) []int { s = slices.Clone(s); s[a], s[b] = s[b], s[a]; return s }
		return step{fmt.Sprint("Transpose ", from, to), m.remapped(swap(m.shape), swap),
			func(x *tensor.Tensor) *tensor.Tensor { return x.Transpose(from, to) }}
	},
	func(r *rand.Rand, m indexMap) step { // Slice
		if len(m.shape) == 0 {
			return step{}
		}
		d, dim := drawDim(r, len(m.shape))
		n := m.shape[d]
		start, end, by := r.IntN(2*n+3)-n-1, r.IntN(2*n+3)-n-1, 1+r.IntN(3)
		if r.IntN(3) > 0 {
			start, end = 0, n+1
		}
		clip := func(i int) int {
			if i < 0 {
				i += n
			}
			return min(max(i, 0), n)
		}
		count := 0
		for i := clip(start); i < clip(end); i += by {
			count++
		}
		return step{fmt.Sprint("Slice ", dim, start, end, by), m.remapped(with(m.shape, d, count), func(i []int) []int {
			return with(i, d, clip(start)+by*i[d])
		}), func(x *tensor.Tensor) *tensor.Tensor { return x.Slice(dim, start, end, by) }}
	},
	func(r *rand.Rand, m indexMap) step { // Select
		if len(m.shape) < 3 {
			return step{}
		}
		d, dim := drawDim(r, len(m.shape))
		if m.shape[d] == 0 {
			return step{}
		}
		at, index := drawDim(r, m.shape[d])
		return step{fmt.Sprint("Select ", dim, index), m.remapped(with(m.shape, d), func(i []int) []int {
			return slices.Insert(slices.Clone(i), d, at)
		}), func(x *tensor.Tensor) *tensor.Tensor { return x.Select(dim, index) }}
	},
	func(r *rand.Rand, m indexMap) step { // a part of Split, SplitSizes or Chunk
		if len(m.shape) == 0 {
			return step{}
		}
		d, dim := drawDim(r, len(m.shape))
		n := 1 + r.IntN(3)
		sizes, name := []int{}, "Split "
		parts := func(x *tensor.Tensor) []*tensor.Tensor { return x.Split(n, dim) }
		for left := m.shape[d]; left > 0; left -= n {
			sizes = append(sizes, min(n, left))
		}
		if r.IntN(2) == 0 {
			name, parts = "SplitSizes ", func(x *tensor.Tensor) []*tensor.Tensor { return x.SplitSizes(sizes, dim) }
		}
		if len(sizes) == 0 {
			return step{}
		}
		which := r.IntN(len(sizes))
		return step{fmt.Sprint(name, sizes, dim, which), m.remapped(with(m.shape, d, sizes[which]), func(i []int) []int {
			return with(i, d, i[d]+n*which)
		}), func(x *tensor.Tensor) *tensor.Tensor { return parts(x)[which] }}
	},
	func(r *rand.Rand, m indexMap) step { // Unsqueeze, then perhaps Expand
		d, dim := drawDim(r, len(m.shape)+1)
		repeat := 1 + r.IntN(3)
		shape := slices.Insert(slices.Clone(m.shape), d, repeat)
		return step{fmt.Sprint("Expand ", dim, repeat), m.remapped(shape, func(i []int) []int {
			return slices.Delete(slices.Clone(i), d, d+1)
		}), func(x *tensor.Tensor) *tensor.Tensor { return x.Unsqueeze(dim).Expand(shape...) }}
	},
	func(r *rand.Rand, m indexMap) step { // Squeeze
		shape := slices.DeleteFunc(slices.Clone(m.shape), func(n int) bool { return n == 1 })
		return step{"Squeeze", m.remapped(shape, nil), func(x *tensor.Tensor) *tensor.Tensor { return x.Squeeze() }}
	},
	func(r *rand.Rand, m indexMap) step { // Flatten
		if len(m.shape) == 0 {
			return step{}
		}
		a, start := drawDim(r, len(m.shape))
		b := a + r.IntN(len(m.shape)-a)
		shape := slices.Replace(slices.Clone(m.shape), a, b+1, tensor.Shape(m.shape[a:b+1]).Len())
		return step{fmt.Sprint("Flatten ", start, b), m.remapped(shape, nil), func(x *tensor.Tensor) *tensor.Tensor { return x.Flatten(start, b) }}
	},
	func(r *rand.Rand, m indexMap) step { // View: one dim becomes two, which never needs a copy
		if len(m.shape) == 0 {
			return step{}
		}
		d := r.IntN(len(m.shape))
		by := 1 + r.IntN(3)
		if m.shape[d]%by != 0 {
			return step{}
		}
		shape := with(m.shape, d, by, m.shape[d]/by)
		return step{fmt.Sprint("View ", shape), m.remapped(shape, nil), func(x *tensor.Tensor) *tensor.Tensor { return x.View(shape...) }}
	},
	func(r *rand.Rand, m indexMap) step { // Diagonal
		if len(m.shape) < 2 {
			return step{}
		}
		pick := r.Perm(len(m.shape))
		a, b := pick[0], pick[1]
		rows, columns := m.shape[a], m.shape[b]
		offset := r.IntN(rows+columns+3) - rows - 1
		down, right := max(-offset, 0), max(offset, 0)
		var shape []int
		for d, n := range m.shape {
			if d != a && d != b {
				shape = append(shape, n)
			}
		}
		shape = append(shape, max(0, min(rows-down, columns-right)))
		return step{fmt.Sprint("Diagonal ", offset, a, b), m.remapped(shape, func(i []int) []int {
			last := len(i) - 1
			at := slices.Insert(slices.Clone(i[:last]), min(a, b), 0)
			at = slices.Insert(at, max(a, b), 0)
			at[a], at[b] = down+i[last], right+i[last]
			return at
		}), func(x *tensor.Tensor) *tensor.Tensor { return x.Diagonal(offset, a, b-len(m.shape)) }}
	},
	func(r *rand.Rand, m indexMap) step { // Unfold
		if len(m.shape) == 0 {
			return step{}
		}
		d, dim := drawDim(r, len(m.shape))
		size, by := r.IntN(min(m.shape[d], 4)+1), 1+r.IntN(3)
		if size == 0 && r.IntN(4) > 0 {
			return step{}
		}
		windows := 0
		for at := 0; at+size <= m.shape[d]; at += by {
			windows++
		}
		return step{fmt.Sprint("Unfold ", dim, size, by), m.remapped(append(with(m.shape, d, windows), size), func(i []int) []int {
			last := len(i) - 1
			return with(i[:last], d, i[d]*by+i[last])
		}), func(x *tensor.Tensor) *tensor.Tensor { return x.Unfold(dim, size, by) }}
	},
}

// TestViewChains puts random views on views, and compares elements and gradients
// with the map of indices: the gradient of an element is the sum of the upstream
// over the places where it stands.
func TestViewChains(t *testing.T) { onDevices(t, checkViewChains) }

func checkViewChains(t *testing.T, d *tensor.Device) {
	const chains = 150
	for seed := range uint64(chains) {
		r := rand.New(rand.NewPCG(seed, 1))
		shape := make([]int, 1+r.IntN(3))
		for i := range shape {
			shape[i] = 1 + r.IntN(6)
		}
		m := indexMap{shape, make([]int, tensor.Shape(shape).Len())}
		for i := range m.from {
			m.from[i] = i
		}
		steps := make([]step, 1+r.IntN(6))
		name := fmt.Sprint("seed ", seed, ": ", shape)
		for i := range steps {
			steps[i] = drawStep(r, m)
			m = steps[i].m
			name += " " + steps[i].name
		}
		chain := func(x *tensor.Tensor) *tensor.Tensor {
			for _, s := range steps {
				x = s.run(x)
			}
			return x
		}
		checkChain(t, d, r, name, shape, m, chain)
		require.Zero(t, live(d), "%s: left", name)
	}
}

func checkChain(t *testing.T, d *tensor.Device, r *rand.Rand, name string, shape []int, m indexMap, chain func(x *tensor.Tensor) *tensor.Tensor) {
	scope := tensor.NewScope()
	defer func() { require.NoError(t, scope.Close()) }()
	data, up := make([]float64, tensor.Shape(shape).Len()), make([]float64, len(m.from))
	for i := range data {
		data[i] = r.NormFloat64()
	}
	for i := range up {
		up[i] = r.NormFloat64()
	}
	x := tensor.FromSlice(d.In(scope), data, shape...).RequireGrad()
	y := chain(x)
	require.NoError(t, y.Err(), name)
	require.Equal(t, fmt.Sprint(m.shape), fmt.Sprint([]int(y.Shape())), name)
	got := data64(t, y)
	sums := make([]float64, len(data))
	for k, from := range m.from {
		require.Equal(t, data[from], got[k], "%s: element %d", name, k)
		sums[from] += up[k]
	}
	require.NoError(t, y.BackwardWith(tensor.FromSlice(d.In(scope), up, y.Shape()...)), name)
	require.InDeltaSlice(t, sums, data64(t, x.Grad()), 1e-12, name)

	// The same by finite differences of the squares, at one element.
	x2 := tensor.FromSlice(d.In(scope), data, shape...).RequireGrad()
	z := chain(x2)
	require.NoError(t, z.Mul(z).BackwardWith(tensor.FromSlice(d.In(scope), up, z.Shape()...)), name)
	value := func() (sum float64) {
		for k, v := range data64(t, chain(tensor.FromSlice(d.In(scope), data, shape...))) {
			sum += up[k] * v * v
		}
		return sum
	}
	const h = 1e-5
	at := r.IntN(len(data))
	was := data[at]
	data[at] = was + h
	above := value()
	data[at] = was - h
	below := value()
	require.InDelta(t, (above-below)/(2*h), data64(t, x2.Grad())[at], 1e-6, name)
	require.NoError(t, errors.Join(x.ZeroGrad(), x2.ZeroGrad()))
}
