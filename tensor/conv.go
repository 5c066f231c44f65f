package tensor

import (
	"fmt"

	"tarn/kernels"
)

// Conv says how the kernel of a convolution moves. The first of each pair is of
// the rows, the second of the columns; [Tensor.Conv1D] reads the first alone. A
// stride, a dilation or a number of groups of 0 stands for 1. The padding, of
// zeros, is the same on both sides.
type Conv struct {
	Stride, Padding, Dilation [2]int

	Groups int
}

// Conv2D returns the convolution, or cross-correlation, of t [N,C,H,W] with the
// weight w [O,C/groups,KH,KW] plus the bias b [O], which may be nil, as PyTorch's
// conv2d: [N,O,OH,OW] with OH = (H + 2 padding - dilation (KH-1) - 1)/stride + 1
// rounded down, OW alike. Where padding meets a weight that is infinite or NaN
// the result may or may not be NaN. An image without a batch is refused:
// Unsqueeze it.
func (t *Tensor) Conv2D(w, b *Tensor, c Conv) *Tensor { return t.conv(conv2DDef, 4, w, b, c) }

// Conv1D is [Tensor.Conv2D] of t [N,C,L] with w [O,C/groups,K]: [N,O,OL].
func (t *Tensor) Conv1D(w, b *Tensor, c Conv) *Tensor { return t.conv(conv1DDef, 3, w, b, c) }

func (t *Tensor) conv(def *opDef, rank int8, w, b *Tensor, p Conv) *Tensor {
	var c call
	if b == nil {
		start(&c, def, t, w)
	} else {
		start(&c, def, t, w, b)
	}
	c.wantFloat()
	attr, dims := c.convGeometry(rank, p)
	if c.err != nil {
		return c.finish(nil)
	}
	c.result(c.operands[0].view.DType, dims[:rank])
	args := kernels.NewArgs()
	args.Out = append(args.Out, asPlanes(c.out.view))
	args.In = append(args.In, asPlanes(c.operands[0].view), asPlanes(c.operands[1].view))
	if c.n == 3 {
		args.In = append(args.In, c.operands[2].view)
	}
	args.Attr.Conv = attr
	c.launch(kernels.Conv, args)
	return c.finish(func(n *node) {
		saveFactors(n, &c)
		n.attr.window = &kernels.Attr{Conv: attr}
	})
}

// asPlanes returns v [N,C,L] as [N,C,1,L], and v of four dims as it is.
func asPlanes(v kernels.View) kernels.View {
	if v.Rank == 3 {
		v.Rank = 4
		v.Dims[2], v.Dims[3] = 1, v.Dims[2]
		v.Strides[2], v.Strides[3] = 1, v.Strides[2]
	}
	return v
}

// asColumns turns pairs about rows into those about the columns of one row.
func asColumns(rank int8, other int, pairs ...*[2]int) {
	if rank == 3 {
		for _, p := range pairs {
			p[0], p[1] = other, p[0]
		}
	}
}

// orOne replaces the zeros of a pair, which stand for 1.
func orOne(p [2]int) [2]int {
	for i := range p {
		if p[i] == 0 {
			p[i] = 1
		}
	}
	return p
}

