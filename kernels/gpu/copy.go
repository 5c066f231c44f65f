package gpu

import (
	"tarn/cuda"
	"tarn/kernels"
)

var (
	copyModule = declare("copy", 0)

	copy32 = copyModule.layouts("copy_b32")
	copy64 = copyModule.layouts("copy_b64")

	// conversions are by the dtype of the destination, then of the source.
	conversions = byDType[byDType[layouts]]{
		f32: byDType[layouts]{f64: copyModule.layouts("copy_f32_f64"), i64: copyModule.layouts("copy_f32_i64")},
		f64: byDType[layouts]{f32: copyModule.layouts("copy_f64_f32"), i64: copyModule.layouts("copy_f64_i64")},
		i64: byDType[layouts]{f32: copyModule.layouts("copy_i64_f32"), f64: copyModule.layouts("copy_i64_f64")},
	}

	transpose32 = copyModule.kernel("transpose_b32")
	transpose64 = copyModule.kernel("transpose_b64")
)

func (k *Kernels) copy(s cuda.Stream, a *kernels.Args) error {
	out, in := &a.Out[0], &a.In[0]
	w := walkOver(out, in)
	if out.DType != in.DType {
		return k.elements(s, conversions.of(out.DType).of(in.DType), &w, 16/min(w.sizes[0], w.sizes[1]), nil)
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
	list := &copy64
	if size == 4 {
		list = &copy32
	}
	return k.elements(s, list, &w, 16/size, nil)
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
	x := transpose32
	if w.sizes[0] == 8 {
		x = transpose64
	}
	l, err := k.prepare(x)
	if err != nil {
		return err
	}
	l.Ptr(cuda.DevicePtr(w.ptrs[0])).Ptr(cuda.DevicePtr(w.ptrs[1])).Int64(outStride).Int64(inStride)
	batch.pass(l, false).Int32(int32(rows)).Int32(int32(cols))
	passDivider(l, across)
	passDivider(l, down)
	return l.Run(s, cuda.Grid{Blocks: [3]uint32{uint32(tiles)}, Threads: [3]uint32{tile, tileRows}})
}
