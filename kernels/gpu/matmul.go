package gpu

import (
	"unsafe"

	"tarn/cuda"
	"tarn/kernels"
)

var (
	matmulModule = declare("matmul", 0)

	matmulF32 = &matmulTiles{list: []matmulTile{
		{kernel: matmulModule.kernel("matmul_f32_large_wide"), m: 128, n: 128, threads: 256, wide: true, speed: 1, full: 1},
		{kernel: matmulModule.kernel("matmul_f32_large_any"), m: 128, n: 128, threads: 256, speed: 0.85, full: 1},
		{kernel: matmulModule.kernel("matmul_f32_medium_wide"), m: 64, n: 64, threads: 128, wide: true, speed: 0.8, full: 2},
		{kernel: matmulModule.kernel("matmul_f32_medium_any"), m: 64, n: 64, threads: 128, speed: 0.65, full: 2},
		{kernel: matmulModule.kernel("matmul_f32_small_wide"), m: 32, n: 32, threads: 64, wide: true, speed: 0.5, full: 4},
		{kernel: matmulModule.kernel("matmul_f32_small_any"), m: 32, n: 32, threads: 64, speed: 0.4, full: 4},
	}}
	matmulF64 = &matmulTiles{list: []matmulTile{
		{kernel: matmulModule.kernel("matmul_f64_medium_wide"), m: 64, n: 64, threads: 128, wide: true, speed: 1, full: 2},
		{kernel: matmulModule.kernel("matmul_f64_medium_any"), m: 64, n: 64, threads: 128, speed: 0.8, full: 2},
		{kernel: matmulModule.kernel("matmul_f64_small_any"), m: 32, n: 32, threads: 64, speed: 0.6, full: 4},
	}}
	matmulGatherF32 = matmulModule.kernel("matmul_f32_gather")
	matmulGatherF64 = matmulModule.kernel("matmul_f64_gather")
)

// product is one call, as struct product in matmul.cu has it.
type product struct {
	x, y, bias, out                uintptr
	m, n, k                        int64
	xm, xk, yk, yn, om, on, bm, bn int64 // strides in elements
	xbatch, ybatch, obatch, bbatch int64
	kpart, opart                   int64
	tilesM, tilesN                 int32
	xAlongK, yAlongK               bool32
	rectify, accumulate            bool32
}

// bool32 is a bool of 4 bytes.
type bool32 uint32

func toBool32(b bool) bool32 {
	if b {
		return 1
	}
	return 0
}

func (p *product) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p))
}

func matmulTilesOf(d kernels.DType) (*matmulTiles, kernel) {
	if d == kernels.Float32 {
		return matmulF32, matmulGatherF32
	}
	return matmulF64, matmulGatherF64
}

func (k *Kernels) matMulWorkspace(a *kernels.Args) int64 {
	b := newBatches(a)
	p, d := b.first(a), a.Out[0].DType
	return max(matmulWorkspace(matmulShape{p.m, p.n, p.k, b.inOne}, d), k.blas.workspace(&p, b.inOne, d))
}

func matmulWorkspace(s matmulShape, d kernels.DType) int64 {
	tiles, _ := matmulTilesOf(d)
	c := tiles.cut(s)
	if c.parts == 1 {
		return 0
	}
	return c.parts * s.m * s.n * s.batch * d.Size()
}

// batches are the products of a call: all of them along one dim are made at a
// time, and the rest one after the other.
type batches struct {
	kernels.Product
	along int // the dim; -1 for a single product
	inOne int64
}

// newBatches returns the products of a by the longest dim of them.
func newBatches(a *kernels.Args) batches {
	b := batches{Product: kernels.NewProduct(a), along: -1, inOne: 1}
	for d, n := range b.Dims[:b.Rank] {
		if n > b.inOne {
			b.along, b.inOne = d, n
		}
	}
	if b.along >= 0 {
		b.Dims[b.along] = 1
	}
	return b
}

// first describes what the first launch makes.
func (b *batches) first(a *kernels.Args) product { return newProduct(&b.Product, b.along, a.Attr) }

func (k *Kernels) matMul(s cuda.Stream, a *kernels.Args) error {
	b, d := newBatches(a), a.Out[0].DType
	for i := range b.Count() {
		one := b.Nth(i, d.Size())
		p := newProduct(&one, b.along, a.Attr)
		if err := k.multiply(s, &p, b.inOne, d, a.Work.Ptr); err != nil {
			return err
		}
	}
	return nil
}

// newProduct describes the first of the products that one has along a dim.
func newProduct(one *kernels.Product, along int, attr kernels.Attr) product {
	p := product{
		x: one.X.Ptr, y: one.Y.Ptr, out: one.Out.Ptr, bias: one.Bias.Ptr,
		m: one.M, n: one.N, k: one.K,
		xm: one.X.Row, xk: one.X.Col, yk: one.Y.Row, yn: one.Y.Col,
		om: one.Out.Row, on: one.Out.Col, bm: one.Bias.Row, bn: one.Bias.Col,
		rectify: toBool32(attr.Activation == kernels.Rectify), accumulate: toBool32(attr.Accumulate),
	}
	if along >= 0 {
		p.xbatch, p.ybatch, p.obatch, p.bbatch = one.X.Batch[along], one.Y.Batch[along], one.Out.Batch[along], one.Bias.Batch[along]
	}
	p.settle()
	return p
}

