package kernels

// Matrices is an operand of a [Product]: one matrix for each product. Strides
// are in elements.
type Matrices struct {
	Ptr      uintptr // of the first element of the first matrix; 0: no operand
	Row, Col int64   // from one row, and from one column, to the next

	Batch [MaxRank - 2]int64 // from one matrix to the next, along each dim of the products
}

// Product is a call of [MatMul] in as few products as its strides allow: X [M,K]
// times Y [K,N] into Out [M,N], as often as Dims say. Bodies work on it rather
// than on the views.
type Product struct {
	M, N, K int64
	Rank    int // dims of the products
	Dims    [MaxRank - 2]int64

	X, Y, Out, Bias Matrices // Bias like Out
}

// NewProduct returns the products of a, which Check has found good. Dims of the
// batch that all operands cross with one step become one, and rows that meet the
// same Y, or columns that meet the same X, become rows or columns of one product:
// a batch times one matrix is one large product where the batch lies dense.
func NewProduct(a *Args) Product {
	out, x := &a.Out[0], &a.In[0]
	batch := int(out.Rank) - 2
	p := Product{
		M: out.Dims[batch], N: out.Dims[batch+1], K: x.Dims[batch+1],
		X: matrices(x), Y: matrices(&a.In[1]), Out: matrices(out),
	}
	if len(a.In) == 3 {
		p.Bias = matrices(&a.In[2])
	}
	if batch > 0 {
		p.fold(out.Dims[:batch])
	}
	return p
}

func matrices(v *View) Matrices {
	batch := v.Rank - 2
	m := Matrices{Ptr: v.Ptr, Row: v.Strides[batch], Col: v.Strides[batch+1]}
	copy(m.Batch[:], v.Strides[:batch])
	return m
}

// Count returns how many products p is.
func (p *Product) Count() int64 {
	n := int64(1)
	for _, d := range p.Dims[:p.Rank] {
		n *= d
	}
	return n
}

// Nth returns product i of p, counted in row-major order, alone. Its operands
// keep their steps from one product to the next. size is the bytes of an element.
func (p *Product) Nth(i, size int64) Product {
	one := *p
	one.Rank = 0
	for d := p.Rank - 1; d >= 0; d-- {
		at := i % p.Dims[d]
		i /= p.Dims[d]
		for _, m := range one.operands() {
			m.Ptr += uintptr(at * m.Batch[d] * size)
		}
	}
	return one
}

func (p *Product) operands() [4]*Matrices { return [4]*Matrices{&p.X, &p.Y, &p.Out, &p.Bias} }

// fold takes over the batch and makes of it as little as it can.
func (p *Product) fold(batch []int64) {
	for d, n := range batch {
		if n == 1 {
			continue
		}
		p.Dims[p.Rank] = n
		for _, m := range p.operands() {
			m.Batch[p.Rank] = m.Batch[d]
		}
		p.Rank++
	}
	for p.foldOne() {
	}
}

// foldOne folds one dim of the products and reports whether there was one.
func (p *Product) foldOne() bool {
	for d := range p.Rank {
		folds := p.foldRows(d) || p.foldCols(d)
		for e := 0; e < p.Rank && !folds; e++ {
			folds = p.merge(d, e)
		}
		if folds {
			p.remove(d)
			return true
		}
	}
	return false
}

func (p *Product) remove(d int) {
	copy(p.Dims[d:], p.Dims[d+1:])
	for _, m := range p.operands() {
		copy(m.Batch[d:], m.Batch[d+1:])
	}
	p.Rank--
}

// merge makes dim d part of dim e where it is the one outside of it.
func (p *Product) merge(d, e int) bool {
	if d == e {
		return false
	}
	for _, m := range p.operands() {
		if m.Batch[d] != m.Batch[e]*p.Dims[e] {
			return false
		}
	}
	p.Dims[e] *= p.Dims[d]
	return true
}

// foldRows makes dim d, along which Y is one matrix, part of the rows.
func (p *Product) foldRows(d int) bool {
	n := p.Dims[d]
	rows := [3]*int64{&p.X.Row, &p.Out.Row, &p.Bias.Row}
	steps := [3]int64{p.X.Batch[d], p.Out.Batch[d], p.Bias.Batch[d]}
	if p.Y.Batch[d] != 0 || !joins(rows, steps, p.M, n) {
		return false
	}
	p.M *= n
	return true
}

// foldCols makes dim d, along which X is one matrix, part of the columns.
func (p *Product) foldCols(d int) bool {
	n := p.Dims[d]
	cols := [3]*int64{&p.Y.Col, &p.Out.Col, &p.Bias.Col}
	steps := [3]int64{p.Y.Batch[d], p.Out.Batch[d], p.Bias.Batch[d]}
	if p.X.Batch[d] != 0 || !joins(cols, steps, p.N, n) {
		return false
	}
	p.N *= n
	return true
}

// joins reports whether m lines and n steps are m*n lines of every operand, and
// makes lines the distance between those. The steps may lie outside of the lines
// or inside.
func joins(lines [3]*int64, steps [3]int64, m, n int64) bool {
	outside, inside := true, true
	for i, line := range lines {
		outside = outside && steps[i] == m**line
		inside = inside && *line == n*steps[i]
	}
	if m != 1 && outside {
		return true
	}
	if m != 1 && !inside {
		return false
	}
	for i, line := range lines {
		*line = steps[i]
	}
	return true
}
