package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

var (
	lossModule = declare("loss", 0)

	lossKernels = byDType[losses]{f32: lossesOf("f32"), f64: lossesOf("f64")}
)

type losses struct{ rows, mean, grad kernel }

func lossesOf(dtype string) losses {
	return losses{
		rows: lossModule.kernel("cross_entropy_" + dtype + "_rows"),
		mean: lossModule.kernel("cross_entropy_" + dtype + "_mean"),
		grad: lossModule.kernel("cross_entropy_grad_" + dtype),
	}
}

// crossEntropy puts the loss of each row in the workspace, and then their mean
// in the output.
func (k *Kernels) crossEntropy(s cuda.Stream, a *kernels.Args) error {
	out, logits, classes := &a.Out[0], &a.In[0], &a.In[1]
	x := lossKernels.of(out.DType)
	if logits.Dims[0] > 0 {
		word, err := k.fault.address()
		if err != nil {
			return err
		}
		l, err := k.prepare(x.rows)
		if err != nil {
			return err
		}
		l.Ptr(cuda.DevicePtr(a.Work.Ptr)).Ptr(cuda.DevicePtr(logits.Ptr))
		if err := passLogits(l, kernels.CrossEntropy, logits, classes, word).Run(s, k.lossGrid(logits)); err != nil {
			return err
		}
	}
	l, err := k.prepare(x.mean)
	if err != nil {
		return err
	}
	l.Ptr(cuda.DevicePtr(out.Ptr)).Ptr(cuda.DevicePtr(a.Work.Ptr)).Int64(logits.Dims[0])
	passFloat(l, 8, 1/float64(logits.Dims[0]))
	return l.Run(s, cuda.Grid{Blocks: [3]uint32{1}, Threads: [3]uint32{warp, blockWarps}})
}

func (k *Kernels) crossEntropyWorkspace(a *kernels.Args) int64 { return a.In[0].Dims[0] * 8 }

func (k *Kernels) crossEntropyGrad(s cuda.Stream, a *kernels.Args) error {
	out, dloss, logits, classes := &a.Out[0], &a.In[0], &a.In[1], &a.In[2]
	word, err := k.fault.address()
	if err != nil {
		return err
	}
	l, err := k.prepare(lossKernels.of(out.DType).grad)
	if err != nil {
		return err
	}
	l.Ptr(cuda.DevicePtr(out.Ptr)).Int64(out.Strides[0]).Int64(out.Strides[1])
	passFloat(l, 8, 1/float64(logits.Dims[0]))
	l.Ptr(cuda.DevicePtr(dloss.Ptr)).Ptr(cuda.DevicePtr(logits.Ptr))
	return passLogits(l, kernels.CrossEntropyGrad, logits, classes, word).Run(s, k.lossGrid(logits))
}

// longRow is how many columns are enough for a block.
const longRow = 1024

// passLogits adds struct Logits of loss.cu to the arguments.
func passLogits(l *cuda.Launch, id kernels.ID, logits, classes *kernels.View, word uintptr) *cuda.Launch {
	l.Int64(logits.Dims[0]).Int64(logits.Dims[1])
	l.Int64(logits.Strides[0]).Int64(logits.Strides[1]).Int64(classes.Strides[0])
	l.Ptr(cuda.DevicePtr(classes.Ptr)).Ptr(cuda.DevicePtr(word))
	return l.Uint32(uint32(id)).Uint32(bit(logits.Dims[1] >= longRow))
}

func (k *Kernels) lossGrid(logits *kernels.View) cuda.Grid {
	blocks := logits.Dims[0]
	if logits.Dims[1] < longRow {
		blocks = (blocks + blockWarps - 1) / blockWarps
	}
	return k.grid(blocks, warp, blockWarps)
}
