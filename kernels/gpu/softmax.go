package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

var (
	softmaxModule = declare("softmax", 0)

	softmaxKernels     = byDType[kernel]{f32: softmaxModule.kernel("softmax_f32"), f64: softmaxModule.kernel("softmax_f64")}
	softmaxGradKernels = byDType[kernel]{f32: softmaxModule.kernel("softmax_grad_f32"), f64: softmaxModule.kernel("softmax_grad_f64")}
)

// softmax returns the body of a softmax or a gradient of one.
func softmax(id kernels.ID) func(*Kernels, cuda.Stream, *kernels.Args) error {
	list, log := &softmaxKernels, id == kernels.LogSoftmax || id == kernels.LogSoftmaxGrad
	if id == kernels.SoftmaxGrad || id == kernels.LogSoftmaxGrad {
		list = &softmaxGradKernels
	}
	return func(k *Kernels, s cuda.Stream, a *kernels.Args) error {
		axis := a.Attr.Axis
		firsts := [3]kernels.View{a.Out[0]}
		n := 1 + copy(firsts[1:], a.In)
		for i := range firsts[:n] {
			firsts[i].Dims[axis] = 1
		}
		w := walkOver(&firsts[0], &firsts[1])
		if n == 3 {
			w = walkOver(&firsts[0], &firsts[1], &firsts[2])
		}
		together := shareRow(a.Out[0].Dims[axis])
		if abs(a.Out[0].Strides[axis]) > abs(w.strides[0][0]) && w.count >= warp {
			together = byThread // neighbouring threads read neighbouring elements, of different lines
		}
		l, err := k.prepare(*list.of(a.Out[0].DType))
		if err != nil {
			return err
		}
		for _, p := range w.ptrs[:n] {
			l.Ptr(cuda.DevicePtr(p))
		}
		l.Int64(a.Out[0].Dims[axis])
		for i := range firsts {
			l.Int64(firsts[i].Strides[axis])
		}
		l.Uint32(together).Uint32(bit(log))
		return w.pass(l, true).Run(s, k.rowGrid(w.count, together))
	}
}
