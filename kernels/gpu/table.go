package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

// body is how the device does an op.
type body struct {
	// run queues the op. The arguments have been checked, the workspace is
	// there, and not all outputs are empty.
	run func(k *Kernels, s cuda.Stream, a *kernels.Args) error
	// workspace returns the bytes that run needs in Args.Work; nil: none.
	workspace func(k *Kernels, a *kernels.Args) int64
	// halves: run takes the half types too. Else, where the specification has
	// them, it gets float32 copies, see half.go.
	halves bool
	// updates: run reads what is in the outputs, or leaves some of it, also
	// without Attr.Accumulate.
	updates bool
}

// bodies are the ops by ID.
var bodies = withPacks([kernels.NumOps]body{
	kernels.Fill:     {run: (*Kernels).fill, halves: true},
	kernels.Copy:     {run: (*Kernels).copy, halves: true},
	kernels.Add:      {run: binary(kernels.Add), halves: true},
	kernels.Sub:      {run: binary(kernels.Sub), halves: true},
	kernels.Mul:      {run: binary(kernels.Mul), halves: true},
	kernels.Div:      {run: binary(kernels.Div), halves: true},
	kernels.ReLUGrad: {run: binary(kernels.ReLUGrad), halves: true},
	kernels.Affine:   {run: unary(kernels.Affine), halves: true},
	kernels.Exp:      {run: unary(kernels.Exp), halves: true},
	kernels.Log:      {run: unary(kernels.Log), halves: true},
	kernels.Sqrt:     {run: unary(kernels.Sqrt), halves: true},
	kernels.ReLU:     {run: unary(kernels.ReLU), halves: true},
	kernels.Sum:      reduceBy(&sumKernels, attrAlpha),
	kernels.Prod:     reduceBy(&prodKernels, always(0)),
	kernels.Max:      reduceBy(&maxKernels, straight),
	kernels.Min:      reduceBy(&maxKernels, turned),
	kernels.MaxGrad:  {run: (*Kernels).maxGrad, workspace: (*Kernels).maxGradWorkspace},
	kernels.ArgMax:   reduceArg(0),
	kernels.ArgMin:   reduceArg(1),
	kernels.Any:      reduceBy(&anyKernels, always(0)),
	kernels.All:      reduceBy(&anyKernels, always(1)),

	kernels.Var:       {run: (*Kernels).variance, workspace: (*Kernels).varianceWorkspace},
	kernels.LogSumExp: reduceBy(&logSumExpKernels, always(0)),
	kernels.Norm:      reduceBy(&normKernels, attrAlpha),

	kernels.CumSum:      scan(cumSumKernels),
	kernels.CumProd:     scan(cumProdKernels),
	kernels.CumProdGrad: scan(cumProdGradKernels),
	kernels.Sort:        {run: (*Kernels).sort, workspace: (*Kernels).sortWorkspace},
	kernels.SortGrad:    {run: (*Kernels).sortGrad},
	kernels.Gather:      {run: (*Kernels).gather, halves: true},
	kernels.Scatter:     {run: (*Kernels).scatter, halves: true, updates: true},
	kernels.ScatterAdd:  {run: (*Kernels).scatterAdd, updates: true},

	kernels.CrossEntropy:     {run: (*Kernels).crossEntropy, workspace: (*Kernels).crossEntropyWorkspace},
	kernels.CrossEntropyGrad: {run: (*Kernels).crossEntropyGrad},

	kernels.Attention:     {run: (*Kernels).attention},
	kernels.AttentionGrad: {run: (*Kernels).attentionGrad, workspace: (*Kernels).attentionGradWorkspace},

	kernels.Conv:                {run: (*Kernels).conv},
	kernels.ConvGradInput:       {run: (*Kernels).convGradInput},
	kernels.ConvGradWeight:      {run: (*Kernels).convGradWeight},
	kernels.MaxPool:             {run: (*Kernels).maxPool},
	kernels.MaxPoolGrad:         {run: (*Kernels).maxPoolGrad},
	kernels.AvgPool:             {run: (*Kernels).avgPool},
	kernels.AvgPoolGrad:         {run: (*Kernels).avgPoolGrad},
	kernels.AdaptiveAvgPool:     {run: (*Kernels).adaptiveAvgPool},
	kernels.AdaptiveAvgPoolGrad: {run: (*Kernels).adaptiveAvgPoolGrad},

	kernels.Softmax:        {run: softmax(kernels.Softmax)},
	kernels.LogSoftmax:     {run: softmax(kernels.LogSoftmax)},
	kernels.SoftmaxGrad:    {run: softmax(kernels.SoftmaxGrad)},
	kernels.LogSoftmaxGrad: {run: softmax(kernels.LogSoftmaxGrad)},
	kernels.LayerNorm:      {run: (*Kernels).norm},
	kernels.RMSNorm:        {run: (*Kernels).norm},
	kernels.GroupNorm:      {run: (*Kernels).norm},
	kernels.LayerNormGrad:  {run: normGrad(true), workspace: normGradWorkspace},
	kernels.RMSNormGrad:    {run: normGrad(false), workspace: normGradWorkspace},
	kernels.GroupNormGrad:  {run: normGrad(true), workspace: normGradWorkspace},
	kernels.BatchNorm:      {run: (*Kernels).batchNorm, workspace: batchNormWorkspace},
	kernels.BatchNormInfer: {run: (*Kernels).batchNormInfer, workspace: batchNormInferWorkspace},
	kernels.BatchNormGrad:  {run: (*Kernels).batchNormGrad, workspace: batchNormGradWorkspace},
	kernels.NLL:            {run: (*Kernels).nll},
	kernels.NLLGrad:        {run: (*Kernels).nllGrad},

	kernels.SGDStep:   {run: (*Kernels).sgdStep, updates: true},
	kernels.AdamWStep: {run: (*Kernels).adamWStep, updates: true},
	kernels.MatMul:    {run: (*Kernels).matMul, workspace: (*Kernels).matMulWorkspace},

	kernels.Where: {run: (*Kernels).where, halves: true},

	kernels.Sequence:      {run: (*Kernels).sequence, halves: true},
	kernels.RandomUniform: {run: (*Kernels).randomUniform, halves: true},
	kernels.RandomNormal:  {run: (*Kernels).randomNormal},
	kernels.RandomInt:     {run: (*Kernels).randomInt},
	kernels.Bernoulli:     {run: (*Kernels).bernoulli},
	kernels.Dropout:       {run: (*Kernels).dropout, halves: true},
})

