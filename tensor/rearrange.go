package tensor

import (
	"fmt"
	"slices"

	"tarn/kernels"
)

// Flip returns a copy of t with the order along each of the given dims reversed.
func (t *Tensor) Flip(dims ...int) *Tensor {
	var c call
	start(&c, flipDef, t)
	mask := 0
	for _, dim := range dims {
		if c.err != nil {
			break
		}
		d, err := axis(dim, c.operands[0].view.Rank)
		if err == nil && mask>>d&1 == 1 {
			err = fmt.Errorf("%w: dim %d is named twice", ErrShape, dim)
		}
		mask |= 1 << d
		c.err = err
	}
	if c.err != nil {
		return c.finish(nil)
	}
	return c.flip(mask)
}

func (c *call) flip(mask int) *Tensor {
	v := c.operands[0].view
	c.result(v.DType, v.Dims[:v.Rank])
	flipView(&v, mask)
	c.copied(v)
	return c.finish(func(n *node) { n.attr.start = mask })
}

// copied launches the copy of operand 0, as v sees it, to the result.
func (c *call) copied(v kernels.View) {
	if c.err != nil {
		return
	}
	a := kernels.NewArgs()
	a.Out, a.In = append(a.Out, c.out.view), append(a.In, v)
	c.launch(kernels.Copy, a)
}

// flipView reverses the dims whose bits are set.
func flipView(v *kernels.View, mask int) {
	if v.Len() == 0 {
		return
	}
	for d := range int(v.Rank) {
		if mask>>d&1 == 1 {
			v.Ptr += uintptr((v.Dims[d] - 1) * v.Strides[d] * v.DType.Size())
			v.Strides[d] = -v.Strides[d]
		}
	}
}

func flipBackward(g *gradients) error {
	var c call
	start(&c, flipDef, g.up)
	if c.err != nil {
		return c.err
	}
	g.put(0, c.flip(g.attr.start))
	return nil
}

// Roll returns a copy of t moved on by shifts along dims, one for each: what
// leaves at one end comes in at the other. Without dims there is one shift, along
// t's elements in row-major order.
func (t *Tensor) Roll(shifts, dims []int) *Tensor {
	if len(dims) == 0 && len(shifts) == 1 && t.usable() == nil {
		flat := t.Flatten(0, -1)
		defer flat.Release()
		rolled := flat.Roll(shifts, []int{0})
		defer rolled.Release()
		return rolled.View(t.Shape()...)
	}
	var c call
	start(&c, rollDef, t)
	if c.err == nil && len(shifts) != len(dims) {
		c.err = fmt.Errorf("%w: %d shifts for %d dims", ErrShape, len(shifts), len(dims))
	}
	var by [MaxRank]int64
	for i, dim := range dims {
		if c.err != nil {
			break
		}
		v := &c.operands[0].view
		var d int
		if d, c.err = axis(dim, v.Rank); c.err == nil && v.Dims[d] > 0 {
			n := v.Dims[d]
			by[d] = ((by[d]+int64(shifts[i])%n)%n + n) % n
		}
	}
	if c.err != nil {
		return c.finish(nil)
	}
	return c.roll(by)
}

// roll moves operand 0 on by shifts from 0 to below the dims' sizes.
func (c *call) roll(by [MaxRank]int64) *Tensor {
	v := c.operands[0].view
	c.result(v.DType, v.Dims[:v.Rank])
	if c.err == nil && v.Len() > 0 {
		c.err = c.rollFrom(0, c.out.view, v, by)
	}
	c.launched = c.err == nil
	return c.finish(func(n *node) { n.slots[1].view.Strides = by })
}

// rollFrom copies in to out in two pieces along each dim, from d on, that has a
// shift.
func (c *call) rollFrom(d int, out, in kernels.View, by [MaxRank]int64) error {
	for ; d < int(out.Rank) && by[d] == 0; d++ {
	}
	if d == int(out.Rank) {
		return c.stream.copyOf(c.out.seenAs(out), c.operands[0].seenAs(in))
	}
	n, shift := int(out.Dims[d]), int(by[d])
	for _, piece := range [][3]int{{shift, 0, n - shift}, {0, n - shift, shift}} {
		to, from := out, in
		slice(&to, d, piece[0], piece[0]+piece[2], 1)
		slice(&from, d, piece[1], piece[1]+piece[2], 1)
		if err := c.rollFrom(d+1, to, from, by); err != nil {
			return err
		}
	}
	return nil
}

func rollBackward(g *gradients) error {
	by := g.slots[1].view.Strides
	for d := range by {
		if by[d] != 0 {
			by[d] = g.result.Dims[d] - by[d]
		}
	}
	var c call
	start(&c, rollDef, g.up)
	if c.err != nil {
		return c.err
	}
	g.put(0, c.roll(by))
	return nil
}

// Repeat returns t repeated so many times along each dim, as PyTorch's repeat: the
// times are those of the last dims, and may be of new ones before t's.
func (t *Tensor) Repeat(times ...int) *Tensor {
	err := t.usable()
	for _, n := range times {
		if err == nil && n < 0 {
			err = fmt.Errorf("%w: %d times", ErrShape, n)
		}
	}
	switch more := len(times) - t.Rank(); {
	case err != nil:
	case more < 0:
		err = fmt.Errorf("%w: %d times for %d dims", ErrShape, len(times), t.Rank())
	case len(times) > MaxRank:
		err = fmt.Errorf("%w: %d dims, at most %d", ErrShape, len(times), MaxRank)
	}
	if err != nil {
		return refused("Repeat", err, t)
	}
	shape := append(slices.Repeat([]int{1}, len(times)-t.Rank()), t.Shape()...)
	y := t.Reshape(shape...)
	for d, n := range times {
		if n != 1 && y.err == nil {
			y = replaced(y, y.repeated(d, n, false))
		}
	}
	return y.owned(t)
}

// Tile is [Tensor.Repeat] with times of the last dims alone, of which there may be
// fewer than t has.
func (t *Tensor) Tile(times ...int) *Tensor {
	if t.usable() == nil && len(times) < t.Rank() {
		times = append(slices.Repeat([]int{1}, t.Rank()-len(times)), times...)
	}
	return t.Repeat(times...)
}

// RepeatInterleave returns t with each index along dim so many times in a row.
func (t *Tensor) RepeatInterleave(times, dim int) *Tensor {
	d, _, err := t.along(dim)
	if err == nil && times < 0 {
		err = fmt.Errorf("%w: %d times", ErrShape, times)
	}
	if err != nil {
		return refused("RepeatInterleave", err, t)
	}
	y := t.repeated(d, times, true)
	return y.owned(t)
}

// owned returns t, or a copy where it has the bytes of from, as where nothing was
// repeated: the result of an op that copies is a new tensor.
func (t *Tensor) owned(from *Tensor) *Tensor {
	if t.err != nil || t.storage != from.storage {
		return t
	}
	return replaced(t, t.Clone())
}

// repeated returns t with dim d n times: each index in a row, or all of them. The
// other dims on either side are one each on the way, so that any rank goes.
func (t *Tensor) repeated(d, n int, inRow bool) *Tensor {
	shape := t.Shape()
	before, size, after := shape[:d].Len(), shape[d], shape[d+1:].Len()
	flat, wide := []int{before, 1, size * after}, []int{before, n, size * after}
	if inRow {
		flat, wide = []int{before * size, 1, after}, []int{before * size, n, after}
	}
	x := t.Reshape(flat...)
	defer x.Release()
	y := x.Expand(wide...)
	defer y.Release()
	shape[d] = size * n
	return y.Reshape(shape...)
}
