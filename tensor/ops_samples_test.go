package tensor_test

import (
	"math"

	"tarn/tensor"
)

// T is short for what all samples are about.
type T = *tensor.Tensor

// opSamples are what TestOps tries each op with, by its name.
var opSamples = merge(elementwiseSamples(), reductionSamples(), viewSamples(), productSamples(), rowSamples(), randomSamples(), lossSamples(), indexSamples(), joinSamples())

func merge(lists ...map[string][]opSample) map[string][]opSample {
	all := map[string][]opSample{}
	for _, list := range lists {
		for name, samples := range list {
			all[name] = append(all[name], samples...)
		}
	}
	return all
}

// opShapes are a scalar, sizes of 0 and 1, odd ones.
var opShapes = [][]int{{}, {0}, {2, 0, 3}, {1}, {1, 3, 1}, {7}, {3, 5}}

// each tries f on every shape.
func each(f func(T) T, in func(shape ...int) opInput) []opSample {
	var all []opSample
	for _, shape := range opShapes {
		all = append(all, opSample{in: []opInput{in(shape...)}, f: func(in []T) T { return f(in[0]) }})
	}
	return all
}

// pairs tries f on shapes that broadcast.
func pairs(f func(a, b T) T, first, second func(shape ...int) opInput) []opSample {
	var all []opSample
	for _, s := range [][2][]int{{{}, {}}, {{3, 5}, {3, 5}}, {{3, 5}, {5}}, {{3, 1}, {1, 5}}, {{}, {4}}, {{0, 3}, {1, 3}}, {{2, 1, 3}, {4, 1}}, {{1}, {7}}} {
		all = append(all, opSample{in: []opInput{first(s[0]...), second(s[1]...)}, f: func(in []T) T { return f(in[0], in[1]) }})
	}
	return all
}

// one tries f on inputs.
func one(f func(in []T) T, in ...opInput) opSample { return opSample{in: in, f: f} }

// constant marks samples whose result has no gradient to compare.
func constant(samples []opSample) []opSample {
	for i := range samples {
		samples[i].constant = true
	}
	return samples
}

// compared are samples of a comparison with a tensor, and with numbers.
func compared(f func(T, T) T, scalar func(T, float64) T) []opSample {
	return append(pairs(f, of, of), append(each(func(a T) T { return scalar(a, 1) }, of), each(func(a T) T { return scalar(a, 0.5) }, of)...)...)
}

func elementwiseSamples() map[string][]opSample {
	zero := func(a T) T { return tensor.Scalar(beside(a), a.DType(), 0) }
	return map[string][]opSample{
		"Add": pairs(T.Add, of, of), "Sub": pairs(T.Sub, of, of), "Mul": pairs(T.Mul, of, of), "Div": append(pairs(T.Div, of, above0), each(func(a T) T { return a.DivScalar(3) }, of)...),
		"Affine":  append(each(func(a T) T { return a.MulScalar(3) }, of), each(func(a T) T { return a.AddScalar(2) }, of)...),
		"Pow":     pairs(func(a, b T) T { return a.Pow(b) }, above0, above0),
		"Maximum": pairs(T.Maximum, of, of), "Minimum": pairs(T.Minimum, of, of),
		"FloorDivide": constant(pairs(T.FloorDivide, of, above0)), "Remainder": pairs(T.Remainder, of, above0),
		"And": pairs(T.And, of, of), "Or": pairs(T.Or, of, of), "Xor": pairs(T.Xor, of, of),
		"Eq": compared(T.Eq, T.EqScalar), "Ne": compared(T.Ne, T.NeScalar), "Lt": compared(T.Lt, T.LtScalar),
		"Le": compared(T.Le, T.LeScalar), "Gt": compared(T.Gt, T.GtScalar), "Ge": compared(T.Ge, T.GeScalar),
		"IsNaN": each(T.IsNaN, of), "IsInf": each(T.IsInf, of), "Not": each(T.Not, of),
		"Neg": each(T.Neg, of), "Abs": each(T.Abs, of), "Sign": each(T.Sign, of), "Floor": each(T.Floor, of), "Ceil": each(T.Ceil, of),
		"Trunc": each(T.Trunc, of), "Round": each(T.Round, of), "Reciprocal": each(T.Reciprocal, above0), "Rsqrt": each(T.Rsqrt, above0),
		"Exp": each(T.Exp, of), "Expm1": each(T.Expm1, of), "Log": each(T.Log, above0), "Log1p": each(T.Log1p, above0), "Sqrt": each(T.Sqrt, above0),
		"Sin": each(T.Sin, of), "Cos": each(T.Cos, of), "Erf": each(T.Erf, of), "Tanh": each(T.Tanh, of), "Sigmoid": each(T.Sigmoid, of),
		"ReLU": each(T.ReLU, of), "SiLU": each(T.SiLU, of), "GELU": each(T.GELU, of), "GELUTanh": each(T.GELUTanh, of),
		"LeakyReLU": each(func(a T) T { return a.LeakyReLU(0.1) }, of), "ELU": each(func(a T) T { return a.ELU(1.5) }, of),
		"Softplus":  each(func(a T) T { return a.Softplus(1.5, 20) }, of),
		"PowScalar": append(each(func(a T) T { return a.PowScalar(2.5) }, above0), each(func(a T) T { return a.PowScalar(3) }, of)...),
		"Clamp":     append(each(func(a T) T { return a.Clamp(-1, 1) }, of), each(func(a T) T { return a.Clamp(0, math.Inf(1)) }, of)...),
		"Where":     append(pairs(func(a, b T) T { return tensor.Where(a.Gt(b), a, b) }, of, of), one(func(in []T) T { return tensor.Where(in[0], in[1], in[2]) }, mask(2, 1), of(3), of(1, 1))),
		"MaskedFill": append(each(func(a T) T { return a.MaskedFill(a.Gt(zero(a)), 1) }, of),
			one(func(in []T) T { return in[1].MaskedFill(in[0], 1) }, mask(5), of(3, 5))),
	}
}
