package tensor

import (
	"fmt"

	"tarn/kernels"
)

// Embedding returns the rows of weight [V,D] that index, of any shape, names: a
// tensor of index's shape and D. The gradients of a row that is taken several
// times are added up in the order of the indices. An index out of range is as for
// [Tensor.Gather].
func Embedding(weight, index *Tensor) *Tensor {
	var c call
	start(&c, embeddingDef, weight, index)
	c.wantIndex(1)
	if c.err == nil && weight.view.Rank != 2 {
		c.err = fmt.Errorf("%w: the weight has %d dims, not 2", ErrShape, weight.view.Rank)
	}
	if c.err == nil && index.view.Rank == MaxRank {
		c.err = fmt.Errorf("%w: indices of %d dims leave none for the rows", ErrShape, MaxRank)
	}
	if c.err != nil {
		return c.finish(nil)
	}
	held := seen{c: &c}
	defer held.release()
	flat := held.as(c.operands[1], c.operands[1].Len())
	if c.err != nil {
		return c.finish(nil)
	}
	rows := kernels.View{Ptr: flat.view.Ptr, DType: Int64, Rank: 2}
	rows.Dims[0], rows.Dims[1], rows.Strides[0] = flat.view.Dims[0], weight.view.Dims[1], flat.view.Strides[0]
	dims := index.view.Dims
	dims[index.view.Rank] = rows.Dims[1]
	c.result(weight.view.DType, dims[:index.view.Rank+1])
	c.operands[1] = flat
	out, _, _ := dense(weight.view.DType, rows.Dims[:2])
	out.Ptr = c.out.view.Ptr
	return c.gathered(0, c.operands[0].view, rows, out)
}

// OneHot returns int64 zeros of t's shape and classes, with a 1 at the class that
// each element of t, int64 or int32, names. classes is at least 1: PyTorch can
// find it in the data, which would have to wait for them.
func (t *Tensor) OneHot(classes int) *Tensor {
	err := t.usable()
	if err == nil && classes < 1 {
		err = fmt.Errorf("%w: %d classes, at least 1", ErrShape, classes)
	}
	if err != nil {
		return refused("OneHot", err, t)
	}
	index := t.Unsqueeze(-1)
	defer index.Release()
	var c call
	start(&c, oneHotDef, index)
	c.wantIndex(0)
	if c.err != nil {
		return c.finish(nil)
	}
	held := seen{c: &c}
	defer held.release()
	ix := c.operands[0].view
	dims := ix.Dims
	dims[ix.Rank-1] = int64(classes)
	c.result(Int64, dims[:ix.Rank])
	one := held.keep(held.make(Int64, nil))
	if c.err == nil {
		c.err = firstError(fill(c.out, 0), fill(one, 1))
	}
	if c.err == nil {
		c.indexed(kernels.Scatter, int(ix.Rank)-1, c.out.view, expanded(one.view, ix.Dims[:ix.Rank]), ix)
	}
	return c.finish(nil)
}
