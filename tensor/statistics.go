package tensor

import (
	"errors"
	"fmt"
	"math"

	"tarn/kernels"
)

// Var returns the variance over the given dims, over all where none is given:
// the sum of squared differences from the mean over n - correction, n being how
// many there are. A correction of 1 makes it unbiased, of 0 that of the elements
// themselves. Where n - correction is 0 or less it is Inf, and NaN where there is
// no difference or no element.
func (t *Tensor) Var(correction float64, dims ...int) *Tensor {
	return variance(varDef, t, correction, false, dims)
}

// VarKeep is [Tensor.Var] whose reduced dims stay.
func (t *Tensor) VarKeep(correction float64, dims ...int) *Tensor {
	return variance(varDef, t, correction, true, dims)
}

// Std is the square root of [Tensor.Var], which for half types is that of a float32.
// Its gradient is 0 where it is 0.
func (t *Tensor) Std(correction float64, dims ...int) *Tensor {
	return variance(stdDef, t, correction, false, dims)
}

// StdKeep is [Tensor.Std] whose reduced dims stay.
func (t *Tensor) StdKeep(correction float64, dims ...int) *Tensor {
	return variance(stdDef, t, correction, true, dims)
}

func variance(def *opDef, t *Tensor, correction float64, keep bool, dims []int) *Tensor {
	c, kept, count := startReduction(def, kernels.Var, t, dims)
	var mean *Tensor
	if c.err == nil {
		mean, c.err = newTensor(c.stream, c.env, c.out.view.DType, kept.Dims[:kept.Rank])
	}
	if c.err != nil {
		return c.finish(nil)
	}
	defer mean.Release()
	if def == stdDef && c.out.view.DType.IsHalf() {
		c.wideDeviation(mean, correction)
	} else {
		c.varianceOf(c.out, mean, c.operands[0], correction)
	}
	return c.finishReduction(keep, &kept, func(n *node) {
		n.attr.alpha = 1 / (float64(count) - correction)
		n.save(0, c.operands[0])
		n.save(1, mean)
		if def == stdDef {
			n.save(resultSlot, c.out)
		}
	})
}

// varianceOf launches the variance of x, or the deviation, and the mean.
func (c *call) varianceOf(out, mean, x *Tensor, correction float64) {
	if c.err != nil {
		return
	}
	a := kernels.NewArgs()
	defer a.Put()
	a.Out, a.In = append(a.Out, out.view, mean.view), append(a.In, x.view)
	a.Attr.Correction = correction
	c.err = c.stream.launch(kernels.Var, a, []*Tensor{out, mean}, []*Tensor{x})
	c.launched = true
	if c.def == stdDef && c.err == nil {
		root := kernels.NewArgs()
		defer root.Put()
		root.Out, root.In = append(root.Out, out.view), append(root.In, out.view)
		c.err = c.stream.launch(kernels.Sqrt, root, []*Tensor{out}, nil)
	}
}

// wideDeviation is varianceOf for half types, rounded once: the variance may be
// beyond the type where the deviation is not.
func (c *call) wideDeviation(mean *Tensor, correction float64) {
	s := seen{c: c}
	defer s.release()
	x, out := s.wide(c.operands[0], Float32), s.wideResult(Float32)
	wideMean := s.keep(s.make(Float32, mean.view.Dims[:mean.view.Rank]))
	c.varianceOf(out, wideMean, x, correction)
	s.settle(out)
	if c.err == nil {
		c.err = c.stream.copyOf(mean, wideMean)
	}
}

// varBackward: dx = 2 dy/(n-correction) * (x - mean), and for Std, whose
// dVar = dy/(2 y), without the 2.
func varBackward(g *gradients) error {
	scale := g.keptUp()
	if g.def == stdDef {
		y := g.keptResult()
		slope := scale.Div(y)
		scale.Release()
		scale = reluGrad(slope, y) // 0 where y is, which is never less
		slope.Release()
	} else {
		scale = replaced(scale, scale.MulScalar(2))
	}
	scale = replaced(scale, scale.MulScalar(g.attr.alpha))
	d := g.saved(0).Sub(g.saved(1))
	g.put(0, d.Mul(scale))
	return errors.Join(d.Release(), scale.Release())
}

// replaced releases t, of which next was made, and returns next.
func replaced(t, next *Tensor) *Tensor {
	t.Release()
	return next
}

// keptUp is a handle on the gradient of a reduction's result with the reduced
// dims kept.
func (g *gradients) keptUp() *Tensor {
	up := g.up.alias()
	if up.err == nil {
		up.view = unsqueezed(up.view, &g.slots[1].view)
	}
	return up
}

// keptResult is the reduction's result, which was saved, likewise.
func (g *gradients) keptResult() *Tensor {
	y := g.saved(resultSlot)
	if y.err == nil {
		y.view = unsqueezed(y.view, &g.slots[1].view)
	}
	return y
}

