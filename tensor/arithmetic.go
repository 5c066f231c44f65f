package tensor

import (
	"fmt"
	"math"

	"tarn/kernels"
)

func dtypeError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDType, fmt.Sprintf(format, args...))
}

// Arithmetic is broadcast and promotes types as PyTorch does. Integers wrap; of
// two bools Add is or and Mul is and.

// Add returns t + u.
func (t *Tensor) Add(u *Tensor) *Tensor { return binary(addDef, kernels.Add, t, u) }

// Sub returns t - u; bools have no difference.
func (t *Tensor) Sub(u *Tensor) *Tensor { return binary(subDef, kernels.Sub, t, u) }

// Mul returns t * u elementwise.
func (t *Tensor) Mul(u *Tensor) *Tensor { return binary(mulDef, kernels.Mul, t, u) }

// Div returns t / u elementwise, by IEEE rules; the quotient of integers is a
// float32.
func (t *Tensor) Div(u *Tensor) *Tensor { return binary(divDef, kernels.Div, t, u) }

// Pow returns t to the power of u elementwise. A negative power of an integer is
// 0, but for the bases 1 and -1.
func (t *Tensor) Pow(u *Tensor) *Tensor { return binary(powDef, kernels.Pow, t, u) }

// Maximum returns the larger elements, NaN where one is NaN; of 0 and -0 it is
// either, as in PyTorch. The gradient of equals is shared in halves.
func (t *Tensor) Maximum(u *Tensor) *Tensor { return binary(maximumDef, kernels.Maximum, t, u) }

// Minimum returns the smaller elements, as [Tensor.Maximum] does the larger.
func (t *Tensor) Minimum(u *Tensor) *Tensor { return binary(minimumDef, kernels.Minimum, t, u) }

// FloorDivide returns the quotient rounded down. It has no gradient. An integer
// divided by 0 gives -1, with all bits set in a uint8, where PyTorch fails on the
// CPU.
func (t *Tensor) FloorDivide(u *Tensor) *Tensor {
	return binary(floorDivideDef, kernels.FloorDivide, t, u)
}

// Remainder returns t less u times the quotient rounded down, of u's sign; t
// itself where u is an integer 0.
func (t *Tensor) Remainder(u *Tensor) *Tensor { return binary(remainderDef, kernels.Remainder, t, u) }

// And, Or and Xor are bitwise for integers, logical for bools.

// And returns the bits that are set in both.
func (t *Tensor) And(u *Tensor) *Tensor { return binary(andDef, kernels.And, t, u) }

// Or returns the bits that are set in one.
func (t *Tensor) Or(u *Tensor) *Tensor { return binary(orDef, kernels.Or, t, u) }

// Xor returns the bits that differ.
func (t *Tensor) Xor(u *Tensor) *Tensor { return binary(xorDef, kernels.Xor, t, u) }

func binary(def *opDef, id kernels.ID, a, b *Tensor) *Tensor {
	var c call
	start(&c, def, a, b)
	if id == kernels.Div {
		c.promoteFloat()
	} else {
		c.promote(0)
	}
	c.takes(id)
	if c.err != nil {
		return c.finish(nil)
	}
	a, b = c.operands[0], c.operands[1]
	c.zip(id, a.view.DType)
	return c.finish(func(n *node) {
		switch id {
		case kernels.Mul, kernels.Maximum, kernels.Minimum:
			// Each gradient reads the other operand; that of a choice, both.
			both := id != kernels.Mul
			if n.needs(0) || both {
				n.save(1, b)
			}
			if n.needs(1) || both {
				n.save(0, a)
			}
		case kernels.Div:
			n.save(1, b)
			if n.needs(1) {
				n.save(resultSlot, c.out)
			}
		case kernels.Pow:
			n.save(0, a)
			n.save(1, b)
			if n.needs(1) {
				n.save(resultSlot, c.out)
			}
		case kernels.Remainder:
			if n.needs(1) {
				n.save(0, a)
				n.save(1, b)
			}
		}
	})
}

// takes demands that op id has a kernel for the first operand's type.
func (c *call) takes(id kernels.ID) {
	if types, _ := id.Selects(); c.err == nil && !types.Has(c.operands[0].view.DType) {
		c.err = dtypeError("%v of %v", id, c.operands[0].view.DType)
	}
}

// zip makes the result of type dt and runs id on the operands, broadcast.
func (c *call) zip(id kernels.ID, dt DType) {
	dims, err := c.together()
	if c.err = err; err != nil {
		return
	}
	c.result(dt, dims.Dims[:dims.Rank])
	if c.err != nil {
		return
	}
	args := kernels.NewArgs()
	args.Out = append(args.Out, c.out.view)
	for _, t := range c.operands[:c.n] {
		args.In = append(args.In, expanded(t.view, dims.Dims[:dims.Rank]))
	}
	c.launch(id, args)
}

// together returns the dims that the operands broadcast to.
func (c *call) together() (all kernels.View, err error) {
	all = c.operands[0].view
	for _, t := range c.operands[1:c.n] {
		var buf [MaxRank]int64
		dims, err := broadcast(&buf, &all, &t.view)
		if err != nil {
			return all, err
		}
		all.Rank = int8(copy(all.Dims[:], dims))
	}
	return all, nil
}

// Neg returns -t.
func (t *Tensor) Neg() *Tensor { return unary(negDef, kernels.Neg, t, kernels.Attr{}) }

// AddScalar returns t + a. Of integers a must be a whole number and the result
// has t's type, since a float64 does not tell whether it was meant as one.
func (t *Tensor) AddScalar(a float64) *Tensor { return t.affine(1, a) }

// MulScalar returns t * a, as [Tensor.AddScalar] does the sum.
func (t *Tensor) MulScalar(a float64) *Tensor {
	// Adding -0 changes no number; adding 0 would turn -0 into 0.
	return t.affine(a, math.Copysign(0, -1))
}

func (t *Tensor) affine(alpha, beta float64) *Tensor {
	if t.err == nil && !t.view.DType.IsFloat() {
		return t.wholeAffine(alpha, beta)
	}
	return unary(affineDef, kernels.Affine, t, kernels.Attr{Alpha: alpha, Beta: beta})
}

// wholeAffine is affine for integers, of which one of the two steps is none.
func (t *Tensor) wholeAffine(alpha, beta float64) *Tensor {
	var c call
	start(&c, affineDef, t)
	if c.err == nil && (alpha != math.Trunc(alpha) || beta != math.Trunc(beta)) {
		c.err = dtypeError("%v with a scalar that is no whole number", t.view.DType)
	}
	if c.err == nil && !t.view.DType.IsInt() {
		c.err = dtypeError("needs a number, got %v", t.view.DType)
	}
	id, x := kernels.Mul, alpha
	if alpha == 1 {
		id, x = kernels.Add, beta
	}
	if c.err == nil {
		c.operands[1], c.err = t.scalarLike(c.stream, c.env, x)
		c.moved[1] = c.operands[1]
	}
	if c.err != nil {
		return c.finish(nil)
	}
	c.n = 2
	c.zip(id, t.view.DType)
	return c.finish(nil)
}

// scalarLike returns a tensor without dims of t's type that holds x.
func (t *Tensor) scalarLike(s *Stream, e *env, x float64) (*Tensor, error) {
	out, err := newTensor(s, e, t.view.DType, nil)
	if err == nil {
		if err = fill(out, x); err != nil {
			out.Release()
		}
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// affineBackward serves AddScalar and MulScalar.
func affineBackward(g *gradients) error {
	g.put(0, g.up.MulScalar(g.attr.alpha))
	return nil
}
