//go:build cgo

package cpu

// #include "dispatch.h"
import "C"

import "tarn/kernels"

// pieceFLOP is the least work of a piece of a product: at it, starting the
// other goroutines costs some percent.
const pieceFLOP = 2 << 20

// pieces returns into how many pieces a product is cut. Each has work space of
// its own.
func pieces(m, n, k int64) int64 {
	return max(min(int64(Threads()), 2*m*n*k/pieceFLOP), 1)
}

// scratchBytes is the work space of a product in C.
func scratchBytes(a *kernels.Args) int64 {
	return pieces(a.Out[0].Dims[0], a.Out[0].Dims[1], a.In[0].Dims[1]) * C.SCRATCH
}

// matMulInC cuts the result into blocks of rows, or of columns where it has few
// rows. The sum over K is not cut, so the cut does not show in the result.
func matMulInC(a *kernels.Args) error {
	out, x, y := &a.Out[0], &a.In[0], &a.In[1]
	m, n, k := out.Dims[0], out.Dims[1], x.Dims[1]
	g := C.struct_gemm{
		m: C.int64_t(m), n: C.int64_t(n), k: C.int64_t(k),
		ars: C.int64_t(x.Strides[0]), acs: C.int64_t(x.Strides[1]),
		brs: C.int64_t(y.Strides[0]), bcs: C.int64_t(y.Strides[1]),
		crs: C.int64_t(out.Strides[0]), ccs: C.int64_t(out.Strides[1]),
		accumulate: flag(a.Attr.Accumulate), relu: flag(a.Attr.Activation == kernels.Rectify),
	}
	var bias uintptr
	if len(a.In) == 3 {
		v := &a.In[2]
		bias, g.biasrs, g.biascs = v.Ptr, C.int64_t(v.Strides[0]), C.int64_t(v.Strides[1])
	}
	block := func(g C.struct_gemm, i0, i1, j0, j1 C.int64_t, scratch uintptr) {
		C.tarn_gemm(&g, C.uintptr_t(out.Ptr), C.uintptr_t(x.Ptr), C.uintptr_t(y.Ptr), C.uintptr_t(bias), i0, i1, j0, j1, C.uintptr_t(scratch))
	}
	count := min(pieces(m, n, k), a.Work.Len()*a.Work.DType.Size()/C.SCRATCH)
	if count <= 1 {
		block(g, 0, C.int64_t(m), 0, C.int64_t(n), a.Work.Ptr)
		return nil
	}
	work := a.Work.Ptr
	parallel(count, 1, func(lo, hi int64) {
		for i := lo; i < hi; i++ {
			scratch := work + uintptr(i*C.SCRATCH)
			if m >= n {
				block(g, cut(i, count, m), cut(i+1, count, m), 0, C.int64_t(n), scratch)
			} else {
				block(g, 0, C.int64_t(m), cut(i, count, n), cut(i+1, count, n), scratch)
			}
		}
	})
	return nil
}

// cut returns where piece i of a dim begins: at a multiple of what a tile of
// any instance divides by, so that no piece has more edges than it must.
func cut(i, count, size int64) C.int64_t {
	const unit = 96
	if i == count {
		return C.int64_t(size)
	}
	return C.int64_t(min(i*size/count/unit*unit, size))
}
