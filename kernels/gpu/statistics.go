package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

var (
	varianceModule  = declare("variance", 0)
	logSumExpModule = declare("logsumexp", 0)

	varKernels = reducers{
		kernels.Float32: varianceModule.wideReducer("var_f32", 24), kernels.Float64: varianceModule.wideReducer("var_f64", 24),
	}
	logSumExpKernels = reducers{
		kernels.Float32: logSumExpModule.wideReducer("logsumexp_f32", 16), kernels.Float64: logSumExpModule.wideReducer("logsumexp_f64", 16),
	}
	normKernels = reducers{
		kernels.Float32: logSumExpModule.wideReducer("norm_f32", 8), kernels.Float64: logSumExpModule.wideReducer("norm_f64", 8),
	}
)

// variance makes the means, and then the variances relative to them.
func (k *Kernels) variance(s cuda.Stream, a *kernels.Args) error {
	x, d := &a.In[0], a.In[0].DType
	mean := reduceDims(&a.Out[1], x, nil)
	n := mean.reduced.count
	if err := k.reduce(s, sumKernels.of(d), &mean, a.Work.Ptr, 1/float64(n), false); err != nil {
		return err
	}
	r := reduceDims(&a.Out[0], x, &a.Out[1])
	return k.reduce(s, varKernels.of(d), &r, a.Work.Ptr, a.Attr.Correction, false)
}

func (k *Kernels) varianceWorkspace(a *kernels.Args) int64 {
	mean, r := reduceDims(&a.Out[1], &a.In[0], nil), reduceDims(&a.Out[0], &a.In[0], &a.Out[1])
	return max(mean.parts(sumKernels.of(a.In[0].DType)), r.parts(varKernels.of(a.In[0].DType)))
}
