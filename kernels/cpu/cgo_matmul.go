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

// product is a MatMul as C takes it: the record has no addresses.
type product struct {
	record          C.struct_gemm
	out, x, y, bias uintptr
}

// block makes the rows i0 to i1 and the columns j0 to j1 of the result.
func (p *product) block(i0, i1, j0, j1 int64, scratch uintptr) {
	C.tarn_gemm(&p.record, C.uintptr_t(p.out), C.uintptr_t(p.x), C.uintptr_t(p.y), C.uintptr_t(p.bias),
		C.int64_t(i0), C.int64_t(i1), C.int64_t(j0), C.int64_t(j1), C.uintptr_t(scratch))
}

// matMulInC cuts the result into blocks of rows, or of columns where it has few
// rows. The sum over K is not cut, so the cut does not show in the result.
func matMulInC(a *kernels.Args) error {
	out, x, y := &a.Out[0], &a.In[0], &a.In[1]
	m, n, k := out.Dims[0], out.Dims[1], x.Dims[1]
	p := product{out: out.Ptr, x: x.Ptr, y: y.Ptr, record: C.struct_gemm{
		m: C.int64_t(m), n: C.int64_t(n), k: C.int64_t(k),
		ars: C.int64_t(x.Strides[0]), acs: C.int64_t(x.Strides[1]),
		brs: C.int64_t(y.Strides[0]), bcs: C.int64_t(y.Strides[1]),
		crs: C.int64_t(out.Strides[0]), ccs: C.int64_t(out.Strides[1]),
		accumulate: flag(a.Attr.Accumulate), relu: flag(a.Attr.Activation == kernels.Rectify),
	}}
	if len(a.In) == 3 {
		bias := &a.In[2]
		p.bias, p.record.biasrs, p.record.biascs = bias.Ptr, C.int64_t(bias.Strides[0]), C.int64_t(bias.Strides[1])
	}
	count := min(pieces(m, n, k), a.Work.Len()*a.Work.DType.Size()/C.SCRATCH)
	if count <= 1 {
		p.block(0, m, 0, n, a.Work.Ptr)
		return nil
	}
	shared, work := p, a.Work.Ptr
	parallel(count, 1, func(lo, hi int64) {
		p := shared // C fills in the record
		for i := lo; i < hi; i++ {
			scratch := work + uintptr(i*C.SCRATCH)
			if m >= n {
				p.block(cut(i, count, m), cut(i+1, count, m), 0, n, scratch)
			} else {
				p.block(0, m, cut(i, count, n), cut(i+1, count, n), scratch)
			}
		}
	})
	return nil
}

// cut returns where piece i of a dim begins: at a multiple of what a tile of
// any instance divides by, so that no piece has more edges than it must.
func cut(i, count, size int64) int64 {
	const unit = 96
	if i == count {
		return size
	}
	return i * size / count / unit * unit
}