// withPacks adds the ops of packs that all has not.
func withPacks(all [kernels.NumOps]body) [kernels.NumOps]body {
	for _, p := range []*packs{maps, zips, comparisons} {
		for _, id := range p.ids {
			if all[id].run == nil {
				all[id] = body{run: p.run(id), halves: true}
			}
		}
	}
	return all
}

func (k *Kernels) makeTable() kernels.Table {
	var t kernels.Table
	for id := range kernels.ID(kernels.NumOps) {
		if bodies[id].run != nil {
			t[id] = k.makeOp(id, &bodies[id])
		}
	}
	return t
}

func (k *Kernels) makeOp(id kernels.ID, b *body) *kernels.Op {
	op := &kernels.Op{ID: id, DTypes: id.DTypes()}
	op.Workspace = func(a *kernels.Args) int64 {
		if b.workspace == nil && !b.inFloats(a) || kernels.Check(id, op.DTypes, a) != nil || kernels.NothingToWrite(a) {
			return 0 // Run says what is wrong, or does nothing
		}
		return k.workspace(b, a)
	}
	op.Run = func(q kernels.Queue, a *kernels.Args) error {
		if err := kernels.Check(id, op.DTypes, a); err != nil || kernels.NothingToWrite(a) {
			return err
		}
		if a.Work.Ptr == 0 && k.workspace(b, a) > 0 {
			return &kernels.Error{Op: id, Err: kernels.ErrAddress, Detail: "no workspace"}
		}
		if b.inFloats(a) {
			return k.runInFloats(q.Stream(), b, a)
		}
		return b.run(k, q.Stream(), a)
	}
	return op
}

// workspace returns the bytes that the op needs for arguments that have been
// checked.
func (k *Kernels) workspace(b *body, a *kernels.Args) int64 {
	if b.inFloats(a) {
		return k.workspaceInFloats(b, a)
	}
	if b.workspace == nil {
		return 0
	}
	return b.workspace(k, a)
}
