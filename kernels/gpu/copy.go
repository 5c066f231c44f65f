package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

var (
	copyModule = declare("copy", 0)

	// By the bits of an element, which is moved as it is.
	copies = bySize[layouts]{
		copyModule.layouts("copy_b8"), copyModule.layouts("copy_b16"),
		copyModule.layouts("copy_b32"), copyModule.layouts("copy_b64"),
	}
	transposes = bySize[kernel]{
		copyModule.kernel("transpose_b8"), copyModule.kernel("transpose_b16"),
		copyModule.kernel("transpose_b32"), copyModule.kernel("transpose_b64"),
	}
)

// copy does Copy.
func (k *Kernels) copy(s cuda.Stream, a *kernels.Args) error { return k.copyTo(s, &a.Out[0], &a.In[0]) }

// copyTo copies the elements of in, converted, to out, which has its dims and
// is not empty.
func (k *Kernels) copyTo(s cuda.Stream, out, in *kernels.View) error {
	w := walkOver(out, in)
	if out.DType != in.DType && !(out.DType == kernels.Uint8 && in.DType == kernels.Bool) {
		return k.convert(s, &w, out.DType, in.DType)
	}
	if out.Ptr == in.Ptr { // checked: the same elements
		return nil
	}
	size := w.sizes[0]
	if w.dense() {
		return k.context.Copy(s, cuda.DevicePtr(w.ptrs[0]), cuda.DevicePtr(w.ptrs[1]), w.count*size)
	}
	if d := w.crossing(); d > 0 && !k.isWide(w.count) {
		return k.transpose(s, &w, d)
	}
	return k.elements(s, copies.of(size), &w, 16/size, nil)
}

// crossing returns the dim along which the second operand is dense while the
// first one is so along dim 0, where tiles of both are worth their trouble;
// else 0.
func (w *walk) crossing() int {
	const least = 8 // of 32 rows or columns of a tile
	if w.strides[0][0] != 1 || w.dims[0] < least {
		return 0
	}
	for d := 1; d < w.rank; d++ {
		if w.strides[1][d] == 1 && w.dims[d] >= least {
			return d
		}
	}
	return 0
}

// transpose copies the matrices of dims 0 and d: rows, dense in the source,
// run along d.
func (k *Kernels) transpose(s cuda.Stream, w *walk, d int) error {
	const tile, tileRows = 32, 8
	rows, cols := w.dims[0], w.dims[d]
	outStride, inStride := w.strides[0][d], w.strides[1][0]
	batch := *w
	batch.rank, batch.count = 0, 1
	for e := range w.rank {
		if e != 0 && e != d {
			batch.push(w.dims[e], [maxOperands]int64{w.strides[0][e], w.strides[1][e]})
		}
	}
	batch.join()
	across, down := (cols+tile-1)/tile, (rows+tile-1)/tile
	tiles := across * down * batch.count
	l, err := k.prepare(*transposes.of(w.sizes[0]))
	if err != nil {
		return err
	}
	l.Ptr(cuda.DevicePtr(w.ptrs[0])).Ptr(cuda.DevicePtr(w.ptrs[1])).Int64(outStride).Int64(inStride)
	batch.pass(l, false).Int32(int32(rows)).Int32(int32(cols))
	passDivider(l, across)
	passDivider(l, down)
	return l.Run(s, cuda.Grid{Blocks: [3]uint32{uint32(tiles)}, Threads: [3]uint32{tile, tileRows}})
}
