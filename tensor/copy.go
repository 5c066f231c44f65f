package tensor

import "tarn/kernels"

func cloneBackward(g *gradients) error {
	if from := g.slots[0].view.DType; from != g.up.view.DType {
		g.put(0, g.up.To(from))
		return nil
	}
	g.put(0, g.up.alias())
	return nil
}

// Clone returns a dense copy of t.
func (t *Tensor) Clone() *Tensor { return converted(t, t.view.DType) }

// Contiguous returns t's elements dense in row-major order: another handle on
// the same storage where they already are, else a copy.
func (t *Tensor) Contiguous() *Tensor {
	if t.usable() == nil && !t.view.Contiguous() {
		return t.Clone()
	}
	return viewed(cloneDef, t, func(*kernels.View) error { return nil }, nil)
}

// To returns a copy of t with elements of type dt: to an integer by truncation,
// to a narrower float by rounding to nearest, to Bool by whether an element
// differs from 0, as NaN does. What is beyond an integer's range keeps its low bits;
// beyond int64, and for NaN, the result has no meaning. Where t has dt already it
// is another handle on the same storage. Gradients flow back through float types;
// other types have no history.
func (t *Tensor) To(dt DType) *Tensor {
	if dt == t.view.DType {
		return viewed(cloneDef, t, func(*kernels.View) error { return nil }, nil)
	}
	return converted(t, dt)
}

func converted(t *Tensor, dt DType) *Tensor {
	var c call
	start(&c, cloneDef, t)
	if c.err == nil && !dt.Valid() {
		c.err = dtypeError("%v", dt)
	}
	if c.err != nil {
		return c.finish(nil)
	}
	c.record = c.record && dt.IsFloat()
	c.result(dt, t.view.Dims[:t.view.Rank])
	c.run(kernels.Copy, kernels.Attr{})
	return c.finish(nil)
}
