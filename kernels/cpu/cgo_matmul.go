//go:build cgo

package cpu

// #include "dispatch.h"
import "C"

import "tarn/kernels"

// pieceFLOP is the least work of a piece of a product: some microseconds.
const pieceFLOP = 1 << 20

// pieces returns into how many pieces a product is cut: several a thread, so
// that one that is held up holds up little.
func pieces(m, n, k int64) int64 {
	threads := int64(Threads())
	if threads == 1 {
		return 1
	}
	return max(min(2*threads, 2*m*n*k/pieceFLOP), 1)
}

// scratchBytes is the work space of a product in C, some for each thread.
func scratchBytes(a *kernels.Args) int64 {
	return min(pieces(a.Out[0].Dims[0], a.Out[0].Dims[1], a.In[0].Dims[1]), int64(Threads())) * C.SCRATCH
}

// matMulInC does a product on as many threads as there is work space for.
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
		b := &a.In[2]
		bias, g.biasrs, g.biascs = b.Ptr, C.int64_t(b.Strides[0]), C.int64_t(b.Strides[1])
	}
	threads := min(int64(Threads()), a.Work.Len()*a.Work.DType.Size()/C.SCRATCH)
	C.tarn_gemm(&g, C.uintptr_t(out.Ptr), C.uintptr_t(x.Ptr), C.uintptr_t(y.Ptr), C.uintptr_t(bias),
		C.int64_t(pieces(m, n, k)), C.uintptr_t(a.Work.Ptr), C.int(threads))
	return nil
}
