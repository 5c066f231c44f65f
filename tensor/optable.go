package tensor

import "tarn/kernels"

// The ops by name: what errors and the graph call them.
var (
	addDef              = &opDef{name: "Add"}
	subDef              = &opDef{name: "Sub"}
	mulDef              = &opDef{name: "Mul"}
	divDef              = &opDef{name: "Div"}
	affineDef           = &opDef{name: "Affine"}
	expDef              = &opDef{name: "Exp", reads: theResult}
	logDef              = &opDef{name: "Log", reads: theInput}
	sqrtDef             = &opDef{name: "Sqrt", reads: theResult}
	reluDef             = &opDef{name: "ReLU", reads: theResult}
	sumDef              = &opDef{name: "Sum"}
	meanDef             = &opDef{name: "Mean"}
	maxDef              = &opDef{name: "Max"}
	minDef              = &opDef{name: "Min"}
	argMaxDef           = &opDef{name: "ArgMax"}
	argMinDef           = &opDef{name: "ArgMin"}
	anyDef              = &opDef{name: "Any"}
	allDef              = &opDef{name: "All"}
	varDef              = &opDef{name: "Var"}
	stdDef              = &opDef{name: "Std"}
	logSumExpDef        = &opDef{name: "LogSumExp"}
	normDef             = &opDef{name: "Norm"}
	prodDef             = &opDef{name: "Prod"}
	cumSumDef           = &opDef{name: "CumSum"}
	cumProdDef          = &opDef{name: "CumProd"}
	cumProdGradDef      = &opDef{name: "CumProd backward"}
	sortDef             = &opDef{name: "Sort"}
	argSortDef          = &opDef{name: "ArgSort"}
	topKDef             = &opDef{name: "TopK"}
	maxAtDef            = &opDef{name: "MaxWithIndices"}
	minAtDef            = &opDef{name: "MinWithIndices"}
	sortGradDef         = &opDef{name: "Sort backward"}
	sizeDef             = &opDef{name: "Norm's sizes"}
	matMulDef           = &opDef{name: "MatMul"}
	linearDef           = &opDef{name: "Linear"}
	crossEntropyDef     = &opDef{name: "CrossEntropy"}
	attentionDef        = &opDef{name: "Attention"}
	transposeDef        = &opDef{name: "Transpose"}
	expandDef           = &opDef{name: "Expand"}
	sliceDef            = &opDef{name: "Slice"}
	reshapeDef          = &opDef{name: "Reshape"}
	viewDef             = &opDef{name: "View"}
	flattenDef          = &opDef{name: "Flatten"}
	permuteDef          = &opDef{name: "Permute"}
	moveDimDef          = &opDef{name: "MoveDim"}
	unsqueezeDef        = &opDef{name: "Unsqueeze"}
	squeezeDef          = &opDef{name: "Squeeze"}
	selectDef           = &opDef{name: "Select"}
	splitDef            = &opDef{name: "Split"}
	chunkDef            = &opDef{name: "Chunk"}
	diagonalDef         = &opDef{name: "Diagonal"}
	unfoldDef           = &opDef{name: "Unfold"}
	cloneDef            = &opDef{name: "Clone"}
	toDeviceDef         = &opDef{name: "ToDevice"}
	softmaxDef          = &opDef{name: "Softmax"}
	logSoftmaxDef       = &opDef{name: "LogSoftmax"}
	softmaxGradDef      = &opDef{name: "Softmax backward"}
	logSoftmaxGradDef   = &opDef{name: "LogSoftmax backward"}
	layerNormDef        = &opDef{name: "LayerNorm"}
	rmsNormDef          = &opDef{name: "RMSNorm"}
	groupNormDef        = &opDef{name: "GroupNorm"}
	batchNormDef        = &opDef{name: "BatchNorm"}
	normGradDef         = &opDef{name: "normalisation's backward"}
	nllDef              = &opDef{name: "NLL"}
	nllGradDef          = &opDef{name: "NLL backward"}
	maxGradDef          = &opDef{name: "Max backward"}
	crossEntropyGradDef = &opDef{name: "CrossEntropy backward"}
)

// Elementwise ops.
var (
	powDef         = &opDef{name: "Pow"}
	maximumDef     = &opDef{name: "Maximum"}
	minimumDef     = &opDef{name: "Minimum"}
	floorDivideDef = &opDef{name: "FloorDivide"}
	remainderDef   = &opDef{name: "Remainder"}
	andDef         = &opDef{name: "And"}
	orDef          = &opDef{name: "Or"}
	xorDef         = &opDef{name: "Xor"}
	eqDef          = &opDef{name: "Eq"}
	neDef          = &opDef{name: "Ne"}
	ltDef          = &opDef{name: "Lt"}
	leDef          = &opDef{name: "Le"}
	gtDef          = &opDef{name: "Gt"}
	geDef          = &opDef{name: "Ge"}
	isNaNDef       = &opDef{name: "IsNaN"}
	isInfDef       = &opDef{name: "IsInf"}
	notDef         = &opDef{name: "Not"}
	whereDef       = &opDef{name: "Where"}
	maskedFillDef  = &opDef{name: "MaskedFill"}
	negDef         = &opDef{name: "Neg", keepsInts: true}
	absDef         = &opDef{name: "Abs", keepsInts: true, reads: theInput}
	signDef        = &opDef{name: "Sign", keepsInts: true}
	floorDef       = &opDef{name: "Floor", keepsInts: true}
	ceilDef        = &opDef{name: "Ceil", keepsInts: true}
	truncDef       = &opDef{name: "Trunc", keepsInts: true}
	roundDef       = &opDef{name: "Round", keepsInts: true}
	clampDef       = &opDef{name: "Clamp", keepsInts: true, reads: theInput}
	expm1Def       = &opDef{name: "Expm1", reads: theResult}
	log1pDef       = &opDef{name: "Log1p", reads: theInput}
	rsqrtDef       = &opDef{name: "Rsqrt", reads: theResult}
	reciprocalDef  = &opDef{name: "Reciprocal", reads: theResult}
	sinDef         = &opDef{name: "Sin", reads: theInput}
	cosDef         = &opDef{name: "Cos", reads: theInput}
	erfDef         = &opDef{name: "Erf", reads: theInput}
	powScalarDef   = &opDef{name: "PowScalar", reads: theInput}
	tanhDef        = &opDef{name: "Tanh", reads: theResult}
	sigmoidDef     = &opDef{name: "Sigmoid", reads: theResult}
	siluDef        = &opDef{name: "SiLU", reads: theInput}
	geluDef        = &opDef{name: "GELU", reads: theInput}
	geluTanhDef    = &opDef{name: "GELUTanh", reads: theInput}
	leakyReLUDef   = &opDef{name: "LeakyReLU", reads: theInput}
	eluDef         = &opDef{name: "ELU", reads: theInput}
	softplusDef    = &opDef{name: "Softplus", reads: theInput}
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

// Convolutions and poolings.
var (
	conv2DDef            = &opDef{name: "Conv2D"}
	conv1DDef            = &opDef{name: "Conv1D"}
	maxPool2DDef         = &opDef{name: "MaxPool2D"}
	maxPool1DDef         = &opDef{name: "MaxPool1D"}
	avgPool2DDef         = &opDef{name: "AvgPool2D"}
	avgPool1DDef         = &opDef{name: "AvgPool1D"}
	adaptiveAvgPool2DDef = &opDef{name: "AdaptiveAvgPool2D"}
	adaptiveAvgPool1DDef = &opDef{name: "AdaptiveAvgPool1D"}
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
}
