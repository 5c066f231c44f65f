package cpu

import (
	"math"
	"sync"

	"tarn/kernels"
)

// groups are the groups of elements of a LayerNorm, an RMSNorm or a GroupNorm,
// seen as rows: group i has the channels (i%per)*channels on, each of size
// elements, of example i/per.
type groups struct {
	per, channels, size int64
	rows, n             int64 // how many groups, of how many elements
	centred             bool
	eps                 float64
}

func groupsOf(id kernels.ID, a *kernels.Args, x *kernels.View) groups {
	g := groups{per: 1, channels: x.Dims[1], size: 1, eps: a.Attr.Norm.Eps, centred: id != kernels.RMSNorm && id != kernels.RMSNormGrad}
	if x.Rank == 3 {
		g.per, g.size = int64(a.Attr.Norm.Groups), x.Dims[2]
		g.channels /= g.per
	}
	g.rows, g.n = x.Dims[0]*g.per, g.channels*g.size
	return g
}

// channel returns the first channel of group i.
func (g *groups) channel(i int64) int64 { return i % g.per * g.channels }

// run returns where channel k of group i begins in v, and the bytes between its
// elements.
func (g *groups) run(v *kernels.View, i, k int64) (addr uintptr, step int64) {
	size := v.DType.Size()
	return v.Ptr + uintptr((i/g.per*v.Strides[0]+(g.channel(i)+k)*v.Strides[1])*size), v.Strides[2] * size
}

// gather copies group i of v to row.
func gather[T float](g *groups, v *kernels.View, i int64, row []float64) {
	if g.size == 1 {
		from, _ := g.run(v, i, 0)
		step := v.Strides[1] * sizeOf[T]()
		for j := range row {
			row[j] = float64(*at[T](from, int64(j), step))
		}
		return
	}
	for k := range g.channels {
		from, step := g.run(v, i, k)
		for j := range g.size {
			row[k*g.size+j] = float64(*at[T](from, j, step))
		}
	}
}

// scatter copies row to group i of v.
func scatter[T float](g *groups, v *kernels.View, i int64, row []float64) {
	if g.size == 1 {
		to, _ := g.run(v, i, 0)
		step := v.Strides[1] * sizeOf[T]()
		for j := range row {
			*at[T](to, int64(j), step) = T(row[j])
		}
		return
	}
	for k := range g.channels {
		to, step := g.run(v, i, k)
		for j := range g.size {
			*at[T](to, j, step) = T(row[k*g.size+j])
		}
	}
}

// factor returns element c of w, 1 if there is none, and term that of b, or 0.

func factor[T float](affine []kernels.View, c int64) float64 {
	if len(affine) == 0 {
		return 1
	}
	return element1[T](&affine[0], c)
}

// term is what is added to channel c: without a bias -0, which leaves a -0 what it
// is.
func term[T float](affine []kernels.View, c int64) float64 {
	if len(affine) < 2 {
		return math.Copysign(0, -1)
	}
	return element1[T](&affine[1], c)
}

// element1 returns element i of a view of rank 1.
func element1[T float](v *kernels.View, i int64) float64 {
	return float64(*at[T](v.Ptr, i, v.Strides[0]*sizeOf[T]()))
}

// statistic returns group i's element of v, [rows] or [rows/per, per].
func (g *groups) statistic(v *kernels.View, i int64) uintptr {
	if v.Rank == 1 {
		return v.Ptr + uintptr(i*v.Strides[0]*v.DType.Size())
	}
	return v.Ptr + uintptr((i/g.per*v.Strides[0]+i%g.per*v.Strides[1])*v.DType.Size())
}

// between returns the elements between the beginnings of groups of v.
func (g *groups) between(v *kernels.View) int64 {
	if g.per > 1 {
		return g.n
	}
	if v.Dims[0] <= 1 {
		return 0
	}
	return v.Strides[0]
}

// dense reports whether the elements of each group of v lie side by side, and
// groups one step apart.
func (g *groups) dense(v *kernels.View) bool {
	if g.size > 1 && v.Strides[2] != 1 || g.channels*g.per > 1 && v.Strides[1] != g.size {
		return false
	}
	return g.per == 1 || v.Dims[0] <= 1 || v.Strides[0] == g.per*g.n
}

// vectors reports whether the elements of all views of rank 1 lie side by side.
func vectors(views []kernels.View) bool {
	for i := range views {
		if views[i].Strides[0] != 1 && views[i].Dims[0] > 1 {
			return false
		}
	}
	return true
}

