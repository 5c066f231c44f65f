package tensor

import (
	"fmt"

	"tarn/kernels"
)

// LayerNorm takes the mean over the last dims, those of w, off t, divides by the
// deviation sqrt(var+eps), var being the mean of the squares, and then multiplies
// by w and adds b. w and b have one shape and t's dtype, or float32 where that is a
// half type; either may be nil. See [Tensor.LayerNormDims] for neither.
//
// The normalisations compute half types in float32 and round once, float32
// weights and their gradients not at all; only a b without a w is added after the
// rounding. The result has t's type, as in PyTorch.
func (t *Tensor) LayerNorm(w, b *Tensor, eps float64) *Tensor {
	switch {
	case w == nil && b == nil:
		return refused("LayerNorm", fmt.Errorf("%w: neither w nor b says over which dims", ErrShape), t)
	case w == nil:
		return thenAdd(t.LayerNormDims(b.Rank(), eps), b)
	}
	return t.normRows(layerNormDef, kernels.LayerNorm, w.Rank(), w, b, eps)
}

// LayerNormDims is LayerNorm over the last n dims of t, without w and b.
func (t *Tensor) LayerNormDims(n int, eps float64) *Tensor {
	return t.normRows(layerNormDef, kernels.LayerNorm, n, nil, nil, eps)
}

// RMSNorm divides t by sqrt(m+eps), m being the mean of the squares over the last
// dims, those of w, and multiplies by w. See [Tensor.RMSNormDims] for no w.
func (t *Tensor) RMSNorm(w *Tensor, eps float64) *Tensor {
	if w == nil {
		return refused("RMSNorm", fmt.Errorf("%w: no w says over which dims", ErrShape), t)
	}
	return t.normRows(rmsNormDef, kernels.RMSNorm, w.Rank(), w, nil, eps)
}

// RMSNormDims is RMSNorm over the last n dims of t, without w.
func (t *Tensor) RMSNormDims(n int, eps float64) *Tensor {
	return t.normRows(rmsNormDef, kernels.RMSNorm, n, nil, nil, eps)
}

// GroupNorm is LayerNorm, for each of the examples of t [N,C,...], over each of
// so many groups of channels, with w and b [C], which may be nil. A group of one
// element gives b, where PyTorch refuses it.
func (t *Tensor) GroupNorm(groups int, w, b *Tensor, eps float64) *Tensor {
	if w == nil && b != nil {
		return thenAddChannels(t.GroupNorm(groups, nil, nil, eps), b)
	}
	var c call
	startNorm(&c, groupNormDef, t, w, b)
	if c.err == nil {
		x := &c.operands[0].view
		switch {
		case x.Rank < 2:
			c.err = fmt.Errorf("%w: needs [N,C,...]", ErrShape)
		case groups < 1 || x.Dims[1]%int64(groups) != 0:
			c.err = fmt.Errorf("%w: %d groups of %d channels", ErrShape, groups, x.Dims[1])
		default:
			c.err = c.wantChannels(x.Dims[1:2])
		}
	}
	if c.err != nil {
		return c.finish(nil)
	}
	x := c.operands[0].view
	attr := kernels.NormAttr{Eps: eps, Groups: groups}
	return c.normalise(kernels.GroupNorm, attr, planesOf(&x), x.Dims[0], int64(groups))
}

// planesOf returns the dims of x [N,C,...] as three.
func planesOf(x *kernels.View) []int {
	s := 1
	for _, d := range x.Dims[2:x.Rank] {
		s *= int(d)
	}
	return []int{int(x.Dims[0]), int(x.Dims[1]), s}
}

// thenAdd returns y, which it releases, plus b, in y's type where that is a half.
func thenAdd(y, b *Tensor) *Tensor {
	z := y.Add(b)
	if dt := y.view.DType; dt.IsHalf() && z.view.DType == Float32 {
		z = replaced(z, z.To(dt))
	}
	y.Release()
	return z
}

