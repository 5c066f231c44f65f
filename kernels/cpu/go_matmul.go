package cpu

import "tarn/kernels"

const (
	tileRows, tileCols = 2, 4 // of the micro-kernel: what fits 16 registers

	// blockK is how many steps of the sum over K are packed at a time: a
	// column tile of that depth stays in the first-level cache.
	blockK = 256
	// An item is the part of the result that one goroutine makes at a time.
	itemRows, itemCols = 16 * tileRows, 32 * tileCols

	// packedAlign is the alignment of both packed operands.
	packedAlign = 64
)

// gemm is one MatMul. Per block of K the operands are packed, whatever their
// strides, into tiles that the micro-kernel reads from front to back: an A
// tile holds tileRows values per step of K, a B tile tileCols. Rows and
// columns beyond the edge are 0. Every element of the result is summed up in
// order of K by one goroutine.
type gemm[T float] struct {
	out, x, y, bias *kernels.View // bias nil if there is none
	m, n, k         int64
	packedX         uintptr
	packedY         uintptr
	rectify         bool
	accumulate      bool

	k0, kb int64 // the present block of K
}

func ceil(n, unit int64) int64 { return (n + unit - 1) / unit }

// packedBytes returns the bytes of an operand of n rows or columns, packed.
func packedBytes(n, k, tile, size int64) int64 {
	bytes := ceil(n, tile) * tile * min(k, blockK) * size
	return ceil(bytes, packedAlign) * packedAlign
}

func matMulWorkspace(a *kernels.Args) int64 {
	size := a.Out[0].DType.Size()
	if size == 4 && bodiesInC() != nil {
		return scratchBytes(a)
	}
	m, n, k := a.Out[0].Dims[0], a.Out[0].Dims[1], a.In[0].Dims[1]
	return packedBytes(m, k, tileRows, size) + packedBytes(n, k, tileCols, size)
}

// matMul is the body of MatMul.
func matMul[T float](a *kernels.Args) error {
	if c := inC[T](minRun); c != nil {
		return c.matMul(a)
	}
	g := gemm[T]{
		out: &a.Out[0], x: &a.In[0], y: &a.In[1],
		m: a.Out[0].Dims[0], n: a.Out[0].Dims[1], k: a.In[0].Dims[1],
		rectify:    a.Attr.Activation == kernels.Rectify,
		accumulate: a.Attr.Accumulate,
	}
	if len(a.In) == 3 {
		g.bias = &a.In[2]
	}
	g.packedX = a.Work.Ptr
	g.packedY = a.Work.Ptr + uintptr(packedBytes(g.m, g.k, tileRows, sizeOf[T]()))
	for g.k0 = 0; g.k0 == 0 || g.k0 < g.k; g.k0 += blockK {
		g.kb = min(g.k-g.k0, blockK)
		g.block()
	}
	return nil
}

// block adds the present block of K to the result.
func (g *gemm[T]) block() {
	rowTiles, colTiles := ceil(g.m, tileRows), ceil(g.n, tileCols)
	items := ceil(g.m, itemRows) * ceil(g.n, itemCols)
	if g.m*g.n*g.kb < 1<<16 || Threads() == 1 {
		g.packRows(0, rowTiles)
		g.packCols(0, colTiles)
		g.multiply(0, items)
		return
	}
	shared := *g
	grain := max(serialBelow/(8*max(g.kb, 1)), 1)
	parallel(rowTiles+colTiles, grain, func(lo, hi int64) {
		shared.packRows(min(lo, rowTiles), min(hi, rowTiles))
		shared.packCols(max(lo-rowTiles, 0), max(hi-rowTiles, 0))
	})
	parallel(items, 1, func(lo, hi int64) { shared.multiply(lo, hi) })
}

func (g *gemm[T]) packRows(lo, hi int64) {
	for t := lo; t < hi; t++ {
		to := dense[T](g.packedX+uintptr(t*tileRows*g.kb*sizeOf[T]()), tileRows*g.kb)
		pack(to, g.x, t*tileRows, g.m, 0, g.k0, 1, tileRows)
	}
}

func (g *gemm[T]) packCols(lo, hi int64) {
	for t := lo; t < hi; t++ {
		to := dense[T](g.packedY+uintptr(t*tileCols*g.kb*sizeOf[T]()), tileCols*g.kb)
		pack(to, g.y, t*tileCols, g.n, 1, g.k0, 0, tileCols)
	}
}

// pack copies from v the tile that starts at index first of dim across (which
// has n) and at index k0 of dim along: for each step along, width values
// across, 0 beyond the edge.
func pack[T float](to []T, v *kernels.View, first, n int64, across int, k0 int64, along int, width int64) {
	size := sizeOf[T]()
	stepAcross, stepAlong := v.Strides[across]*size, v.Strides[along]*size
	from := v.Ptr + uintptr(first*stepAcross+k0*stepAlong)
	steps := int64(len(to)) / width
	for j := range width {
		if first+j >= n {
			for p := range steps {
				to[p*width+j] = 0
			}
			continue
		}
		line := from + uintptr(j*stepAcross)
		for p := range steps {
			to[p*width+j] = *at[T](line, p, stepAlong)
		}
	}
}

// multiply makes the items lo to hi of the result, counted row by row.
func (g *gemm[T]) multiply(lo, hi int64) {
	perRow := ceil(g.n, itemCols)
	size := sizeOf[T]()
	for item := lo; item < hi; item++ {
		row0, col0 := item/perRow*itemRows, item%perRow*itemCols
		for j := col0; j < min(col0+itemCols, g.n); j += tileCols {
			b := dense[[tileCols]T](g.packedY+uintptr(j*g.kb*size), g.kb)
			for i := row0; i < min(row0+itemRows, g.m); i += tileRows {
				a := dense[[tileRows]T](g.packedX+uintptr(i*g.kb*size), g.kb)
				var c [tileRows * tileCols]T
				c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7] = tile(a, b)
				g.store(i, j, &c)
			}
		}
	}
}

// tile is the micro-kernel: the product of a packed tile of each operand.
// Arrays for the steps of K spare it all bounds checks.
func tile[T float](a [][tileRows]T, b [][tileCols]T) (c0, c1, c2, c3, c4, c5, c6, c7 T) {
	b = b[:len(a)]
	for p := range a {
		x, y := &a[p], &b[p]
		x0, x1 := x[0], x[1]
		c0 += x0 * y[0]
		c4 += x1 * y[0]
		c1 += x0 * y[1]
		c5 += x1 * y[1]
		c2 += x0 * y[2]
		c6 += x1 * y[2]
		c3 += x0 * y[3]
		c7 += x1 * y[3]
	}
	return
}

// store brings a tile of the product to the result at row i and column j. The
// first block of K begins the sum, the last one applies bias and activation.
func (g *gemm[T]) store(i, j int64, c *[tileRows * tileCols]T) {
	add := g.accumulate || g.k0 > 0
	last := g.k0+g.kb >= g.k
	size := sizeOf[T]()
	for r := range min(tileRows, g.m-i) {
		row := g.out.Ptr + uintptr((i+r)*g.out.Strides[0]*size)
		for s := range min(tileCols, g.n-j) {
			to := at[T](row, j+s, g.out.Strides[1]*size)
			v := c[r*tileCols+s]
			if add {
				v += *to
			}
			if last && g.bias != nil {
				v += *at[T](g.bias.Ptr+uintptr((i+r)*g.bias.Strides[0]*size), j+s, g.bias.Strides[1]*size)
			}
			if last && g.rectify && v < 0 {
				v = 0
			}
			*to = v
		}
	}
}
