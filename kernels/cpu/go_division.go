package cpu

import (
	"math"

	"tarn/kernels/scalar"
)

// nearQuotient bounds the quotients that divideDown is for: x/y as rounded is then
// less than 1 from what it should be, so that rounded down it is right or 1 too
// much, which the sign of the rest shows.
const nearQuotient = 1 << 50

func isNear(x, y float64) bool {
	return math.Abs(x) < nearQuotient*math.Abs(y) && math.Abs(y) <= math.MaxFloat64
}

// divideDown returns x/y rounded down and what that leaves of x, which is exact
// but where it is the sum with y of a small number of the other sign.
func divideDown(x, y float64) (down, rest float64) {
	down = math.Floor(x / y)
	rest = math.FMA(-down, y, x)
	if rest == 0 {
		return down, math.Copysign(0, x)
	}
	if (rest < 0) != (y < 0) {
		return down - 1, rest + y
	}
	return down, rest
}

func floorDivideFloats[T float](out, x, y []T, _ scalars[T]) {
	x, y = x[:len(out)], y[:len(out)]
	for i := range out {
		if u, v := float64(x[i]), float64(y[i]); isNear(u, v) {
			down, _ := divideDown(u, v)
			out[i] = T(down)
		} else {
			out[i] = T(scalar.FloorDivide(u, v))
		}
	}
}

func remainderFloats[T float](out, x, y []T, _ scalars[T]) {
	x, y = x[:len(out)], y[:len(out)]
	for i := range out {
		if u, v := float64(x[i]), float64(y[i]); isNear(u, v) {
			_, rest := divideDown(u, v)
			out[i] = T(rest)
		} else {
			out[i] = T(scalar.Remainder(u, v))
		}
	}
}
