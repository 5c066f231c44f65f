package tensor

import "tarn/kernels"

// The ops by name: what errors and the graph call them.
var (
	addDef              = define("Add", kernels.AnyDType, 1)
	subDef              = define("Sub", kernels.Numbers, 1)
	mulDef              = define("Mul", kernels.AnyDType, 1)
	divDef              = define("Div", kernels.AnyDType, 1)
	affineDef           = define("Affine", kernels.Numbers, 16)
	expDef              = define("Exp", kernels.AnyDType, 16).reading(theResult)
	logDef              = define("Log", kernels.AnyDType, 16).reading(theInput)
	sqrtDef             = define("Sqrt", kernels.AnyDType, 16).reading(theResult)
	reluDef             = define("ReLU", kernels.AnyDType, 0).reading(theResult)
	sumDef              = define("Sum", kernels.AnyDType, 16)
	meanDef             = define("Mean", kernels.Floats, 16)
	maxDef              = define("Max", kernels.Numbers, 0)
	minDef              = define("Min", kernels.Numbers, 0)
	argMaxDef           = define("ArgMax", kernels.Numbers, 0)
	argMinDef           = define("ArgMin", kernels.Numbers, 0)
	anyDef              = define("Any", kernels.AnyDType, 0)
	allDef              = define("All", kernels.AnyDType, 0)
	varDef              = define("Var", kernels.Floats, 16)
	stdDef              = define("Std", kernels.Floats, 16)
	logSumExpDef        = define("LogSumExp", kernels.Floats, 16)
	normDef             = define("Norm", kernels.Floats, 32)
	prodDef             = define("Prod", kernels.AnyDType, 16)
	cumSumDef           = define("CumSum", kernels.Numbers, 16)
	cumProdDef          = define("CumProd", kernels.Numbers, 16)
	cumProdGradDef      = &opDef{name: "CumProd backward"}
	sortDef             = define("Sort", kernels.Numbers, 0)
	argSortDef          = define("ArgSort", kernels.Numbers, 0)
	topKDef             = define("TopK", kernels.Numbers, 0)
	maxAtDef            = define("MaxWithIndices", kernels.Numbers, 0)
	minAtDef            = define("MinWithIndices", kernels.Numbers, 0)
	sortGradDef         = &opDef{name: "Sort backward"}
	sizeDef             = &opDef{name: "Norm's sizes"}
	matMulDef           = define("MatMul", kernels.Floats, 64)
	dotDef              = define("Dot", kernels.Floats, 64)
	_                   = compose("Outer", kernels.AnyDType, 1)
	_                   = compose("Einsum", kernels.Floats, 64)
	linearDef           = define("Linear", kernels.Floats, 64)
	crossEntropyDef     = define("CrossEntropy", kernels.Floats, 32)
	attentionDef        = define("Attention", kernels.Floats, 64)
	transposeDef        = define("Transpose", kernels.AnyDType, 0)
	expandDef           = define("Expand", kernels.AnyDType, 0)
	sliceDef            = define("Slice", kernels.AnyDType, 0)
	reshapeDef          = define("Reshape", kernels.AnyDType, 0)
	viewDef             = define("View", kernels.AnyDType, 0)
	flattenDef          = define("Flatten", kernels.AnyDType, 0)
	permuteDef          = define("Permute", kernels.AnyDType, 0)
	moveDimDef          = define("MoveDim", kernels.AnyDType, 0)
	unsqueezeDef        = define("Unsqueeze", kernels.AnyDType, 0)
	squeezeDef          = define("Squeeze", kernels.AnyDType, 0)
	selectDef           = define("Select", kernels.AnyDType, 0)
	splitDef            = define("Split", kernels.AnyDType, 0)
	chunkDef            = define("Chunk", kernels.AnyDType, 0)
	diagonalDef         = define("Diagonal", kernels.AnyDType, 0)
	unfoldDef           = define("Unfold", kernels.AnyDType, 0)
	cloneDef            = define("Clone", kernels.AnyDType, 0)
	toDeviceDef         = define("ToDevice", kernels.AnyDType, 0)
	softmaxDef          = define("Softmax", kernels.Floats, 16)
	logSoftmaxDef       = define("LogSoftmax", kernels.Floats, 16)
	softmaxGradDef      = &opDef{name: "Softmax backward"}
	logSoftmaxGradDef   = &opDef{name: "LogSoftmax backward"}
	layerNormDef        = define("LayerNorm", kernels.Floats, 16)
	rmsNormDef          = define("RMSNorm", kernels.Floats, 16)
	groupNormDef        = define("GroupNorm", kernels.Floats, 16)
	batchNormDef        = define("BatchNorm", kernels.Floats, 16)
	normGradDef         = &opDef{name: "normalisation's backward"}
	nllDef              = define("NLL", kernels.Floats, 16)
	nllGradDef          = &opDef{name: "NLL backward"}
	maxGradDef          = &opDef{name: "Max backward"}
	crossEntropyGradDef = &opDef{name: "CrossEntropy backward"}
	bernoulliDef        = define("Bernoulli", kernels.Floats, 0)
	dropoutDef          = define("Dropout", kernels.Floats, 0)
	dropoutGradDef      = &opDef{name: "Dropout backward"}
	mseLossDef          = define("MSELoss", kernels.Floats, 16)
	l1LossDef           = define("L1Loss", kernels.Floats, 16)
	huberLossDef        = define("HuberLoss", kernels.Floats, 16)
	smoothL1LossDef     = define("SmoothL1Loss", kernels.Floats, 16)
	sharpL1LossDef      = &opDef{name: "SmoothL1Loss"}
	klDivDef            = define("KLDiv", kernels.Floats, 16)
	klDivLogDef         = &opDef{name: "KLDiv"}
	bceWithLogitsDef    = define("BCEWithLogits", kernels.Floats, 16)
	bceLossDef          = define("BCELoss", kernels.Floats, 16)
	lossGradDef         = &opDef{name: "loss's backward"}
)

