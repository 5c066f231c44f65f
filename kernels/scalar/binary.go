package scalar

import (
	"math"

	"tarn/kernels"
)

// Binary is an op of two inputs, as Unary is one of one. The gradient of a
// Unary is among them: its inputs are dy and what the ID says.
type Binary struct {
	Float func(x, y, a, b float64) float64
	Whole func(x, y int64) int64
}

// Binaries are the ops of two inputs whose result has their type.
var Binaries = [kernels.NumOps]Binary{
	kernels.Add: {two(func(x, y float64) float64 { return x + y }), func(x, y int64) int64 { return x + y }},
	kernels.Sub: {two(func(x, y float64) float64 { return x - y }), func(x, y int64) int64 { return x - y }},
	kernels.Mul: {two(func(x, y float64) float64 { return x * y }), func(x, y int64) int64 { return x * y }},
	kernels.Div: {Float: two(func(x, y float64) float64 { return x / y })},

	kernels.ReLUGrad:    {Float: mask(func(y, _, _ float64) bool { return y > 0 || y != y })},
	kernels.ClampGrad:   {Float: mask(func(x, a, b float64) bool { return a < x && x < b })},
	kernels.TanhGrad:    {Float: slope(func(y, _, _ float64) float64 { return (1 - y) * (1 + y) })},
	kernels.SigmoidGrad: {Float: slope(func(y, _, _ float64) float64 { return y * (1 - y) })},
	kernels.SiLUGrad: {Float: slope(func(x, _, _ float64) float64 {
		s := Sigmoid(x)
		return s * (1 + x*Sigmoid(-x))
	})},
	kernels.GELUGrad: {Float: slope(func(x, _, _ float64) float64 { return normalBelow(x) + x*normalAt(x) })},
	kernels.GELUTanhGrad: {Float: slope(func(x, _, _ float64) float64 {
		s := Sigmoid(2 * bend(x))
		both := s * Sigmoid(-2*bend(x))
		if both == 0 && !math.IsInf(x, 0) { // the slope may have overflown
			return s
		}
		return s + x*2*both*bendSlope(x)
	})},
	kernels.LeakyReLUGrad: {Float: func(dy, x, a, _ float64) float64 {
		if x > 0 {
			return dy
		}
		return a * dy
	}},
	kernels.ELUGrad: {Float: func(dy, x, a, _ float64) float64 {
		if x <= 0 {
			return dy * a * math.Exp(x)
		}
		return dy
	}},
	kernels.SoftplusGrad: {Float: func(dy, x, a, b float64) float64 {
		if a*x > b {
			return dy
		}
		return dy * Sigmoid(a*x)
	}},

	kernels.Pow:         {two(Pow), PowInt},
	kernels.Maximum:     {two(Larger), func(x, y int64) int64 { return max(x, y) }},
	kernels.Minimum:     {two(Smaller), func(x, y int64) int64 { return min(x, y) }},
	kernels.FloorDivide: {two(FloorDivide), FloorDivideInt},
	kernels.Remainder:   {two(Remainder), RemainderInt},
	kernels.And:         {Whole: func(x, y int64) int64 { return x & y }},
	kernels.Or:          {Whole: func(x, y int64) int64 { return x | y }},
	kernels.Xor:         {Whole: func(x, y int64) int64 { return x ^ y }},
}

// Test is an op that tells whether something is so of two inputs, or of one and
// 0.
type Test struct {
	Float func(x, y float64) bool
	Whole func(x, y int64) bool
}

// Tests are the ops whose result is a bool.
var Tests = [kernels.NumOps]Test{
	kernels.Equal:        {func(x, y float64) bool { return x == y }, func(x, y int64) bool { return x == y }},
	kernels.NotEqual:     {func(x, y float64) bool { return x != y }, func(x, y int64) bool { return x != y }},
	kernels.Less:         {func(x, y float64) bool { return x < y }, func(x, y int64) bool { return x < y }},
	kernels.LessEqual:    {func(x, y float64) bool { return x <= y }, func(x, y int64) bool { return x <= y }},
	kernels.Greater:      {func(x, y float64) bool { return x > y }, func(x, y int64) bool { return x > y }},
	kernels.GreaterEqual: {func(x, y float64) bool { return x >= y }, func(x, y int64) bool { return x >= y }},
	kernels.Not:          {func(x, y float64) bool { return x == y }, func(x, y int64) bool { return x == y }},
	kernels.IsNaN:        {Float: func(x, _ float64) bool { return x != x }},
	kernels.IsInf:        {Float: func(x, _ float64) bool { return math.IsInf(x, 0) }},
}

// two makes a function of two numbers alone one with scalars.
func two(f func(x, y float64) float64) func(x, y, a, b float64) float64 {
	return func(x, y, _, _ float64) float64 { return f(x, y) }
}

// slope makes of a derivative the gradient op: dy times that at y.
func slope(f func(x, a, b float64) float64) func(dy, x, a, b float64) float64 {
	return func(dy, x, a, b float64) float64 { return dy * f(x, a, b) }
}

// mask makes of a condition the gradient op: dy where it holds, else 0.
func mask(f func(x, a, b float64) bool) func(dy, x, a, b float64) float64 {
	return func(dy, x, a, b float64) float64 {
		if f(x, a, b) {
			return dy
		}
		return 0
	}
}

// Larger returns the larger of x and y, NaN if one is NaN. [math.Max] prefers
// an infinity to a NaN.
func Larger(x, y float64) float64 {
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.NaN()
	}
	return math.Max(x, y)
}

// Smaller is Larger's counterpart.
func Smaller(x, y float64) float64 { return -Larger(-x, -y) }
