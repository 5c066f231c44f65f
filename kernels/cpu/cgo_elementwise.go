//go:build cgo

package cpu

// #include "dispatch.h"
import "C"

import "tarn/kernels"

// The numbers of the elementwise ops in C, 0 for what it has not; arrays, since every run looks one up.
var unaryInC = [kernels.NumOps]C.int{
	kernels.Affine: C.AFFINE, kernels.Exp: C.EXP, kernels.Log: C.LOG, kernels.Sqrt: C.SQRT, kernels.ReLU: C.RELU,
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
	kernels.Maximum: C.MAXIMUM, kernels.Minimum: C.MINIMUM,
}
