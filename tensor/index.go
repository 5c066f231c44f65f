package tensor

import (
	"fmt"

	"tarn/kernels"
)

// Indices are int64 or int32, and count from 0: one below 0, or past the dim, is
// [ErrIndex]. The CPU finds it at once. A GPU tells of it when it is synchronised,
// and leaves out what the index was to read or write; what was to be read is 0.

// Gather returns a tensor of index's shape: each element is the one of t at its
// place, but at the index along dim. index has t's rank, and beside dim no size
// that is larger. The gradient is added up where an element is taken twice.
func (t *Tensor) Gather(dim int, index *Tensor) *Tensor {
	var c call
	start(&c, gatherDef, t, index)
	d := c.axis(dim)
	c.wantIndex(1)
	if c.err != nil {
		return c.finish(nil)
	}
	x, ix := lineOf(c.operands[0].view), lineOf(c.operands[1].view)
	if c.err = narrow(&x, &ix, d); c.err != nil {
		return c.finish(nil)
	}
	c.result(x.DType, ix.Dims[:index.view.Rank])
	return c.gathered(d, x, ix, lineOf(c.out.view))
}

// IndexSelect returns what lies at each of the indices [N] along dim, which then
// has size N.
func (t *Tensor) IndexSelect(dim int, index *Tensor) *Tensor {
	var c call
	start(&c, indexSelectDef, t, index)
	d, ix := c.rows(dim)
	if c.err != nil {
		return c.finish(nil)
	}
	c.result(t.view.DType, ix.Dims[:ix.Rank])
	return c.gathered(d, c.operands[0].view, ix, c.out.view)
}

// gathered launches Gather, and finishes with the indices kept as the kernel
// sees them.
func (c *call) gathered(d int, x, ix, out kernels.View) *Tensor {
	c.indexed(kernels.Gather, d, out, x, ix)
	return c.finish(func(n *node) {
		n.attr.dim[0] = d
		n.save(1, c.operands[1])
		n.slots[1].view = ix
	})
}

// gatherBackward adds each gradient to the element that was taken.
func gatherBackward(g *gradients) error {
	full, err := g.zeros()
	index := g.saved(1)
	if err != nil || index.err != nil || g.up.Len() == 0 {
		return firstError(err, index.err)
	}
	up := g.up.Reshape(shapeOf(&index.view)...)
	defer up.Release()
	if up.err != nil {
		return up.err
	}
	x := lineOf(full.view)
	if err := narrow(&x, &index.view, g.attr.dim[0]); err != nil {
		return err
	}
	return full.dev.streamOf(g.env).indexed(kernels.ScatterAdd, g.attr.dim[0], full.seenAs(x), up, index)
}

// Scatter returns t with the elements of src written to the indices along dim: the
// counterpart of [Tensor.Gather]. Where several indices name one place the last
// along dim counts; the gradient of src is then right for that one alone, as in
// PyTorch. src has t's dtype, and along no dim less than index.
func (t *Tensor) Scatter(dim int, index, src *Tensor) *Tensor {
	return scattered(scatterDef, kernels.Scatter, t, dim, index, src)
}

// ScatterAdd returns t with the elements of src added at the indices along dim, in
// their order, so that the result is always the same. Otherwise it is as
// [Tensor.Scatter]; bools are not added.
func (t *Tensor) ScatterAdd(dim int, index, src *Tensor) *Tensor {
	return scattered(scatterAddDef, kernels.ScatterAdd, t, dim, index, src)
}

func scattered(def *opDef, id kernels.ID, t *Tensor, dim int, index, src *Tensor) *Tensor {
	var c call
	start(&c, def, t, index, src)
	d := c.axis(dim)
	c.wantIndex(1)
	if c.err != nil {
		return c.finish(nil)
	}
	ix := lineOf(c.operands[1].view)
	return c.scatter(id, d, ix)
}

// IndexAdd returns t with what lies at each of N places along dim of src added at
// the indices [N] along dim of t. Beside dim both have the same dims.
func (t *Tensor) IndexAdd(dim int, index, src *Tensor) *Tensor {
	var c call
	start(&c, indexAddDef, t, index, src)
	d, ix := c.rows(dim)
	if c.err == nil && !c.operands[2].view.SameDims(&ix) {
		c.err = fmt.Errorf("%w: src is %v, want %v", ErrShape, src.Shape(), shapeOf(&ix))
	}
	if c.err != nil {
		return c.finish(nil)
	}
	return c.scatter(kernels.ScatterAdd, d, ix)
}

