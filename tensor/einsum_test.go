package tensor_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// einsumCase is a random equation, as lists of labels: letters as they are, and
// dims of "..." from 1000 on, counted from the last.
type einsumCase struct {
	equation string
	labels   [][]int
	shapes   [][]int
	out      []int
	sizes    map[int]int
}

const dots = 1000

// randomEinsum draws an equation of one to four operands. Labels have sizes of 1
// to 3, and some dims have size 1 where the others have more.
func randomEinsum(r *rand.Rand) einsumCase {
	const letters = "abZQ"
	c := einsumCase{sizes: map[int]int{dots: 1 + r.IntN(2), dots + 1: 1 + r.IntN(2)}}
	for _, l := range letters {
		c.sizes[int(l)] = 1 + r.IntN(3)
	}
	var spelled []string
	count, most := map[int]int{}, 0
	for range 1 + r.IntN(4) {
		var labels []int
		for range r.IntN(4) {
			labels = append(labels, int(letters[r.IntN(len(letters))]))
		}
		at, n := r.IntN(len(labels)+1), -1 // where "..." stands, and for how many dims
		if r.IntN(2) == 0 {
			n = r.IntN(3)
		}
		s := spell(labels[:at])
		if n >= 0 {
			s += "..."
		}
		spelled = append(spelled, s+spell(labels[at:]))
		rest := slices.Clone(labels[at:])
		labels = labels[:at]
		for d := n - 1; d >= 0; d-- {
			labels = append(labels, dots+d)
		}
		labels = append(labels, rest...)
		most = max(most, n)
		c.labels = append(c.labels, labels)
		for _, l := range labels {
			count[l]++
		}
	}
	for _, labels := range c.labels {
		ones := map[int]bool{}
		shape := []int{}
		for _, l := range labels {
			if _, drawn := ones[l]; !drawn {
				ones[l] = r.IntN(6) == 0
			}
			n := c.sizes[l]
			if ones[l] {
				n = 1
			}
			shape = append(shape, n)
		}
		c.shapes = append(c.shapes, shape)
	}
	for d := most - 1; d >= 0; d-- {
		c.out = append(c.out, dots+d)
	}
	c.equation = strings.Join(spelled, ",")
	if r.IntN(3) == 0 {
		for _, l := range "QZab" {
			if count[int(l)] == 1 {
				c.out = append(c.out, int(l))
			}
		}
		return c
	}
	var out []int
	for _, l := range letters {
		if count[int(l)] > 0 && r.IntN(2) == 0 {
			out = append(out, int(l))
		}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	at := r.IntN(len(out) + 1)
	if r.IntN(3) == 0 { // "..." is added up too
		c.equation += "->" + spell(out)
		c.out = out
		return c
	}
	c.equation += " -> " + spell(out[:at]) + "..." + spell(out[at:])
	c.out = slices.Concat(out[:at], c.out, out[at:])
	return c
}

func spell(labels []int) string {
	s := ""
	for _, l := range labels {
		s += string(rune(l))
	}
	return s
}

// naive adds up the products for every value of every label that an operand has.
func (c *einsumCase) naive(data [][]float64) (shape []int, out []float64) {
	size := map[int]int{} // as the operands have it
	var all []int
	for i, labels := range c.labels {
		for d, l := range labels {
			if size[l] == 0 {
				all = append(all, l)
			}
			size[l] = max(size[l], c.shapes[i][d])
		}
	}
	shape = []int{}
	for _, l := range c.out {
		shape = append(shape, size[l])
	}
	out = make([]float64, tensor.Shape(shape).Len())
	value := map[int]int{}
	place := func(labels, shape []int) int {
		at := 0
		for d, l := range labels {
			at = at*shape[d] + min(value[l], shape[d]-1)
		}
		return at
	}
	var walk func(rest []int)
	walk = func(rest []int) {
		if len(rest) > 0 {
			for v := range size[rest[0]] {
				value[rest[0]] = v
				walk(rest[1:])
			}
			return
		}
		p := 1.0
		for i := range data {
			p *= data[i][place(c.labels[i], c.shapes[i])]
		}
		out[place(c.out, shape)] += p
	}
	walk(all)
	return shape, out
}

// TestEinsumOfRandomEquations compares with loops over the definition.
func TestEinsumOfRandomEquations(t *testing.T) {
	const seed = 17
	r := rand.New(rand.NewPCG(seed, 1))
	d := newCPU(t)
	for i := range 600 {
		c := randomEinsum(r)
		data := make([][]float64, len(c.shapes))
		operands := make([]*tensor.Tensor, len(c.shapes))
		for i, s := range c.shapes {
			data[i] = make([]float64, tensor.Shape(s).Len())
			for j := range data[i] {
				data[i][j] = r.NormFloat64()
			}
			operands[i] = tensor.FromSlice(d, data[i], s...)
		}
		what := fmt.Sprintf("seed %d, equation %d: %q of %v", seed, i, c.equation, c.shapes)
		got := tensor.Einsum(c.equation, operands...)
		require.NoError(t, got.Err(), what)
		shape, want := c.naive(data)
		require.Equal(t, tensor.Shape(shape), got.Shape(), what)
		values, err := tensor.Data[float64](got)
		require.NoError(t, err, what)
		for j := range want {
			require.InDelta(t, want[j], values[j], 1e-9, "%s: element %d", what, j)
		}
	}
}

func einsumCases() []gradCase {
	var cases []gradCase
	for _, c := range []struct {
		equation string
		shapes   [][]int
	}{
		{"ij,jk->ik", [][]int{{3, 4}, {4, 2}}}, {"ii->i", [][]int{{3, 3}}}, {"ii", [][]int{{3, 3}}}, {"ij->ji", [][]int{{3, 4}}},
		{"bhqd,bkhd->bhqk", [][]int{{2, 2, 3, 4}, {2, 2, 2, 4}}}, {"...ij,...kj->...ik", [][]int{{2, 1, 2, 3}, {3, 2, 3}}},
		{"i,j,k->kij", [][]int{{2}, {3}, {2}}}, {"ij,jk,kl,lm", [][]int{{2, 3}, {3, 2}, {2, 4}, {4, 2}}}, {"ij,ij->", [][]int{{3, 4}, {3, 4}}},
		{"ij,ij->i", [][]int{{3, 4}, {1, 4}}}, {"iij,jk->k", [][]int{{2, 2, 3}, {3, 4}}}, {"i...->...", [][]int{{3, 2, 2}}}, {",i", [][]int{{}, {3}}},
	} {
		cases = append(cases, gradCase{name: "Einsum " + c.equation, shapes: c.shapes,
			f: func(in []*tensor.Tensor) *tensor.Tensor { return tensor.Einsum(c.equation, in...) }})
	}
	return cases
}

// TestEinsumIsAView where nothing is added up or multiplied.
func TestEinsumIsAView(t *testing.T) {
	d := newCPU(t)
	x := tensor.FromSlice(d, []float32{1, 2, 3, 4}, 2, 2)
	require.NoError(t, tensor.Einsum("ii->i", x).Fill(7))
	got, err := tensor.Data[float32](x)
	require.NoError(t, err)
	require.Equal(t, []float32{7, 2, 3, 7}, got)
}

// TestEinsumOfIntegers: products without sums are of any type.
func TestEinsumOfIntegers(t *testing.T) {
	d := newCPU(t)
	got, err := tensor.Data[int64](tensor.Einsum("i,j->ji", tensor.FromSlice(d, []int64{1, 2}), tensor.FromSlice(d, []int64{3, 4, 5})))
	require.NoError(t, err)
	require.Equal(t, []int64{3, 6, 4, 8, 5, 10}, got)
}

// TestEinsumReleases: no temporary is left, neither after a result nor after an
// error.
func TestEinsumReleases(t *testing.T) {
	d := newCPU(t)
	live := func() int64 { return d.Memory().Stats().AllocatedBytes.All.Current }
	a, b := tensor.Ones(d, tensor.Float32, 3, 3, 4), tensor.Ones(d, tensor.Float32, 5, 4, 1)
	before := live()
	for _, c := range []struct {
		equation string
		operands []*tensor.Tensor
	}{
		{"iij,kjl,mjn->lk", []*tensor.Tensor{a, b, b}}, {"abc,def,ghi->ibcdefgah", []*tensor.Tensor{a, b, b}}, {"abc,ab", []*tensor.Tensor{a, b}},
	} {
		require.NoError(t, tensor.Einsum(c.equation, c.operands...).Release())
		require.Equal(t, before, live(), c.equation)
	}
}

func TestEinsumRefuses(t *testing.T) {
	d := newCPU(t)
	x, v := tensor.Ones(d, tensor.Float32, 2, 3), tensor.Ones(d, tensor.Float32, 4)
	n, y := tensor.Ones(d, tensor.Int64, 2, 3), tensor.Ones(d, tensor.Float64, 3)
	six := tensor.Ones(d, tensor.Float32, 1, 1, 1, 1, 1, 1)
	for _, c := range []struct {
		equation string
		operands []*tensor.Tensor
		is       error
		says     string
	}{
		{"i1", []*tensor.Tensor{x}, tensor.ErrEquation, "bad equation at 1: '1' is no letter"},
		{"ij-i", []*tensor.Tensor{x}, tensor.ErrEquation, "at 2: '-'"},
		{"..ij", []*tensor.Tensor{x}, tensor.ErrEquation, "at 0: '.'"},
		{"i...j...", []*tensor.Tensor{x}, tensor.ErrEquation, "at 5: a second"},
		{"ij->i,j", []*tensor.Tensor{x}, tensor.ErrEquation, "at 5: ','"},
		{"ij->i->j", []*tensor.Tensor{x}, tensor.ErrEquation, "at 5: '-'"},
		{"ij->ii", []*tensor.Tensor{x}, tensor.ErrEquation, "at 5: the output has 'i' twice"},
		{"ij -> ik", []*tensor.Tensor{x}, tensor.ErrEquation, "at 7: no operand has the output's 'k'"},
		{"ij\t", []*tensor.Tensor{x}, tensor.ErrEquation, "at 2: '\\t'"},
		{"i", []*tensor.Tensor{x}, tensor.ErrShape, "Einsum [2, 3]"},
		{"i", []*tensor.Tensor{x}, tensor.ErrShape, "operand 0 has 2 dims for 1 letters"},
		{"ij,jkl...", []*tensor.Tensor{x, v}, tensor.ErrShape, "operand 1 has 1 dims for 3 letters"},
		{"ij", []*tensor.Tensor{x, v}, tensor.ErrShape, "2 operands for an equation of 1"},
		{"ij,j", []*tensor.Tensor{x}, tensor.ErrShape, "1 operands for an equation of 2"},
		{"", nil, tensor.ErrShape, "no operands"},
		{"ij,j", []*tensor.Tensor{x, v}, tensor.ErrShape, "'j' has size 4 in operand 1 and 3 before"},
		{"ii", []*tensor.Tensor{x}, tensor.ErrShape, "'i' is twice in operand 0, with sizes 2 and 3"},
		{"...,...", []*tensor.Tensor{x, v}, tensor.ErrShape, "dim -1 of \"...\" has size 4"},
		{"ij,j", []*tensor.Tensor{x, y}, tensor.ErrDType, "float32 and float64"},
		{"ij,ij->i", []*tensor.Tensor{n, n}, tensor.ErrDType, "needs a float, got int64"},
		{"abcdef,ghi...", []*tensor.Tensor{six, six}, tensor.ErrShape, "has 12 dims, at most 8"},
	} {
		got := tensor.Einsum(c.equation, c.operands...)
		require.ErrorIs(t, got.Err(), c.is, c.equation)
		require.ErrorContains(t, got.Err(), c.says)
	}
	gone := tensor.Ones(d, tensor.Float32, 2)
	require.NoError(t, gone.Release())
	require.ErrorIs(t, tensor.Einsum("i,i", v, gone).Err(), tensor.ErrReleased)
	bad := x.MatMul(v)
	require.Same(t, bad.Err(), tensor.Einsum("ij,j", x, bad).Err(), "handed on unchanged")
}
