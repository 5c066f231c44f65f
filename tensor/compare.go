package tensor

import "tarn/kernels"

// Comparisons are broadcast, compare in the common type, and return bools. NaN
// is equal to nothing, itself included. None has a gradient.

// Eq returns where t and u are equal.
func (t *Tensor) Eq(u *Tensor) *Tensor { return compare(eqDef, kernels.Equal, t, u) }

// Ne returns where they differ.
func (t *Tensor) Ne(u *Tensor) *Tensor { return compare(neDef, kernels.NotEqual, t, u) }

// Lt returns where t is below u.
func (t *Tensor) Lt(u *Tensor) *Tensor { return compare(ltDef, kernels.Less, t, u) }

// Le returns where t is not above u.
func (t *Tensor) Le(u *Tensor) *Tensor { return compare(leDef, kernels.LessEqual, t, u) }

// Gt returns where t is above u.
func (t *Tensor) Gt(u *Tensor) *Tensor { return compare(gtDef, kernels.Greater, t, u) }

// Ge returns where t is not below u.
func (t *Tensor) Ge(u *Tensor) *Tensor { return compare(geDef, kernels.GreaterEqual, t, u) }

// IsNaN returns where t is NaN; nowhere for integers and bools.
func (t *Tensor) IsNaN() *Tensor { return tell(isNaNDef, kernels.IsNaN, t) }

// IsInf returns where t is an infinity; nowhere for integers and bools.
func (t *Tensor) IsInf() *Tensor { return tell(isInfDef, kernels.IsInf, t) }

// Not returns where t is 0 or false.
func (t *Tensor) Not() *Tensor { return tell(notDef, kernels.Not, t) }

func compare(def *opDef, id kernels.ID, a, b *Tensor) *Tensor {
	var c call
	start(&c, def, a, b)
	c.constants()
	c.promote(0)
	if c.err == nil {
		c.zip(id, Bool)
	}
	return c.finish(nil)
}

func tell(def *opDef, id kernels.ID, t *Tensor) *Tensor {
	var c call
	start(&c, def, t)
	c.constants()
	if types, _ := id.Selects(); c.err == nil && !types.Has(t.view.DType) {
		c.result(Bool, t.view.Dims[:t.view.Rank])
		if c.err == nil {
			c.err = fill(c.out, 0)
		}
		return c.finish(nil)
	}
	if c.err == nil {
		c.zip(id, Bool)
	}
	return c.finish(nil)
}

// constants makes of the call one that has no gradient: what it converts is not
// recorded either.
func (c *call) constants() {
	c.record = false
	for i, t := range c.operands[:c.n] {
		if c.err == nil && t.RequiresGrad() {
			c.operands[i] = t.NoGrad()
		}
	}
}

// isScalar compares t with a number.
func (t *Tensor) isScalar(id kernels.ID, x float64) *Tensor {
	var c call
	start(&c, eqDef, t)
	c.constants()
	if c.err == nil {
		c.operands[1], c.err = t.scalarLike(c.stream, c.env, x)
		c.moved[1] = c.operands[1]
	}
	if c.err == nil {
		c.n = 2
		c.zip(id, Bool)
	}
	return c.finish(nil)
}
