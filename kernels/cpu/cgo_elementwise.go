//go:build cgo

package cpu

// #include "dispatch.h"
import "C"

import "tarn/kernels"

// The numbers of the elementwise ops in C, 0 for what it has not; arrays, since
// every run looks one up.
var unaryInC = [kernels.NumOps]C.int{
	kernels.Copy: C.COPY, kernels.Affine: C.AFFINE, kernels.Exp: C.EXP, kernels.Log: C.LOG, kernels.Sqrt: C.SQRT, kernels.ReLU: C.RELU,
	kernels.Neg: C.NEG, kernels.Abs: C.ABS, kernels.Sign: C.SIGN, kernels.Floor: C.FLOOR, kernels.Ceil: C.CEIL,
	kernels.Trunc: C.TRUNC, kernels.Round: C.ROUND, kernels.Reciprocal: C.RECIPROCAL, kernels.Rsqrt: C.RSQRT,
	kernels.Expm1: C.EXPM1, kernels.Log1p: C.LOG1P, kernels.Sin: C.SIN, kernels.Cos: C.COS, kernels.Tanh: C.TANH,
	kernels.Sigmoid: C.SIGMOID, kernels.Erf: C.ERF, kernels.SiLU: C.SILU, kernels.GELU: C.GELU, kernels.GELUTanh: C.GELU_TANH,
	kernels.LeakyReLU: C.LEAKY_RELU, kernels.ELU: C.ELU, kernels.Softplus: C.SOFTPLUS, kernels.PowScalar: C.POW_SCALAR,
	kernels.Clamp: C.CLAMP,
}

var binaryInC = [kernels.NumOps]C.int{
	kernels.Add: C.ADD, kernels.Sub: C.SUB, kernels.Mul: C.MUL, kernels.Div: C.DIV, kernels.ReLUGrad: C.RELU_GRAD,
	kernels.TanhGrad: C.TANH_GRAD, kernels.SigmoidGrad: C.SIGMOID_GRAD, kernels.SiLUGrad: C.SILU_GRAD,
	kernels.GELUGrad: C.GELU_GRAD, kernels.GELUTanhGrad: C.GELU_TANH_GRAD, kernels.LeakyReLUGrad: C.LEAKY_RELU_GRAD,
	kernels.ELUGrad: C.ELU_GRAD, kernels.SoftplusGrad: C.SOFTPLUS_GRAD, kernels.ClampGrad: C.CLAMP_GRAD, kernels.Pow: C.POW,
	kernels.Maximum: C.MAXIMUM, kernels.Minimum: C.MINIMUM, kernels.FloorDivide: C.FLOOR_DIVIDE, kernels.Remainder: C.REMAINDER,
}

var compareInC = [kernels.NumOps]C.int{
	kernels.Equal: C.EQUAL, kernels.NotEqual: C.NOT_EQUAL, kernels.Less: C.LESS, kernels.LessEqual: C.LESS_EQUAL,
	kernels.Greater: C.GREATER, kernels.GreaterEqual: C.GREATER_EQUAL, kernels.IsNaN: C.IS_NAN, kernels.IsInf: C.IS_INF,
	kernels.Not: C.NOT,
}

// halvesInC are the numbers of the types of two bytes.
var halvesInC = [...]C.int32_t{kernels.Float16: C.F16, kernels.BFloat16: C.BF16, kernels.Bool: 0}

func hasInC(id kernels.ID) bool {
	return unaryInC[id]|binaryInC[id]|compareInC[id] != 0 || id == kernels.Where
}

func elementwiseRowsInC(id kernels.ID, r rows, alpha, beta float32) {
	c := r.inC()
	switch {
	case id == kernels.Where:
		C.tarn_where(&c, threadsInC())
	case compareInC[id] != 0:
		C.tarn_compare(&c, compareInC[id], threadsInC())
	case binaryInC[id] != 0:
		C.tarn_binary(&c, binaryInC[id], C.float(alpha), C.float(beta), threadsInC())
	default:
		C.tarn_unary(&c, unaryInC[id], C.float(alpha), C.float(beta), threadsInC())
	}
}

// halvesToFloats fills dst with the numbers of a half type d from addr on, which
// lie side by side. halvesFromFloats is it the other way round. Each reports
// whether it did: not without C, nor for a few elements.
func halvesToFloats(dst []float32, d kernels.DType, addr uintptr) bool {
	if len(dst) < minRun || bodiesInC() == nil {
		return false
	}
	C.tarn_to_floats(C.int(halvesInC[d]), (*C.float)(&dst[0]), C.uintptr_t(addr), C.int64_t(len(dst)))
	return true
}

func halvesFromFloats(src []float32, d kernels.DType, addr uintptr) bool {
	if len(src) < minRun || bodiesInC() == nil {
		return false
	}
	C.tarn_from_floats(C.int(halvesInC[d]), C.uintptr_t(addr), (*C.float)(&src[0]), C.int64_t(len(src)))
	return true
}
