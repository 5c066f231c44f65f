package tensor

import (
	"errors"
	"fmt"
	"math"

	"tarn/kernels"
)

func dtypeError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDType, fmt.Sprintf(format, args...))
}

func addBackward(g *gradients) error {
	for i := range 2 {
		if g.needs(i) {
			g.put(i, g.sumTo(i, g.up.alias()))
		}
	}
	return nil
}

func subBackward(g *gradients) error {
	if g.needs(0) {
		g.put(0, g.sumTo(0, g.up.alias()))
	}
	if g.needs(1) {
		g.put(1, g.sumTo(1, g.up.Neg()))
	}
	return nil
}

func mulBackward(g *gradients) error {
	for i := range 2 {
		if g.needs(i) {
			g.put(i, g.sumTo(i, g.up.Mul(g.saved(1-i))))
		}
	}
	return nil
}

// d(a/b) = da/b - db*((a/b)/b); the quotient is what the op saved.
func divBackward(g *gradients) error {
	if g.needs(1) {
		slope := g.saved(resultSlot).Div(g.saved(1))
		scaled := g.up.Mul(slope)
		negated := scaled.Neg()
		g.put(1, g.sumTo(1, negated))
		if err := errors.Join(slope.Release(), scaled.Release()); err != nil {
			return err
		}
	}
	if g.needs(0) {
		g.put(0, g.sumTo(0, g.up.Div(g.saved(1))))
	}
	return nil
}

// Add returns t + u, broadcast.
func (t *Tensor) Add(u *Tensor) *Tensor { return binary(addDef, kernels.Add, t, u) }

// Sub returns t - u, broadcast.
func (t *Tensor) Sub(u *Tensor) *Tensor { return binary(subDef, kernels.Sub, t, u) }

// Mul returns t * u elementwise, broadcast.
func (t *Tensor) Mul(u *Tensor) *Tensor { return binary(mulDef, kernels.Mul, t, u) }

// Div returns t / u elementwise, broadcast, by IEEE rules. Floats only: a
// quotient of integers is an error, not a rounded number.
func (t *Tensor) Div(u *Tensor) *Tensor { return binary(divDef, kernels.Div, t, u) }

func binary(def *opDef, id kernels.ID, a, b *Tensor) *Tensor {
	var c call
	start(&c, def, a, b)
	if id == kernels.Div {
		c.wantFloat()
	} else {
		c.wantSame()
	}
	if c.err != nil {
		return c.finish(nil)
	}
	a, b = c.operands[0], c.operands[1]
	var buf [MaxRank]int64
	var dims []int64
	if dims, c.err = broadcast(&buf, &a.view, &b.view); c.err != nil {
		return c.finish(nil)
	}
	c.result(a.view.DType, dims)
	args := kernels.NewArgs()
	args.Out = append(args.Out, c.out.view)
	args.In = append(args.In, expanded(a.view, dims), expanded(b.view, dims))
	c.launch(id, args)
	return c.finish(func(n *node) {
		switch id {
		case kernels.Mul:
			// Each gradient reads the other operand.
			if n.needs(0) {
				n.save(1, b)
			}
			if n.needs(1) {
				n.save(0, a)
			}
		case kernels.Div:
			n.save(1, b)
			if n.needs(1) {
				n.save(resultSlot, c.out)
			}
		}
	})
}

func expBackward(g *gradients) error {
	g.put(0, g.up.Mul(g.saved(resultSlot)))
	return nil
}

func logBackward(g *gradients) error {
	g.put(0, g.up.Div(g.saved(0)))
	return nil
}

func sqrtBackward(g *gradients) error {
	half := g.up.MulScalar(0.5)
	g.put(0, half.Div(g.saved(resultSlot)))
	return half.Release()
}

func reluBackward(g *gradients) error {
	g.put(0, reluGrad(g.up, g.saved(resultSlot)))
	return nil
}

func affineBackward(g *gradients) error {
	g.put(0, g.up.MulScalar(g.attr.alpha))
	return nil
}

// Exp returns e to the power of t elementwise.
func (t *Tensor) Exp() *Tensor { return unary(expDef, kernels.Exp, t, kernels.Attr{}) }

// Log returns the natural logarithm elementwise; NaN below 0.
func (t *Tensor) Log() *Tensor { return unary(logDef, kernels.Log, t, kernels.Attr{}) }

// Sqrt returns the square root elementwise; NaN below 0.
func (t *Tensor) Sqrt() *Tensor { return unary(sqrtDef, kernels.Sqrt, t, kernels.Attr{}) }

// ReLU returns max(t, 0) elementwise; NaN stays NaN. Its gradient at 0 is 0.
func (t *Tensor) ReLU() *Tensor { return unary(reluDef, kernels.ReLU, t, kernels.Attr{}) }

// Neg returns -t.
func (t *Tensor) Neg() *Tensor { return t.MulScalar(-1) }

// AddScalar returns t + a.
func (t *Tensor) AddScalar(a float64) *Tensor { return t.affine(1, a) }

// MulScalar returns t * a.
func (t *Tensor) MulScalar(a float64) *Tensor {
	// Adding -0 changes no number; adding 0 would turn -0 into 0.
	return t.affine(a, math.Copysign(0, -1))
}

func (t *Tensor) affine(alpha, beta float64) *Tensor {
	return unary(affineDef, kernels.Affine, t, kernels.Attr{Alpha: alpha, Beta: beta})
}

func unary(def *opDef, id kernels.ID, t *Tensor, attr kernels.Attr) *Tensor {
	var c call
	start(&c, def, t)
	c.wantFloat()
	if c.err != nil {
		return c.finish(nil)
	}
	t = c.operands[0]
	c.result(t.view.DType, t.view.Dims[:t.view.Rank])
	c.run(id, attr)
	return c.finish(func(n *node) {
		switch id {
		case kernels.Log:
			n.save(0, t)
		case kernels.Exp, kernels.Sqrt, kernels.ReLU:
			n.save(resultSlot, c.out)
		case kernels.Affine:
			n.attr.alpha = attr.Alpha
		}
	})
}

// reluGrad returns up where y, ReLU's result, is not 0 or below. It writes over
// up, and returns another handle on it, where nobody else holds it: the peak of
// a backward is then one gradient lower at each activation.
func reluGrad(up, y *Tensor) *Tensor {
	var c call
	start(&c, reluGradDef, up, y)
	if c.err == nil && up.sole() && y.view.Contiguous() {
		c.out = up.alias()
	} else {
		c.result(up.view.DType, up.view.Dims[:up.view.Rank])
	}
	c.run(kernels.ReLUGrad, kernels.Attr{})
	return c.finish(nil)
}