// Elementwise ops.
var (
	powDef         = define("Pow", kernels.Numbers, 16)
	maximumDef     = define("Maximum", kernels.Numbers, 0)
	minimumDef     = define("Minimum", kernels.Numbers, 0)
	floorDivideDef = define("FloorDivide", kernels.Numbers, 16)
	remainderDef   = define("Remainder", kernels.Numbers, 16)
	andDef         = define("And", kernels.Ints|1<<Bool, 0)
	orDef          = define("Or", kernels.Ints|1<<Bool, 0)
	xorDef         = define("Xor", kernels.Ints|1<<Bool, 0)
	eqDef          = define("Eq", kernels.AnyDType, 0)
	neDef          = define("Ne", kernels.AnyDType, 0)
	ltDef          = define("Lt", kernels.AnyDType, 0)
	leDef          = define("Le", kernels.AnyDType, 0)
	gtDef          = define("Gt", kernels.AnyDType, 0)
	geDef          = define("Ge", kernels.AnyDType, 0)
	isNaNDef       = define("IsNaN", kernels.AnyDType, 0)
	isInfDef       = define("IsInf", kernels.AnyDType, 0)
	notDef         = define("Not", kernels.AnyDType, 0)
	whereDef       = define("Where", kernels.AnyDType, 0)
	maskedFillDef  = define("MaskedFill", kernels.AnyDType, 0)
	negDef         = define("Neg", kernels.Numbers, 0).keeping()
	absDef         = define("Abs", kernels.Numbers, 0).reading(theInput).keeping()
	signDef        = define("Sign", kernels.Numbers, 0).keeping()
	floorDef       = define("Floor", kernels.Numbers, 0).keeping()
	ceilDef        = define("Ceil", kernels.Numbers, 0).keeping()
	truncDef       = define("Trunc", kernels.Numbers, 0).keeping()
	roundDef       = define("Round", kernels.Numbers, 0).keeping()
	clampDef       = define("Clamp", kernels.Numbers, 0).reading(theInput).keeping()
	expm1Def       = define("Expm1", kernels.AnyDType, 16).reading(theResult)
	log1pDef       = define("Log1p", kernels.AnyDType, 16).reading(theInput)
	rsqrtDef       = define("Rsqrt", kernels.AnyDType, 16).reading(theResult)
	reciprocalDef  = define("Reciprocal", kernels.AnyDType, 16).reading(theResult)
	sinDef         = define("Sin", kernels.AnyDType, 16).reading(theInput)
	cosDef         = define("Cos", kernels.AnyDType, 16).reading(theInput)
	erfDef         = define("Erf", kernels.AnyDType, 16).reading(theInput)
	powScalarDef   = define("PowScalar", kernels.AnyDType, 16).reading(theInput)
	tanhDef        = define("Tanh", kernels.AnyDType, 16).reading(theResult)
	sigmoidDef     = define("Sigmoid", kernels.AnyDType, 16).reading(theResult)
	siluDef        = define("SiLU", kernels.AnyDType, 16).reading(theInput)
	geluDef        = define("GELU", kernels.AnyDType, 16).reading(theInput)
	geluTanhDef    = define("GELUTanh", kernels.AnyDType, 16).reading(theInput)
	leakyReLUDef   = define("LeakyReLU", kernels.AnyDType, 16).reading(theInput)
	eluDef         = define("ELU", kernels.AnyDType, 16).reading(theInput)
	softplusDef    = define("Softplus", kernels.AnyDType, 16).reading(theInput)
)

