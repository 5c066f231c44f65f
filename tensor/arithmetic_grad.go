package tensor

import (
	"errors"

	"tarn/kernels"
)

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

// d(a^b) = b*a^(b-1) da + a^b*log(a) db. Where b is 0 the first is 0, and so is
// the second where a is 0 and b is not negative, whatever the other factors are.
func powBackward(g *gradients) error {
	a, b := g.saved(0), g.saved(1)
	if g.needs(0) {
		less := b.AddScalar(-1)
		power := a.Pow(less)
		slope := b.Mul(power)
		scaled := g.up.Mul(slope)
		none := b.isScalar(kernels.Equal, 0)
		da := scaled.MaskedFill(none, 0)
		g.put(0, g.sumTo(0, da))
		if err := releaseAll(less, power, slope, scaled, none); err != nil {
			return err
		}
	}
	if g.needs(1) {
		log := a.Log()
		slope := g.saved(resultSlot).Mul(log)
		scaled := g.up.Mul(slope)
		zero, notBelow := a.isScalar(kernels.Equal, 0), b.isScalar(kernels.GreaterEqual, 0)
		none := zero.And(notBelow)
		db := scaled.MaskedFill(none, 0)
		g.put(1, g.sumTo(1, db))
		return releaseAll(log, slope, scaled, zero, notBelow, none)
	}
	return nil
}

// choiceBackward serves Maximum and Minimum: all of up to the chosen operand,
// half of it to each of two equal ones.
func choiceBackward(wins func(x, y *Tensor) *Tensor) func(g *gradients) error {
	return func(g *gradients) error {
		x, y := [2]*Tensor{g.saved(0), g.saved(1)}, [2]*Tensor{g.saved(1), g.saved(0)}
		same := x[0].Eq(y[0])
		half := g.up.MulScalar(0.5)
		shared := Where(same, half, g.up)
		defer releaseAll(same, half, shared)
		for i := range 2 {
			if !g.needs(i) {
				continue
			}
			loses := wins(y[i], x[i])
			g.put(i, g.sumTo(i, shared.MaskedFill(loses, 0)))
			if err := loses.Release(); err != nil {
				return err
			}
		}
		return nil
	}
}

// d(a mod b) = da - floor(a/b) db.
func remainderBackward(g *gradients) error {
	if g.needs(0) {
		g.put(0, g.sumTo(0, g.up.alias()))
	}
	if g.needs(1) {
		quotient := g.saved(0).FloorDivide(g.saved(1))
		scaled := g.up.Mul(quotient)
		g.put(1, g.sumTo(1, scaled.Neg()))
		return releaseAll(quotient, scaled)
	}
	return nil
}

// releaseAll releases what a gradient was made through.
func releaseAll(ts ...*Tensor) error {
	errs := make([]error, 0, len(ts))
	for _, t := range ts {
		errs = append(errs, t.Release())
	}
	return errors.Join(errs...)
}
