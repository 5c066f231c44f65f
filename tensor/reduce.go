package tensor

import (
	"fmt"

	"tarn/kernels"
)

// Sum adds t up over the given dims, over all where none is given. A dim may
// count from the end. The dims go away; see [Tensor.SumKeep].
func (t *Tensor) Sum(dims ...int) *Tensor { return reduce(sumDef, kernels.Sum, t, false, dims) }

// SumKeep is Sum whose reduced dims stay, with size 1.
func (t *Tensor) SumKeep(dims ...int) *Tensor { return reduce(sumDef, kernels.Sum, t, true, dims) }

// Mean is Sum over the number of elements added up; NaN over none.
func (t *Tensor) Mean(dims ...int) *Tensor { return reduce(meanDef, kernels.Sum, t, false, dims) }

// Max returns the largest element over the given dims, over all where none is
// given; NaN where one is NaN. The gradient is shared out evenly among equal
// elements, as by PyTorch's amax; a NaN that is the maximum gets it, where
// PyTorch makes the gradients of the whole row NaN. Reducing no elements is an
// error.
func (t *Tensor) Max(dims ...int) *Tensor { return reduce(maxDef, kernels.Max, t, false, dims) }

// reduce runs id over dims. The kernel sees the result with the reduced dims
// kept as 1; without keep they are squeezed away from the handle afterwards.
func reduce(def *opDef, id kernels.ID, t *Tensor, keep bool, dims []int) *Tensor {
	var c call
	start(&c, def, t)
	c.wantFloat()
	if c.err != nil {
		return c.finish(nil)
	}
	t = c.operands[0]
	kept, count, err := reducedDims(&t.view, dims)
	if err != nil {
		c.err = err
		return c.finish(nil)
	}
	c.result(t.view.DType, kept.Dims[:kept.Rank])
	alpha := 1.0
	if def == meanDef {
		alpha = 1 / float64(count)
	}
	c.run(id, kernels.Attr{Alpha: alpha})
	full := c.out.view
	if !keep && c.err == nil {
		c.out.view = squeezed(full, &kept)
	}
	return c.finish(func(n *node) {
		n.attr.alpha = alpha
		n.slots[1].view = full // the result's geometry with the dims kept
		if id == kernels.Max {
			n.save(0, t)
			n.save(resultSlot, c.out)
		}
	})
}

// reducedDims returns v's dims with the reduced ones set to 1, marked by a
// stride of 1 (others 0), and how many elements each result is made of.
func reducedDims(v *kernels.View, dims []int) (kept kernels.View, count int64, err error) {
	kept.Rank, kept.Dims, count = v.Rank, v.Dims, 1
	mark := func(d int) {
		kept.Strides[d] = 1
		count *= v.Dims[d]
		kept.Dims[d] = 1
	}
	if len(dims) == 0 {
		for d := range int(v.Rank) {
			mark(d)
		}
	}
	for _, dim := range dims {
		d, err := axis(dim, v.Rank)
		if err != nil {
			return kept, 0, err
		}
		if kept.Strides[d] == 1 {
			return kept, 0, fmt.Errorf("%w: dim %d is named twice", ErrShape, dim)
		}
		mark(d)
	}
	return kept, count, nil
}

// squeezed returns v without the dims that kept marks.
func squeezed(v kernels.View, kept *kernels.View) kernels.View {
	w := kernels.View{Ptr: v.Ptr, DType: v.DType}
	for d := range int(v.Rank) {
		if kept.Strides[d] == 1 {
			continue
		}
		w.Dims[w.Rank], w.Strides[w.Rank] = v.Dims[d], v.Strides[d]
		w.Rank++
	}
	return w
}

// sumBackward hands the gradient to every element that was added: a view with
// stride 0, no copy, for a plain sum.
func sumBackward(g *gradients) error {
	up := g.up.alias()
	if g.attr.alpha != 1 {
		up.Release()
		up = g.up.MulScalar(g.attr.alpha)
	}
	if up.err == nil {
		up.view = unsqueezed(up.view, &g.slots[1].view)
		up.view = expanded(up.view, g.slots[0].view.Dims[:g.slots[0].view.Rank])
	}
	g.put(0, up)
	return nil
}

// unsqueezed returns v, whose elements are those of full, with full's dims.
func unsqueezed(v kernels.View, full *kernels.View) kernels.View {
	w := *full
	w.Ptr = v.Ptr
	next := 0
	for d := range int(full.Rank) {
		w.Strides[d] = 0
		for next < int(v.Rank) && v.Dims[next] == 1 && full.Dims[d] != 1 {
			next++
		}
		if next < int(v.Rank) && v.Dims[next] == full.Dims[d] {
			w.Strides[d] = v.Strides[next]
			next++
		}
	}
	return w
}

func maxBackward(g *gradients) error {
	full := &g.slots[1].view
	x, y, up := g.saved(0), g.saved(resultSlot), g.up.alias()
	defer up.Release()
	if y.err == nil {
		y.view = unsqueezed(y.view, full)
	}
	up.view = unsqueezed(up.view, full)
	var c call
	start(&c, maxGradDef, up, x, y)
	c.result(x.view.DType, x.view.Dims[:x.view.Rank])
	c.run(kernels.MaxGrad, kernels.Attr{})
	g.put(0, c.finish(nil))
	return nil
}

// ArgMax returns the index of the largest element along dim, as int64; the
// first of equals; NaN counts as the largest. The dim goes away.
func (t *Tensor) ArgMax(dim int) *Tensor {
	var c call
	start(&c, argMaxDef, t)
	c.wantFloat()
	if c.err != nil {
		return c.finish(nil)
	}
	t = c.operands[0]
	d, err := axis(dim, t.view.Rank)
	if err != nil {
		c.err = err
		return c.finish(nil)
	}
	kept, _, _ := reducedDims(&t.view, []int{d})
	c.result(Int64, kept.Dims[:kept.Rank])
	c.run(kernels.ArgMax, kernels.Attr{Axis: d})
	if c.err == nil {
		c.out.view = squeezed(c.out.view, &kept)
	}
	return c.finish(nil)
}

// sumToShape adds t up to the dims of want, which broadcast to t's.
func sumToShape(t *Tensor, want *kernels.View) *Tensor {
	var c call
	start(&c, sumDef, t)
	c.wantFloat()
	c.result(t.view.DType, want.Dims[:want.Rank])
	if c.err != nil {
		return c.finish(nil)
	}
	args := kernels.NewArgs()
	args.In = append(args.In, t.view)
	// Leading dims that want lacks are reduced too: the kernel sees them as 1.
	out := kernels.View{Ptr: c.out.view.Ptr, DType: c.out.view.DType, Rank: t.view.Rank}
	shift := int(t.view.Rank - want.Rank)
	for d := range int(t.view.Rank) {
		out.Dims[d], out.Strides[d] = 1, 1
		if d >= shift {
			out.Dims[d], out.Strides[d] = c.out.view.Dims[d-shift], c.out.view.Strides[d-shift]
		}
	}
	args.Out = append(args.Out, out)
	args.Attr.Alpha = 1
	c.launch(kernels.Sum, args)
	return c.finish(nil)
}
