package gpu

import (
	"math"

	"tarn/cuda"
	"tarn/kernels"
)

var (
	elementwiseModule = declare("elementwise", 0)
	elementwise       = elementwiseKernels()
)

// own are the element types for which the ops of training have kernels of their
// own, with the three layouts.
const own = kernels.Wides | 1<<kernels.Int64

// elementwiseKernels returns the kernels of each elementwise op, by dtype.
func elementwiseKernels() (all [kernels.NumOps]byDType[layouts]) {
	for _, id := range []kernels.ID{
		kernels.Add, kernels.Sub, kernels.Mul, kernels.Div, kernels.ReLUGrad,
		kernels.Affine, kernels.Exp, kernels.Log, kernels.Sqrt, kernels.ReLU,
	} {
		for _, d := range (id.DTypes() & own).List() {
			*all[id].of(d) = elementwiseModule.layouts(id.String() + "_" + suffix(d))
		}
	}
	return all
}

// binary and unary return the run of an elementwise op for the element types
// that it has kernels for; others go to packs.

func binary(id kernels.ID) func(*Kernels, cuda.Stream, *kernels.Args) error {
	others := zips.run(id)
	return func(k *Kernels, s cuda.Stream, a *kernels.Args) error {
		if !own.Has(a.Out[0].DType) {
			return others(k, s, a)
		}
		w := walkOver(&a.Out[0], &a.In[0], &a.In[1])
		return k.elements(s, elementwise[id].of(a.Out[0].DType), &w, 16/w.sizes[0], nil)
	}
}

func unary(id kernels.ID) func(*Kernels, cuda.Stream, *kernels.Args) error {
	others := maps.run(id)
	return func(k *Kernels, s cuda.Stream, a *kernels.Args) error {
		if !own.Has(a.Out[0].DType) {
			return others(k, s, a)
		}
		w := walkOver(&a.Out[0], &a.In[0])
		return k.elements(s, elementwise[id].of(a.Out[0].DType), &w, 16/w.sizes[0], &a.Attr)
	}
}

// elements queues the kernel of list that fits w; that of vectors takes width
// elements at a time. Unless attr is nil, kernels take its Alpha and Beta in
// the element type.
func (k *Kernels) elements(s cuda.Stream, list *layouts, w *walk, width int64, attr *kernels.Attr) error {
	l, threads, err := k.walking(list, w, width)
	if err != nil {
		return err
	}
	if attr != nil {
		passFloat(l, w.sizes[0], attr.Alpha)
		passFloat(l, w.sizes[0], attr.Beta)
	}
	return l.Run(s, k.line(threads))
}

// walking begins the launch of the kernel of list that fits w: that of vectors
// takes width elements at a time. The operands and how to walk through them are
// its first arguments. threads are those that have something to do.
func (k *Kernels) walking(list *layouts, w *walk, width int64) (l *cuda.Launch, threads int64, err error) {
	count, splat := w.count, w.splat()
	vectors := false
	if w.inVectors(width) {
		if short := w.vectors(width); !k.isWide(short.count) {
			vectors, w = true, &short
		}
	}
	wide := !vectors && k.isWide(count)
	x := list.vectors
	if !vectors {
		x = list.index(wide)
	}
	if l, err = k.prepare(x); err != nil {
		return nil, 0, err
	}
	for _, p := range w.ptrs[:w.operands] {
		l.Ptr(cuda.DevicePtr(p))
	}
	if vectors {
		w.pass(l.Int64(count), false).Uint32(splat)
	} else {
		w.pass(l, wide)
	}
	return l, w.count, nil
}

// splat has bit j set where operand j is one element along the innermost dim.
func (w *walk) splat() uint32 {
	mask := uint32(0)
	for j := range w.operands {
		if w.strides[j][0] == 0 {
			mask |= 1 << j
		}
	}
	return mask
}

// passFloat adds x to the arguments as a float of size bytes.
func passFloat(l *cuda.Launch, size int64, x float64) {
	if size == 4 {
		l.Float32(float32(x))
	} else {
		l.Uint64(math.Float64bits(x))
	}
}
