package tensor

// The ops by name: what errors and the graph call them.
var (
	addDef              = &opDef{name: "Add"}
	subDef              = &opDef{name: "Sub"}
	mulDef              = &opDef{name: "Mul"}
	divDef              = &opDef{name: "Div"}
	affineDef           = &opDef{name: "Affine"}
	expDef              = &opDef{name: "Exp"}
	logDef              = &opDef{name: "Log"}
	sqrtDef             = &opDef{name: "Sqrt"}
	reluDef             = &opDef{name: "ReLU"}
	sumDef              = &opDef{name: "Sum"}
	meanDef             = &opDef{name: "Mean"}
	maxDef              = &opDef{name: "Max"}
	argMaxDef           = &opDef{name: "ArgMax"}
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
	reluGradDef         = &opDef{name: "ReLU backward"}
	maxGradDef          = &opDef{name: "Max backward"}
	crossEntropyGradDef = &opDef{name: "CrossEntropy backward"}
)

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
	reluDef.backward = reluBackward
	sumDef.backward = sumBackward
	meanDef.backward = sumBackward
	maxDef.backward = maxBackward
	matMulDef.backward = matMulBackward
	linearDef.backward = matMulBackward
	crossEntropyDef.backward = crossEntropyBackward
	attentionDef.backward = attentionBackward
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
