package tensor

import "math"

// Ops with a number: t and a number beside it, which is no more than t's elements
// to the result's type, as PyTorch's are. A number that an integer type cannot hold
// makes the op one of float32. [Tensor.AddScalar] and [Tensor.MulScalar] are kernels
// of their own, and stricter.

// DivScalar returns t / a; of integers and bools a float32, see [Tensor.Div].
func (t *Tensor) DivScalar(a float64) *Tensor { return t.withScalar("DivScalar", (*Tensor).Div, a) }

// EqScalar returns where t is a; see [Tensor.Eq].
func (t *Tensor) EqScalar(a float64) *Tensor { return t.withScalar("EqScalar", (*Tensor).Eq, a) }

// NeScalar returns where t is not a.
func (t *Tensor) NeScalar(a float64) *Tensor { return t.withScalar("NeScalar", (*Tensor).Ne, a) }

// LtScalar returns where t is below a.
func (t *Tensor) LtScalar(a float64) *Tensor { return t.withScalar("LtScalar", (*Tensor).Lt, a) }

// LeScalar returns where t is not above a.
func (t *Tensor) LeScalar(a float64) *Tensor { return t.withScalar("LeScalar", (*Tensor).Le, a) }

// GtScalar returns where t is above a.
func (t *Tensor) GtScalar(a float64) *Tensor { return t.withScalar("GtScalar", (*Tensor).Gt, a) }

// GeScalar returns where t is not below a.
func (t *Tensor) GeScalar(a float64) *Tensor { return t.withScalar("GeScalar", (*Tensor).Ge, a) }

// withScalar returns f of t and a.
func (t *Tensor) withScalar(op string, f func(t, u *Tensor) *Tensor, a float64) *Tensor {
	if err := t.usable(); err != nil {
		return refused(op, err, t)
	}
	u := Scalar(t.Place(), scalarType(t.view.DType, a), a)
	defer u.Release()
	return f(t, u)
}

// scalarType returns the type of a beside elements of type d.
func scalarType(d DType, a float64) DType {
	low, high := 0.0, 0.0
	switch d {
	case Uint8:
		high = math.MaxUint8
	case Int32:
		low, high = math.MinInt32, math.MaxInt32
	case Int64, Bool:
		d = Int64
		low, high = math.MinInt64, math.Nextafter(math.MaxInt64, 0)
	default:
		return d
	}
	if a == math.Trunc(a) && low <= a && a <= high {
		return d
	}
	return Float32
}
