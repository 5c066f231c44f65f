package tensor

import (
	"fmt"

	"tarn/kernels"
)

// PadMode is where the elements of a padding come from.
type PadMode uint8

// The paddings that take t's own elements, named as PyTorch names them.
const (
	ReflectPad   PadMode = iota // t mirrored at its first and last element
	ReplicatePad                // the first or last element over and over
	CircularPad                 // t from its other end on
)

// padsOf are the elements before and behind t along each dim.
type padsOf struct{ before, behind [MaxRank]int64 }

// Pad returns t with value around it, converted as [Full] does it. pads are pairs
// of how many elements to put before and behind, the first pair for the last dim,
// the next for the dim before it; less than 0 cuts elements off.
func (t *Tensor) Pad(pads []int, value float64) *Tensor {
	var c call
	start(&c, padDef, t)
	p := c.pads(pads)
	if c.err == nil {
		_, c.err = held(t.view.DType, value)
	}
	if c.err != nil {
		return c.finish(nil)
	}
	x := c.operands[0].view
	dims := x.Dims
	cut := false
	for d := range int(x.Rank) {
		cut = cut || p.before[d] < 0 || p.behind[d] < 0
		if dims[d], c.err = p.padded(d, x.Dims[d]); c.err != nil {
			return c.finish(nil)
		}
	}
	c.result(x.DType, dims[:x.Rank])
	if c.err == nil {
		to, from := p.inside(c.out.view, x)
		if to.Len() < c.out.view.Len() {
			c.err = fill(c.out, value)
		}
		c.move(c.out.seenAs(to), c.operands[0].seenAs(from))
	}
	return c.finishPad(p, func(n *node) {
		if n.attr.start = 0; cut {
			n.attr.start = 1
		}
		n.attr.step = -1
	})
}

// PadWith returns t with some of its own elements around it. pads are as for
// [Tensor.Pad], but none is below 0, any dims may be padded, and what is padded
// has an element. A dim has more elements than either of its pads by ReflectPad, and
// no fewer by CircularPad.
func (t *Tensor) PadWith(mode PadMode, pads []int) *Tensor {
	var c call
	start(&c, padDef, t)
	p := c.pads(pads)
	if c.err == nil && mode > CircularPad {
		c.err = fmt.Errorf("%w: padding by mode %d", ErrShape, mode)
	}
	if c.err != nil {
		return c.finish(nil)
	}
	x := c.operands[0].view
	dims := x.Dims
	for d := range int(x.Rank) {
		most := max(p.before[d], p.behind[d])
		n := x.Dims[d]
		if min(p.before[d], p.behind[d]) < 0 || most > 0 &&
			(n == 0 || mode == ReflectPad && most >= n || mode == CircularPad && most > n) {
			c.err = fmt.Errorf("%w: pads of %d and %d for dim %d of size %d", ErrShape, p.before[d], p.behind[d], d, n)
			return c.finish(nil)
		}
		if dims[d], c.err = p.padded(d, n); c.err != nil {
			return c.finish(nil)
		}
	}
	c.result(x.DType, dims[:x.Rank])
	if c.err == nil {
		to, _ := p.inside(c.out.view, x)
		c.move(c.out.seenAs(to), c.operands[0])
		for d := range int(x.Rank) {
			for _, e := range p.edges(mode, d, c.out.view, x.Dims) {
				c.move(c.out.seenAs(e.pad), c.out.seenAs(e.from))
			}
		}
	}
	return c.finishPad(p, func(n *node) { n.attr.step = int(mode) })
}

// pads reads pairs from the last dim on.
func (c *call) pads(pads []int) (p padsOf) {
	if c.err != nil {
		return p
	}
	rank := int(c.operands[0].view.Rank)
	if len(pads)%2 != 0 || len(pads)/2 > rank {
		c.err = fmt.Errorf("%w: %d pads, want pairs for at most %d dims", ErrShape, len(pads), rank)
		return p
	}
	for i := 0; i < len(pads); i += 2 {
		p.before[rank-1-i/2], p.behind[rank-1-i/2] = int64(pads[i]), int64(pads[i+1])
	}
	return p
}

// padded returns the size of dim d, which was n.
func (p *padsOf) padded(d int, n int64) (int64, error) {
	before, behind := p.before[d], p.behind[d]
	size := n + before
	whole := size + behind
	switch {
	case before > 0 && size < n || behind > 0 && whole < size:
		return 0, fmt.Errorf("%w: pads of %d and %d for dim %d of size %d overflow", ErrShape, before, behind, d, n)
	case behind < 0 && whole > size || whole < 0:
		return 0, fmt.Errorf("%w: pads of %d and %d leave dim %d of size %d nothing", ErrShape, before, behind, d, n)
	}
	return whole, nil
}

