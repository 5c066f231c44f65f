package scalar

import "math"

// Exp returns e^x within 2 units of the last place. math.Exp on amd64 is
// +Inf from x = 709.44 on; e^x is not before 709.78.
func Exp(x float64) float64 {
	if x > 700 {
		half := math.Exp(x / 2)
		return half * half
	}
	return math.Exp(x)
}

// Log returns the natural logarithm of x within 2 units of the last place.
// math.Log on amd64 takes denormals for numbers just above 2^-1022.
func Log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// Sigmoid returns 1/(1+e^-x).
func Sigmoid(x float64) float64 {
	if x < 0 { // e^-x may overflow where e^x still has digits
		e := Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + Exp(-x))
}

// Remainder returns x less the multiple of y that leaves a rest of y's
// sign, exactly but for one rounding.
func Remainder(x, y float64) float64 {
	r := math.Mod(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}

// FloorDivide returns x/y rounded down, of which Remainder is the
// rest; x/y itself where y is 0.
func FloorDivide(x, y float64) float64 {
	if y == 0 {
		return x / y
	}
	r := math.Mod(x, y)
	q := (x - r) / y
	if r != 0 && (r < 0) != (y < 0) {
		q--
	}
	if q == 0 {
		return math.Copysign(0, x/y)
	}
	return math.RoundToEven(q) // whole but for the rounding of the division
}

// FloorDivideInt returns x/y rounded down, -1 where y is 0.
func FloorDivideInt(x, y int64) int64 {
	if y == 0 {
		return -1
	}
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return q
}

// RemainderInt returns what FloorDivideInt leaves of x, x itself where y is 0.
func RemainderInt(x, y int64) int64 {
	if y == 0 {
		return x
	}
	r := x % y
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}

// PowInt returns x to the power of y by squaring, wrapped to 64 bits; for a
// negative y what is left of the fraction: 0, but for the bases 1 and -1.
func PowInt(x, y int64) int64 {
	if y < 0 {
		switch {
		case x == 1:
			return 1
		case x == -1:
			return 1 - 2*(y&1)
		}
		return 0
	}
	p := int64(1)
	for ; y > 0; y >>= 1 {
		if y&1 == 1 {
			p *= x
		}
		x *= x
	}
	return p
}

// WholeBounds returns the least and the largest integer from lo to hi, each
// within int64.
func WholeBounds(lo, hi float64) (int64, int64) {
	least := int64(math.MinInt64)
	if lo >= math.MinInt64 {
		least = saturated(math.Ceil(lo))
	}
	return least, saturated(math.Floor(hi))
}

func saturated(x float64) int64 {
	switch {
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x > math.MinInt64:
		return int64(x)
	}
	return math.MinInt64
}
