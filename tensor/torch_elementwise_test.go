package tensor_test

import (
	"math"
	"testing"

	"tarn/tensor"
)

// torchUnary and torchBinary wrap what takes nothing else, torchWith what returns
// one tensor.
func torchUnary(f func(x *tensor.Tensor) *tensor.Tensor) torchOp {
	return func(_ tensor.Place, in []*tensor.Tensor, _ torchArgs) []*tensor.Tensor { return torchOne(f(in[0])) }
}

func torchBinary(f func(x, y *tensor.Tensor) *tensor.Tensor) torchOp {
	return func(_ tensor.Place, in []*tensor.Tensor, _ torchArgs) []*tensor.Tensor {
		return torchOne(f(in[0], in[1]))
	}
}

func torchWith(f func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor) torchOp {
	return func(_ tensor.Place, in []*tensor.Tensor, a torchArgs) []*tensor.Tensor { return torchOne(f(in, a)) }
}

func torchOne(x *tensor.Tensor) []*tensor.Tensor    { return []*tensor.Tensor{x} }
func torchTwo(x, y *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{x, y} }
func torchInput(in []*tensor.Tensor, i int) *tensor.Tensor {
	if i < len(in) {
		return in[i]
	}
	return nil
}

var elementwiseTorch = map[string]torchOp{
	"abs":         torchUnary((*tensor.Tensor).Abs),
	"neg":         torchUnary((*tensor.Tensor).Neg),
	"exp":         torchUnary((*tensor.Tensor).Exp),
	"expm1":       torchUnary((*tensor.Tensor).Expm1),
	"log":         torchUnary((*tensor.Tensor).Log),
	"log1p":       torchUnary((*tensor.Tensor).Log1p),
	"sqrt":        torchUnary((*tensor.Tensor).Sqrt),
	"rsqrt":       torchUnary((*tensor.Tensor).Rsqrt),
	"reciprocal":  torchUnary((*tensor.Tensor).Reciprocal),
	"sin":         torchUnary((*tensor.Tensor).Sin),
	"cos":         torchUnary((*tensor.Tensor).Cos),
	"tanh":        torchUnary((*tensor.Tensor).Tanh),
	"erf":         torchUnary((*tensor.Tensor).Erf),
	"sigmoid":     torchUnary((*tensor.Tensor).Sigmoid),
	"relu":        torchUnary((*tensor.Tensor).ReLU),
	"gelu":        torchUnary((*tensor.Tensor).GELU),
	"gelu_tanh":   torchUnary((*tensor.Tensor).GELUTanh),
	"silu":        torchUnary((*tensor.Tensor).SiLU),
	"floor":       torchUnary((*tensor.Tensor).Floor),
	"ceil":        torchUnary((*tensor.Tensor).Ceil),
	"round":       torchUnary((*tensor.Tensor).Round),
	"trunc":       torchUnary((*tensor.Tensor).Trunc),
	"sign":        torchUnary((*tensor.Tensor).Sign),
	"isnan":       torchUnary((*tensor.Tensor).IsNaN),
	"isinf":       torchUnary((*tensor.Tensor).IsInf),
	"logical_not": torchUnary((*tensor.Tensor).Not),

	"add":          torchBinary((*tensor.Tensor).Add),
	"sub":          torchBinary((*tensor.Tensor).Sub),
	"mul":          torchBinary((*tensor.Tensor).Mul),
	"div":          torchBinary((*tensor.Tensor).Div),
	"floor_divide": torchBinary((*tensor.Tensor).FloorDivide),
	"remainder":    torchBinary((*tensor.Tensor).Remainder),
	"pow":          torchBinary((*tensor.Tensor).Pow),
	"maximum":      torchBinary((*tensor.Tensor).Maximum),
	"minimum":      torchBinary((*tensor.Tensor).Minimum),
	"eq":           torchBinary((*tensor.Tensor).Eq),
	"ne":           torchBinary((*tensor.Tensor).Ne),
	"lt":           torchBinary((*tensor.Tensor).Lt),
	"le":           torchBinary((*tensor.Tensor).Le),
	"gt":           torchBinary((*tensor.Tensor).Gt),
	"ge":           torchBinary((*tensor.Tensor).Ge),
	"and":          torchBinary((*tensor.Tensor).And),
	"or":           torchBinary((*tensor.Tensor).Or),
	"xor":          torchBinary((*tensor.Tensor).Xor),

	"elu":        torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return in[0].ELU(a.float("alpha")) }),
	"leaky_relu": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return in[0].LeakyReLU(a.float("slope")) }),
	"softplus": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		return in[0].Softplus(a.float("beta"), a.float("threshold"))
	}),
	"pow_scalar": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return in[0].PowScalar(a.float("p")) }),
	"add_scalar": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return in[0].AddScalar(a.float("value")) }),
	"mul_scalar": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return in[0].MulScalar(a.float("value")) }),
	"clamp": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		return in[0].Clamp(a.float("lo"), a.float("hi"))
	}),
	"where": torchWith(func(in []*tensor.Tensor, _ torchArgs) *tensor.Tensor { return tensor.Where(in[0], in[1], in[2]) }),
	"masked_fill": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		return in[0].MaskedFill(in[1], a.float("value"))
	}),
	"to": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return in[0].To(a.dtype()) }),
}

const geluInfinite = "PyTorch's vectors give NaN for Inf in float32 and Inf in float64"

var negativeZero = math.Copysign(0, -1)

func TestTorchElementwise(t *testing.T) {
	runTorchCases(t, "elementwise", elementwiseTorch, map[string]departure{
		"gelu/float32/special_values":   {why: geluInfinite, output: map[int][]float64{0: {nan, inf, nan}}},
		"gelu/bfloat16/special_values":  {why: geluInfinite, output: map[int][]float64{0: {nan, inf, nan}}},
		"gelu/float32/large":            {why: "PyTorch doubles x on the way, and overflows", output: map[int][]float64{0: {87.5, 88.75, 90, negativeZero, negativeZero, negativeZero, 3e38}}},
		"gelu_tanh/float32/large":       {why: "PyTorch squares x on the way, and has Inf times 0", grad: map[int][]float64{0: {-0.46875, 1.96875, -0.71875, 0, 0, 0, -1.53125, 0}}},
		"elu/float64/special_values":    {why: "PyTorch gives NaN in vectors and 1 in what is left over", grad: map[int][]float64{0: {-0.53125}}},
		"maximum/float32/ties":          {why: "of 0 and -0 either is the larger", zeros: true},
		"maximum/float32/special_pairs": {why: "of 0 and -0 either is the larger", zeros: true},
		"minimum/float32/special_pairs": {why: "of 0 and -0 either is the smaller", zeros: true},
		"pow_scalar/float32/to_0_5": {why: "PyTorch takes the square root; the power of IEEE 754 is Inf for -Inf", zeros: true,
			output: map[int][]float64{0: {0, 0, 1, nan, 1.4142135, nan, inf, inf}}, grad: map[int][]float64{0: {inf, -inf, 0.765625, nan, -0.4087961, nan, 0, 0}}},
	})
}
