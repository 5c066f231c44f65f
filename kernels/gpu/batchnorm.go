package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

var (
	batchNormModule = declare("batchnorm", 0)

	batchNormKernels = byDType[batchNorms]{f32: batchNormsOf("f32"), f64: batchNormsOf("f64")}
)

type batchNorms struct{ momentParts, gradientParts, measured, given, gradients, apply, applyGrad kernel }

func batchNormsOf(dtype string) batchNorms {
	of := func(name string) kernel { return batchNormModule.kernel(name + "_" + dtype) }
	return batchNorms{of("moment_parts"), of("gradient_parts"), of("measured"), of("given"), of("gradients"), of("apply"), of("apply_grad")}
}

// planes are x [N,C,S] as batchnorm.cu goes through it: into how many chunks the
// examples are cut depends on the dims alone.
type planes struct {
	x                        *kernels.View
	examples, channels, size int64
	chunk, chunks            int64
	perGroup                 int64 // channels
	variance, centred        bool
	together                 uint32
}

// How many threads or warps keep a device busy, how many examples at least a
// chunk has for a thread, how many elements for a warp, and the most chunks.
const (
	busyThreads  = 1 << 16
	busyWarps    = 1 << 12
	threadLength = 16
	warpLength   = 1 << 10
	mostChunks   = 256
)

func planesOf(x *kernels.View) planes {
	p := planes{x: x, examples: x.Dims[0], channels: x.Dims[1], size: 1, perGroup: max(x.Dims[1], 1)}
	if x.Rank == 3 {
		p.size = x.Dims[2]
	}
	c := max(p.channels, 1)
	wanted, least := busyWarps/c, (warpLength+p.size-1)/max(p.size, 1)
	p.together = byWarp
	if p.size == 1 { // neighbouring threads have neighbouring channels
		p.together, wanted, least = byThread, busyThreads/c, threadLength
	}
	p.chunks = max(min(wanted, p.examples/max(least, 1), mostChunks), 1)
	p.chunk = (p.examples + p.chunks - 1) / p.chunks
	if p.chunk > 0 {
		p.chunks = (p.examples + p.chunk - 1) / p.chunk
	}
	if p.together == byWarp && p.chunk*p.size >= 8*longRow {
		p.together = byBlock
	}
	return p
}

// parts returns the bytes of the parts of the sums.
func (p *planes) parts() int64 { return p.chunks * p.channels * 16 }

// coefficientSize is how many elements struct Coefficients of batchnorm.cu has.
const coefficientSize = 5

// workspace returns the bytes of the parts and of the coefficients behind them.
func (p *planes) workspace(d kernels.DType) int64 {
	return p.parts() + p.channels*coefficientSize*d.Size()
}

// pass adds struct Planes to the arguments.
func (p *planes) pass(l *cuda.Launch, dy *kernels.View, mean []kernels.View, spread *kernels.View, eps float64) {
	l.Int64(p.examples).Int64(p.channels).Int64(p.size).Int64(p.chunk).Int64(p.chunks)
	passWideDivider(l, p.size)
	passStrides(l, 3, p.x)
	passStrides(l, 3, dy)
	statistic := func(v *kernels.View) {
		switch {
		case v == nil:
			l.Int64(0).Int64(0)
		case p.variance: // of the channels
			l.Int64(0)
			passStrides(l, 1, v)
		default:
			passStrides(l, 2, v)
		}
	}
	if len(mean) > 0 {
		statistic(&mean[0])
	} else {
		statistic(nil)
	}
	statistic(spread)
	passWideDivider(l, p.perGroup)
	passFloat(l, 8, eps)
	l.Uint32(bit(p.variance)).Uint32(bit(p.centred)).Uint32(p.together).Uint32(0)
}

// vectors are the operands of one element a channel.
type vectors struct {
	out, affine []kernels.View
	mean, vari  *kernels.View
}

// pass adds struct Vectors of batchnorm.cu to the arguments.
func (v *vectors) pass(l *cuda.Launch, a *kernels.Args, count int64) {
	var statistics []kernels.View
	if v.mean != nil {
		statistics = []kernels.View{*v.mean, *v.vari}
	}
	passAddresses(l, 4, v.out)
	passAddresses(l, 2, statistics)
	passAddresses(l, 2, v.affine)
	passVectors(l, 4, v.out)
	passVectors(l, 2, statistics)
	passVectors(l, 2, v.affine)
	passFloat(l, 8, a.Attr.Norm.Eps)
	passFloat(l, 8, a.Attr.Norm.Momentum)
	passFloat(l, 8, float64(count))
}

// batchNorm takes the statistics, makes coefficients of them for each channel,
// and applies those.
func (k *Kernels) batchNorm(s cuda.Stream, a *kernels.Args) error {
	x := &a.In[0]
	if x.Dims[1] == 0 {
		return nil
	}
	p, list := planesOf(x), batchNormKernels.of(a.Out[0].DType)
	l, err := k.prepare(list.momentParts)
	if err != nil {
		return err
	}
	l.Ptr(cuda.DevicePtr(a.Work.Ptr)).Ptr(cuda.DevicePtr(x.Ptr))
	p.pass(l, x, nil, nil, 0)
	if err := l.Run(s, k.rowGrid(p.channels*p.chunks, p.together)); err != nil {
		return err
	}
	if l, err = k.prepare(list.measured); err != nil {
		return err
	}
	coefficients := a.Work.Ptr + uintptr(p.parts())
	l.Ptr(cuda.DevicePtr(coefficients)).Ptr(cuda.DevicePtr(a.Work.Ptr))
	v := vectors{out: a.Out[1:], affine: a.In[1:]}
	v.pass(l, a, p.examples*p.size)
	p.pass(l, x, nil, nil, 0)
	if err := l.Run(s, k.line(p.channels)); err != nil {
		return err
	}
	return k.applyCoefficients(s, a, x, coefficients)
}

