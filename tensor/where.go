package tensor

import "tarn/kernels"

// Where returns x where condition, a Bool, is true and y elsewhere; all three
// are broadcast, and x and y promoted to one type.
func Where(condition, x, y *Tensor) *Tensor {
	var c call
	start(&c, whereDef, condition, x, y)
	c.wantBool()
	c.promote(1)
	if c.err != nil {
		return c.finish(nil)
	}
	c.zip(kernels.Where, c.operands[1].view.DType)
	return c.finish(func(n *node) { n.save(0, c.operands[0]) })
}

// MaskedFill returns value where mask, a Bool that broadcasts to t's shape, is
// true, and t elsewhere. The gradient is 0 where value stands.
func (t *Tensor) MaskedFill(mask *Tensor, value float64) *Tensor {
	var c call
	start(&c, maskedFillDef, mask, t)
	c.wantBool()
	if c.err == nil {
		_, c.err = held(t.view.DType, value)
	}
	if c.err != nil {
		return c.finish(nil)
	}
	x, err := t.scalarLike(c.stream, c.env, value)
	if c.err = err; err != nil {
		return c.finish(nil)
	}
	// The operands of Where are mask, value and t.
	c.operands[2], c.moved[2] = c.operands[1], c.moved[1]
	c.operands[1], c.moved[1], c.n = x, x, 3
	c.zip(kernels.Where, t.view.DType)
	return c.finish(func(n *node) { n.save(0, c.operands[0]) })
}

func (c *call) wantBool() {
	if c.err == nil && c.operands[0].view.DType != Bool {
		c.err = dtypeError("the mask is %v, not bool", c.operands[0].view.DType)
	}
}

// whereBackward gives each choice its part of up, and 0 elsewhere. It serves
// Where and MaskedFill.
func whereBackward(g *gradients) error {
	mask := g.saved(0)
	if g.needs(1) {
		zero, err := g.up.scalarLike(g.up.dev.streamOf(g.env), g.env, 0)
		if err != nil {
			return err
		}
		g.put(1, g.sumTo(1, Where(mask, g.up, zero)))
		if err := zero.Release(); err != nil {
			return err
		}
	}
	if g.needs(2) {
		g.put(2, g.sumTo(2, g.up.MaskedFill(mask, 0)))
	}
	return nil
}