// settle chooses, among the ways to say the same, the one that kernels are
// quick with: a stride that is never used is 0, and out's rows are dense rather
// than its columns. The transposed product has the same sums in the same order.
func (p *product) settle() {
	if p.m == 1 {
		p.xm, p.om, p.bm = 0, 0, 0
	}
	if p.n == 1 {
		p.yn, p.on, p.bn = 0, 0, 0
	}
	if p.k == 1 {
		p.xk, p.yk = 0, 0
	}
	if p.n == 1 || p.m != 1 && abs(p.om) < abs(p.on) {
		p.x, p.y = p.y, p.x
		p.m, p.n = p.n, p.m
		p.xm, p.xk, p.yk, p.yn = p.yn, p.yk, p.xk, p.xm
		p.om, p.on, p.bm, p.bn = p.on, p.om, p.bn, p.bm
		p.xbatch, p.ybatch = p.ybatch, p.xbatch
	}
}

// maxBatch is how many products one launch takes: the most blocks in Z.
const maxBatch = 1<<16 - 1

// multiply queues batch products. Where K is cut, work has room for the parts.
func (k *Kernels) multiply(s cuda.Stream, p *product, batch int64, d kernels.DType, work uintptr) error {
	if done, err := k.blas.multiply(s, p, batch, d, work); done || err != nil {
		return err
	}
	tiles, gather := matmulTilesOf(d)
	shape := matmulShape{p.m, p.n, p.k, batch}
	c := tiles.cut(shape)
	t := tiles.choose(shape, c.parts, int64(k.context.Device().Multiprocessors), p.lie(16/d.Size()))
	p.kpart, p.tilesM, p.tilesN = c.part, int32(ceil(p.m, t.m)), int32(ceil(p.n, t.n))
	if c.parts > 1 { // a few products
		return k.multiplyParts(s, p, t, gather, c.parts, batch, work)
	}
	size := d.Size()
	return p.inLaunches(batch, maxBatch, elementSizes{size, size, size}, func(n int64) error {
		return k.launchProduct(s, p, t, 1, n)
	})
}

// multiplyParts leaves each part of K in work and then adds them up.
func (k *Kernels) multiplyParts(s cuda.Stream, p *product, t *matmulTile, gather kernel, parts, batch int64, work uintptr) error {
	inParts := *p
	inParts.out, inParts.om, inParts.on = work, p.n, 1
	inParts.obatch, inParts.opart = p.m*p.n, p.m*p.n*batch
	inParts.bias, inParts.rectify, inParts.accumulate = 0, 0, 0
	if err := k.launchProduct(s, &inParts, t, parts, batch); err != nil {
		return err
	}
	l, err := k.prepare(gather)
	if err != nil {
		return err
	}
	p.opart = inParts.opart
	return l.Bytes(p.bytes(), 8).Ptr(cuda.DevicePtr(work)).Int32(int32(parts)).Run(s, cuda.Grid{
		Blocks:  [3]uint32{uint32(ceil(p.m*p.n, blockThreads)), 1, uint32(batch)},
		Threads: [3]uint32{blockThreads},
	})
}

func (k *Kernels) launchProduct(s cuda.Stream, p *product, t *matmulTile, parts, batch int64) error {
	l, err := k.prepare(t.kernel)
	if err != nil {
		return err
	}
	return l.Bytes(p.bytes(), 8).Run(s, cuda.Grid{
		Blocks:  [3]uint32{uint32(p.tilesM) * uint32(p.tilesN), uint32(parts), uint32(batch)},
		Threads: [3]uint32{t.threads},
	})
}

// elementSizes are the bytes of an element of the factors, out and bias.
type elementSizes struct{ factor, out, bias int64 }

// inLaunches calls launch for batch products, at most so many at a time.
func (p *product) inLaunches(batch, most int64, size elementSizes, launch func(n int64) error) error {
	for ; batch > most; batch -= most {
		if err := launch(most); err != nil {
			return err
		}
		p.x += uintptr(most * p.xbatch * size.factor)
		p.y += uintptr(most * p.ybatch * size.factor)
		p.out += uintptr(most * p.obatch * size.out)
		if p.bias != 0 {
			p.bias += uintptr(most * p.bbatch * size.bias)
		}
	}
	return launch(batch)
}

// lie notes how threads best share out the loads of the operands, and reports
// whether they can load width elements, 16 bytes, at a time.
func (p *product) lie(width int64) (wide bool) {
	x, xwide := along(p.x, p.xm, p.xk, p.m, p.k, p.xbatch, width)
	y, ywide := along(p.y, p.yn, p.yk, p.n, p.k, p.ybatch, width)
	p.xAlongK, p.yAlongK = toBool32(x), toBool32(y)
	return xwide && ywide && denseDim(x, p.m, p.k)%width == 0 && denseDim(y, p.n, p.k)%width == 0
}

func denseDim(alongK bool, n, k int64) int64 {
	if alongK {
		return k
	}
	return n
}

// along says whether neighbouring threads should load an operand along K, and
// whether width elements at a time can be one load of 16 bytes then, as far as
// there are so many. sx is the stride of its dim of n that is not K.
func along(ptr uintptr, sx, sk, n, k, batch, width int64) (alongK, wide bool) {
	aligned := ptr%16 == 0 && batch%width == 0
	switch {
	case aligned && sx == 1 && sk%width == 0:
		return false, true
	case aligned && sk == 1 && sx%width == 0:
		return true, true
	}
	return n == 1 || k > 1 && abs(sk) < abs(sx), false
}

func abs(n int64) int64 { return max(n, -n) }
