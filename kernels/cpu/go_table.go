package cpu

import "tarn/kernels"

// bodies are the bodies of one op by what they compute in, which [kernels.ID.Selector]
// chooses: float32 for the half types too, int64 for all that is no float. A
// body finds its Args checked and Out[0] not empty; of several outputs, single
// ones may be.
type bodies struct {
	f32, f64, i64 func(*kernels.Args) error
	workspace     func(*kernels.Args) int64 // nil for none
	// loads: the bodies load and store elements of any type that computes in
	// theirs. Those of other ops work on float32 copies of operands of a half
	// type.
	loads bool
	// updates: the bodies read what is in the outputs, or leave some of it, also
	// without Attr.Accumulate.
	updates bool
}

// of returns the body for elements of type d.
func (b *bodies) of(d kernels.DType) func(*kernels.Args) error {
	switch {
	case d == kernels.Float64:
		return b.f64
	case d.IsFloat():
		return b.f32
	}
	return b.i64
}

// run does the op, whose arguments have been checked.
func (b *bodies) run(id kernels.ID, a *kernels.Args) error {
	if b.workspace != nil && a.Work.Ptr == 0 && b.workspace(a) > 0 {
		return &kernels.Error{Op: id, Err: kernels.ErrAddress, Detail: "no workspace"}
	}
	return b.of(id.Selector(a))(a)
}