// Ops that are made of others.
var (
	_ = compose("CrossEntropyWith", kernels.Floats, 32)
)

// slopeDefs are the gradient ops of activations, by their kernels.
var slopeDefs = map[kernels.ID]*opDef{
	kernels.ReLUGrad:      {name: "ReLU backward"},
	kernels.TanhGrad:      {name: "Tanh backward"},
	kernels.SigmoidGrad:   {name: "Sigmoid backward"},
	kernels.SiLUGrad:      {name: "SiLU backward"},
	kernels.GELUGrad:      {name: "GELU backward"},
	kernels.GELUTanhGrad:  {name: "GELUTanh backward"},
	kernels.LeakyReLUGrad: {name: "LeakyReLU backward"},
	kernels.ELUGrad:       {name: "ELU backward"},
	kernels.SoftplusGrad:  {name: "Softplus backward"},
	kernels.ClampGrad:     {name: "Clamp backward"},
}

func init() {
	powDef.backward = powBackward
	maximumDef.backward = choiceBackward((*Tensor).Gt)
	minimumDef.backward = choiceBackward((*Tensor).Lt)
	remainderDef.backward = remainderBackward
	whereDef.backward = whereBackward
	maskedFillDef.backward = whereBackward
	negDef.backward = negBackward
	absDef.backward = absBackward
	for _, def := range []*opDef{signDef, floorDef, ceilDef, truncDef, roundDef} {
		def.backward = zeroBackward
	}
	expm1Def.backward = expm1Backward
	log1pDef.backward = log1pBackward
	rsqrtDef.backward = rsqrtBackward
	reciprocalDef.backward = reciprocalBackward
	sinDef.backward = sinBackward
	cosDef.backward = cosBackward
	erfDef.backward = erfBackward
	powScalarDef.backward = powScalarBackward
	reluDef.backward = slopeBackward(kernels.ReLUGrad)
	tanhDef.backward = slopeBackward(kernels.TanhGrad)
	sigmoidDef.backward = slopeBackward(kernels.SigmoidGrad)
	siluDef.backward = slopeBackward(kernels.SiLUGrad)
	geluDef.backward = slopeBackward(kernels.GELUGrad)
	geluTanhDef.backward = slopeBackward(kernels.GELUTanhGrad)
	leakyReLUDef.backward = slopeBackward(kernels.LeakyReLUGrad)
	eluDef.backward = slopeBackward(kernels.ELUGrad)
	softplusDef.backward = slopeBackward(kernels.SoftplusGrad)
	clampDef.backward = slopeBackward(kernels.ClampGrad)
}

// Indices, and elements in another place.
var (
	gatherDef      = define("Gather", kernels.AnyDType, 0)
	indexSelectDef = define("IndexSelect", kernels.AnyDType, 0)
	embeddingDef   = define("Embedding", kernels.AnyDType, 0)
	scatterDef     = define("Scatter", kernels.AnyDType, 0)
	scatterAddDef  = define("ScatterAdd", kernels.Numbers, 4)
	indexAddDef    = define("IndexAdd", kernels.Numbers, 4)
	oneHotDef      = define("OneHot", 1<<kernels.Int64|1<<kernels.Int32, 0)
	concatDef      = define("Concat", kernels.AnyDType, 0)
	flipDef        = define("Flip", kernels.AnyDType, 0)
	rollDef        = define("Roll", kernels.AnyDType, 0)
	padDef         = define("Pad", kernels.AnyDType, 0)
	_              = compose("Stack", kernels.AnyDType, 0)
	_              = compose("Repeat", kernels.AnyDType, 0)
	_              = compose("Tile", kernels.AnyDType, 0)
	_              = compose("RepeatInterleave", kernels.AnyDType, 0)
	_              = compose("PadWith", kernels.AnyDType, 0)
	_              = compose("Triu", kernels.AnyDType, 0)
	_              = compose("Tril", kernels.AnyDType, 0)
)