// convGeometry checks the operands and returns what the kernels are told and the
// dims of the result.
func (c *call) convGeometry(rank int8, p Conv) (attr kernels.ConvAttr, dims [4]int64) {
	if c.err != nil {
		return attr, dims
	}
	x, w := c.operands[0].view, c.operands[1].view
	attr = kernels.ConvAttr{Stride: orOne(p.Stride), Padding: p.Padding, Dilation: orOne(p.Dilation), Groups: max(p.Groups, 1)}
	asColumns(rank, 1, &attr.Stride, &attr.Dilation)
	asColumns(rank, 0, &attr.Padding)
	c.err = inRange(windowRange{"stride", attr.Stride, 1}, windowRange{"dilation", attr.Dilation, 1}, windowRange{"padding", attr.Padding, 0})
	switch groups := int64(attr.Groups); {
	case c.err != nil:
	case x.Rank != rank || w.Rank != rank:
		c.err = fmt.Errorf("%w: input and weight need %d dims, the batch first, not %d and %d", ErrShape, rank, x.Rank, w.Rank)
	case p.Groups < 0:
		c.err = fmt.Errorf("%w: %d groups", ErrShape, p.Groups)
	case x.Dims[1]%groups != 0 || w.Dims[0]%groups != 0:
		c.err = fmt.Errorf("%w: %d input and %d output channels do not divide into %d groups", ErrShape, x.Dims[1], w.Dims[0], groups)
	case w.Dims[1] != x.Dims[1]/groups:
		c.err = fmt.Errorf("%w: the weight has %d input channels, and %d in %d groups have %d each", ErrShape, w.Dims[1], x.Dims[1], groups, x.Dims[1]/groups)
	case c.n == 3 && (c.operands[2].view.Rank != 1 || c.operands[2].view.Dims[0] != w.Dims[0]):
		c.err = fmt.Errorf("%w: the bias is %v for %d output channels", ErrShape, c.operands[2].Shape(), w.Dims[0])
	}
	if c.err != nil {
		return attr, dims
	}
	dims[0], dims[1] = x.Dims[0], w.Dims[0]
	x, w = asPlanes(x), asPlanes(w)
	for d := 4 - int(rank); d < 2; d++ {
		n := kernels.Windows(x.Dims[2+d], w.Dims[2+d], attr.Stride[d], attr.Padding[d], attr.Dilation[d])
		if n == 0 {
			c.err = fmt.Errorf("%w: a kernel of %d, dilation %d, does not fit on %d with padding %d", ErrShape,
				w.Dims[2+d], attr.Dilation[d], x.Dims[2+d], attr.Padding[d])
		}
		dims[int(rank)-2+d] = n
	}
	return attr, dims
}

// windowRange is a pair of numbers of which each must be least or more.
type windowRange struct {
	what  string
	pair  [2]int
	least int
}

func inRange(all ...windowRange) error {
	for _, r := range all {
		for _, x := range r.pair {
			if x < r.least || x > 1<<31-1 {
				return fmt.Errorf("%w: a %s of %d", ErrShape, r.what, x)
			}
		}
	}
	return nil
}

// convBackward serves Conv2D and Conv1D: x's gradient needs w, w's needs x, and
// the bias' is the sum of up over all but the channels.
func convBackward(g *gradients) error {
	x, w := g.slots[0].view, g.slots[1].view
	if g.n == 3 && g.needs(2) {
		over := []int{0, 2, 3}
		g.put(2, g.up.Sum(over[:x.Rank-1]...))
	}
	if g.needs(1) {
		g.put(1, windowGrad(convGradDef, kernels.ConvGradWeight, g, &w, g.saved(0)))
		if err := g.letGo(0); err != nil {
			return err
		}
	}
	if g.needs(0) {
		g.put(0, windowGrad(convGradDef, kernels.ConvGradInput, g, &x, g.saved(1)))
	}
	return nil
}

// windowGrad runs a gradient whose result has the dims of like, on the gradient
// of g's result and what more it reads.
func windowGrad(def *opDef, id kernels.ID, g *gradients, like *kernels.View, more ...*Tensor) *Tensor {
	var c call
	start(&c, def, append([]*Tensor{g.up}, more...)...)
	c.result(g.up.view.DType, like.Dims[:like.Rank])
	if c.err != nil {
		return c.finish(nil)
	}
	args := kernels.NewArgs()
	args.Out = append(args.Out, asPlanes(c.out.view))
	for _, t := range c.operands[:c.n] {
		args.In = append(args.In, asPlanes(t.view))
	}
	args.Attr = *g.attr.window
	c.launch(id, args)
	return c.finish(nil)
}