func batchNormWorkspace(k *Kernels, a *kernels.Args) int64 {
	p := planesOf(&a.In[0])
	return p.workspace(a.Out[0].DType)
}

func (k *Kernels) batchNormInfer(s cuda.Stream, a *kernels.Args) error {
	x := &a.In[0]
	l, err := k.prepare(batchNormKernels.of(a.Out[0].DType).given)
	if err != nil {
		return err
	}
	l.Ptr(cuda.DevicePtr(a.Work.Ptr)).Int64(x.Dims[1])
	v := vectors{mean: &a.In[1], vari: &a.In[2], affine: a.In[3:]}
	v.pass(l, a, 0)
	if err := l.Run(s, k.line(x.Dims[1])); err != nil {
		return err
	}
	return k.applyCoefficients(s, a, x, a.Work.Ptr)
}

func batchNormInferWorkspace(k *Kernels, a *kernels.Args) int64 {
	return a.In[0].Dims[1] * coefficientSize * a.Out[0].DType.Size()
}

// coefficientsOver returns the coefficients as an operand with the dims of x.
func coefficientsOver(x *kernels.View, at uintptr) kernels.View {
	c := kernels.View{Ptr: at, DType: x.DType, Rank: 3, Dims: x.Dims}
	c.Strides[1] = coefficientSize
	return c
}

func (k *Kernels) applyCoefficients(s cuda.Stream, a *kernels.Args, x *kernels.View, at uintptr) error {
	if x.Len() == 0 {
		return nil
	}
	l, err := k.prepare(batchNormKernels.of(a.Out[0].DType).apply)
	if err != nil {
		return err
	}
	c := coefficientsOver(x, at)
	w := walkOver(&a.Out[0], x, &c)
	for _, p := range w.ptrs[:3] {
		l.Ptr(cuda.DevicePtr(p))
	}
	return w.pass(l, true).Run(s, k.line(w.count))
}

// gradientParts leaves the parts of dw and db in the workspace.
func (k *Kernels) gradientParts(s cuda.Stream, a *kernels.Args, p *planes, mean []kernels.View, spread *kernels.View) error {
	if p.channels == 0 {
		return nil
	}
	l, err := k.prepare(batchNormKernels.of(a.Out[0].DType).gradientParts)
	if err != nil {
		return err
	}
	l.Ptr(cuda.DevicePtr(a.Work.Ptr)).Ptr(cuda.DevicePtr(a.In[0].Ptr)).Ptr(cuda.DevicePtr(p.x.Ptr))
	passAddresses(l, 1, mean)
	l.Ptr(cuda.DevicePtr(spread.Ptr))
	p.pass(l, &a.In[0], mean, spread, a.Attr.Norm.Eps)
	return l.Run(s, k.rowGrid(p.channels*p.chunks, p.together))
}

// joinGradients makes dw and db of the parts and, where there is a place for
// them, the coefficients of dx.
func (k *Kernels) joinGradients(s cuda.Stream, a *kernels.Args, p *planes, coefficients uintptr, mean, variance *kernels.View) error {
	if p.channels == 0 {
		return nil
	}
	l, err := k.prepare(batchNormKernels.of(a.Out[0].DType).gradients)
	if err != nil {
		return err
	}
	l.Ptr(cuda.DevicePtr(coefficients)).Ptr(cuda.DevicePtr(a.Work.Ptr))
	v := vectors{out: a.Out[1:], mean: mean, vari: variance}
	if coefficients != 0 {
		v.affine = a.In[4:]
	}
	v.pass(l, a, p.examples*p.size)
	p.pass(l, p.x, nil, nil, 0)
	l.Uint32(bit(!a.Attr.Norm.Given))
	return l.Run(s, k.line(p.channels))
}

func (k *Kernels) batchNormGrad(s cuda.Stream, a *kernels.Args) error {
	dy, x, mean, variance := &a.In[0], &a.In[1], &a.In[2], &a.In[3]
	p := planesOf(x)
	p.variance, p.centred, p.perGroup = true, true, 1
	if err := k.gradientParts(s, a, &p, a.In[2:3], variance); err != nil {
		return err
	}
	coefficients := a.Work.Ptr + uintptr(p.parts())
	if err := k.joinGradients(s, a, &p, coefficients, mean, variance); err != nil || x.Len() == 0 {
		return err
	}
	l, err := k.prepare(batchNormKernels.of(a.Out[0].DType).applyGrad)
	if err != nil {
		return err
	}
	c := coefficientsOver(x, coefficients)
	w := walkOver(&a.Out[0], dy, x, &c)
	for _, p := range w.ptrs[:4] {
		l.Ptr(cuda.DevicePtr(p))
	}
	l.Int64(int64(bit(!a.Attr.Norm.Given)))
	return w.pass(l, true).Run(s, k.line(w.count))
}

func batchNormGradWorkspace(k *Kernels, a *kernels.Args) int64 {
	p := planesOf(&a.In[1])
	return p.workspace(a.Out[0].DType)
}
