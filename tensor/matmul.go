package tensor

import (
	"fmt"

	"tarn/kernels"
)

// MatMul returns the matrix product of t [..., M, K] and u [..., K, N], which is
// [..., M, N]: the dims before the last two count matrices and broadcast. A
// vector [K] counts as a row on the left and as a column on the right, and the
// dim that it lacks is not in the result either; that of two vectors is a scalar.
// A sum over K = 0 is 0. Both are of one float type: PyTorch multiplies integers
// too. Transposed, sliced and expanded operands are read where they lie.
func (t *Tensor) MatMul(u *Tensor) *Tensor { return t.matMul(matMulDef, u) }

// Dot returns the sum of the products of the elements of two vectors, a scalar.
// Both have one float type.
func (t *Tensor) Dot(u *Tensor) *Tensor {
	if err := usableBoth(t, u); err != nil {
		return refused(dotDef.name, err, t, u)
	}
	if t.view.Rank != 1 || u.view.Rank != 1 {
		return refused(dotDef.name, fmt.Errorf("%w: both need 1 dim", ErrShape), t, u)
	}
	return t.matMul(dotDef, u)
}

// Outer returns the products of each element of the vector t [M] with each of u
// [N], which is [M, N]. Types are promoted as by [Tensor.Mul].
func (t *Tensor) Outer(u *Tensor) *Tensor {
	if err := usableBoth(t, u); err != nil {
		return refused("Outer", err, t, u)
	}
	if t.view.Rank != 1 || u.view.Rank != 1 {
		return refused("Outer", fmt.Errorf("%w: both need 1 dim", ErrShape), t, u)
	}
	column := t.Unsqueeze(1)
	defer column.Release()
	return column.Mul(u)
}

func (t *Tensor) matMul(def *opDef, u *Tensor) *Tensor {
	var c call
	start(&c, def, t, u)
	c.product(false)
	return c.finish(func(n *node) { saveFactors(n, &c) })
}

// Linear returns t [..., K] times the weight w [K, N] plus the bias b [N], which
// may be nil: [..., N], in one kernel. PyTorch's weight is the transpose of w, and
// w.T() reads one where it lies.
func (t *Tensor) Linear(w, b *Tensor) *Tensor { return t.linear(w, b, false) }

// LinearReLU returns the ReLU of t.Linear(w, b), in one kernel; the sums before
// the ReLU are never stored.
func (t *Tensor) LinearReLU(w, b *Tensor) *Tensor { return t.linear(w, b, true) }

func (t *Tensor) linear(w, b *Tensor, relu bool) *Tensor {
	var c call
	if b == nil {
		start(&c, linearDef, t, w)
	} else {
		start(&c, linearDef, t, w, b)
	}
	switch {
	case c.err != nil:
	case w.view.Rank != 2:
		c.err = fmt.Errorf("%w: the weight has %d dims, not 2", ErrShape, w.view.Rank)
	case b != nil && b.view.Rank != 1:
		c.err = fmt.Errorf("%w: the bias has %d dims, not 1", ErrShape, b.view.Rank)
	}
	c.product(relu)
	return c.finish(func(n *node) {
		saveFactors(n, &c)
		if n.attr.relu = relu; relu {
			n.save(resultSlot, c.out)
		}
	})
}

// product checks the factors and launches.
func (c *call) product(relu bool) {
	c.wantFloat()
	if c.err != nil {
		return
	}
	var full [MaxRank]int64
	var dims []int64
	if dims, c.err = c.productDims(&full); c.err != nil {
		return
	}
	x, y := &c.operands[0].view, &c.operands[1].view
	out := kernels.View{Rank: int8(len(dims)), Dims: full}
	if y.Rank == 1 {
		out = without(out, int(out.Rank)-1)
	}
	if x.Rank == 1 {
		out = without(out, len(dims)-2)
	}
	c.result(x.DType, out.Dims[:out.Rank])
	if c.err != nil {
		return
	}
	args := kernels.NewArgs()
	args.Out = append(args.Out, ofVectors(c.out.view, x, y))
	args.In = append(args.In, expandedMatrices(asRow(*x), dims), expandedMatrices(asColumn(*y), dims))
	if c.n == 3 {
		args.In = append(args.In, expanded(c.operands[2].view, dims))
	}
	if relu {
		args.Attr.Activation = kernels.Rectify
	}
	c.launch(kernels.MatMul, args)
}

// productDims writes to full the dims of the product of the first two operands,
// with those that vectors lack.
func (c *call) productDims(full *[MaxRank]int64) ([]int64, error) {
	if c.operands[0].view.Rank == 0 || c.operands[1].view.Rank == 0 {
		return nil, fmt.Errorf("%w: a factor has no dims", ErrShape)
	}
	x, y := asRow(c.operands[0].view), asColumn(c.operands[1].view)
	if k, l := x.Dims[x.Rank-1], y.Dims[y.Rank-2]; k != l {
		return nil, fmt.Errorf("%w: inner dims %d and %d differ", ErrShape, k, l)
	}
	m, n := x.Dims[x.Rank-2], y.Dims[y.Rank-1]
	if c.n == 3 && c.operands[2].view.Dims[0] != n {
		return nil, fmt.Errorf("%w: the bias has %d elements for %d outputs", ErrShape, c.operands[2].view.Dims[0], n)
	}
	x.Rank -= 2
	y.Rank -= 2
	batch, err := broadcast(full, &x, &y)
	if err != nil {
		return nil, fmt.Errorf("%w: of matrices before the last two dims", err)
	}
	return append(batch, m, n), nil
}

// asRow returns a vector as a matrix of one row, asColumn as one of one column,
// and both a matrix as it is.
func asRow(v kernels.View) kernels.View {
	if v.Rank == 1 {
		return withDim(v, 0)
	}
	return v
}

func asColumn(v kernels.View) kernels.View {
	if v.Rank == 1 {
		return withDim(v, 1)
	}
	return v
}

// ofVectors returns a product of x and y with the dims that it lacks where they
// are vectors.
func ofVectors(out kernels.View, x, y *kernels.View) kernels.View {
	if x.Rank == 1 && y.Rank == 1 {
		return withDim(withDim(out, 0), 1)
	}
	if x.Rank == 1 {
		return withDim(out, int(out.Rank)-1)
	}
	if y.Rank == 1 {
		return withDim(out, int(out.Rank))
	}
	return out
}

// withDim returns v with a dim of size 1 put in at d.
func withDim(v kernels.View, d int) kernels.View {
	copy(v.Dims[d+1:], v.Dims[d:v.Rank])
	copy(v.Strides[d+1:], v.Strides[d:v.Rank])
	v.Dims[d], v.Strides[d] = 1, 1
	v.Rank++
	return v
}

// expandedMatrices returns v, matrices, as often as a product of the given dims
// takes them.
func expandedMatrices(v kernels.View, dims []int64) kernels.View {
	var as [MaxRank]int64
	last := len(dims) - 2
	copy(as[:], dims[:last])
	copy(as[last:], v.Dims[v.Rank-2:v.Rank])
	return expanded(v, as[:len(dims)])
}

// saveFactors saves each factor that the other's gradient reads.
func saveFactors(n *node, c *call) {
	if n.needs(0) {
		n.save(1, c.operands[1])
	}
	if n.needs(1) {
		n.save(0, c.operands[0])
	}
}
