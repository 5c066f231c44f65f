package tensor

import (
	"errors"

	"tarn/kernels"
)

// CumSum returns, along dim, the sums of all elements up to and with each.
// Integers and bools become int64, which wraps.
func (t *Tensor) CumSum(dim int) *Tensor { return scan(cumSumDef, kernels.CumSum, t, dim) }

// CumProd returns, along dim, the products of all elements up to and with each;
// types as for [Tensor.CumSum]. The gradient divides by nothing, so that zeros
// are no exception.
func (t *Tensor) CumProd(dim int) *Tensor { return scan(cumProdDef, kernels.CumProd, t, dim) }

// Prod multiplies t over the given dims, over all where none is given; of no
// elements it is 1. Types as for [Tensor.Sum], gradient as for [Tensor.CumProd].
func (t *Tensor) Prod(dims ...int) *Tensor { return reduce(prodDef, kernels.Prod, t, false, dims) }

// ProdKeep is [Tensor.Prod] whose reduced dims stay.
func (t *Tensor) ProdKeep(dims ...int) *Tensor { return reduce(prodDef, kernels.Prod, t, true, dims) }

func scan(def *opDef, id kernels.ID, t *Tensor, dim int) *Tensor {
	var c call
	start(&c, def, t)
	d := c.axis(dim)
	if c.err != nil {
		return c.finish(nil)
	}
	t = c.operands[0]
	c.result(id.Result(t.view.DType), t.view.Dims[:t.view.Rank])
	c.runAlong(id, d)
	return c.finish(func(n *node) {
		n.attr.dim[0] = d
		if id == kernels.CumProd {
			n.save(0, t)
			n.save(resultSlot, c.out)
		}
	})
}

// axis resolves a dim of the first operand; one without dims counts as one of a
// single element.
func (c *call) axis(dim int) (d int) {
	if c.err == nil {
		v := lineOf(c.operands[0].view)
		d, c.err = axis(dim, v.Rank)
	}
	return d
}

// cumSumBackward: an element is in its sum and all behind it, so the gradient is
// the sum from the end.
func cumSumBackward(g *gradients) error {
	var c call
	start(&c, cumSumDef, g.up)
	c.result(g.up.view.DType, g.up.view.Dims[:g.up.view.Rank])
	if c.err == nil {
		d := g.attr.dim[0]
		a := kernels.NewArgs()
		a.Out, a.In = append(a.Out, flipped(lineOf(c.out.view), d)), append(a.In, flipped(lineOf(g.up.view), d))
		a.Attr.Axis = d
		c.launch(kernels.CumSum, a)
	}
	g.put(0, c.finish(nil))
	return nil
}

// flipped returns v with dim d from its end on.
func flipped(v kernels.View, d int) kernels.View {
	if v.Len() > 0 {
		v.Ptr += uintptr((v.Dims[d] - 1) * v.Strides[d] * v.DType.Size())
		v.Strides[d] = -v.Strides[d]
	}
	return v
}

func cumProdBackward(g *gradients) error {
	g.put(0, cumProdGrad(g.up, g.saved(0), g.saved(resultSlot), g.attr.dim[0]))
	return nil
}

func cumProdGrad(up, x, y *Tensor, d int) *Tensor {
	var c call
	start(&c, cumProdGradDef, up, x, y)
	if c.err == nil {
		c.result(x.view.DType, x.view.Dims[:x.view.Rank])
	}
	c.runAlong(kernels.CumProdGrad, d)
	return c.finish(nil)
}

// prodBackward: the product is the last of the running ones, of which alone
// there is a gradient. The reduced dims are made one for it, the last.
func prodBackward(g *gradients) error {
	x, full := g.saved(0), &g.slots[1].view
	if x.err != nil || x.Len() == 0 {
		g.put(0, fullLike(x, 0))
		return nil
	}
	var order, dims []int
	n := x.Len() / int(full.Len())
	for _, reduced := range []bool{false, true} {
		for d := range x.Rank() {
			if (full.Dims[d] != x.view.Dims[d]) == reduced {
				order, dims = append(order, d), append(dims, x.Dim(d))
			}
		}
	}
	var temporaries []*Tensor
	keep := func(t *Tensor) *Tensor { temporaries = append(temporaries, t); return t }
	rows := keep(keep(x.Permute(order...)).Reshape(-1, n))
	up := keep(keep(keep(g.keptUp()).Permute(order...)).Reshape(-1, 1))
	last := keep(fullLike(rows, 0))
	err := errors.Join(rows.err, up.err, last.err)
	if err == nil {
		err = keep(last.Slice(1, n-1, n, 1)).CopyInPlace(up)
	}
	dx := keep(cumProdGrad(last, rows, keep(rows.CumProd(1)), 1))
	back := make([]int, len(order))
	for i, d := range order {
		back[d] = i
	}
	g.put(0, keep(dx.Reshape(dims...)).Permute(back...))
	for _, t := range temporaries {
		err = errors.Join(err, t.Release())
	}
	return err
}