// thenAddChannels is thenAdd of b [C] to y [N,C,...].
func thenAddChannels(y, b *Tensor) *Tensor {
	shape := make([]int, max(y.Rank()-1, 1))
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = -1
	wide := b.Reshape(shape...)
	z := thenAdd(y, wide)
	wide.Release()
	return z
}

// startNorm begins a call on t and those of w and b that there are; b comes with
// w alone.
func startNorm(c *call, def *opDef, t, w, b *Tensor) {
	switch {
	case w == nil:
		start(c, def, t)
	case b == nil:
		start(c, def, t, w)
	default:
		start(c, def, t, w, b)
	}
	if c.err == nil && c.n > 1 && c.operands[0].view.DType.IsHalf() && c.affineType() == Float32 {
		// w and b are compared with each other then.
		x := c.operands[0]
		c.operands[0] = c.operands[1]
		c.wantSame()
		c.operands[0] = x
		return
	}
	c.wantFloat()
}

// affineType is the type of w and b, in which a normalisation computes; without
// them that of x.
func (c *call) affineType() DType { return c.operands[min(1, c.n-1)].view.DType }

// wantChannels demands that w and b have the given dims.
func (c *call) wantChannels(dims []int64) error {
	want := kernels.View{Rank: int8(len(dims))}
	copy(want.Dims[:], dims)
	for _, t := range c.operands[1:c.n] {
		if !t.view.SameDims(&want) {
			return fmt.Errorf("%w: w or b %v, want %v", ErrShape, t.Shape(), shapeOf(&want))
		}
	}
	return nil
}

// normRows normalises over the last n dims.
func (t *Tensor) normRows(def *opDef, id kernels.ID, n int, w, b *Tensor, eps float64) *Tensor {
	var c call
	startNorm(&c, def, t, w, b)
	if c.err != nil {
		return c.finish(nil)
	}
	x := c.operands[0].view
	if n < 1 || n > int(x.Rank) {
		c.err = fmt.Errorf("%w: the last %d dims of a tensor with %d", ErrShape, n, x.Rank)
		return c.finish(nil)
	}
	first := int(x.Rank) - n
	if c.err = c.wantChannels(x.Dims[first:x.Rank]); c.err != nil {
		return c.finish(nil)
	}
	rows, columns := 1, 1
	for d, m := range x.Dims[:x.Rank] {
		if d < first {
			rows *= int(m)
		} else {
			columns *= int(m)
		}
	}
	return c.normalise(id, kernels.NormAttr{Eps: eps}, []int{rows, columns}, int64(rows))
}

// normalise runs id on the first operand seen in the given shape, with the
// others as vectors. It saves the first operand, w and the statistics, whose dims
// are given.
func (c *call) normalise(id kernels.ID, attr kernels.NormAttr, shape []int, statistics ...int64) *Tensor {
	kinds := int64(2)
	if id == kernels.RMSNorm {
		kinds = 1
	}
	dt := c.operands[0].view.DType
	c.result(dt, c.operands[0].view.Dims[:c.operands[0].view.Rank])
	s := seen{c: c}
	x := s.as(c.operands[0], shape...)
	vectors := s.flat(c.operands[1:c.n])
	wideX, wideY := s.wide(x, c.affineType()), s.wideResult(c.affineType())
	stats := s.keep(s.make(dt.Statistic(), append([]int64{kinds}, statistics...)))
	if c.err == nil {
		a := kernels.NewArgs()
		a.Out = append(a.Out, s.as(wideY, shape...).view, part(stats, 0))
		if kinds == 2 {
			a.Out = append(a.Out, part(stats, 1))
		}
		a.In = append(a.In, wideX.view)
		for _, v := range vectors {
			a.In = append(a.In, v.view)
		}
		a.Attr.Norm = attr
		c.err = c.stream.launch(id, a, []*Tensor{wideY, stats}, append([]*Tensor{wideX}, vectors...))
		c.launched = true
		a.Put()
		s.settle(wideY)
	}
	y := c.finish(func(n *node) {
		n.save(0, x)
		if len(vectors) > 0 {
			n.attr.dim[0] = int(c.operands[1].view.Rank)
			n.save(1, vectors[0])
		}
		n.save(resultSlot, stats)
		n.attr.scalars = &kernels.Attr{Norm: attr}
	})
	s.release()
	return y
}

