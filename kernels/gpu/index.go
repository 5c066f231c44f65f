package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

var (
	indexModule = declare("index", 0)

	// By the bits of an element, which is moved as it is.
	gathers = bySize[layouts]{
		indexModule.layouts("gather_b8"), indexModule.layouts("gather_b16"),
		indexModule.layouts("gather_b32"), indexModule.layouts("gather_b64"),
	}
	scatters = bySize[kernel]{
		indexModule.kernel("scatter_b8"), indexModule.kernel("scatter_b16"),
		indexModule.kernel("scatter_b32"), indexModule.kernel("scatter_b64"),
	}
	scatterAdds = byDType[kernel]{
		f32: indexModule.kernel("scatter_add_f32"), f64: indexModule.kernel("scatter_add_f64"),
		i64: indexModule.kernel("scatter_add_i64"), i32: indexModule.kernel("scatter_add_i32"), u8: indexModule.kernel("scatter_add_u8"),
	}
)

// gather does Gather. Where an index is one for 16 bytes of the output and of the
// input they are moved at once.
func (k *Kernels) gather(s cuda.Stream, a *kernels.Args) error {
	axis := a.Attr.Axis
	rows := a.In[0]
	rows.Dims[axis], rows.Strides[axis] = a.Out[0].Dims[axis], 0
	w := walkOver(&a.Out[0], &rows, &a.In[1])
	width := 16 / w.sizes[0]
	stride := a.In[0].Strides[axis]
	list, grid := gathers.of(w.sizes[0]), k.line(w.count)
	wide := k.isWide(w.count)
	x := list.index(wide)
	if w.strides[1][0] == 1 && w.strides[2][0] == 0 && w.dims[0]%width == 0 && w.inVectors(width) && (stride%width == 0 || a.In[0].Dims[axis] == 1) {
		if short := w.vectors(width); !k.isWide(short.count) {
			w, x, wide, grid = short, list.vectors, false, k.line(short.count)
		}
	}
	l, err := k.prepare(x)
	if err != nil {
		return err
	}
	if err := k.passPlaces(l, kernels.Gather, &w, stride, a.In[0].Dims[axis], 1); err != nil {
		return err
	}
	return w.pass(l, wide).Run(s, grid)
}

// passPlaces adds the addresses of the walk's operands and struct Places of
// index.cu.
func (k *Kernels) passPlaces(l *cuda.Launch, id kernels.ID, w *walk, stride, n, parts int64) error {
	word, err := k.fault.address()
	if err != nil {
		return err
	}
	for _, p := range w.ptrs[:w.operands] {
		l.Ptr(cuda.DevicePtr(p))
	}
	l.Int64(stride).Int64(n).Ptr(cuda.DevicePtr(word)).Uint32(uint32(id)).Uint32(uint32(parts))
	return nil
}

func (k *Kernels) scatter(s cuda.Stream, a *kernels.Args) error {
	return k.scatterBy(s, kernels.Scatter, *scatters.of(a.Out[0].DType.Size()), a)
}

func (k *Kernels) scatterAdd(s cuda.Stream, a *kernels.Args) error {
	return k.scatterBy(s, kernels.ScatterAdd, *scatterAdds.of(a.Out[0].DType), a)
}

// scatterBy queues x with a thread for each place beside the axis or, where these
// are too few for a device, as many for each as may get to write.
func (k *Kernels) scatterBy(s cuda.Stream, id kernels.ID, x kernel, a *kernels.Args) error {
	const enough, most = 1 << 15, 1 << 10
	out, in, index, axis := a.Out[0], a.In[0], a.In[1], a.Attr.Axis
	if in.Len() == 0 {
		return nil
	}
	n, length := out.Dims[axis], in.Dims[axis]
	out.Dims[axis], in.Dims[axis], index.Dims[axis] = 1, 1, 1
	w := walkOver(&out, &in, &index)
	parts := int64(1)
	for parts < most && 2*parts <= min(n, length) && 2*parts*w.count <= enough {
		parts *= 2
	}
	l, err := k.prepare(x)
	if err != nil {
		return err
	}
	if err := k.passPlaces(l, id, &w, out.Strides[axis], n, parts); err != nil {
		return err
	}
	l.Int64(in.Strides[axis]).Int64(index.Strides[axis]).Int64(length)
	return w.pass(l, true).Run(s, k.line(w.count*parts))
}
