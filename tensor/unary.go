package tensor

import (
	"fmt"
	"math"

	"tarn/kernels"
)

// Functions of one tensor. Those with real values make float32 of integers and
// bools; within how many units in the last place they are right stands in
// package kernels, at the op of the same name.

// Abs returns |t|. Its gradient at 0 is 0.
func (t *Tensor) Abs() *Tensor { return unary(absDef, kernels.Abs, t, kernels.Attr{}) }

// Sign returns -1, 0 or 1; 0 for NaN, as in PyTorch. Its gradient is 0.
func (t *Tensor) Sign() *Tensor { return unary(signDef, kernels.Sign, t, kernels.Attr{}) }

// Floor rounds down. Its gradient is 0, as that of Ceil, Trunc and Round; an
// integer is returned as it is by all four.
func (t *Tensor) Floor() *Tensor { return unary(floorDef, kernels.Floor, t, kernels.Attr{}) }

// Ceil rounds up.
func (t *Tensor) Ceil() *Tensor { return unary(ceilDef, kernels.Ceil, t, kernels.Attr{}) }

// Trunc rounds towards 0.
func (t *Tensor) Trunc() *Tensor { return unary(truncDef, kernels.Trunc, t, kernels.Attr{}) }

// Round rounds to the nearest integer, of two to the even one.
func (t *Tensor) Round() *Tensor { return unary(roundDef, kernels.Round, t, kernels.Attr{}) }

// Exp returns e to the power of t.
func (t *Tensor) Exp() *Tensor { return unary(expDef, kernels.Exp, t, kernels.Attr{}) }

// Expm1 returns Exp less 1, right also where t is small.
func (t *Tensor) Expm1() *Tensor { return unary(expm1Def, kernels.Expm1, t, kernels.Attr{}) }

// Log returns the natural logarithm; NaN below 0.
func (t *Tensor) Log() *Tensor { return unary(logDef, kernels.Log, t, kernels.Attr{}) }

// Log1p returns the logarithm of 1+t, right also where t is small.
func (t *Tensor) Log1p() *Tensor { return unary(log1pDef, kernels.Log1p, t, kernels.Attr{}) }

// Sqrt returns the square root; NaN below 0.
func (t *Tensor) Sqrt() *Tensor { return unary(sqrtDef, kernels.Sqrt, t, kernels.Attr{}) }

// Rsqrt returns 1 over the square root.
func (t *Tensor) Rsqrt() *Tensor { return unary(rsqrtDef, kernels.Rsqrt, t, kernels.Attr{}) }

// Reciprocal returns 1/t.
func (t *Tensor) Reciprocal() *Tensor {
	return unary(reciprocalDef, kernels.Reciprocal, t, kernels.Attr{})
}

// Sin returns the sine of an angle in radians.
func (t *Tensor) Sin() *Tensor { return unary(sinDef, kernels.Sin, t, kernels.Attr{}) }

// Cos returns the cosine of an angle in radians.
func (t *Tensor) Cos() *Tensor { return unary(cosDef, kernels.Cos, t, kernels.Attr{}) }

// Erf returns the error function.
func (t *Tensor) Erf() *Tensor { return unary(erfDef, kernels.Erf, t, kernels.Attr{}) }

// PowScalar returns t to the power of p; of integers a float32, where PyTorch keeps
// them for a whole p, since a float64 does not tell whether it was meant as one.
func (t *Tensor) PowScalar(p float64) *Tensor {
	return unary(powScalarDef, kernels.PowScalar, t, kernels.Attr{Alpha: p})
}

// Clamp returns the nearest of [lo, hi] to each element; an infinite bound is
// none, NaN stays NaN, and hi wins where lo is above it. The gradient goes
// through strictly between the bounds, as in PyTorch 2.15. The bounds of
// integers are taken as the integers within them.
func (t *Tensor) Clamp(lo, hi float64) *Tensor {
	if math.IsNaN(lo) || math.IsNaN(hi) {
		var c call
		start(&c, clampDef, t)
		if c.err == nil {
			c.err = fmt.Errorf("%w: bounds %v and %v", ErrValue, lo, hi)
		}
		return c.finish(nil)
	}
	return unary(clampDef, kernels.Clamp, t, kernels.Attr{Alpha: lo, Beta: hi})
}

