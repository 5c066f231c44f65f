package kernels

import "fmt"

// ID names an op. The comment at each ID is its specification, which all
// bodies (ref, cpu, gpu) follow. "Float" means the four floating-point types,
// "Int" the three integer types, "Number" both; Bool is apart. All operands of
// an op have the dtype of Out[0] unless said otherwise. Operands may have any
// strides; an input dim that is broadcast has stride 0. An output never has
// stride 0 on a dim larger than 1 and does not overlap an input, except that an
// elementwise op may write over an input with the same dims and strides. An
// empty output is no error, and nothing is written.
//
// Results of Float16 and BFloat16 are those of float32, rounded once at the
// end: half types are for storing, not for computing.
type ID uint8

const (
	// Fill sets every element of Out[0] to Attr.Alpha. Any dtype.
	Fill ID = iota
	// Copy writes In[0] to Out[0], same dims, converting the dtype. A float
	// becomes an integer by truncation to int64, of which the low bits are kept:
	// beyond int64, and for NaN, the result has no meaning. To a smaller float it
	// is rounded to nearest even, from float64 to a half by way of float32. Bool
	// is whether the element is not 0, NaN included. Any dtypes.
	Copy

	// Add, Sub, Mul: Out[0] = In[0] op In[1], same dims. Any dtype; integers
	// wrap. For Bool Add is or, Mul is and; Sub has no Bool.
	Add
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

	// The gradients of the above: Out[0] = In[0] * f'. In[1] is the result of
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
	// Maximum, Minimum: NaN if one is NaN. Number.
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

	// Equal and the like: Out[0] Bool = In[0] op In[1]; NaN is equal to nothing.
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

	// Sum adds up In[0] over the dims that are 1 in Out[0] and larger in
	// In[0] (same rank), times Attr.Alpha; with Attr.Accumulate it adds to
	// Out[0]. Float32 sums are pairwise or blocked, so that the relative error
	// stays near 1e-6 at 1e7 elements; the order does not depend on the number
	// of threads. Summing nothing gives 0. Float; or Out[0] Int64 and In[0] Int
	// or Bool: the sum wraps, and Alpha is not looked at.
	Sum
	// Prod multiplies In[0] over the dims that are 1 in Out[0]; nothing gives 1.
	// Products of float32 are kept in float64 on the way. Types as for Sum.
	Prod
	// Max, Min: the largest and smallest of In[0] over the dims that are 1 in
	// Out[0]; NaN if one is NaN. Reducing nothing is an error. Number.
	Max
	Min
	// MaxGrad, of Max and of Min: Out[0] has x's dims; In[0] = dy and In[2] =
	// the op's result have dims of 1 where x was reduced, In[1] = x. dy is shared
	// out evenly among the elements that equal the result (NaN equals NaN); all
	// others get 0. Float.
	MaxGrad
	// ArgMax, ArgMin: Out[0] int64, 1 at dim Attr.Axis: the first index of the
	// largest or smallest element of In[0] (Number) along it; NaN counts as
	// the largest for ArgMax and as the smallest for ArgMin. Reducing nothing is
	// an error.
	ArgMax
	ArgMin
	// Any, All: Out[0] Bool: whether one or every element of In[0], of any dtype,
	// over the dims that are 1 in Out[0] is not 0; NaN is not 0. Of nothing Any
	// is false and All true.
	Any
	All
	// Var: Out[0] is the variance of In[0] over the dims that are 1 in Out[0]
	// and Out[1], of the same dims, the mean. The variance is the sum of the
	// squared differences from the mean, by two passes or what is as exact, over
	// n - Attr.Correction or, where that is negative, 0. Of nothing both are NaN.
	// Float.
	Var
	// LogSumExp: log(sum(exp(x))) over the dims that are 1 in Out[0], relative to
	// the largest x, so that nothing overflows. Nothing, or -Inf alone, gives
	// -Inf; Inf gives Inf. Float.
	LogSumExp
	// Norm: (sum of |x|^p)^(1/p) over the dims that are 1 in Out[0], p being
	// Attr.Alpha, a finite number; with p = 0 how many elements are not 0. Nothing
	// gives 0, or Inf where p < 0. Powers of float32 are kept in float64. Float.
	Norm

	// CumSum, CumProd: Out[0] has In[0]'s dims: along Attr.Axis the sums or
	// products of all elements up to and with each. Float, kept in float64 on the
	// way; or Out[0] Int64 and In[0] Int or Bool, which wraps.
	CumSum
	CumProd
	// CumProdGrad: the gradient of CumProd along Attr.Axis, with In[0] = dy,
	// In[1] = x and In[2] = CumProd's result, all of one dims. It divides by
	// nothing, so that zeros are no exception. Float.
	CumProdGrad

	// Sort: Out[0] has the elements of In[0] along Attr.Axis in rising order, or
	// in falling order with Attr.Descending, and Out[1] (int64) their indices.
	// Equal elements stay in order, -0 and 0 being equal; NaN counts as the
	// largest. The outputs have In[0]'s dims or are shorter along the axis: then
	// they have what comes first. The axis has less than 2^31 elements. Any dtype.
	Sort
	// SortGrad: Out[0] is 0, but along Attr.Axis at the indices In[1] (int64) it
	// is In[0]: the gradient of Sort, and of an op that chooses by ArgMax. In[0]
	// and In[1] have Out[0]'s dims but along the axis. The indices of a row are
	// distinct and in range, as those ops make them; others have no right
	// result, but nothing is written beside Out[0]. Float.
	SortGrad

	// MatMul: Out[0] [M,N] = act(In[0] [M,K] x In[1] [K,N] + In[2] [M,N]).
	// In[2], the bias, may be left out, and is usually broadcast along M.
	// act is Attr.Activation. With Attr.Accumulate the product is added to
	// Out[0] (no bias, no activation). A transposed operand is one with swapped
	// strides. The order of the sum over K does not depend on the number of
	// threads; K = 0 gives act(bias). Float.
	MatMul

	// Conv: In[0] x [N,C,H,W], In[1] w [O,C/groups,KH,KW], In[2] the bias [O],
	// which may be left out; Out[0] y [N,O,OH,OW] with, by Attr.Conv,
	//
	//	y[n,o,i,j] = bias[o] + sum over c,k,l of
	//	    w[o,c,k,l] * x[n, group*C/groups + c, i*stride-padding+k*dilation, ...]
	//
	// where group is that of o, O/groups to each. What lies outside of x is 0;
	// where that meets a weight that is no finite number the result may or may not
	// become NaN. OH is as [Windows] says, and at least 1. The order of the sum
	// does not depend on the number of threads. Summing nothing gives the bias.
	// Float.
	Conv
	// ConvGradInput: Out[0] dx [N,C,H,W] from In[0] dy [N,O,OH,OW] and In[1] w.
	// Float.
	ConvGradInput
	// ConvGradWeight: Out[0] dw [O,C/groups,KH,KW] from In[0] dy [N,O,OH,OW] and
	// In[1] x. Float.
	ConvGradWeight

	// MaxPool: In[0] x [N,C,H,W]; Out[0] [N,C,OH,OW] the largest element of each
	// window by Attr.Pool, Out[1] int64 its place h*W+w. Of equal elements the
	// first counts, of several NaN, which beat all else, the last, as in PyTorch.
	// Padding counts as -Inf and is never chosen. A window without an element,
	// which dilation can make, gives -Inf and the place -1, where PyTorch has one
	// outside of the plane. H and W are not 0. Float.
	MaxPool
	// MaxPoolGrad: Out[0] dx [N,C,H,W] is the sum of In[0] dy [N,C,OH,OW] over the
	// windows that chose the element, by MaxPool's indices In[1]. Other indices
	// make a result without meaning. Float.
	MaxPoolGrad
	// AvgPool: In[0] x [N,C,H,W]; Out[0] [N,C,OH,OW] the sum of each window by
	// Attr.Pool, over the number of its elements that lie in x or, with
	// CountIncludePad, in x and its padding; beyond that nothing counts. Float.
	AvgPool
	// AvgPoolGrad: Out[0] dx [N,C,H,W] from In[0] dy. Float.
	AvgPoolGrad
	// AdaptiveAvgPool: In[0] x [N,C,H,W]; Out[0] [N,C,OH,OW] the means over OH by
	// OW bins, of which bin i has the rows from i*H/OH rounded down to (i+1)*H/OH
	// rounded up, columns alike. Float.
	AdaptiveAvgPool
	// AdaptiveAvgPoolGrad: Out[0] dx [N,C,H,W] from In[0] dy. Float.
	AdaptiveAvgPoolGrad

	// CrossEntropy: In[0] logits [N,C], In[1] class indices int64 [N]; Out[0]
	// (rank 0) the mean over rows of log(sum(exp(row-m))) - (row[class]-m),
	// with m the row's maximum. A class out of [0,C) is an *Error wrapping
	// ErrIndex that names row and class. N = 0 gives NaN, as in PyTorch. Float.
	//
	// On a device that works on after Run has returned, Run cannot return that
	// error: the loss becomes NaN, and kernels/gpu has the error for who asks its
	// Fault after synchronising. CrossEntropyGrad does the same, with 0 for the
	// row's gradient, so that a step leaves the weights finite.
	CrossEntropy
	// CrossEntropyGrad: Out[0] [N,C] = In[0] * (softmax(logits) - onehot)/N
	// with In[0] dloss (rank 0), In[1] logits, In[2] classes. The softmax is
	// taken anew, relative to each row's maximum: a logsumexp kept from the
	// forward op would lose digits to large logits. Float.
	CrossEntropyGrad

	// Attention: Out[0] o [B,H,L,E] = softmax(score) v over the keys, where a
	// score is Attr.Attention.Scale times the product of a query of In[0] q
	// [B,H,L,D] and a key of In[1] k [B,G,S,D], and In[2] v is [B,G,S,E]. G
	// divides H: each head of k and v serves H/G heads of q in a row. In[3], which
	// may be left out, is a mask [B,H,L,S]: of q's dtype, to be added to the
	// score, or Bool, true where the key is seen. With Attr.Attention.Causal query
	// i sees the keys 0 to i, counted from the first also where L and S differ,
	// as by PyTorch's is_causal. Out[1] [B,H,L], Float64 for Float64 and Float32
	// for the others, is the logarithm of the sum of exp(score).
	//
	// A query that sees no key, or whose scores are all -Inf, gives 0 and a
	// logarithm of -Inf; PyTorch 2.15 gives 0 too. A score of NaN or +Inf makes
	// its row NaN, where PyTorch's kernel for the CPU hides a NaN behind 0. A key
	// that is not seen is left out, or multiplied by 0: the v of it must be finite.
	// No body stores the scores: work space is linear in L and in S. Float.
	Attention
	// AttentionGrad: Out[0] dq, Out[1] dk and Out[2] dv, of the dims of q, k and
	// v, from In[0] do, In[1] q, In[2] k, In[3] v, Attention's results In[4] o and
	// In[5], and the mask In[6] if there was one. With p = exp(score - In[5]), 0
	// where In[5] is -Inf, and ds = p*(do v' - sum(do*o)): dq = Scale*ds k, dk =
	// Scale*ds' q, dv = p' do, the last two added up over the heads that share k
	// and v. The scores are made anew, and no mask gets a gradient. Float.
	AttentionGrad

	// Softmax: exp(x-m)/sum(exp(x-m)) along dim Attr.Axis of In[0], m the largest
	// element along it; LogSoftmax: its logarithm, (x-m)-log(sum(exp(x-m))). NaN
	// along the dim where one element is NaN or +Inf, or all are -Inf. Out[0] may
	// lie over In[0]. Float.
	Softmax
	LogSoftmax
	// SoftmaxGrad: Out[0] = y*(dy - sum(dy*y)) along Attr.Axis, with In[0] dy and
	// In[1] y, Softmax's result; LogSoftmaxGrad: dy - exp(y)*sum(dy). Out[0] may
	// lie over an input. Float.
	SoftmaxGrad
	LogSoftmaxGrad

	// The normalisations take the mean of each group of elements off them and
	// divide by their deviation: x' = (x-mean)*rstd, rstd = 1/sqrt(var +
	// Attr.Norm.Eps), var the mean of (x-mean)^2, in two passes or by Welford's
	// update. Then comes the affine map y = x'*w + b, where the last inputs w, or w
	// and b, are given. Statistics are float64 for float64, else float32. Those of
	// no elements are NaN.
	//
	// LayerNorm: In[0] x [M,N], w and b [N]; a group is a row. Out[0] y [M,N],
	// Out[1] mean [M], Out[2] rstd [M]. Float.
	LayerNorm
	// LayerNormGrad: In[0] dy, In[1] x [M,N], In[2] mean, In[3] rstd [M], and w [N]
	// if the op had it. Out[0] dx; if given, Out[1] dw and Out[2] db [N]. With g =
	// dy*w, dx = rstd*(g - mean(g) - x'*mean(g*x')), means over the group; dw and
	// db add up dy*x' and dy over all else than w's dim. Float.
	LayerNormGrad
	// RMSNorm: LayerNorm with a mean of 0 and no bias: In[0] x, w; Out[0] y,
	// Out[1] rstd. Float.
	RMSNorm
	// RMSNormGrad: In[0] dy, In[1] x, In[2] rstd, and w; Out[0] dx, and Out[1] dw.
	// dx = rstd*(g - x'*mean(g*x')). Float.
	RMSNormGrad
	// GroupNorm: In[0] x [N,C,S], w and b [C]; a group is C/Attr.Norm.Groups
	// channels of one of N. Out[0] y, Out[1] mean, Out[2] rstd [N,Groups]. Float.
	GroupNorm
	// GroupNormGrad: as LayerNormGrad, with In[2] mean and In[3] rstd [N,Groups].
	GroupNormGrad
	// BatchNorm: In[0] x [N,C,S], w and b [C]; a group is a channel of all of N.
	// Out[0] y, Out[1] mean, Out[2] var [C]. If given, Out[3] and Out[4], running
	// mean and variance [C] as statistics, become (1-m)*old + m*new with m =
	// Attr.Norm.Momentum; the new variance is that of n-1 of n elements. They stay as
	// they are where x is empty. Float.
	BatchNorm
	// BatchNormInfer: BatchNorm by given statistics: In[0] x, In[1] mean, In[2] var
	// [C], w, b; Out[0] y. Float.
	BatchNormInfer
	// BatchNormGrad: In[0] dy, In[1] x [N,C,S], In[2] mean, In[3] var [C], and w.
	// Out[0] dx, Out[1] dw, Out[2] db. With Attr.Norm.Given, for BatchNormInfer,
	// mean and var do not depend on x: dx = rstd*g. Float.
	BatchNormGrad

	// NLL: the negative log-likelihood. In[0] logp [N,C], In[1] int64 classes [N],
	// In[2], if given, weights w [C], else 1. With s = Attr.Loss.Smoothing, Out[0]
	// [N] = -(1-s)*w[class]*logp[class] - s/C*sum(w*logp), and Out[1] [N] =
	// w[class], by whose sum a mean divides. Both are 0 in a row of class
	// Attr.Loss.Ignore; another class out of [0,C) is as for CrossEntropy. With s = 0
	// the sum is left out, so that a -Inf elsewhere does not count. Float.
	NLL
	// NLLGrad: Out[0] [N,C], the gradient of logp: In[0] d [N], In[1] classes, and
	// w: -d*((1-s)*w[class] at the class + s/C*w); 0 in a row that is ignored, or has
	// no class. Float.
	NLLGrad

	// SGDStep updates many parameters with PyTorch's SGD, Attr.SGD. Parameter
	// i: Out[i] with gradient In[i] when momentum is 0; else Out[2i] parameter,
	// Out[2i+1] momentum buffer. Float.
	SGDStep
	// AdamWStep updates many parameters with PyTorch's AdamW, Attr.AdamW.
	// Parameter i: Out[3i] parameter, Out[3i+1] and Out[3i+2] first and second
	// moment; gradient In[i]. Where Attr.AdamW.Step is 0, one more input, the
	// last, is an int64 of rank 0 that holds the step when the op is done; below
	// 1 it makes a result without meaning. Float.
	AdamWStep

	numOps
)

// NumOps is the number of ops: IDs are 0 to NumOps-1.
const NumOps = int(numOps)

func (id ID) String() string {
	if id >= numOps {
		return fmt.Sprintf("ID(%d)", uint8(id))
	}
	return specs[id].name
}
