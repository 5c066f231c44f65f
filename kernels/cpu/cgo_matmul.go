//go:build cgo

package cpu

// #include "dispatch.h"
import "C"

import "tarn/kernels"

// pieceFLOP is the least work of a piece of a product: some microseconds.
const pieceFLOP = 1 << 20

// pieces returns into how many groups the products of p are cut, and into how
// many blocks each product of a group of one: several pieces a thread, so that
// one that is held up holds up little.
func pieces(p *kernels.Product) (groups, blocks int64) {
	threads := int64(Threads())
	if threads == 1 {
		return 1, 1
	}
	count := p.Count()
	want := max(min(2*threads, 2*p.M*p.N*p.K*count/pieceFLOP), 1)
	if count >= want {
		return want, 1
	}
	return count, ceil(want, max(count, 1))
}

// scratchBytes is the work space of a product in C, some for each thread.
func scratchBytes(a *kernels.Args) int64 {
	p := kernels.NewProduct(a)
	groups, blocks := pieces(&p)
	return min(groups*blocks, int64(Threads())) * C.SCRATCH
}

// matMulInC does products on as many threads as there is work space for.
func matMulInC(a *kernels.Args) error {
	p := kernels.NewProduct(a)
	c := C.struct_products{
		count: C.int64_t(p.Count()), rank: C.int32_t(p.Rank),
		g: C.struct_gemm{
			m: C.int64_t(p.M), n: C.int64_t(p.N), k: C.int64_t(p.K),
			ars: C.int64_t(p.X.Row), acs: C.int64_t(p.X.Col),
			brs: C.int64_t(p.Y.Row), bcs: C.int64_t(p.Y.Col),
			crs: C.int64_t(p.Out.Row), ccs: C.int64_t(p.Out.Col),
			biasrs: C.int64_t(p.Bias.Row), biascs: C.int64_t(p.Bias.Col),
			accumulate: flag(a.Attr.Accumulate), relu: flag(a.Attr.Activation == kernels.Rectify),
		},
	}
	for d := range p.Rank {
		c.dims[d] = C.int64_t(p.Dims[d])
		c.as[d], c.bs[d] = C.int64_t(p.X.Batch[d]), C.int64_t(p.Y.Batch[d])
		c.cs[d], c.biass[d] = C.int64_t(p.Out.Batch[d]), C.int64_t(p.Bias.Batch[d])
	}
	groups, blocks := pieces(&p)
	c.groups, c.blocks = C.int64_t(groups), C.int64_t(blocks)
	threads := min(int64(Threads()), a.Work.Len()*a.Work.DType.Size()/C.SCRATCH)
	C.tarn_gemm(&c, C.uintptr_t(p.Out.Ptr), C.uintptr_t(p.X.Ptr), C.uintptr_t(p.Y.Ptr), C.uintptr_t(p.Bias.Ptr),
		C.uintptr_t(a.Work.Ptr), C.int(threads))
	return nil
}