// goTable returns a new table of all ops.
func goTable() *kernels.Table {
	t := new(kernels.Table)
	add := func(id kernels.ID, b bodies) { t[id] = b.op(id) }
	add(kernels.Fill, bodies{f32: fill[float32], f64: fill[float64], i64: fill[int64], loads: true})
	add(kernels.Copy, bodies{f32: copyTo[float32](), f64: copyTo[float64](), i64: copyTo[int64](), loads: true})
	for id := kernels.Add; id <= kernels.Where; id++ {
		add(id, elementwiseBodies(id))
	}
	for _, id := range []kernels.ID{kernels.Sum, kernels.Prod, kernels.Max, kernels.Min, kernels.Any, kernels.All,
		kernels.Var, kernels.LogSumExp, kernels.Norm} {
		add(id, bodies{f32: folds(id), f64: folds(id), i64: folds(id), workspace: reduceWorkspace})
	}
	add(kernels.MaxGrad, bodies{f32: maxGrad[float32], f64: maxGrad[float64]})
	for _, id := range []kernels.ID{kernels.CumSum, kernels.CumProd} {
		add(id, bodies{f32: scans(id), f64: scans(id), i64: scans(id)})
	}
	add(kernels.CumProdGrad, bodies{f32: cumProdGrad[float32], f64: cumProdGrad[float64]})
	add(kernels.Sort, bodies{f32: sortAxis, f64: sortAxis, i64: sortAxis, workspace: sortWorkspace})
	add(kernels.SortGrad, bodies{f32: sortGrad[float32], f64: sortGrad[float64]})
	add(kernels.Gather, bodies{f32: gatherAlong, f64: gatherAlong, i64: gatherAlong, loads: true})
	add(kernels.Scatter, bodies{f32: scatterAlong, f64: scatterAlong, i64: scatterAlong, loads: true})
	add(kernels.ScatterAdd, bodies{f32: scatterAdd, f64: scatterAdd, i64: scatterAdd, updates: true})
	for _, id := range []kernels.ID{kernels.ArgMax, kernels.ArgMin} {
		add(id, bodies{f32: argBest(id), f64: argBest(id), i64: argBest(id)})
	}
	add(kernels.MatMul, bodies{f32: matMul[float32], f64: matMul[float64], workspace: matMulWorkspace})
	add(kernels.Conv, bodies{f32: conv[float32], f64: conv[float64], workspace: convWorkspace})
	add(kernels.ConvGradInput, bodies{f32: convGradInput[float32], f64: convGradInput[float64], workspace: convGradInputWorkspace})
	add(kernels.ConvGradWeight, bodies{f32: convGradWeight[float32], f64: convGradWeight[float64], workspace: convGradWeightWorkspace})
	add(kernels.MaxPool, bodies{f32: maxPool[float32], f64: maxPool[float64]})
	add(kernels.MaxPoolGrad, bodies{f32: maxPoolGrad[float32], f64: maxPoolGrad[float64]})
	add(kernels.AvgPool, bodies{f32: avgPool[float32], f64: avgPool[float64]})
	add(kernels.AvgPoolGrad, bodies{f32: avgPoolGrad[float32], f64: avgPoolGrad[float64]})
	add(kernels.AdaptiveAvgPool, bodies{f32: adaptiveAvgPool[float32], f64: adaptiveAvgPool[float64]})
	add(kernels.AdaptiveAvgPoolGrad, bodies{f32: adaptiveAvgPoolGrad[float32], f64: adaptiveAvgPoolGrad[float64]})
	add(kernels.CrossEntropy, bodies{
		f32: crossEntropy[float32], f64: crossEntropy[float64], workspace: crossEntropyWorkspace})
	add(kernels.CrossEntropyGrad, bodies{f32: crossEntropyGrad[float32], f64: crossEntropyGrad[float64]})
	add(kernels.Attention, bodies{f32: attention[float32], f64: attention[float64], workspace: attentionWorkspace})
	add(kernels.AttentionGrad, bodies{f32: attentionGrad[float32], f64: attentionGrad[float64], workspace: attentionGradWorkspace})
	for id := kernels.Softmax; id <= kernels.LogSoftmaxGrad; id++ {
		add(id, bodies{f32: alongAxis[float32](id), f64: alongAxis[float64](id)})
	}
	for _, id := range []kernels.ID{kernels.LayerNorm, kernels.RMSNorm, kernels.GroupNorm} {
		add(id, bodies{f32: layerNorm[float32](id), f64: layerNorm[float64](id)})
	}
	for _, id := range []kernels.ID{kernels.LayerNormGrad, kernels.RMSNormGrad, kernels.GroupNormGrad} {
		add(id, bodies{f32: layerNormGrad[float32](id), f64: layerNormGrad[float64](id), workspace: layerNormGradWorkspace(id)})
	}
	add(kernels.BatchNorm, bodies{f32: channels[float32](kernels.BatchNorm, 0, batchNormChannel[float32]), f64: channels[float64](kernels.BatchNorm, 0, batchNormChannel[float64])})
	add(kernels.BatchNormInfer, bodies{f32: channels[float32](kernels.BatchNormInfer, 0, batchNormInferChannel[float32]), f64: channels[float64](kernels.BatchNormInfer, 0, batchNormInferChannel[float64])})
	add(kernels.BatchNormGrad, bodies{f32: channels[float32](kernels.BatchNormGrad, 1, batchNormGradChannel[float32]), f64: channels[float64](kernels.BatchNormGrad, 1, batchNormGradChannel[float64])})
	add(kernels.NLL, bodies{f32: nll[float32], f64: nll[float64]})
	add(kernels.NLLGrad, bodies{f32: nllGrad[float32], f64: nllGrad[float64]})
	add(kernels.SGDStep, bodies{f32: sgdStep[float32], f64: sgdStep[float64]})
	add(kernels.AdamWStep, bodies{f32: adamWStep[float32], f64: adamWStep[float64]})
	for id := kernels.Sequence; id <= kernels.Dropout; id++ {
		add(id, bodies{f32: numbered[float32](id), f64: numbered[float64](id), i64: numbered[int64](id), loads: true})
	}
	return t
}

// op returns the op that b is the bodies of.
func (b bodies) op(id kernels.ID) *kernels.Op {
	op := &kernels.Op{ID: id, DTypes: id.DTypes()}
	narrow := func(a *kernels.Args) bool { return !b.loads && widens(a) }
	op.Run = func(_ kernels.Queue, a *kernels.Args) error {
		if err := kernels.Check(id, id.DTypes(), a); err != nil {
			return err
		}
		if kernels.NothingToWrite(a) {
			return nil
		}
		if narrow(a) {
			return b.runWidened(id, a)
		}
		return b.run(id, a)
	}
	if b.workspace != nil || !b.loads {
		op.Workspace = func(a *kernels.Args) int64 {
			switch {
			case kernels.Check(id, id.DTypes(), a) != nil:
				return 0 // Run says what is wrong
			case narrow(a):
				return b.widenedWorkspace(a)
			case b.workspace != nil:
				return b.workspace(a)
			}
			return 0
		}
	}
	return op
}

// noBody says that there is none for inputs of this type.
func noBody(id kernels.ID, a *kernels.Args) error {
	return &kernels.Error{Op: id, Err: kernels.ErrDType, Detail: "in[0] " + a.In[0].String()}
}
