package kernels

// Elementwise ops: one element of the output is made of one of each input.
const (
	// Add, Sub, Mul: Out[0] = In[0] op In[1], same dims. Any dtype; integers
	// wrap. For Bool Add is or, Mul is and; Sub has no Bool.
	Add = iota + endCopies
	Sub
	Mul
	// Div: Out[0] = In[0] / In[1] by IEEE. Float.
	Div
	// Affine: Out[0] = Attr.Alpha*In[0] + Attr.Beta, in the element type. Float.
	Affine
	// Exp, Log, Sqrt: elementwise, within 4 ulp; IEEE at 0, Inf and NaN. Float.
	Exp
	Log
	Sqrt
	// ReLU: x < 0 gives 0, all else itself; NaN stays NaN. Float.
	ReLU
	// ReLUGrad: Out[0] = In[0] where In[1], ReLU's result, is > 0 or NaN, else
	// 0. Float.
	ReLUGrad

	// Neg, Abs, Sign: -x, |x| and -1, 0 or 1; integers wrap; Sign of NaN is 0, as
	// in PyTorch. Number.
	Neg
	Abs
	Sign
	// Floor, Ceil, Trunc; Round to nearest even. Float.
	Floor
	Ceil
	Trunc
	Round
	// Reciprocal: 1/x by IEEE. Float.
	Reciprocal
	// Rsqrt: 1/sqrt(x) within 2 ulp; Inf of its sign at 0 and -0, NaN below.
	// Float.
	Rsqrt
	// Expm1: exp(x)-1; Log1p: log(1+x); relative error within 4 ulp, also where
	// the result is small. Float.
	Expm1
	Log1p
	// Sin, Cos: within 4 ulp for |x| up to 2^20, and within 1e-5 of the value's
	// size in float32, 1e-13 in float64, for larger x; NaN for Inf. Float.
	Sin
	Cos
	// Tanh, Sigmoid, Erf: within 4 ulp; SiLU: x*Sigmoid(x). Float.
	Tanh
	Sigmoid
	Erf
	SiLU
	// GELU: x/2*(1+erf(x/sqrt(2))); GELUTanh: with tanh(sqrt(2/pi)*(x +
	// 0.044715 x^3)) for erf. Errors are relative to the larger of the result
	// and x*1e-2, since the sum cancels for x < 0. Float.
	GELU
	GELUTanh
	// LeakyReLU: x > 0 gives itself, all else Attr.Alpha*x. Float.
	LeakyReLU
	// ELU: x <= 0 gives Attr.Alpha*expm1(x), all else itself. Float.
	ELU
	// Softplus: log(1+exp(b*x))/b with b = Attr.Alpha; x itself where b*x >
	// Attr.Beta. Float.
	Softplus
	// PowScalar: x to the power of Attr.Alpha, as by C's pow; within 8 ulp of
	// the result. Float.
	PowScalar
	// Clamp: the nearest of [Attr.Alpha, Attr.Beta], in the element type; Beta
	// where Alpha is the larger; NaN stays. Number.
	Clamp

	// TanhGrad, SigmoidGrad, SiLUGrad, GELUGrad, GELUTanhGrad, LeakyReLUGrad,
	// ELUGrad, SoftplusGrad, ClampGrad: Out[0] = In[0] * f'. In[1] is the result of
	// the op for TanhGrad and SigmoidGrad, and the op's input for the others.
	// Errors are relative to In[0] times the larger of f' and 1e-2. At the kinks,
	// as in PyTorch: LeakyReLUGrad is In[0] for x > 0, else Alpha*In[0];
	// ELUGrad is Alpha*exp(x)*In[0] for x <= 0, else In[0]; ClampGrad is In[0] for
	// Alpha < x < Beta, else 0. Float.
	TanhGrad
	SigmoidGrad
	SiLUGrad
	GELUGrad
	GELUTanhGrad
	LeakyReLUGrad
	ELUGrad
	SoftplusGrad
	ClampGrad

	// Pow: In[0] to the power of In[1], as by C's pow, within 8 ulp. Of integers
	// it wraps; a negative power is 0, but for the bases 1 and -1, as in PyTorch.
	// Number.
	Pow
	// Maximum, Minimum: NaN if one is NaN. Of 0 and -0 it is either: PyTorch takes
	// the second in its vectors and the first in what is left over. Number.
	Maximum
	Minimum
	// FloorDivide: the quotient rounded down; Remainder: In[0] less that times
	// In[1], of the sign of In[1]. Floats as by Python's // and %; integers
	// divided by 0 give a quotient of -1 (of all bits set) and In[0] as the
	// remainder, where PyTorch fails on the CPU and has no rule on the GPU.
	// Number.
	FloorDivide
	Remainder
	// And, Or, Xor: bit by bit. Int or Bool.
	And
	Or
	Xor

	// Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual: Out[0] Bool = In[0] op In[1]; NaN is equal to nothing.
	// Inputs any dtype, both the same.
	Equal
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual
	// IsNaN, IsInf: Out[0] Bool; In[0] Float.
	IsNaN
	IsInf
	// Not: Out[0] Bool = (In[0] == 0). In[0] any dtype.
	Not

	// Where: Out[0] = In[1] where In[0], a Bool, is true, else In[2]. Any dtype.
	Where

	endElementwise
)