// move copies from into to, which may be parts of one tensor that do not meet.
func (c *call) move(to, from *Tensor) {
	if c.err == nil && to.view.Len() > 0 {
		c.err = c.stream.copyOf(to, from)
	}
}

func (c *call) finishPad(p padsOf, save func(n *node)) *Tensor {
	c.launched = c.err == nil
	return c.finish(func(n *node) {
		n.slots[1].view.Dims, n.slots[1].view.Strides = p.before, p.behind
		save(n)
	})
}

// inside returns what of y, padded, is x, and what of x that is.
func (p *padsOf) inside(y, x kernels.View) (inY, inX kernels.View) {
	for d := range int(x.Rank) {
		first := max(-p.before[d], 0)
		end := max(first, x.Dims[d]-max(-p.behind[d], 0))
		at := max(p.before[d], 0)
		slice(&y, d, int(at), int(at+end-first), 1)
		slice(&x, d, int(first), int(end), 1)
	}
	return y, x
}

// edge is a pad along a dim, and where its elements come from.
type edge struct{ pad, from kernels.View }

// edges returns the two pads of y along d. The dims before d are padded already,
// those behind it are x's still.
func (p *padsOf) edges(mode PadMode, d int, y kernels.View, x [MaxRank]int64) (list []edge) {
	for e := d + 1; e < int(y.Rank); e++ {
		slice(&y, e, int(p.before[e]), int(p.before[e]+x[e]), 1)
	}
	first, n := int(p.before[d]), int(x[d])
	for _, side := range [2]struct{ pad, size, mirror, edge, around int }{
		{0, first, first + 1, first, n},
		{first + n, int(p.behind[d]), first + n - 1 - int(p.behind[d]), first + n - 1, first},
	} {
		if side.size == 0 {
			continue
		}
		at := side.around
		switch mode {
		case ReflectPad:
			at = side.mirror
		case ReplicatePad:
			at = side.edge
		}
		e := edge{y, y}
		slice(&e.pad, d, side.pad, side.pad+side.size, 1)
		slice(&e.from, d, at, at+side.size, 1)
		switch mode {
		case ReflectPad:
			flipView(&e.from, 1<<d)
		case ReplicatePad:
			e.from.Strides[d] = 0
		}
		list = append(list, e)
	}
	return list
}

// padBackward takes t's part of the gradient, to which that of each pad has been
// added where its elements came from, the last dim first.
func padBackward(g *gradients) error {
	p := padsOf{g.slots[1].view.Dims, g.slots[1].view.Strides}
	x, s := &g.slots[0].view, g.up.dev.streamOf(g.env)
	if g.attr.step < 0 {
		if g.attr.start == 0 {
			inY, _ := p.inside(g.up.view, *x)
			g.putPart(0, g.up.seenAs(inY))
			return nil
		}
		full, err := g.zeros()
		if err != nil {
			return err
		}
		inY, inX := p.inside(g.up.view, full.view)
		if inX.Len() == 0 {
			return nil
		}
		return s.copyOf(full.seenAs(inX), g.up.seenAs(inY))
	}
	sum := g.up.alias()
	if !g.up.sole() {
		sum = replaced(sum, cloneOn(s, g.env, g.up))
	}
	defer sum.Release()
	if sum.err != nil {
		return sum.err
	}
	mode := PadMode(g.attr.step)
	for d := int(x.Rank) - 1; d >= 0; d-- {
		for _, e := range p.edges(mode, d, sum.view, x.Dims) {
			if e.pad.Len() == 0 {
				continue
			}
			if err := s.addEdge(sum, e, mode, d); err != nil {
				return err
			}
		}
	}
	inY, _ := p.inside(sum.view, *x)
	g.putPart(0, sum.seenAs(inY))
	return nil
}

// addEdge adds the gradient of a pad to where its elements came from.
func (s *Stream) addEdge(sum *Tensor, e edge, mode PadMode, d int) error {
	a := kernels.NewArgs()
	defer a.Put()
	if mode == ReplicatePad { // one element for all
		e.from.Dims[d] = 1
		a.Out, a.In = append(a.Out, e.from), append(a.In, e.pad)
		a.Attr.Alpha, a.Attr.Accumulate = 1, true
		return s.launch(kernels.Sum, a, []*Tensor{sum}, nil)
	}
	a.Out, a.In = append(a.Out, e.from), append(a.In, e.from, e.pad)
	return s.launch(kernels.Add, a, []*Tensor{sum}, nil)
}
