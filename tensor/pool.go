package tensor

import (
	"fmt"

	"tarn/kernels"
)

// Pool says which windows a pooling takes. The first of each pair is of the
// rows, the second of the columns; the ops of one dim read the first alone. A
// stride of 0 stands for the kernel's size, a dilation of 0 for 1. The padding,
// the same on both sides, is at most half of what a window spans.
type Pool struct {
	Kernel, Stride, Padding, Dilation [2]int

	// CeilMode lets a last window reach beyond the padded input, if it begins
	// within the input or the padding ahead of it.
	CeilMode bool
	// ExcludePad makes a mean one over the elements of the input alone, where
	// else, as by PyTorch's default, padding counts as zeros.
	ExcludePad bool
}

// MaxPool2D returns the largest element of each window of t [N,C,H,W], NaN if
// one is NaN: [N,C,OH,OW].
func (t *Tensor) MaxPool2D(p Pool) *Tensor { return t.maxPool(maxPool2DDef, 4, p, nil) }

// MaxPool1D is [Tensor.MaxPool2D] of t [N,C,L].
func (t *Tensor) MaxPool1D(p Pool) *Tensor { return t.maxPool(maxPool1DDef, 3, p, nil) }

// MaxPool2DIndices is [Tensor.MaxPool2D] that returns too, as int64, which
// element of its plane, counted row by row, each window chose: of equals the
// first, of several NaN the last. A window without an element has -1.
func (t *Tensor) MaxPool2DIndices(p Pool) (values, indices *Tensor) {
	values = t.maxPool(maxPool2DDef, 4, p, &indices)
	return values, indices
}

// MaxPool1DIndices is [Tensor.MaxPool2DIndices] of t [N,C,L].
func (t *Tensor) MaxPool1DIndices(p Pool) (values, indices *Tensor) {
	values = t.maxPool(maxPool1DDef, 3, p, &indices)
	return values, indices
}

// maxPool hands the indices to want where that is not nil: those of a result
// with an error carry it too.
func (t *Tensor) maxPool(def *opDef, rank int8, p Pool, want **Tensor) *Tensor {
	var c call
	start(&c, def, t)
	c.wantFloat()
	attr, dims := c.poolGeometry(rank, p)
	var indices *Tensor
	if c.err == nil {
		c.result(c.operands[0].view.DType, dims[:rank])
	}
	if c.err == nil {
		indices, c.err = newTensor(c.stream, c.env, Int64, dims[:rank])
	}
	if c.err == nil {
		args := kernels.NewArgs()
		args.Out = append(args.Out, asPlanes(c.out.view), asPlanes(indices.view))
		args.In = append(args.In, asPlanes(c.operands[0].view))
		args.Attr.Pool = attr
		c.launch(kernels.MaxPool, args, indices)
	}
	y := c.finish(func(n *node) {
		n.save(1, indices)
		n.attr.window = &kernels.Attr{Pool: attr}
	})
	switch {
	case want != nil && y.err == nil:
		*want = indices
		return y
	case want != nil:
		v, _, _ := dense(Int64, y.view.Dims[:y.view.Rank])
		*want = failed(y.err, y.dev, y.env, v)
	}
	if indices != nil {
		indices.Release()
	}
	return y
}

// AvgPool2D returns the mean of each window of t [N,C,H,W]: [N,C,OH,OW].
func (t *Tensor) AvgPool2D(p Pool) *Tensor { return t.avgPool(avgPool2DDef, 4, p) }

// AvgPool1D is [Tensor.AvgPool2D] of t [N,C,L].
func (t *Tensor) AvgPool1D(p Pool) *Tensor { return t.avgPool(avgPool1DDef, 3, p) }

func (t *Tensor) avgPool(def *opDef, rank int8, p Pool) *Tensor {
	var c call
	start(&c, def, t)
	c.wantFloat()
	attr, dims := c.poolGeometry(rank, p)
	if c.err == nil && attr.Dilation != [2]int{1, 1} {
		c.err = fmt.Errorf("%w: a mean over windows with dilation %v", ErrShape, p.Dilation)
	}
	return c.pooled(kernels.AvgPool, rank, dims, kernels.Attr{Pool: attr})
}

// AdaptiveAvgPool2D returns the means of oh by ow bins of t [N,C,H,W]: bin i has
// the rows from i*H/oh rounded down to (i+1)*H/oh rounded up, columns alike.
func (t *Tensor) AdaptiveAvgPool2D(oh, ow int) *Tensor {
	return t.adaptiveAvgPool(adaptiveAvgPool2DDef, 4, [2]int{oh, ow})
}

