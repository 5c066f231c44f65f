package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

var (
	convModule = declare("conv", 0)

	convKernels = byDType[convolutions]{f32: convolutionsOf("f32"), f64: convolutionsOf("f64")}
)

type convolutions struct{ forward, input, weight kernel }

func convolutionsOf(dtype string) convolutions {
	return convolutions{
		forward: convModule.kernel("conv_" + dtype),
		input:   convModule.kernel("conv_grad_input_" + dtype),
		weight:  convModule.kernel("conv_grad_weight_" + dtype),
	}
}

const (
	convChannels     = 4   // CHANNELS of conv.cu
	convBlockThreads = 128 // and BLOCK
)

// passSide adds struct Side of conv.cu, an operand of four dims.
func passSide(l *cuda.Launch, v *kernels.View) *cuda.Launch {
	l.Ptr(cuda.DevicePtr(v.Ptr))
	for _, n := range v.Dims[:4] {
		l.Int64(n)
	}
	for _, s := range v.Strides[:4] {
		l.Int64(s)
	}
	return l
}

func passPairs(l *cuda.Launch, pairs ...[2]int) *cuda.Launch {
	for _, p := range pairs {
		l.Int64(int64(p[0])).Int64(int64(p[1]))
	}
	return l
}

// passConv adds struct Conv of conv.cu.
func passConv(l *cuda.Launch, x, w, y *kernels.View, bias []kernels.View, c *kernels.ConvAttr) *cuda.Launch {
	passSide(passSide(passSide(l, x), w), y)
	if len(bias) > 0 {
		l.Ptr(cuda.DevicePtr(bias[0].Ptr)).Int64(bias[0].Strides[0])
	} else {
		l.Ptr(0).Int64(0)
	}
	return passPairs(l, c.Stride, c.Padding, c.Dilation).Int64(int64(c.Groups))
}

// convThreads returns how many threads make v.
func convThreads(v *kernels.View, groups int64) int64 {
	return v.Dims[0] * groups * ceil(v.Dims[1]/groups, convChannels) * v.Dims[2] * v.Dims[3]
}

func (k *Kernels) conv(s cuda.Stream, a *kernels.Args) error {
	c, y := &a.Attr.Conv, &a.Out[0]
	l, err := k.prepare(convKernels.of(y.DType).forward)
	if err != nil {
		return err
	}
	return passConv(l, &a.In[0], &a.In[1], y, a.In[2:], c).Run(s, k.line(convThreads(y, int64(c.Groups))))
}

func (k *Kernels) convGradInput(s cuda.Stream, a *kernels.Args) error {
	c, x := &a.Attr.Conv, &a.Out[0]
	l, err := k.prepare(convKernels.of(x.DType).input)
	if err != nil {
		return err
	}
	return passConv(l, x, &a.In[1], &a.In[0], nil, c).Run(s, k.line(convThreads(x, int64(c.Groups))))
}

func (k *Kernels) convGradWeight(s cuda.Stream, a *kernels.Args) error {
	w := &a.Out[0]
	l, err := k.prepare(convKernels.of(w.DType).weight)
	if err != nil {
		return err
	}
	return passConv(l, &a.In[1], w, &a.In[0], nil, &a.Attr.Conv).Run(s, k.grid(w.Len(), convBlockThreads, 1))
}