// scatter makes the result of operand 0, and changes it by operand 2 at the
// indices ix.
func (c *call) scatter(id kernels.ID, d int, ix kernels.View) *Tensor {
	t, src := c.operands[0], c.operands[2]
	to, from := lineOf(t.view), lineOf(src.view)
	switch dt := t.view.DType; {
	case dt != src.view.DType:
		c.err = dtypeError("src is %v, want %v", src.view.DType, dt)
	case !id.DTypes().Has(dt):
		c.err = dtypeError("needs one of %v, got %v", id.DTypes().List(), dt)
	default:
		c.err = firstError(narrow(&from, &ix, -1), narrow(&to, &ix, d))
	}
	if c.err == nil && to.Dims[d] == 0 && ix.Len() > 0 {
		c.err = fmt.Errorf("%w: %d of a dim of size 0", ErrIndex, ix.Len())
	}
	if c.err != nil {
		return c.finish(nil)
	}
	c.result(t.view.DType, t.view.Dims[:t.view.Rank])
	if c.err == nil {
		c.err = c.stream.copyOf(c.out, t)
	}
	if c.err == nil {
		strides := lineOf(c.out.view).Strides
		to.Ptr, to.Strides = c.out.view.Ptr, strides
	}
	c.indexed(id, d, to, from, ix)
	return c.finish(func(n *node) {
		n.attr.dim[0] = d
		n.save(1, c.operands[1])
		n.slots[1].view = ix
	})
}

// scatterBackward: src has the gradients at the indices, and t all of them, but
// for those that Scatter wrote over.
func scatterBackward(g *gradients) error {
	d, index, s := g.attr.dim[0], g.saved(1), g.up.dev.streamOf(g.env)
	if index.err != nil {
		return index.err
	}
	seen := lineOf(g.up.view)
	if err := narrow(&seen, &index.view, d); err != nil {
		return err
	}
	if g.needs(2) {
		v := &g.slots[2].view
		made, err := newTensor(s, g.env, v.DType, v.Dims[:v.Rank])
		if err != nil {
			return err
		}
		g.put(2, made)
		part := lineOf(made.view)
		if err = narrow(&part, &index.view, -1); err == nil && part.Len() < made.view.Len() {
			err = fill(made, 0)
		}
		if err == nil && part.Len() > 0 {
			err = s.indexed(kernels.Gather, d, made.seenAs(part), g.up.seenAs(seen), index)
		}
		if err != nil {
			return err
		}
	}
	if !g.needs(0) || g.def != scatterDef || index.Len() == 0 {
		g.put(0, g.up.alias())
		return nil
	}
	full := g.up.alias()
	if !g.up.sole() {
		full = replaced(full, cloneOn(s, g.env, g.up))
	}
	g.put(0, full)
	zero, err := newTensor(s, g.env, g.up.view.DType, nil)
	if err != nil {
		return err
	}
	defer zero.Release()
	if err := firstError(full.err, fill(zero, 0)); err != nil {
		return err
	}
	to := lineOf(full.view)
	if err := narrow(&to, &index.view, d); err != nil {
		return err
	}
	none := expanded(zero.view, index.view.Dims[:index.view.Rank])
	return s.indexed(kernels.Scatter, d, full.seenAs(to), zero.seenAs(none), index)
}

// narrow cuts v to the size of the indices along all dims but d, which must be
// there.
func narrow(v, ix *kernels.View, d int) error {
	if v.Rank != ix.Rank {
		return fmt.Errorf("%w: indices of %d dims for %d", ErrShape, ix.Rank, v.Rank)
	}
	for e := range int(v.Rank) {
		if e != d && ix.Dims[e] > v.Dims[e] {
			return fmt.Errorf("%w: indices %v along dim %d of %v", ErrShape, shapeOf(ix), e, shapeOf(v))
		}
	}
	for e := range int(v.Rank) {
		if e != d {
			v.Dims[e] = ix.Dims[e]
		}
	}
	return nil
}

// rows resolves dim, and returns operand 1, indices of at most one dim, as the
// kernel sees them: one for all that lies beside it.
func (c *call) rows(dim int) (d int, ix kernels.View) {
	c.wantIndex(1)
	if c.err == nil {
		d, c.err = axis(dim, c.operands[0].view.Rank)
	}
	if c.err != nil {
		return 0, ix
	}
	line := lineOf(c.operands[1].view)
	if line.Rank != 1 {
		c.err = fmt.Errorf("%w: indices %v, want one dim", ErrShape, shapeOf(&line))
		return 0, ix
	}
	x := &c.operands[0].view
	ix = kernels.View{Ptr: line.Ptr, DType: Int64, Rank: x.Rank, Dims: x.Dims}
	ix.Dims[d], ix.Strides[d] = line.Dims[0], line.Strides[0]
	return d, ix
}

// wantIndex demands that operand i holds indices, and makes them int64.
func (c *call) wantIndex(i int) {
	if c.err != nil {
		return
	}
	switch d := c.operands[i].view.DType; d {
	case Int32, Int64:
		c.convertOne(i, Int64)
	default:
		c.err = dtypeError("indices are %v, want int64 or int32", d)
	}
}

// indexed launches a kernel that goes by indices, on the call's operands as the
// views see them.
func (c *call) indexed(id kernels.ID, d int, out, in, ix kernels.View) {
	if c.err != nil {
		return
	}
	a := kernels.NewArgs()
	a.Out, a.In = append(a.Out, out), append(a.In, in, ix)
	a.Attr.Axis = d
	c.launch(id, a)
}

func (s *Stream) indexed(id kernels.ID, d int, out, in, index *Tensor) error {
	a := kernels.NewArgs()
	defer a.Put()
	a.Out, a.In = append(a.Out, out.view), append(a.In, lineOf(in.view), index.view)
	a.Attr.Axis = d
	return s.launch(id, a, []*Tensor{out}, []*Tensor{in, index})
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