// unary runs an op of one operand. What its backward reads, and what it makes of
// integers, stands in its def.
func unary(def *opDef, id kernels.ID, t *Tensor, attr kernels.Attr) *Tensor {
	var c call
	start(&c, def, t)
	if c.err == nil && !id.DTypes().Has(t.view.DType) {
		if def.keepsInts && t.view.DType.IsInt() {
			return c.operands[0].unchanged(def)
		}
		if t.view.DType == Bool && def.keepsInts {
			c.err = dtypeError("needs a number, got bool")
		}
		c.promoteFloat()
	}
	if c.err != nil {
		return c.finish(nil)
	}
	t = c.operands[0]
	c.result(t.view.DType, t.view.Dims[:t.view.Rank])
	c.run(id, attr)
	return c.finish(func(n *node) {
		switch def.reads {
		case theInput:
			n.save(0, t)
		case theResult:
			n.save(resultSlot, c.out)
		}
		n.attr.alpha, n.attr.beta = attr.Alpha, attr.Beta
	})
}

// unchanged returns another handle on t, which the op of def leaves as it is.
func (t *Tensor) unchanged(def *opDef) *Tensor {
	return viewed(def, t, func(*kernels.View) error { return nil }, nil)
}

// slope runs the gradient op id: up times the derivative at x, what the op
// saved. It writes over up, and returns another handle on it, where nobody else
// holds it: the peak of a backward is then one gradient lower at each
// activation.
func slope(id kernels.ID, up, x *Tensor, attr kernels.Attr) *Tensor {
	var c call
	start(&c, slopeDefs[id], up, x)
	if c.err == nil && up.sole() && x.view.Contiguous() {
		c.out = up.alias()
	} else {
		c.result(up.view.DType, up.view.Dims[:up.view.Rank])
	}
	c.run(id, attr)
	return c.finish(nil)
}

// slopeBackward is the backward of an op whose gradient is the op id.
func slopeBackward(id kernels.ID) func(g *gradients) error {
	return func(g *gradients) error {
		slot := 0
		if g.def.reads == theResult {
			slot = resultSlot
		}
		g.put(0, slope(id, g.up, g.saved(slot), kernels.Attr{Alpha: g.attr.alpha, Beta: g.attr.beta}))
		return nil
	}
}

// times puts up times slope and a factor, and releases slope.
func (g *gradients) times(slope *Tensor, factor float64) {
	scaled := slope
	if factor != 1 {
		scaled = slope.MulScalar(factor)
	}
	g.put(0, g.up.Mul(scaled))
	if scaled != slope {
		scaled.Release()
	}
	slope.Release()
}

func negBackward(g *gradients) error  { g.put(0, g.up.Neg()); return nil }
func zeroBackward(g *gradients) error { g.put(0, fullLike(g.up, 0)); return nil }

func expBackward(g *gradients) error {
	g.put(0, g.up.Mul(g.saved(resultSlot)))
	return nil
}

func expm1Backward(g *gradients) error { g.times(g.saved(resultSlot).AddScalar(1), 1); return nil }

func logBackward(g *gradients) error {
	g.put(0, g.up.Div(g.saved(0)))
	return nil
}

func log1pBackward(g *gradients) error {
	below := g.saved(0).AddScalar(1)
	g.put(0, g.up.Div(below))
	return below.Release()
}

func sqrtBackward(g *gradients) error {
	half := g.up.MulScalar(0.5)
	g.put(0, half.Div(g.saved(resultSlot)))
	return half.Release()
}

// The derivative of x^-1/2 is -y^3/2, that of 1/x is -y^2.
func rsqrtBackward(g *gradients) error {
	g.times(g.saved(resultSlot).PowScalar(3), -0.5)
	return nil
}

func reciprocalBackward(g *gradients) error {
	y := g.saved(resultSlot)
	g.times(y.Mul(y), -1)
	return nil
}

func absBackward(g *gradients) error { g.times(g.saved(0).Sign(), 1); return nil }
func sinBackward(g *gradients) error { g.times(g.saved(0).Cos(), 1); return nil }
func cosBackward(g *gradients) error { g.times(g.saved(0).Sin(), -1); return nil }

// The derivative of erf is 2/sqrt(pi) exp(-x^2).
func erfBackward(g *gradients) error {
	x := g.saved(0)
	square := x.Mul(x)
	below := square.Neg()
	g.times(below.Exp(), 2/math.Sqrt(math.Pi))
	return releaseAll(square, below)
}

// A power of 0 has no slope, whatever x is.
func powScalarBackward(g *gradients) error {
	p := g.attr.alpha
	if p == 0 {
		return zeroBackward(g)
	}
	g.times(g.saved(0).PowScalar(p-1), p)
	return nil
}
