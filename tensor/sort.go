package tensor

import (
	"fmt"

	"tarn/kernels"
)

// Sort returns the elements of t along dim in rising order, or in falling order
// if descending, and where they stood, as int64. Equal elements, as -0 and 0 are,
// stay in order; NaN counts as the largest.
func (t *Tensor) Sort(dim int, descending bool) (values, indices *Tensor) {
	return sortAlong(sortDef, t, dim, -1, descending)
}

// ArgSort returns the indices of [Tensor.Sort].
func (t *Tensor) ArgSort(dim int, descending bool) *Tensor {
	values, indices := sortAlong(argSortDef, t.NoGrad(), dim, -1, descending)
	values.Release()
	return indices
}

// TopK returns the k largest elements along dim, or the k smallest, sorted, and
// where they stand, as int64: the first k of [Tensor.Sort].
func (t *Tensor) TopK(k, dim int, largest bool) (values, indices *Tensor) {
	return sortAlong(topKDef, t, dim, k, largest)
}

// MaxWithIndices returns the largest elements along dim and the index of the
// first of each, as int64; NaN counts as the largest. Of 0 and -0, which are
// equal, the value may be one and the index that of the other. The dim goes away.
// The gradient goes to that element alone, where [Tensor.Max] shares it out.
func (t *Tensor) MaxWithIndices(dim int) (values, indices *Tensor) {
	return bestAlong(maxAtDef, kernels.Max, kernels.ArgMax, t, dim)
}

// MinWithIndices is the counterpart of [Tensor.MaxWithIndices] for the smallest
// elements; NaN counts as the smallest.
func (t *Tensor) MinWithIndices(dim int) (values, indices *Tensor) {
	return bestAlong(minAtDef, kernels.Min, kernels.ArgMin, t, dim)
}

func sortAlong(def *opDef, t *Tensor, dim, k int, descending bool) (values, indices *Tensor) {
	var c call
	start(&c, def, t)
	d := c.axis(dim)
	if c.err != nil {
		return c.finishPair(nil, nil)
	}
	t = c.operands[0]
	short := lineOf(t.view)
	if def == topKDef {
		if k < 0 || int64(k) > short.Dims[d] {
			c.err = fmt.Errorf("%w: the first %d along a dim of %d", ErrShape, k, short.Dims[d])
			return c.finishPair(nil, nil)
		}
		short.Dims[d] = int64(k)
	}
	dims := short.Dims[:t.view.Rank]
	if len(dims) == 0 && short.Dims[0] == 0 {
		c.err = fmt.Errorf("%w: the first 0 of a tensor without dims", ErrShape)
		return c.finishPair(nil, nil)
	}
	c.result(t.view.DType, dims)
	if c.err == nil {
		indices, c.err = newTensor(c.stream, c.env, Int64, dims)
	}
	if c.err == nil {
		a := kernels.NewArgs()
		a.Out = append(a.Out, lineOf(c.out.view), lineOf(indices.view))
		a.In = append(a.In, lineOf(t.view))
		a.Attr = kernels.Attr{Axis: d, Descending: descending}
		c.launch(kernels.Sort, a, indices)
	}
	return c.finishPair(indices, func(n *node) {
		n.attr.dim[0] = d
		n.save(1, indices)
	})
}

func bestAlong(def *opDef, best, arg kernels.ID, t *Tensor, dim int) (values, indices *Tensor) {
	var c call
	start(&c, def, t)
	types, _ := arg.Selects()
	if c.err == nil && !types.Has(t.view.DType) {
		c.err = dtypeError("needs one of %v, got %v", types.List(), t.view.DType)
	}
	d := c.axis(dim)
	if c.err != nil {
		return c.finishPair(nil, nil)
	}
	t = c.operands[0]
	kept := lineOf(t.view)
	kept.Dims[d] = 1
	full := kept.Dims[:t.view.Rank]
	c.result(t.view.DType, full)
	c.runAlong(best, d)
	if c.err == nil {
		indices, c.err = newTensor(c.stream, c.env, Int64, full)
	}
	if c.err == nil {
		a := kernels.NewArgs()
		a.Out, a.In = append(a.Out, lineOf(indices.view)), append(a.In, lineOf(t.view))
		a.Attr.Axis = d
		c.err = c.stream.launch(arg, a, []*Tensor{indices}, c.operands[:1])
		a.Put()
	}
	var keptIndices kernels.View
	if c.err == nil {
		keptIndices = indices.view
		mark := kernels.View{Rank: t.view.Rank}
		if mark.Rank > 0 {
			mark.Strides[d] = 1
		}
		c.out.view, indices.view = squeezed(c.out.view, &mark), squeezed(indices.view, &mark)
	}
	return c.finishPair(indices, func(n *node) {
		n.attr.dim[0] = d
		n.save(1, indices)
		n.slots[1].view = keptIndices
	})
}

// finishPair is finish for an op that gives indices beside its result: they
// carry its error too.
func (c *call) finishPair(indices *Tensor, save func(n *node)) (values, _ *Tensor) {
	y := c.finish(save)
	if y.err == nil {
		return y, indices
	}
	if indices != nil {
		indices.Release()
	}
	v, _, _ := dense(Int64, y.view.Dims[:y.view.Rank])
	return y, failed(y.err, y.dev, y.env, v)
}

// chosenBackward gives each gradient to the element that the index names.
func chosenBackward(g *gradients) error {
	up, indices := g.keptUp(), g.saved(1)
	defer up.Release()
	var c call
	start(&c, sortGradDef, up, indices)
	if x := &g.slots[0].view; c.err == nil {
		c.result(up.view.DType, x.Dims[:x.Rank])
	}
	c.runAlong(kernels.SortGrad, g.attr.dim[0])
	g.put(0, c.finish(nil))
	return nil
}