// part returns part i of a tensor of several statistics.
func part(t *Tensor, i int64) kernels.View {
	v := t.view
	v.Ptr += uintptr(i * v.Strides[0] * v.DType.Size())
	return without(v, 0)
}

func layerNormBackward(g *gradients) error { return groupsBackward(g, kernels.LayerNormGrad) }
func rmsNormBackward(g *gradients) error   { return groupsBackward(g, kernels.RMSNormGrad) }
func groupNormBackward(g *gradients) error { return groupsBackward(g, kernels.GroupNormGrad) }

func groupsBackward(g *gradients, id kernels.ID) error {
	x, stats := g.saved(0), g.saved(resultSlot)
	var views [2]kernels.View
	statistics := views[:0]
	if stats.err == nil {
		for i := range stats.view.Dims[0] {
			statistics = append(statistics, part(stats, i))
		}
	}
	return normGradients(g, id, x, stats, nil, statistics)
}

// normGradients runs the gradient id of a normalisation and puts those of its
// operands. statistics are views of stats and of more.
func normGradients(g *gradients, id kernels.ID, x, stats, more *Tensor, statistics []kernels.View) error {
	operands := append(make([]*Tensor, 0, 8), g.up, x, stats) // and what launch reads of them
	if more != nil {
		operands = append(operands, more)
	}
	if g.n > 1 {
		operands = append(operands, g.saved(1))
	}
	var c call
	start(&c, normGradDef, operands[:min(len(operands), len(c.operands))]...)
	if last := operands[len(operands)-1]; c.err == nil && last.err != nil {
		c.err = last.err
	}
	c.result(g.result.DType, g.result.Dims[:g.result.Rank])
	s := seen{c: &c}
	wide := g.slots[min(1, g.n-1)].view.DType // of w and b, in which this computes
	up := s.wide(s.as(g.up, shapeOf(&x.view)...), wide)
	wideX, dx := s.wide(x, wide), s.wideResult(wide)
	var sums [2]*Tensor // dw and db
	count := 0
	if id == kernels.BatchNormGrad {
		count = 2
	} else if g.n > 1 && (g.needs(1) || g.n > 2 && g.needs(2)) {
		count = 2
		if id == kernels.RMSNormGrad {
			count = 1
		}
	}
	channels := g.result.Dims[1:2]
	if g.n > 1 && id != kernels.BatchNormGrad && id != kernels.GroupNormGrad {
		channels = g.result.Dims[g.result.Rank-int8(g.attr.dim[0]) : g.result.Rank]
	}
	for i := range count {
		sums[i] = s.make(wide, channels)
	}
	if c.err == nil {
		a := kernels.NewArgs()
		a.Out = append(a.Out, s.as(dx, shapeOf(&x.view)...).view)
		for _, sum := range sums[:count] {
			a.Out = append(a.Out, s.as(sum, sum.Len()).view)
		}
		a.In = append(append(a.In, up.view, wideX.view), statistics...)
		if g.n > 1 {
			a.In = append(a.In, operands[len(operands)-1].view)
		}
		a.Attr = *g.attr.scalars
		outs := append([]*Tensor{dx}, sums[:count]...)
		c.err = c.stream.launch(id, a, outs, append(operands, up, wideX))
		a.Put()
		s.settle(dx)
	}
	failed := c.err != nil
	g.put(0, c.finish(nil))
	for i, sum := range sums[:count] {
		switch {
		case sum == nil:
		case failed || i+1 >= g.n:
			sum.Release()
		default:
			g.put(i+1, sum)
		}
	}
	s.release()
	return nil
}