func init() {
	for _, def := range []*opDef{gatherDef, indexSelectDef, embeddingDef} {
		def.backward = gatherBackward
	}
	concatDef.backward = concatBackward
	flipDef.backward = flipBackward
	rollDef.backward = rollBackward
	padDef.backward = padBackward
	for _, def := range []*opDef{scatterDef, scatterAddDef, indexAddDef} {
		def.backward = scatterBackward
	}
}

// Convolutions and poolings.
var (
	conv2DDef            = define("Conv2D", kernels.Floats, 64)
	conv1DDef            = define("Conv1D", kernels.Floats, 64)
	maxPool2DDef         = define("MaxPool2D", kernels.Floats, 0)
	maxPool1DDef         = define("MaxPool1D", kernels.Floats, 0)
	avgPool2DDef         = define("AvgPool2D", kernels.Floats, 16)
	avgPool1DDef         = define("AvgPool1D", kernels.Floats, 16)
	adaptiveAvgPool2DDef = define("AdaptiveAvgPool2D", kernels.Floats, 16)
	adaptiveAvgPool1DDef = define("AdaptiveAvgPool1D", kernels.Floats, 16)
	convGradDef          = &opDef{name: "Conv backward"}
	maxPoolGradDef       = &opDef{name: "MaxPool backward"}
	avgPoolGradDef       = &opDef{name: "AvgPool backward"}
)

func init() {
	conv2DDef.backward = convBackward
	conv1DDef.backward = convBackward
	maxPool2DDef.backward = maxPoolBackward
	maxPool1DDef.backward = maxPoolBackward
	avgPool2DDef.backward = avgPoolBackward
	avgPool1DDef.backward = avgPoolBackward
	adaptiveAvgPool2DDef.backward = adaptiveAvgPoolBackward
	adaptiveAvgPool1DDef.backward = adaptiveAvgPoolBackward
}

// The gradients are hung in here, not above, since a gradient is made of ops:
// as initialisers they would refer to each other in a circle.
func init() {
	addDef.backward = addBackward
	subDef.backward = subBackward
	mulDef.backward = mulBackward
	divDef.backward = divBackward
	affineDef.backward = affineBackward
	expDef.backward = expBackward
	logDef.backward = logBackward
	sqrtDef.backward = sqrtBackward
	sumDef.backward = sumBackward
	meanDef.backward = sumBackward
	maxDef.backward = maxBackward
	minDef.backward = maxBackward
	varDef.backward = varBackward
	stdDef.backward = varBackward
	logSumExpDef.backward = logSumExpBackward
	normDef.backward = normBackward
	sizeDef.backward = sizeBackward
	prodDef.backward = prodBackward
	cumSumDef.backward = cumSumBackward
	cumProdDef.backward = cumProdBackward
	for _, def := range []*opDef{sortDef, topKDef, maxAtDef, minAtDef} {
		def.backward = chosenBackward
	}
	matMulDef.backward = matMulBackward
	dotDef.backward = matMulBackward
	linearDef.backward = matMulBackward
	crossEntropyDef.backward = crossEntropyBackward
	attentionDef.backward = attentionBackward
	softmaxDef.backward = softmaxBackward
	logSoftmaxDef.backward = logSoftmaxBackward
	layerNormDef.backward = layerNormBackward
	rmsNormDef.backward = rmsNormBackward
	groupNormDef.backward = groupNormBackward
	batchNormDef.backward = batchNormBackward
	nllDef.backward = nllBackward
	for _, k := range []*lossKind{mseLoss, l1Loss, huberLoss, smoothL1Loss, sharpL1Loss, klDivLoss, klDivLogLoss, bceLogitsLoss, bceLoss} {
		k.def.backward = k.backward
	}
	transposeDef.backward = transposeBackward
	expandDef.backward = expandBackward
	for _, def := range []*opDef{sliceDef, selectDef, splitDef, chunkDef, diagonalDef} {
		def.backward = placeBackward
	}
	for _, def := range []*opDef{reshapeDef, viewDef, flattenDef, unsqueezeDef, squeezeDef} {
		def.backward = reshapeBackward
	}
	permuteDef.backward = permuteBackward
	moveDimDef.backward = permuteBackward
	unfoldDef.backward = unfoldBackward
	cloneDef.backward = cloneBackward
	toDeviceDef.backward = toDeviceBackward
	dropoutDef.backward = dropoutBackward
}
