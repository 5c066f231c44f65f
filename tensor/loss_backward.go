package tensor

import "tarn/kernels"

// backward puts the gradients of input and target: the slope times the weight,
// what came from above and the factor of a mean. Each takes one buffer beside
// those of its slope.
func (k *lossKind) backward(g *gradients) error {
	factor := 1.0
	if k.factor != nil {
		factor = k.factor(&g.attr)
	}
	if g.needs(0) {
		g.put(0, k.gradient(g, k.slope, k.slopeReads, factor))
	}
	switch {
	case !g.needs(1):
	case k.targetSlope != nil:
		g.put(1, k.gradient(g, k.targetSlope, k.targetReads, 1))
	case g.out[0] != nil:
		g.put(1, g.out[0].Neg())
	default:
		g.put(1, k.gradient(g, k.slope, k.slopeReads, -factor))
	}
	return nil
}

// gradient makes one gradient.
func (k *lossKind) gradient(g *gradients, slope lossFunc, reads [2]bool, factor float64) *Tensor {
	var operands, in [4]*Tensor
	n := 0
	for i := range g.n {
		if i >= 2 || reads[i] {
			in[i] = g.saved(i)
			operands[n] = in[i]
			n++
		}
	}
	var c call
	start(&c, lossGradDef, operands[:n]...)
	if c.err == nil && g.up.err != nil {
		c.err = g.up.err
	}
	if c.err != nil {
		return c.finish(nil)
	}
	w := lossWork{c: &c, attr: &g.attr}
	defer w.release()
	w.weights(in[2:g.n])
	x, t := w.wide(in[0]), w.wide(in[1])
	y := slope(&w, x, t)
	w.drop(x)
	w.drop(t)
	if w.weight != nil {
		w.run(y, kernels.Mul, kernels.Attr{}, y, w.weight)
	}
	up := w.wide(g.up)
	factor *= g.attr.alpha
	if factor != 1 && g.up.view.Rank == 0 {
		up, factor = w.affine(nil, up, factor, 0), 1
	}
	w.run(y, kernels.Mul, kernels.Attr{}, y, up)
	if factor != 1 {
		w.affine(y, y, factor, 0)
	}
	y = w.narrow(y, g.slots[0].view.DType)
	if w.take(y) {
		c.out = y
	}
	return c.finish(nil)
}
