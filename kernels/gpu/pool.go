package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

var (
	poolModule = declare("pool", 0)

	poolKernels = byDType[poolings]{f32: poolingsOf("f32"), f64: poolingsOf("f64")}
)

type poolings struct{ max, maxGrad, avg, avgGrad kernel }

func poolingsOf(dtype string) poolings {
	return poolings{
		max:     poolModule.kernel("max_pool_" + dtype),
		maxGrad: poolModule.kernel("max_pool_grad_" + dtype),
		avg:     poolModule.kernel("avg_pool_" + dtype),
		avgGrad: poolModule.kernel("avg_pool_grad_" + dtype),
	}
}

// pooling is struct Pool of pool.cu; indices may be nil.
type pooling struct {
	x, y, indices *kernels.View
	attr          *kernels.PoolAttr // nil for bins
}

// run queues a kernel that makes out.
func (p *pooling) run(k *Kernels, s cuda.Stream, x kernel, out *kernels.View) error {
	l, err := k.prepare(x)
	if err != nil {
		return err
	}
	indices, attr := p.indices, p.attr
	if indices == nil {
		indices = &kernels.View{}
	}
	if attr == nil {
		attr = &kernels.PoolAttr{}
	}
	passSide(passSide(passSide(l, p.x), p.y), indices)
	passPairs(l, attr.Kernel, attr.Stride, attr.Padding, attr.Dilation)
	l.Int64(int64(bit(attr.CountIncludePad))).Int64(int64(bit(p.attr == nil)))
	return l.Run(s, k.line(out.Len()))
}

func (k *Kernels) maxPool(s cuda.Stream, a *kernels.Args) error {
	p := pooling{x: &a.In[0], y: &a.Out[0], indices: &a.Out[1], attr: &a.Attr.Pool}
	return p.run(k, s, poolKernels.of(p.y.DType).max, p.y)
}

func (k *Kernels) maxPoolGrad(s cuda.Stream, a *kernels.Args) error {
	p := pooling{x: &a.Out[0], y: &a.In[0], indices: &a.In[1], attr: &a.Attr.Pool}
	return p.run(k, s, poolKernels.of(p.x.DType).maxGrad, p.x)
}

func (k *Kernels) avgPool(s cuda.Stream, a *kernels.Args) error {
	p := pooling{x: &a.In[0], y: &a.Out[0], attr: &a.Attr.Pool}
	return p.run(k, s, poolKernels.of(p.y.DType).avg, p.y)
}

func (k *Kernels) avgPoolGrad(s cuda.Stream, a *kernels.Args) error {
	p := pooling{x: &a.Out[0], y: &a.In[0], attr: &a.Attr.Pool}
	return p.run(k, s, poolKernels.of(p.x.DType).avgGrad, p.x)
}

func (k *Kernels) adaptiveAvgPool(s cuda.Stream, a *kernels.Args) error {
	p := pooling{x: &a.In[0], y: &a.Out[0]}
	return p.run(k, s, poolKernels.of(p.y.DType).avg, p.y)
}

func (k *Kernels) adaptiveAvgPoolGrad(s cuda.Stream, a *kernels.Args) error {
	p := pooling{x: &a.Out[0], y: &a.In[0]}
	return p.run(k, s, poolKernels.of(p.x.DType).avgGrad, p.x)
}
