package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

var (
	maxModule = declare("max", 0)

	maxKernels = reducers{
		kernels.Float32: maxModule.reducer("max_f32", 4), kernels.Float64: maxModule.reducer("max_f64", 8),
		kernels.Int64: reduceIntModule.wideReducer("max_i64", 8), kernels.Int32: reduceIntModule.wideReducer("max_i32", 4),
		kernels.Uint8: reduceIntModule.wideReducer("max_u8", 4),
	}
	argMaxKernels = reducers{
		kernels.Float32: maxModule.reducer("argmax_f32", 16), kernels.Float64: maxModule.reducer("argmax_f64", 16),
		kernels.Int64: reduceIntModule.wideReducer("argmax_i64", 16), kernels.Int32: reduceIntModule.wideReducer("argmax_i32", 16),
		kernels.Uint8: reduceIntModule.wideReducer("argmax_u8", 16),
	}
	countKernels = reducers{kernels.Float32: maxModule.reducer("count_f32", 8), kernels.Float64: maxModule.reducer("count_f64", 8)}

	maxGradKernels = byDType[layouts]{f32: maxGradLayouts("max_grad_f32"), f64: maxGradLayouts("max_grad_f64")}
)

func maxGradLayouts(name string) layouts {
	return layouts{index32: maxModule.kernel(name + "_index32"), index64: maxModule.kernel(name + "_index64")}
}

// The alpha of Max and Min, of ArgMax and ArgMin: whether elements are turned.
var (
	straight = always(0)
	turned   = always(1)
)

// reduceArg returns the body of ArgMax or ArgMin.
func reduceArg(alpha float64) body {
	return body{
		run: func(k *Kernels, s cuda.Stream, a *kernels.Args) error {
			r := reduceAxis(&a.Out[0], &a.In[0], a.Attr.Axis)
			return k.reduce(s, argMaxKernels.of(a.In[0].DType), &r, a.Work.Ptr, alpha, false)
		},
		workspace: func(_ *Kernels, a *kernels.Args) int64 {
			r := reduceAxis(&a.Out[0], &a.In[0], a.Attr.Axis)
			return r.parts(argMaxKernels.of(a.In[0].DType))
		},
	}
}

// maxGrad counts the maxima of each output of Max, into the workspace, and then
// shares dy out.
func (k *Kernels) maxGrad(s cuda.Stream, a *kernels.Args) error {
	dx, dy, x, top := &a.Out[0], &a.In[0], &a.In[1], &a.In[2]
	counts := countsOf(top, a.Work.Ptr)
	r := reduceDims(&counts, x, top)
	parts := a.Work.Ptr + uintptr(counts.Len()*8)
	if err := k.reduce(s, countKernels.of(x.DType), &r, parts, 0, false); err != nil {
		return err
	}
	dy2, top2 := expand(dy, x), expand(top, x)
	counts = expand(&counts, x)
	w := walkOver(dx, &dy2, x, &top2, &counts)
	wide := k.isWide(w.count)
	l, err := k.prepare(maxGradKernels.of(x.DType).index(wide))
	if err != nil {
		return err
	}
	for _, p := range w.ptrs {
		l.Ptr(cuda.DevicePtr(p))
	}
	return w.pass(l, wide).Run(s, k.line(w.count))
}

func (k *Kernels) maxGradWorkspace(a *kernels.Args) int64 {
	x, top := &a.In[1], &a.In[2]
	counts := countsOf(top, 0)
	r := reduceDims(&counts, x, top)
	return counts.Len()*8 + r.parts(countKernels.of(x.DType))
}

// countsOf returns a dense int64 operand with the dims of v at ptr.
func countsOf(v *kernels.View, ptr uintptr) kernels.View {
	c := kernels.View{Ptr: ptr, DType: kernels.Int64, Rank: v.Rank, Dims: v.Dims}
	stride := int64(1)
	for d := int(v.Rank) - 1; d >= 0; d-- {
		c.Strides[d] = stride
		stride *= v.Dims[d]
	}
	return c
}

// expand returns v with the dims of to, repeating it along those where it is 1.
func expand(v, to *kernels.View) kernels.View {
	e := *v
	for d, n := range to.Dims[:to.Rank] {
		if v.Dims[d] != n {
			e.Dims[d], e.Strides[d] = n, 0
		}
	}
	return e
}
