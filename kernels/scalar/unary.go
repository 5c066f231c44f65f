// Package scalar has the function of each elementwise op of package kernels, of
// single numbers: what the comments of the IDs say, in a form that runs.
//
// Floats are computed in float64 by package math: the result rounded to the
// element type is right to about its last bit. Integers are computed in int64,
// of which a smaller type keeps the low bits. kernels/ref is made of these
// functions, and so are the bodies of kernels/cpu where C has none.
package scalar

import (
	"math"

	"tarn/kernels"
)

// Unary is an op of one input. A nil function means that the op has no such
// elements. a and b are Attr.Alpha and Attr.Beta.
type Unary struct {
	Float func(x, a, b float64) float64
	Whole func(x int64, a, b float64) int64
}

// Unaries are the ops of one input whose result has its type.
var Unaries = [kernels.NumOps]Unary{
	kernels.Affine: {Float: func(x, a, b float64) float64 { return float64(a*x) + b }},
	kernels.Exp:    {Float: plain(Exp)},
	kernels.Log:    {Float: plain(Log)},
	kernels.Sqrt:   {Float: plain(math.Sqrt)},
	kernels.ReLU:   {Float: plain(rectify)},
	kernels.Neg: {plain(func(x float64) float64 { return -x }), func(x int64, _, _ float64) int64 {
		return -x
	}},
	kernels.Abs: {plain(math.Abs), func(x int64, _, _ float64) int64 { return max(x, -x) }},
	kernels.Sign: {plain(func(x float64) float64 { return float64(truth(x > 0) - truth(x < 0)) }),
		func(x int64, _, _ float64) int64 { return truth(x > 0) - truth(x < 0) }},
	kernels.Floor:      {Float: plain(math.Floor)},
	kernels.Ceil:       {Float: plain(math.Ceil)},
	kernels.Trunc:      {Float: plain(math.Trunc)},
	kernels.Round:      {Float: plain(math.RoundToEven)},
	kernels.Reciprocal: {Float: plain(func(x float64) float64 { return 1 / x })},
	kernels.Rsqrt:      {Float: plain(func(x float64) float64 { return 1 / math.Sqrt(x) })},
	kernels.Expm1:      {Float: plain(math.Expm1)},
	kernels.Log1p:      {Float: plain(math.Log1p)},
	kernels.Sin:        {Float: plain(math.Sin)},
	kernels.Cos:        {Float: plain(math.Cos)},
	kernels.Tanh:       {Float: plain(math.Tanh)},
	kernels.Sigmoid:    {Float: plain(Sigmoid)},
	kernels.Erf:        {Float: plain(math.Erf)},
	kernels.SiLU:       {Float: plain(silu)},
	kernels.GELU:       {Float: plain(func(x float64) float64 { return x * normalBelow(x) })},
	kernels.GELUTanh:   {Float: plain(func(x float64) float64 { return x * Sigmoid(2*bend(x)) })},
	kernels.LeakyReLU: {Float: func(x, a, _ float64) float64 {
		if x > 0 {
			return x
		}
		return a * x
	}},
	kernels.ELU: {Float: func(x, a, _ float64) float64 {
		if x <= 0 {
			return a * math.Expm1(x)
		}
		return x
	}},
	kernels.Softplus: {Float: func(x, a, b float64) float64 {
		if a*x > b {
			return x
		}
		return math.Log1p(math.Exp(a*x)) / a
	}},
	kernels.PowScalar: {Float: func(x, a, _ float64) float64 { return Pow(x, a) }},
	kernels.Clamp: {Float: func(x, a, b float64) float64 {
		if x < a {
			x = a
		}
		if x > b {
			x = b
		}
		return x
	}, Whole: func(x int64, a, b float64) int64 {
		lo, hi := WholeBounds(a, b)
		return min(max(x, lo), hi)
	}},
}

func rectify(x float64) float64 {
	if x < 0 {
		return 0
	}
	return x
}

// silu returns x*sigmoid(x), also where the sigmoid has few digits.
func silu(x float64) float64 {
	if x < -700 {
		root := math.Exp(x / 2)
		return x * root * root
	}
	return x * Sigmoid(x)
}

// normalBelow returns the part of a normal distribution that lies below x.
func normalBelow(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// normalAt returns the density of the normal distribution at x.
func normalAt(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }

// bend is what GELUTanh takes the tanh of, bendSlope its derivative.
func bend(x float64) float64      { return math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x) }
func bendSlope(x float64) float64 { return math.Sqrt(2/math.Pi) * (1 + 3*0.044715*x*x) }

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// plain makes a function of x alone one with scalars.
func plain(f func(float64) float64) func(x, a, b float64) float64 {
	return func(x, _, _ float64) float64 { return f(x) }
}