// LogSumExp returns log(sum(exp(t))) over the given dims, over all where none is
// given, without overflow on the way; -Inf over no elements.
func (t *Tensor) LogSumExp(dims ...int) *Tensor {
	return reduce(logSumExpDef, kernels.LogSumExp, t, false, dims)
}

// LogSumExpKeep is [Tensor.LogSumExp] whose reduced dims stay.
func (t *Tensor) LogSumExpKeep(dims ...int) *Tensor {
	return reduce(logSumExpDef, kernels.LogSumExp, t, true, dims)
}

// logSumExpBackward: dx = dy * exp(x - y); NaN where both are an infinity, as in
// PyTorch.
func logSumExpBackward(g *gradients) error {
	up := g.keptUp()
	d := g.saved(0).Sub(g.keptResult())
	e := d.Exp()
	g.put(0, e.Mul(up))
	return errors.Join(d.Release(), e.Release(), up.Release())
}

// Norm returns the p-norm over the given dims, over all where none is given:
// (sum |x|^p)^(1/p); with p = 0 how many elements are not 0, with Inf and -Inf
// the largest and the smallest |x|. Over no elements it is 0, but an error for
// p < 0 and for Inf. Where a norm is 0 its gradient is 0, and that of p = 0 is 0
// everywhere.
func (t *Tensor) Norm(p float64, dims ...int) *Tensor { return pNorm(t, p, false, dims) }

// NormKeep is [Tensor.Norm] whose reduced dims stay.
func (t *Tensor) NormKeep(p float64, dims ...int) *Tensor { return pNorm(t, p, true, dims) }

func pNorm(t *Tensor, p float64, keep bool, dims []int) *Tensor {
	if math.IsInf(p, 0) {
		return infiniteNorm(t, p, keep, dims)
	}
	c, kept, count := startReduction(normDef, kernels.Norm, t, dims)
	switch {
	case c.err != nil:
	case math.IsNaN(p):
		c.err = fmt.Errorf("%w: the NaN-norm", ErrShape)
	case p < 0 && count == 0 && c.out.Len() > 0:
		c.err = fmt.Errorf("%w: the %v-norm of no elements", ErrShape, p)
	}
	if c.err != nil {
		return c.finish(nil)
	}
	c.run(kernels.Norm, kernels.Attr{Alpha: p})
	return c.finishReduction(keep, &kept, func(n *node) {
		n.attr.alpha = p
		n.save(0, c.operands[0])
		n.save(resultSlot, c.out)
	})
}

// infiniteNorm is the largest or smallest of the sizes: two ops, of which each
// has its gradient.
func infiniteNorm(t *Tensor, p float64, keep bool, dims []int) *Tensor {
	var c call
	start(&c, sizeDef, t)
	c.wantFloat()
	if c.err != nil {
		return c.finish(nil)
	}
	c.result(t.view.DType, t.view.Dims[:t.view.Rank])
	c.run(kernels.Abs, kernels.Attr{})
	sizes := c.finish(func(n *node) { n.save(0, c.operands[0]) })
	defer sizes.Release()
	if p > 0 {
		return reduce(maxDef, kernels.Max, sizes, keep, dims)
	}
	return reduce(minDef, kernels.Min, sizes, keep, dims)
}

func sizeBackward(g *gradients) error {
	sign := unary(sizeDef, kernels.Sign, g.saved(0), kernels.Attr{})
	g.put(0, sign.Mul(g.up))
	return sign.Release()
}

// normBackward: dx = dy * x/|x| * (|x|/y)^(p-1), 0 where y is 0.
func normBackward(g *gradients) error {
	x, p := g.saved(0), g.attr.alpha
	if p == 0 {
		g.put(0, fullLike(x, 0))
		return nil
	}
	up, y := g.keptUp(), g.keptResult()
	defer up.Release()
	if p == 2 {
		slope := up.Div(y)
		scale := reluGrad(slope, y)
		g.put(0, x.Mul(scale))
		return errors.Join(slope.Release(), scale.Release())
	}
	sign := unary(normDef, kernels.Sign, x, kernels.Attr{})
	if p != 1 {
		sizes := unary(normDef, kernels.Abs, x, kernels.Attr{})
		ratio := sizes.Div(y)
		ratio = replaced(ratio, reluGrad(ratio, sizes)) // 0, not NaN, where x is 0
		power := unary(normDef, kernels.PowScalar, ratio, kernels.Attr{Alpha: p - 1})
		power = replaced(power, reluGrad(power, sizes))
		sign = replaced(sign, sign.Mul(power))
		if err := errors.Join(sizes.Release(), ratio.Release(), power.Release()); err != nil {
			return err
		}
	}
	g.put(0, sign.Mul(up))
	return sign.Release()
}