// listed reports whether statistics lie side by side in the order of the groups.
func (g *groups) listed(views []kernels.View) bool {
	for i := range views {
		if !views[i].Contiguous() {
			return false
		}
	}
	return true
}

// fastGrad reports whether C can do the gradient of a.
func (g *groups) fastGrad(a *kernels.Args) bool {
	last := 3
	if g.centred {
		last = 4
	}
	return g.n > 0 && g.dense(&a.Out[0]) && g.dense(&a.In[0]) && g.dense(&a.In[1]) && vectors(a.Out[1:]) &&
		g.listed(a.In[2:last]) && vectors(a.In[last:])
}

// buffers are rows of float64 for who works on one group after the other.
var buffers = sync.Pool{New: func() any { return new([]float64) }}

func borrow(n int64) *[]float64 {
	b := buffers.Get().(*[]float64)
	if int64(cap(*b)) < n {
		*b = make([]float64, n)
	}
	*b = (*b)[:n]
	return b
}

// layerNorm returns the body of LayerNorm, RMSNorm or GroupNorm.
func layerNorm[T float](id kernels.ID) func(a *kernels.Args) error {
	return func(a *kernels.Args) error {
		g := groupsOf(id, a, &a.In[0])
		if c := inC[T](g.n * g.rows); c != nil && g.dense(&a.Out[0]) && g.dense(&a.In[0]) && g.n > 0 && vectors(a.In[1:]) && g.listed(a.Out[1:]) {
			c.norm(g, a)
			return nil
		}
		grain := max(serialBelow/4/max(g.n, 1), 1)
		if chunks(g.rows, grain) == 1 {
			normalise[T](&g, a, 0, g.rows)
			return nil
		}
		shared := g
		parallel(g.rows, grain, func(lo, hi int64) { normalise[T](&shared, a, lo, hi) })
		return nil
	}
}

// normalise does the groups lo to hi.
func normalise[T float](g *groups, a *kernels.Args, lo, hi int64) {
	buf := borrow(g.n)
	defer buffers.Put(buf)
	row := *buf
	for i := lo; i < hi; i++ {
		gather[T](g, &a.In[0], i, row)
		mean, rstd := measure(row, g.centred, g.eps)
		for j := range row {
			c := g.channel(i) + int64(j)/g.size
			row[j] = (row[j]-mean)*rstd*factor[T](a.In[1:], c) + term[T](a.In[1:], c)
		}
		scatter[T](g, &a.Out[0], i, row)
		if g.centred {
			*at[T](g.statistic(&a.Out[1], i), 0, 0) = T(mean)
		}
		*at[T](g.statistic(&a.Out[len(a.Out)-1], i), 0, 0) = T(rstd)
	}
}

// measure returns the mean of row, 0 unless it is centred, and the inverse of
// its deviation from it.
func measure(row []float64, centred bool, eps float64) (mean, rstd float64) {
	count := float64(len(row))
	if !centred {
		var squares blocked
		for _, x := range row {
			squares.add(x * x)
		}
		return 0, 1 / math.Sqrt(squares.value()/count+eps)
	}
	var sum blocked
	for _, x := range row {
		sum.add(x)
	}
	m := moments{mean: sum.value() / count}
	for _, x := range row {
		m.add(x)
	}
	mean, variance := m.result(count)
	return mean, 1 / math.Sqrt(variance+eps)
}

// blocked is a sum of blocks of blockLen, so that its error grows with their
// number.
type blocked struct {
	total, block float64
	n            int
}

func (s *blocked) add(x float64) {
	s.block += x
	if s.n++; s.n == blockLen {
		s.total, s.block, s.n = s.total+s.block, 0, 0
	}
}

func (s *blocked) value() float64 { return s.total + s.block }

// moments is the second pass of a variance: the sums of the differences from
// the mean that the first found, and of their squares. The former, 0 but for
// rounding, corrects both.
type moments struct {
	mean             float64
	differs, squares blocked
}

func (m *moments) add(x float64) {
	d := x - m.mean
	m.differs.add(d)
	m.squares.add(d * d)
}

// result returns mean and variance of count elements.
func (m *moments) result(count float64) (mean, variance float64) {
	d := m.differs.value() / count
	if mean = m.mean; d == d { // an infinite mean stays
		mean += d
	}
	return mean, max(m.squares.value()/count-d*d, 0)
}

