package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

var (
	normModule = declare("norm", 0)

	layerNormKernels     = byDType[kernel]{f32: normModule.kernel("norm_f32"), f64: normModule.kernel("norm_f64")}
	layerNormGradKernels = byDType[kernel]{f32: normModule.kernel("norm_grad_f32"), f64: normModule.kernel("norm_grad_f64")}
)

// norm is the body of LayerNorm, RMSNorm and GroupNorm.
func (k *Kernels) norm(s cuda.Stream, a *kernels.Args) error {
	l, err := k.prepare(*layerNormKernels.of(a.Out[0].DType))
	if err != nil {
		return err
	}
	x, affine, mean, rstd := &a.In[0], a.In[1:], a.Out[1:2], &a.Out[len(a.Out)-1]
	passAddresses(l, 2, []kernels.View{a.Out[0], *x})
	passAddresses(l, 2, affine)
	centred := len(a.Out) == 3
	if !centred {
		mean = nil
	}
	passAddresses(l, 1, mean)
	l.Ptr(cuda.DevicePtr(rstd.Ptr))
	return k.runGroups(l, s, a, &a.Out[0], x, x, mean, rstd, affine)
}

// runGroups adds struct Groups of norm.cu to the arguments, and launches.
func (k *Kernels) runGroups(l *cuda.Launch, s cuda.Stream, a *kernels.Args, y, x, dy *kernels.View, mean []kernels.View, rstd *kernels.View, affine []kernels.View) error {
	per, size := int64(1), int64(1)
	if x.Rank == 3 {
		per, size = int64(a.Attr.Norm.Groups), x.Dims[2]
	}
	channels := x.Dims[1] / per
	rows, n := x.Dims[0]*per, channels*size
	l.Int64(rows).Int64(n)
	passWideDivider(l, per)
	passWideDivider(l, size)
	l.Int64(channels)
	for _, v := range []*kernels.View{y, x, dy} {
		passStrides(l, 3, v)
	}
	if len(mean) > 0 {
		passStrides(l, 2, &mean[0])
	} else {
		l.Int64(0).Int64(0)
	}
	passStrides(l, 2, rstd)
	passVectors(l, 2, affine)
	passFloat(l, 8, a.Attr.Norm.Eps)
	together := shareRow(n)
	l.Uint32(bit(len(mean) > 0)).Uint32(together)
	return l.Run(s, k.rowGrid(rows, together))
}

// normGrad returns the body of the gradient of one of them; centred: it has a
// mean.
func normGrad(centred bool) func(*Kernels, cuda.Stream, *kernels.Args) error {
	return func(k *Kernels, s cuda.Stream, a *kernels.Args) error {
		dy, x, mean, rstd, affine := &a.In[0], &a.In[1], a.In[2:2], &a.In[2], a.In[3:]
		if centred {
			mean, rstd, affine = a.In[2:3], &a.In[3], a.In[4:]
		}
		if x.Len() > 0 {
			l, err := k.prepare(*layerNormGradKernels.of(a.Out[0].DType))
			if err != nil {
				return err
			}
			passAddresses(l, 3, []kernels.View{a.Out[0], *dy, *x})
			passAddresses(l, 1, mean)
			l.Ptr(cuda.DevicePtr(rstd.Ptr))
			passAddresses(l, 1, affine)
			if err := k.runGroups(l, s, a, &a.Out[0], x, dy, mean, rstd, affine); err != nil {
				return err
			}
		}
		if len(a.Out) == 1 {
			return nil
		}
		p := planesOf(x)
		p.centred = centred
		if x.Rank == 3 {
			p.perGroup = x.Dims[1] / int64(a.Attr.Norm.Groups)
		}
		if err := k.gradientParts(s, a, &p, mean, rstd); err != nil {
			return err
		}
		return k.joinGradients(s, a, &p, 0, nil, nil)
	}
}

func normGradWorkspace(k *Kernels, a *kernels.Args) int64 {
	if len(a.Out) == 1 {
		return 0
	}
	p := planesOf(&a.In[1])
	return p.parts()
}
