package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

// body is how the device does an op.
type body struct {
	// run queues the op. The arguments have been checked, the workspace is
	// there, and the first output is not empty where the op has one output.
	run func(k *Kernels, s cuda.Stream, a *kernels.Args) error
	// workspace returns the bytes that run needs in Args.Work; nil: none.
	workspace func(k *Kernels, a *kernels.Args) int64
}

// bodies are the ops by ID.
var bodies = [kernels.NumOps]body{
	kernels.Fill:     {run: (*Kernels).fill},
	kernels.Copy:     {run: (*Kernels).copy},
	kernels.Add:      {run: binary(kernels.Add)},
	kernels.Sub:      {run: binary(kernels.Sub)},
	kernels.Mul:      {run: binary(kernels.Mul)},
	kernels.Div:      {run: binary(kernels.Div)},
	kernels.ReLUGrad: {run: binary(kernels.ReLUGrad)},
	kernels.Affine:   {run: unary(kernels.Affine)},
	kernels.Exp:      {run: unary(kernels.Exp)},
	kernels.Log:      {run: unary(kernels.Log)},
	kernels.Sqrt:     {run: unary(kernels.Sqrt)},
	kernels.ReLU:     {run: unary(kernels.ReLU)},
	kernels.Sum:      {run: (*Kernels).sum, workspace: (*Kernels).sumWorkspace},
	kernels.Max:      {run: (*Kernels).max, workspace: (*Kernels).maxWorkspace},
	kernels.MaxGrad:  {run: (*Kernels).maxGrad, workspace: (*Kernels).maxGradWorkspace},
	kernels.ArgMax:   {run: (*Kernels).argMax, workspace: (*Kernels).argMaxWorkspace},

	kernels.CrossEntropy:     {run: (*Kernels).crossEntropy, workspace: (*Kernels).crossEntropyWorkspace},
	kernels.CrossEntropyGrad: {run: (*Kernels).crossEntropyGrad},

	kernels.SGDStep:   {run: (*Kernels).sgdStep},
	kernels.AdamWStep: {run: (*Kernels).adamWStep},
	kernels.MatMul:    {run: (*Kernels).matMul, workspace: (*Kernels).matMulWorkspace},
}

// have are the element types that there are kernels for.
const have = kernels.Wides | 1<<kernels.Int64

func (k *Kernels) makeTable() kernels.Table {
	var t kernels.Table
	for id := range kernels.ID(kernels.NumOps) {
		b := &bodies[id]
		if b.run == nil {
			continue
		}
		op := &kernels.Op{ID: id, DTypes: id.DTypes() & have}
		op.Run = func(q kernels.Queue, a *kernels.Args) error { return k.run(id, b, q, a) }
		if b.workspace != nil {
			op.Workspace = func(a *kernels.Args) int64 {
				if kernels.Check(id, id.DTypes()&have, a) != nil || a.Out[0].Len() == 0 {
					return 0 // Run says what is wrong, or does nothing
				}
				return b.workspace(k, a)
			}
		}
		t[id] = op
	}
	return t
}

func (k *Kernels) run(id kernels.ID, b *body, q kernels.Queue, a *kernels.Args) error {
	if err := kernels.Check(id, id.DTypes()&have, a); err != nil {
		return err
	}
	if id != kernels.SGDStep && id != kernels.AdamWStep && a.Out[0].Len() == 0 {
		return nil
	}
	if b.workspace != nil && a.Work.Ptr == 0 && b.workspace(k, a) > 0 {
		return &kernels.Error{Op: id, Err: kernels.ErrAddress, Detail: "no workspace"}
	}
	return b.run(k, q.Stream(), a)
}
