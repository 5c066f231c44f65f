package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

var (
	nllModule = declare("nll", 0)

	nllKernels     = byDType[kernel]{f32: nllModule.kernel("nll_f32"), f64: nllModule.kernel("nll_f64")}
	nllGradKernels = byDType[kernel]{f32: nllModule.kernel("nll_grad_f32"), f64: nllModule.kernel("nll_grad_f64")}
)

func (k *Kernels) nll(s cuda.Stream, a *kernels.Args) error {
	losses, norms, logp := &a.Out[0], &a.Out[1], &a.In[0]
	together := uint32(byThread)
	if a.Attr.Loss.Smoothing != 0 {
		together = shareRow(logp.Dims[1])
	}
	l, err := k.prepare(*nllKernels.of(losses.DType))
	if err != nil {
		return err
	}
	l.Ptr(cuda.DevicePtr(losses.Ptr)).Int64(losses.Strides[0]).Ptr(cuda.DevicePtr(norms.Ptr)).Int64(norms.Strides[0])
	l.Ptr(cuda.DevicePtr(logp.Ptr))
	return k.runLabels(l, s, kernels.NLL, a, logp, together)
}

func (k *Kernels) nllGrad(s cuda.Stream, a *kernels.Args) error {
	out, d := &a.Out[0], &a.In[0]
	l, err := k.prepare(*nllGradKernels.of(out.DType))
	if err != nil {
		return err
	}
	l.Ptr(cuda.DevicePtr(out.Ptr)).Ptr(cuda.DevicePtr(d.Ptr)).Int64(d.Strides[0])
	return k.runLabels(l, s, kernels.NLLGrad, a, out, shareRow(out.Dims[1]))
}

// runLabels adds the weights and struct Labels of nll.cu to the arguments, and
// launches; m is the matrix of a column a class.
func (k *Kernels) runLabels(l *cuda.Launch, s cuda.Stream, id kernels.ID, a *kernels.Args, m *kernels.View, together uint32) error {
	word, err := k.fault.address()
	if err != nil {
		return err
	}
	classes := &a.In[1]
	passAddresses(l, 1, a.In[2:])
	l.Int64(m.Dims[0]).Int64(m.Dims[1]).Int64(m.Strides[0]).Int64(m.Strides[1]).Int64(classes.Strides[0])
	passVectors(l, 1, a.In[2:])
	l.Ptr(cuda.DevicePtr(classes.Ptr)).Ptr(cuda.DevicePtr(word)).Int64(a.Attr.Loss.Ignore)
	passFloat(l, 8, a.Attr.Loss.Smoothing)
	l.Uint32(uint32(id)).Uint32(together)
	return l.Run(s, k.rowGrid(m.Dims[0], together))
}
