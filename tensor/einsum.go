package tensor

import (
	"fmt"
	"slices"

	"tarn/kernels"
)

// Einsum multiplies its operands and adds the products up, as the equation says
// in Einstein's notation with the grammar of PyTorch's einsum: one letter, a to z
// or A to Z, for each dim of each operand, operands parted by commas, and after
// "->" the letters of the result; what is not among those is added up. So
//
//	Einsum("ij,jk->ik", a, b)          the matrix product
//	Einsum("...ij,...kj->...ik", a, b) that with b transposed, of batches
//	Einsum("ii->i", a)                 the diagonal, a view
//	Einsum("i,j", a, b)                the outer product
//
// A letter has one size everywhere; a dim of size 1 is repeated where another
// operand has more. Twice in one operand it takes the diagonal. "..." stands, once
// in an operand, for the dims that have no letter; they broadcast, aligned at the
// last. Without "->" the result has the dims of "..." and then the letters that
// stand once in all, A to Z before a to z. Spaces are skipped.
//
// All operands have one dtype. Sums of products need floats; products without
// sums, sums and views take any type that Mul and Sum do.
//
// The planner contracts two operands at a time, of all pairs the one whose product
// takes the fewest multiplications, and of equals the first. PyTorch goes from
// left to right, which gives the same but for rounding. A pair is one batched
// MatMul on views, with copies only where strides do not allow one. The result of
// each pair has at most 8 dims.
func Einsum(equation string, operands ...*Tensor) *Tensor {
	if len(operands) == 0 {
		return failed(newError("Einsum", fmt.Errorf("%w: no operands", ErrShape)), CPU(), nil, kernels.View{})
	}
	e, err := newContraction(equation, operands)
	if err != nil {
		return refused("Einsum", err, operands[0], operands[1:]...)
	}
	defer e.release()
	for len(e.terms) > 1 {
		if err := e.contract(e.cheapest()); err != nil {
			return refused("Einsum", err, operands[0], operands[1:]...)
		}
	}
	x := &e.terms[0]
	x.sum(func(l label) bool { return !slices.Contains(e.out, l) })
	return x.ordered(e.out)
}

// term is an operand of a contraction on its way: a dim for each label.
type term struct {
	t      *Tensor
	labels []label
	own    bool // made here, to be released
}

// set gives x the tensor t, made here, in place of its own.
func (x *term) set(t *Tensor, labels []label) {
	x.release()
	*x = term{t, labels, true}
}

func (x *term) release() {
	if x.own {
		x.t.Release()
	}
}

// contraction is an einsum on its way.
type contraction struct {
	terms []term
	out   []label
	sizes map[label]int
}

// newContraction reads the equation and makes of each operand a term, in which
// no label stands twice and none of size 1 stands for more.
func newContraction(equation string, operands []*Tensor) (*contraction, error) {
	for _, t := range operands {
		if err := t.usable(); err != nil {
			return nil, err
		}
		if a, b := operands[0].view.DType, t.view.DType; a != b {
			return nil, dtypeError("%v and %v", a, b)
		}
	}
	eq, err := parseEinsum(equation)
	if err != nil {
		return nil, err
	}
	shapes := make([]Shape, len(operands))
	for i, t := range operands {
		shapes[i] = t.Shape()
	}
	labels, out, sizes, err := eq.bind(shapes)
	if err != nil {
		return nil, err
	}
	e := &contraction{out: out, sizes: sizes}
	for i, t := range operands {
		x := term{t: t, labels: labels[i]}
		x.diagonals()
		x.dropOnes(sizes)
		e.terms = append(e.terms, x)
	}
	return e, nil
}

// diagonals takes the diagonal of dims of one label.
func (x *term) diagonals() {
	for i := 0; i < len(x.labels); i++ {
		j := slices.Index(x.labels[i+1:], x.labels[i])
		if j < 0 {
			continue
		}
		j += i + 1
		l := x.labels[i]
		rest := slices.Delete(slices.Clone(x.labels), j, j+1)
		rest = append(slices.Delete(rest, i, i+1), l)
		x.set(x.t.Diagonal(0, i, j), rest)
		i = -1 // from the start
	}
}

// dropOnes squeezes dims of size 1 whose label has more elsewhere.
func (x *term) dropOnes(sizes map[label]int) {
	var dims []int
	var rest []label
	for d, l := range x.labels {
		if x.t.view.Dims[d] == 1 && sizes[l] != 1 {
			dims = append(dims, d)
		} else {
			rest = append(rest, l)
		}
	}
	if len(dims) > 0 {
		x.set(x.t.Squeeze(dims...), rest)
	}
}

func (e *contraction) release() {
	for i := range e.terms {
		e.terms[i].release()
	}
	e.terms = nil
}

// cheapest returns the pair to contract next.
func (e *contraction) cheapest() (a, b int) {
	best := -1.0
	for i := range e.terms {
		for j := i + 1; j < len(e.terms); j++ {
			cost := 1.0
			for _, l := range union(e.terms[i].labels, e.terms[j].labels) {
				cost *= float64(e.sizes[l])
			}
			if best < 0 || cost < best {
				best, a, b = cost, i, j
			}
		}
	}
	return a, b
}

func union(a, b []label) []label {
	all := slices.Clone(a)
	for _, l := range b {
		if !slices.Contains(a, l) {
			all = append(all, l)
		}
	}
	return all
}

// contract puts the product of terms i and j in the place of i.
func (e *contraction) contract(i, j int) error {
	x, y := e.terms[i], e.terms[j]
	e.terms = slices.Delete(e.terms, j, j+1)
	needed := func(l label) bool {
		if slices.Contains(e.out, l) {
			return true
		}
		for k := range e.terms {
			if k != i && slices.Contains(e.terms[k].labels, l) {
				return true
			}
		}
		return false
	}
	x.sum(func(l label) bool { return !needed(l) && !slices.Contains(y.labels, l) })
	y.sum(func(l label) bool { return !needed(l) && !slices.Contains(x.labels, l) })
	var err error
	e.terms[i], err = multiplied(&x, &y, needed)
	x.release()
	y.release()
	return err
}

// sum adds x up over the dims whose labels are gone.
func (x *term) sum(gone func(l label) bool) {
	var dims []int
	var rest []label
	for d, l := range x.labels {
		if gone(l) {
			dims = append(dims, d)
		} else {
			rest = append(rest, l)
		}
	}
	if len(dims) > 0 {
		x.set(x.t.Sum(dims...), rest)
	}
}

// ordered returns a view of x, of its own, with the dims in the order of labels.
func (x *term) ordered(labels []label) *Tensor {
	order := make([]int, len(labels))
	for i, l := range labels {
		order[i] = slices.Index(x.labels, l)
	}
	return x.t.Permute(order...)
}
