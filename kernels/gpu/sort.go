package gpu

import (
	"math"
	"math/bits"

	"tarn/cuda"
	"tarn/kernels"
)

var (
	sortModule = declare("sort", 0)

	mergeKernel = sortModule.kernel("merge")
	sortKernels = sortsByType("f32", "f64", "i64", "i32", "u8")

	scatterKernels = map[kernels.DType]kernel{
		kernels.Float32: sortModule.kernel("scatter_f32"), kernels.Float64: sortModule.kernel("scatter_f64"),
	}
)

// sorter is the kernels of Sort for one dtype.
type sorter struct{ tiles, pick kernel }

func sortsByType(types ...string) (x [kernels.Uint8 + 1]sorter) {
	for _, t := range types {
		x[scanTypes[t]] = sorter{tiles: sortModule.kernel("tiles_" + t), pick: sortModule.kernel("pick_" + t)}
	}
	return x
}

// sortTile is how many elements of a row are sorted in shared memory at most.
const sortTile = 1024

// entries are the keys and indices of all elements, in the workspace.
type entries struct{ keys, indices uintptr }

const entrySize = 8 + 4

func (e entries) pass(l *cuda.Launch) {
	l.Ptr(cuda.DevicePtr(e.keys)).Ptr(cuda.DevicePtr(e.indices))
}

func (k *Kernels) sortWorkspace(a *kernels.Args) int64 {
	n := a.In[0].Len()
	if a.In[0].Dims[a.Attr.Axis] > sortTile {
		return 2 * n * entrySize // a merge goes from one to the other
	}
	return n * entrySize
}

func (k *Kernels) sort(s cuda.Stream, a *kernels.Args) error {
	axis := a.Attr.Axis
	in, values, indices := &a.In[0], &a.Out[0], &a.Out[1]
	n, count := in.Dims[axis], in.Len()
	w := rowsOf(axis, in, values, indices)
	d := in.DType
	if d == kernels.Bool {
		d = kernels.Uint8
	}
	from := entries{a.Work.Ptr, a.Work.Ptr + uintptr(8*count)}
	to := entries{from.indices, from.indices + uintptr(8*count)}
	if n > sortTile { // both keys first, which are aligned to 8
		to.keys = a.Work.Ptr + uintptr(8*count)
		from.indices = to.keys + uintptr(8*count)
		to.indices = from.indices + uintptr(4*count)
	}
	rows := func(l *cuda.Launch) {
		for _, p := range w.ptrs[:3] {
			l.Ptr(cuda.DevicePtr(p))
		}
		for _, v := range []*kernels.View{in, values, indices} {
			l.Int64(v.Strides[axis])
		}
		l.Int64(n).Int64(values.Dims[axis])
	}

	size := min(int64(1)<<bits.Len64(uint64(n-1)), sortTile)
	l, err := k.prepare(sortKernels[d].tiles)
	if err != nil {
		return err
	}
	rows(l)
	from.pass(l)
	flip := uint64(0)
	if a.Attr.Descending {
		flip = math.MaxUint64
	}
	l.Uint64(flip).Int64(size)
	tiles := w.count * ((n + size - 1) / size)
	if err := w.pass(l, true).Run(s, k.grid(tiles, uint32(min(max(size/2, 32), blockThreads)), 1)); err != nil {
		return err
	}
	for run := size; run < n; run *= 2 {
		if l, err = k.prepare(mergeKernel); err != nil {
			return err
		}
		from.pass(l)
		to.pass(l)
		if err := l.Int64(n).Int64(count).Int64(run).Run(s, k.line(count)); err != nil {
			return err
		}
		from, to = to, from
	}
	if l, err = k.prepare(sortKernels[d].pick); err != nil {
		return err
	}
	rows(l)
	from.pass(l)
	return w.pass(l, true).Run(s, k.line(w.count*values.Dims[axis]))
}

// sortGrad fills the output with 0 and then writes what is chosen.
func (k *Kernels) sortGrad(s cuda.Stream, a *kernels.Args) error {
	zero := kernels.NewArgs()
	defer zero.Put()
	zero.Out = append(zero.Out, a.Out[0])
	if err := k.fill(s, zero); err != nil || a.In[0].Len() == 0 {
		return err
	}
	axis := a.Attr.Axis
	rows := a.Out[0]
	rows.Dims, rows.Strides[axis] = a.In[0].Dims, 0
	w := walkOver(&a.In[0], &a.In[1], &rows)
	l, err := k.prepare(scatterKernels[rows.DType])
	if err != nil {
		return err
	}
	l.Ptr(cuda.DevicePtr(w.ptrs[2])).Ptr(cuda.DevicePtr(w.ptrs[0])).Ptr(cuda.DevicePtr(w.ptrs[1]))
	l.Int64(a.Out[0].Strides[axis]).Int64(a.Out[0].Dims[axis])
	return w.pass(l, true).Run(s, k.line(w.count))
}
