package tensor

import (
	"fmt"

	"tarn/kernels"
)

// Dropout returns t with each element set to 0 with probability p of [0,1], and
// the others times 1/(1-p) (Srivastava et al. 2014), where training; else t as it
// is, in a view. As in PyTorch an element that is no finite number becomes NaN
// where it is set to 0. Backward draws the numbers again, so that nothing is kept
// for it. In a [Checkpoint] see [Generator]. Floats only.
func (t *Tensor) Dropout(g *Generator, p float64, training bool) *Tensor {
	if !training || p == 0 {
		return viewed(dropoutDef, t, func(*kernels.View) error { return inUnit(p) }, nil)
	}
	var c call
	start(&c, dropoutDef, t)
	c.wantFloat()
	if c.err == nil {
		c.err = inUnit(p)
	}
	if c.err != nil {
		return c.finish(nil)
	}
	t = c.operands[0]
	c.result(t.view.DType, t.view.Dims[:t.view.Rank])
	attr := c.draw(g, kernels.Dropout, kernels.Attr{Alpha: p})
	return c.finish(func(n *node) { n.attr.scalars = &attr })
}

func inUnit(p float64) error {
	if !(p >= 0 && p <= 1) {
		return fmt.Errorf("%w: probability %v, want 0 to 1", kernels.ErrAttr, p)
	}
	return nil
}

// dropoutBackward writes over the gradient of the result where nobody else holds
// it.
func dropoutBackward(g *gradients) error {
	if g.attr.scalars == nil {
		g.put(0, g.up.alias())
		return nil
	}
	var c call
	start(&c, dropoutGradDef, g.up)
	if c.err == nil && g.up.sole() {
		c.out = g.up.alias()
	} else {
		c.result(g.up.view.DType, g.up.view.Dims[:g.up.view.Rank])
	}
	c.run(kernels.Dropout, *g.attr.scalars)
	g.put(0, c.finish(nil))
	return nil
}