// AdaptiveAvgPool1D is [Tensor.AdaptiveAvgPool2D] of t [N,C,L]: [N,C,ol].
func (t *Tensor) AdaptiveAvgPool1D(ol int) *Tensor {
	return t.adaptiveAvgPool(adaptiveAvgPool1DDef, 3, [2]int{1, ol})
}

func (t *Tensor) adaptiveAvgPool(def *opDef, rank int8, bins [2]int) *Tensor {
	var c call
	start(&c, def, t)
	c.wantFloat()
	c.wantBatch(rank)
	var dims [4]int64
	if c.err == nil {
		x := asPlanes(c.operands[0].view)
		dims[0], dims[1] = x.Dims[0], x.Dims[1]
		for d := 4 - int(rank); d < 2; d++ {
			dims[int(rank)-2+d] = int64(bins[d])
			switch {
			case bins[d] < 0:
				c.err = fmt.Errorf("%w: %d bins", ErrShape, bins[d])
			case x.Dims[2+d] == 0:
				c.err = fmt.Errorf("%w: bins of a dim without elements", ErrShape)
			}
		}
	}
	return c.pooled(kernels.AdaptiveAvgPool, rank, dims, kernels.Attr{})
}

// pooled launches a pooling that saves nothing for its gradient.
func (c *call) pooled(id kernels.ID, rank int8, dims [4]int64, attr kernels.Attr) *Tensor {
	if c.err != nil {
		return c.finish(nil)
	}
	c.result(c.operands[0].view.DType, dims[:rank])
	args := kernels.NewArgs()
	args.In = append(args.In, asPlanes(c.operands[0].view))
	args.Out = append(args.Out, asPlanes(c.out.view))
	args.Attr = attr
	c.launch(id, args)
	return c.finish(func(n *node) { n.attr.window = &attr })
}

func (c *call) wantBatch(rank int8) {
	if got := c.operands[0].view.Rank; c.err == nil && got != rank {
		c.err = fmt.Errorf("%w: needs %d dims, the batch first, not %d", ErrShape, rank, got)
	}
}

// poolGeometry checks the operand and returns what the kernels are told and the
// dims of the result.
func (c *call) poolGeometry(rank int8, p Pool) (attr kernels.PoolAttr, dims [4]int64) {
	c.wantBatch(rank)
	if c.err != nil {
		return attr, dims
	}
	attr = kernels.PoolAttr{Kernel: p.Kernel, Stride: p.Stride, Padding: p.Padding, Dilation: orOne(p.Dilation),
		CeilMode: p.CeilMode, CountIncludePad: !p.ExcludePad}
	for d := range 2 {
		if attr.Stride[d] == 0 {
			attr.Stride[d] = attr.Kernel[d]
		}
	}
	asColumns(rank, 1, &attr.Kernel, &attr.Stride, &attr.Dilation)
	asColumns(rank, 0, &attr.Padding)
	c.err = inRange(windowRange{"kernel", attr.Kernel, 1}, windowRange{"stride", attr.Stride, 1},
		windowRange{"padding", attr.Padding, 0}, windowRange{"dilation", attr.Dilation, 1})
	x := asPlanes(c.operands[0].view)
	dims[0], dims[1] = x.Dims[0], x.Dims[1]
	for d := 4 - int(rank); c.err == nil && d < 2; d++ {
		span := (int64(attr.Kernel[d])-1)*int64(attr.Dilation[d]) + 1
		n := attr.PoolWindows(d, x.Dims[2+d])
		switch {
		case int64(attr.Padding[d]) > span/2:
			c.err = fmt.Errorf("%w: padding %d is more than half of a window that spans %d", ErrShape, attr.Padding[d], span)
		case n == 0 || x.Dims[2+d] == 0:
			c.err = fmt.Errorf("%w: no window that spans %d fits on %d with padding %d", ErrShape, span, x.Dims[2+d], attr.Padding[d])
		}
		dims[int(rank)-2+d] = n
	}
	return attr, dims
}

func maxPoolBackward(g *gradients) error {
	g.put(0, windowGrad(maxPoolGradDef, kernels.MaxPoolGrad, g, &g.slots[0].view, g.saved(1)))
	return nil
}

func avgPoolBackward(g *gradients) error {
	g.put(0, windowGrad(avgPoolGradDef, kernels.AvgPoolGrad, g, &g.slots[0].view))
	return nil
}

func adaptiveAvgPoolBackward(g *gradients) error {
	g.put(0, windowGrad(avgPoolGradDef, kernels.AdaptiveAvgPoolGrad, g, &g.slots[0].view))
	return nil
}