// pieceRows and mostPieces say into how many pieces the groups of a gradient are
// cut, each with sums of its own for dw and db. They are part of the order of
// those sums and so independent of the number of threads.
const (
	pieceRows  = 32
	mostPieces = 32
)

func (g *groups) pieces() int64 { return min(max(g.rows/pieceRows, 1), mostPieces) }

// layerNormGradWorkspace asks for those sums, in float64, and as many in float32.
func layerNormGradWorkspace(id kernels.ID) func(a *kernels.Args) int64 {
	return func(a *kernels.Args) int64 {
		g := groupsOf(id, a, &a.In[1])
		if len(a.Out) == 1 {
			return 0
		}
		return g.pieces() * 2 * g.per * g.channels * (8 + 4)
	}
}

// layerNormGrad returns the body of the gradient of LayerNorm and the others.
func layerNormGrad[T float](id kernels.ID) func(a *kernels.Args) error {
	return func(a *kernels.Args) error {
		g := groupsOf(id, a, &a.In[1])
		pieces, width := g.pieces(), g.per*g.channels
		if c := inC[T](g.n * g.rows); c != nil && g.fastGrad(a) {
			c.normGrad(g, a, pieces)
			return nil
		}
		sums := int64(len(a.Out) - 1)
		parts := partsIn(a, pieces*sums*width)
		grain := max(serialBelow/4*pieces/max(g.rows*g.n, 1), 1)
		if chunks(pieces, grain) == 1 {
			normGradPieces[T](&g, a, pieces, 0, pieces, parts)
		} else {
			shared := g
			parallel(pieces, grain, func(lo, hi int64) { normGradPieces[T](&shared, a, pieces, lo, hi, parts) })
		}
		for s := range sums {
			out := &a.Out[1+s]
			for c := range width {
				total := 0.0
				for p := range pieces {
					total += parts[(p*sums+s)*width+c]
				}
				*at[T](out.Ptr, c, out.Strides[0]*sizeOf[T]()) = T(total)
			}
		}
		return nil
	}
}

// partsIn returns n sums, all 0, in a's work space.
func partsIn(a *kernels.Args, n int64) []float64 {
	if n == 0 {
		return nil
	}
	parts := dense[float64](a.Work.Ptr, n)
	clear(parts)
	return parts
}

// normGradPieces does the pieces lo to hi, each with its part of parts.
func normGradPieces[T float](g *groups, a *kernels.Args, pieces, lo, hi int64, parts []float64) {
	each := int64(len(parts)) / pieces
	for p := lo; p < hi; p++ {
		normGrads[T](g, a, p*g.rows/pieces, (p+1)*g.rows/pieces, parts[p*each:(p+1)*each])
	}
}

// normGrads does the groups lo to hi; it adds up dw, and then db, in totals.
func normGrads[T float](g *groups, a *kernels.Args, lo, hi int64, totals []float64) {
	bufs := borrow(2 * g.n)
	defer buffers.Put(bufs)
	dy, x := (*bufs)[:g.n], (*bufs)[g.n:]
	mean, rstds, affine := &a.In[2], &a.In[2], a.In[3:]
	if g.centred {
		rstds, affine = &a.In[3], a.In[4:]
	}
	width := g.per * g.channels
	for i := lo; i < hi; i++ {
		gather[T](g, &a.In[0], i, dy)
		gather[T](g, &a.In[1], i, x)
		m, rstd := 0.0, float64(*at[T](g.statistic(rstds, i), 0, 0))
		if g.centred {
			m = float64(*at[T](g.statistic(mean, i), 0, 0))
		}
		var sums, products blocked
		for j := range x {
			c := g.channel(i) + int64(j)/g.size
			x[j] = (x[j] - m) * rstd
			if len(totals) > 0 {
				totals[c] += dy[j] * x[j]
			}
			if int64(len(totals)) > width {
				totals[width+c] += dy[j]
			}
			dy[j] *= factor[T](affine, c)
			sums.add(dy[j])
			products.add(dy[j] * x[j])
		}
		sum, product := sums.value()/float64(g.n), products.value()/float64(g.n)
		if !g.centred {
			sum = 0
		}
		for j := range x {
			dy[j] = rstd * (dy[j] - sum - x[j]*product)
		}
		scatter[T](g, &a.Out[0], i, dy)
	}
}
