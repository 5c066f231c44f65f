package tensor

import (
	"fmt"

	"tarn/kernels"
)

// Reductions go over the dims that are named, over all where none is; a dim may
// count from the end, and is named once. The dims go away. Each has a second
// method, of the same name and Keep, by which they stay with size 1: a choice at
// the call, where it is read, that takes nothing from the list of dims.

// Sum adds t up over the given dims, over all where none is given. Integers and
// bools are added up as int64, which wraps.
func (t *Tensor) Sum(dims ...int) *Tensor { return reduce(sumDef, kernels.Sum, t, false, dims) }

// SumKeep is [Tensor.Sum] whose reduced dims stay.
func (t *Tensor) SumKeep(dims ...int) *Tensor { return reduce(sumDef, kernels.Sum, t, true, dims) }

// Mean is Sum over the number of elements added up; NaN over none. Floats only.
func (t *Tensor) Mean(dims ...int) *Tensor { return reduce(meanDef, kernels.Sum, t, false, dims) }

// MeanKeep is [Tensor.Mean] whose reduced dims stay.
func (t *Tensor) MeanKeep(dims ...int) *Tensor { return reduce(meanDef, kernels.Sum, t, true, dims) }

// Max returns the largest element over the given dims, over all where none is
// given; NaN where one is NaN, and of 0 and -0 either. The gradient is shared out
// evenly among equal elements, as by PyTorch's amax; a NaN that is the maximum
// gets it, where PyTorch makes the gradients of the whole row NaN. Reducing no
// elements is an error, and so are bools, of which [Tensor.Any] and [Tensor.All]
// are the maximum and the minimum.
func (t *Tensor) Max(dims ...int) *Tensor { return reduce(maxDef, kernels.Max, t, false, dims) }

// MaxKeep is [Tensor.Max] whose reduced dims stay.
func (t *Tensor) MaxKeep(dims ...int) *Tensor { return reduce(maxDef, kernels.Max, t, true, dims) }

// Min is the counterpart of [Tensor.Max] for the smallest element.
func (t *Tensor) Min(dims ...int) *Tensor { return reduce(minDef, kernels.Min, t, false, dims) }

// MinKeep is [Tensor.Min] whose reduced dims stay.
func (t *Tensor) MinKeep(dims ...int) *Tensor { return reduce(minDef, kernels.Min, t, true, dims) }

// Any reports, as a Bool, whether an element over the given dims, over all where
// none is given, is not 0, as NaN is not; of no elements it is false.
func (t *Tensor) Any(dims ...int) *Tensor { return reduce(anyDef, kernels.Any, t, false, dims) }

// AnyKeep is [Tensor.Any] whose reduced dims stay.
func (t *Tensor) AnyKeep(dims ...int) *Tensor { return reduce(anyDef, kernels.Any, t, true, dims) }

// All reports, as a Bool, whether no element over the given dims is 0; of no
// elements it is true.
func (t *Tensor) All(dims ...int) *Tensor { return reduce(allDef, kernels.All, t, false, dims) }

// AllKeep is [Tensor.All] whose reduced dims stay.
func (t *Tensor) AllKeep(dims ...int) *Tensor { return reduce(allDef, kernels.All, t, true, dims) }

// reduce runs id over dims. The kernel sees the result with the reduced dims
// kept as 1; without keep they are squeezed away from the handle afterwards.
func reduce(def *opDef, id kernels.ID, t *Tensor, keep bool, dims []int) *Tensor {
	c, kept, count := startReduction(def, id, t, dims)
	if c.err != nil {
		return c.finish(nil)
	}
	t = c.operands[0]
	alpha := 1.0
	if def == meanDef {
		alpha = 1 / float64(count)
	}
	c.run(id, kernels.Attr{Alpha: alpha})
	return c.finishReduction(keep, &kept, func(n *node) {
		n.attr.alpha = alpha
		switch id {
		case kernels.Max, kernels.Min, kernels.LogSumExp:
			n.save(0, t)
			n.save(resultSlot, c.out)
		case kernels.Prod:
			n.save(0, t)
		}
	})
}

// startReduction begins a call of def by the kernel id over dims, up to the
// result, which has the dims of kept; count is how many elements make one.
func startReduction(def *opDef, id kernels.ID, t *Tensor, dims []int) (c call, kept kernels.View, count int64) {
	start(&c, def, t)
	types, _ := id.Selects()
	if c.err == nil && def == meanDef {
		c.wantFloat()
	} else if d := t.view.DType; c.err == nil && !types.Has(d) {
		c.err = dtypeError("needs one of %v, got %v", types.List(), d)
	}
	if c.err == nil {
		kept, count, c.err = reducedDims(&c.operands[0].view, dims)
	}
	if c.err == nil {
		c.result(id.Result(t.view.DType), kept.Dims[:kept.Rank])
	}
	return c, kept, count
}

// finishReduction finishes a call whose result has the dims of kept, which are
// squeezed away without keep. The node has them at slot 1.
func (c *call) finishReduction(keep bool, kept *kernels.View, save func(n *node)) *Tensor {
	full := c.out.view
	if !keep && c.err == nil {
		c.out.view = squeezed(full, kept)
	}
	return c.finish(func(n *node) {
		n.slots[1].view = full
		save(n)
	})
}

// reducedDims returns v's dims with the reduced ones set to 1, marked by a
// stride of 1 (others 0), and how many elements each result is made of.
func reducedDims(v *kernels.View, dims []int) (kept kernels.View, count int64, err error) {
	kept.Rank, kept.Dims, count = v.Rank, v.Dims, 1
	mark := func(d int) {
		kept.Strides[d] = 1
		if v.Rank > 0 {
			count *= v.Dims[d]
			kept.Dims[d] = 1
		}
	}
	if len(dims) == 0 {
		for d := range int(v.Rank) {
			mark(d)
		}
	}
	for _, dim := range dims {
		d, err := axis(dim, max(v.Rank, 1)) // a scalar has a dim 0 to name, as in PyTorch
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
	w.Ptr, w.DType = v.Ptr, v.DType
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
func (t *Tensor) ArgMax(dim int) *Tensor { return argBest(argMaxDef, kernels.ArgMax, t, dim) }

// ArgMin returns the index of the smallest element along dim, as int64; the
// first of equals; NaN counts as the smallest. The dim goes away.
func (t *Tensor) ArgMin(dim int) *Tensor { return argBest(argMinDef, kernels.ArgMin, t, dim) }

func argBest(def *opDef, id kernels.ID, t *Tensor, dim int) *Tensor {
	c, kept, _ := startReduction(def, id, t, []int{dim})
	if c.err != nil {
		return c.finish(nil)
	}
	d, _ := axis(dim, max(t.view.Rank, 1))
	c.runAlong(id, d)
	return c.finishReduction(false, &kept, func(*node) {})
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
