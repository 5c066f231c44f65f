package kernels

// spec is what can be said of an op without looking at data; Check reads it.
type spec struct {
	name     string
	dtypes   DTypes // that Out[0] may have
	out, in  int
	optional int  // further inputs that may be left out
	moreOut  int  // further outputs that may be left out, all or none
	inPlace  bool // an output may lie exactly over an input
	// inputs are the dtypes that the inputs may have, all the same one, where
	// the output has a dtype of its own; 0: they have that of Out[0].
	inputs DTypes
	// result is the dtype of Out[0] for inputs of a type of that set; nil: it has
	// one alone.
	result func(DType) DType
	// types looks at the dtypes of the operands where neither is so; else nil.
	types func(id ID, a *Args) *Error
	dims  func(id ID, a *Args) *Error // and at the scalars; nil: any
}

// unary and binary are the specs of an elementwise op of one or two inputs.
func unary(name string, dtypes DTypes) spec {
	return spec{name: name, dtypes: dtypes, out: 1, in: 1, inPlace: true, dims: checkElements}
}

func binary(name string, dtypes DTypes) spec {
	return spec{name: name, dtypes: dtypes, out: 1, in: 2, inPlace: true, dims: checkElements}
}

// test is the spec of an elementwise op that tells of its inputs, all of one
// dtype of a set, whether something is so.
func test(name string, in int, set DTypes) spec {
	return spec{name: name, dtypes: 1 << Bool, out: 1, in: in, inPlace: true, inputs: set, dims: checkElements}
}

