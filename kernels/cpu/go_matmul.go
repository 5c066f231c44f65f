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

// gemm is one product. Per block of K the operands are packed, whatever their
// strides, into tiles that the micro-kernel reads from front to back: an A
// tile holds tileRows values per step of K, a B tile tileCols. Rows and
// columns beyond the edge are 0. Every element of the result is summed up in
// order of K by one goroutine.
type gemm[T float] struct {
	kernels.Product
	packedX    uintptr
	packedY    uintptr
	rectify    bool
	accumulate bool

	k0, kb int64 // the present block of K
}

func ceil(n, unit int64) int64 { return (n + unit - 1) / unit }

// packedBytes returns the bytes of an operand of n rows or columns, packed.
func packedBytes(n, k, tile, size int64) int64 {
	bytes := ceil(n, tile) * tile * min(k, blockK) * size
	return ceil(bytes, packedAlign) * packedAlign
}

// smallProduct is the multiplications below which a product is one goroutine's.
const smallProduct = 1 << 16

// packedProduct returns the bytes of both operands of a product, packed.
func packedProduct(p *kernels.Product, size int64) int64 {
	return packedBytes(p.M, p.K, tileRows, size) + packedBytes(p.N, p.K, tileCols, size)
}

// goGroups returns into how many groups small products are cut that goroutines
// do side by side, each with work space of its own; 1 for large ones, which
// come one after the other.
func goGroups(p *kernels.Product) int64 {
	work := p.M * p.N * min(p.K, blockK)
	if work >= smallProduct {
		return 1
	}
	return chunks(p.Count(), max(smallProduct/max(work, 1), 1))
}

func matMulWorkspace(a *kernels.Args) int64 {
	size := a.Out[0].DType.Size()
	if size == 4 && bodiesInC() != nil {
		return scratchBytes(a)
	}
	p := kernels.NewProduct(a)
	return goGroups(&p) * packedProduct(&p, size)
}

// matMul is the body of MatMul.
func matMul[T float](a *kernels.Args) error {
	if c := inC[T](minRun); c != nil {
		return c.matMul(a)
	}
	p := kernels.NewProduct(a)
	count, packed := p.Count(), packedProduct(&p, sizeOf[T]())
	groups := goGroups(&p)
	if packed > 0 {
		groups = max(min(groups, a.Work.Len()*a.Work.DType.Size()/packed), 1)
	}
	g := gemm[T]{rectify: a.Attr.Activation == kernels.Rectify, accumulate: a.Attr.Accumulate, packedX: a.Work.Ptr}
	if groups == 1 {
		g.all(&p, 0, count)
		return nil
	}
	shared, each := p, g
	parallel(groups, 1, func(lo, hi int64) {
		for group := lo; group < hi; group++ {
			own := each
			own.packedX += uintptr(group * packed)
			own.all(&shared, group*count/groups, (group+1)*count/groups)
		}
	})
	return nil
}

// all makes the products lo to hi of p, in g's work space.
func (g *gemm[T]) all(p *kernels.Product, lo, hi int64) {
	size := sizeOf[T]()
	for i := lo; i < hi; i++ {
		g.Product = p.Nth(i, size)
		g.packedY = g.packedX + uintptr(packedBytes(g.M, g.K, tileRows, size))
		g.multiply()
	}
}

// multiply makes the product.
func (g *gemm[T]) multiply() {
	for g.k0 = 0; g.k0 == 0 || g.k0 < g.K; g.k0 += blockK {
		g.kb = min(g.K-g.k0, blockK)
		g.block()
	}
}

// block adds the present block of K to the result.
func (g *gemm[T]) block() {
	rowTiles, colTiles := ceil(g.M, tileRows), ceil(g.N, tileCols)
	items := ceil(g.M, itemRows) * ceil(g.N, itemCols)
	if g.M*g.N*g.kb < smallProduct || Threads() == 1 {
		g.packRows(0, rowTiles)
		g.packCols(0, colTiles)
		g.items(0, items)
		return
	}
	shared := *g
	grain := max(serialBelow/(8*max(g.kb, 1)), 1)
	parallel(rowTiles+colTiles, grain, func(lo, hi int64) {
		shared.packRows(min(lo, rowTiles), min(hi, rowTiles))
		shared.packCols(max(lo-rowTiles, 0), max(hi-rowTiles, 0))
	})
	parallel(items, 1, func(lo, hi int64) { shared.items(lo, hi) })
}

func (g *gemm[T]) packRows(lo, hi int64) {
	for t := lo; t < hi; t++ {
		to := dense[T](g.packedX+uintptr(t*tileRows*g.kb*sizeOf[T]()), tileRows*g.kb)
		pack(to, lineAt[T](g.X.Ptr, g.k0, g.X.Col), g.X.Row, g.X.Col, t*tileRows, g.M, tileRows)
	}
}

func (g *gemm[T]) packCols(lo, hi int64) {
	for t := lo; t < hi; t++ {
		to := dense[T](g.packedY+uintptr(t*tileCols*g.kb*sizeOf[T]()), tileCols*g.kb)
		pack(to, lineAt[T](g.Y.Ptr, g.k0, g.Y.Row), g.Y.Col, g.Y.Row, t*tileCols, g.N, tileCols)
	}
}

// lineAt returns the address of the element that lies i steps after addr.
func lineAt[T float](addr uintptr, i, step int64) uintptr { return addr + uintptr(i*step*sizeOf[T]()) }

// pack copies a tile of the operand that begins at from, whose lines, of which it
// has n, lie across elements apart and their elements along: for each step along,
// the values of width lines from first on, 0 beyond the edge.
func pack[T float](to []T, from uintptr, across, along, first, n, width int64) {
	steps := int64(len(to)) / width
	for j := range width {
		if first+j >= n {
			for p := range steps {
				to[p*width+j] = 0
			}
			continue
		}
		values := lineAt[T](from, first+j, across)
		for p := range steps {
			to[p*width+j] = *at[T](values, p, along*sizeOf[T]())
		}
	}
}

// items makes the items lo to hi of the result, counted row by row.
func (g *gemm[T]) items(lo, hi int64) {
	perRow := ceil(g.N, itemCols)
	size := sizeOf[T]()
	for item := lo; item < hi; item++ {
		row0, col0 := item/perRow*itemRows, item%perRow*itemCols
		for j := col0; j < min(col0+itemCols, g.N); j += tileCols {
			b := dense[[tileCols]T](g.packedY+uintptr(j*g.kb*size), g.kb)
			for i := row0; i < min(row0+itemRows, g.M); i += tileRows {
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
	last := g.k0+g.kb >= g.K
	size := sizeOf[T]()
	for r := range min(tileRows, g.M-i) {
		row := lineAt[T](g.Out.Ptr, i+r, g.Out.Row)
		for s := range min(tileCols, g.N-j) {
			to := at[T](row, j+s, g.Out.Col*size)
			v := c[r*tileCols+s]
			if add {
				v += *to
			}
			if last && g.Bias.Ptr != 0 {
				v += *at[T](lineAt[T](g.Bias.Ptr, i+r, g.Bias.Row), j+s, g.Bias.Col*size)
			}
			if last && g.rectify && v < 0 {
				v = 0
			}
			*to = v
		}
	}
}