// The optimiser steps count their operands per parameter, see checkGroups.
var specs = [numOps]spec{
	Fill:     {name: "fill", dtypes: AnyDType, out: 1},
	Copy:     {name: "copy", dtypes: AnyDType, out: 1, in: 1, inPlace: true, types: anyTypes, dims: checkElements},
	Add:      binary("add", AnyDType),
	Sub:      binary("sub", Numbers),
	Mul:      binary("mul", AnyDType),
	Div:      binary("div", Floats),
	Affine:   unary("affine", Floats),
	Exp:      unary("exp", Floats),
	Log:      unary("log", Floats),
	Sqrt:     unary("sqrt", Floats),
	ReLU:     unary("relu", Floats),
	ReLUGrad: binary("relu_grad", Floats),

	Neg:        unary("neg", Numbers),
	Abs:        unary("abs", Numbers),
	Sign:       unary("sign", Numbers),
	Floor:      unary("floor", Floats),
	Ceil:       unary("ceil", Floats),
	Trunc:      unary("trunc", Floats),
	Round:      unary("round", Floats),
	Reciprocal: unary("reciprocal", Floats),
	Rsqrt:      unary("rsqrt", Floats),
	Expm1:      unary("expm1", Floats),
	Log1p:      unary("log1p", Floats),
	Sin:        unary("sin", Floats),
	Cos:        unary("cos", Floats),
	Tanh:       unary("tanh", Floats),
	Sigmoid:    unary("sigmoid", Floats),
	Erf:        unary("erf", Floats),
	SiLU:       unary("silu", Floats),
	GELU:       unary("gelu", Floats),
	GELUTanh:   unary("gelu_tanh", Floats),
	LeakyReLU:  unary("leaky_relu", Floats),
	ELU:        unary("elu", Floats),
	Softplus:   unary("softplus", Floats),
	PowScalar:  unary("pow_scalar", Floats),
	Clamp:      unary("clamp", Numbers),

	TanhGrad:      binary("tanh_grad", Floats),
	SigmoidGrad:   binary("sigmoid_grad", Floats),
	SiLUGrad:      binary("silu_grad", Floats),
	GELUGrad:      binary("gelu_grad", Floats),
	GELUTanhGrad:  binary("gelu_tanh_grad", Floats),
	LeakyReLUGrad: binary("leaky_relu_grad", Floats),
	ELUGrad:       binary("elu_grad", Floats),
	SoftplusGrad:  binary("softplus_grad", Floats),
	ClampGrad:     binary("clamp_grad", Floats),

	Pow:         binary("pow", Numbers),
	Maximum:     binary("maximum", Numbers),
	Minimum:     binary("minimum", Numbers),
	FloorDivide: binary("floor_divide", Numbers),
	Remainder:   binary("remainder", Numbers),
	And:         binary("and", Ints|1<<Bool),
	Or:          binary("or", Ints|1<<Bool),
	Xor:         binary("xor", Ints|1<<Bool),

	Equal:        test("equal", 2, AnyDType),
	NotEqual:     test("not_equal", 2, AnyDType),
	Less:         test("less", 2, AnyDType),
	LessEqual:    test("less_equal", 2, AnyDType),
	Greater:      test("greater", 2, AnyDType),
	GreaterEqual: test("greater_equal", 2, AnyDType),
	IsNaN:        test("is_nan", 1, Floats),
	IsInf:        test("is_inf", 1, Floats),
	Not:          test("not", 1, AnyDType),

	Where: {name: "where", dtypes: AnyDType, out: 1, in: 3, inPlace: true, types: whereTypes, dims: checkElements},

	Sum:     {name: "sum", dtypes: sums, out: 1, in: 1, inputs: AnyDType, result: sumType, dims: checkReduction},
	Prod:    {name: "prod", dtypes: sums, out: 1, in: 1, inputs: AnyDType, result: sumType, dims: checkReduction},
	Max:     {name: "max", dtypes: Numbers, out: 1, in: 1, dims: checkChoice},
	Min:     {name: "min", dtypes: Numbers, out: 1, in: 1, dims: checkChoice},
	MaxGrad: {name: "max_grad", dtypes: Floats, out: 1, in: 3, dims: checkMaxGrad},
	ArgMax:  {name: "argmax", dtypes: 1 << Int64, out: 1, in: 1, inputs: Numbers, dims: checkArgMax},
	ArgMin:  {name: "argmin", dtypes: 1 << Int64, out: 1, in: 1, inputs: Numbers, dims: checkArgMax},
	Any:     {name: "any", dtypes: 1 << Bool, out: 1, in: 1, inputs: AnyDType, dims: checkReduction},
	All:     {name: "all", dtypes: 1 << Bool, out: 1, in: 1, inputs: AnyDType, dims: checkReduction},

	Var:         {name: "var", dtypes: Floats, out: 2, in: 1, dims: checkVar},
	LogSumExp:   {name: "logsumexp", dtypes: Floats, out: 1, in: 1, dims: checkReduction},
	Norm:        {name: "norm", dtypes: Floats, out: 1, in: 1, dims: checkNorm},
	CumSum:      {name: "cumsum", dtypes: sums, out: 1, in: 1, inputs: AnyDType, result: sumType, dims: checkAxis},
	CumProd:     {name: "cumprod", dtypes: sums, out: 1, in: 1, inputs: AnyDType, result: sumType, dims: checkAxis},
	CumProdGrad: {name: "cumprod_grad", dtypes: Floats, out: 1, in: 3, dims: checkAxis},
	Sort:        {name: "sort", dtypes: AnyDType, out: 2, in: 1, types: sortTypes, dims: checkSort},
	SortGrad:    {name: "sort_grad", dtypes: Floats, out: 1, in: 2, types: indexTypes, dims: checkScatter},
	Gather:      {name: "gather", dtypes: AnyDType, out: 1, in: 2, types: indexTypes, dims: checkGather},
	Scatter:     {name: "scatter", dtypes: AnyDType, out: 1, in: 2, types: indexTypes, dims: checkScatter},
	ScatterAdd:  {name: "scatter_add", dtypes: Numbers, out: 1, in: 2, types: indexTypes, dims: checkScatter},

	MatMul:           {name: "matmul", dtypes: Floats, out: 1, in: 2, optional: 1, dims: checkMatMul},
	CrossEntropy:     {name: "cross_entropy", dtypes: Floats, out: 1, in: 2, types: classesAt(1), dims: checkCrossEntropy},
	CrossEntropyGrad: {name: "cross_entropy_grad", dtypes: Floats, out: 1, in: 3, types: classesAt(2), dims: checkCrossEntropyGrad},

	Attention:     {name: "attention", dtypes: Floats, out: 2, in: 3, optional: 1, types: attentionTypes, dims: checkAttention},
	AttentionGrad: {name: "attention_grad", dtypes: Floats, out: 3, in: 6, optional: 1, types: attentionGradTypes, dims: checkAttentionGrad},

	Softmax:        {name: "softmax", dtypes: Floats, out: 1, in: 1, inPlace: true, dims: checkAxis},
	LogSoftmax:     {name: "log_softmax", dtypes: Floats, out: 1, in: 1, inPlace: true, dims: checkAxis},
	SoftmaxGrad:    {name: "softmax_grad", dtypes: Floats, out: 1, in: 2, inPlace: true, dims: checkAxis},
	LogSoftmaxGrad: {name: "log_softmax_grad", dtypes: Floats, out: 1, in: 2, inPlace: true, dims: checkAxis},
	LayerNorm:      {name: "layer_norm", dtypes: Floats, out: 3, in: 1, optional: 2, types: statistics(6, 0), dims: checkLayerNorm},
	LayerNormGrad:  {name: "layer_norm_grad", dtypes: Floats, out: 1, in: 4, optional: 1, moreOut: 2, types: statistics(0, 12), dims: checkLayerNormGrad},
	RMSNorm:        {name: "rms_norm", dtypes: Floats, out: 2, in: 1, optional: 1, types: statistics(2, 0), dims: checkLayerNorm},
	RMSNormGrad:    {name: "rms_norm_grad", dtypes: Floats, out: 1, in: 3, optional: 1, moreOut: 1, types: statistics(0, 4), dims: checkLayerNormGrad},
	GroupNorm:      {name: "group_norm", dtypes: Floats, out: 3, in: 1, optional: 2, types: statistics(6, 0), dims: checkGroupNorm},
	GroupNormGrad:  {name: "group_norm_grad", dtypes: Floats, out: 1, in: 4, optional: 1, moreOut: 2, types: statistics(0, 12), dims: checkGroupNormGrad},
	BatchNorm:      {name: "batch_norm", dtypes: Floats, out: 3, in: 1, optional: 2, moreOut: 2, types: statistics(30, 0), dims: checkBatchNorm},
	BatchNormInfer: {name: "batch_norm_infer", dtypes: Floats, out: 1, in: 3, optional: 2, types: statistics(0, 6), dims: checkBatchNorm},
	BatchNormGrad:  {name: "batch_norm_grad", dtypes: Floats, out: 3, in: 4, optional: 1, types: statistics(0, 12), dims: checkBatchNormGrad},
	NLL:            {name: "nll", dtypes: Floats, out: 2, in: 2, optional: 1, types: classesOf, dims: checkNLL},
	NLLGrad:        {name: "nll_grad", dtypes: Floats, out: 1, in: 2, optional: 1, types: classesOf, dims: checkNLLGrad},

	Conv:                {name: "conv", dtypes: Floats, out: 1, in: 2, optional: 1, dims: checkConvForward},
	ConvGradInput:       {name: "conv_grad_input", dtypes: Floats, out: 1, in: 2, dims: checkConvGradInput},
	ConvGradWeight:      {name: "conv_grad_weight", dtypes: Floats, out: 1, in: 2, dims: checkConvGradWeight},
	MaxPool:             {name: "max_pool", dtypes: Floats, out: 2, in: 1, types: maxPoolTypes, dims: checkMaxPool},
	MaxPoolGrad:         {name: "max_pool_grad", dtypes: Floats, out: 1, in: 2, types: maxPoolGradTypes, dims: checkMaxPoolGrad},
	AvgPool:             {name: "avg_pool", dtypes: Floats, out: 1, in: 1, dims: checkAvgPool},
	AvgPoolGrad:         {name: "avg_pool_grad", dtypes: Floats, out: 1, in: 1, dims: checkAvgPoolGrad},
	AdaptiveAvgPool:     {name: "adaptive_avg_pool", dtypes: Floats, out: 1, in: 1, dims: checkAdaptiveAvgPool},
	AdaptiveAvgPoolGrad: {name: "adaptive_avg_pool_grad", dtypes: Floats, out: 1, in: 1, dims: checkAdaptiveAvgPoolGrad},

	SGDStep:   {name: "sgd_step", dtypes: Wides, dims: checkGroups},
	AdamWStep: {name: "adamw_step", dtypes: Wides, types: stepTypes, dims: checkGroups},

	Sequence:      {name: "sequence", dtypes: Numbers, out: 1},
	RandomUniform: {name: "random_uniform", dtypes: Floats, out: 1, dims: checkUniform},
	RandomNormal:  {name: "random_normal", dtypes: Floats, out: 1, dims: checkNormal},
	RandomInt:     {name: "random_int", dtypes: Numbers, out: 1, dims: checkRandomInt},
	Bernoulli:     {name: "bernoulli", dtypes: AnyDType, out: 1, optional: 1, types: probabilityTypes, dims: checkBernoulli},
	Dropout:       {name: "dropout", dtypes: Floats, out: 1, in: 1, inPlace: true, dims: checkDropout},
}

func anyTypes(ID, *Args) *Error { return nil }

func whereTypes(id ID, a *Args) *Error {
	if e := wantDType(id, a, 0, "the condition", Bool); e != nil {
		return e
	}
	for i := range a.In[1:] {
		if got, d := a.In[1+i].DType, a.Out[0].DType; got != d {
			return fail(id, ErrDType, "in[%d] is %v, want %v as out[0]", 1+i, got, d)
		}
	}
	return nil
}

// classesAt returns the rule of a loss whose input i holds class indices.
func classesAt(n int) func(id ID, a *Args) *Error {
	return func(id ID, a *Args) *Error {
		if e := sameDTypes(id, a, n); e != nil {
			return e
		}
		return wantDType(id, a, n, "the classes", Int64)
	}
}

func stepTypes(id ID, a *Args) *Error {
	gradients := len(a.In) - counters(id, a)
	if e := sameDTypes(id, a, gradients); e != nil || gradients == len(a.In) {
		return e
	}
	return wantDType(id, a, gradients, "the step", Int64)
}
