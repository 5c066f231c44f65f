package cpu

import (
	"math"

	"tarn/kernels"
)

// span is a range of rows or columns of x, step apart.
type span struct{ from, to, step int64 }

// window returns the elements of x that the window i of y has along dim d.
func window(p *kernels.PoolAttr, d int, i, n int64) span {
	s := span{i*int64(p.Stride[d]) - int64(p.Padding[d]), 0, int64(p.Dilation[d])}
	s.to = min(s.from+(int64(p.Kernel[d])-1)*s.step+1, n)
	if s.from < 0 {
		s.from += ceil(-s.from, s.step) * s.step
	}
	return s
}

// bin returns the elements of n that bin i of bins has.
func bin(i, n, bins int64) span { return span{i * n / bins, ceil((i+1)*n, bins), 1} }

// cell returns the element i, j of a plane of v.
func cell[T element](v *kernels.View, plane uintptr, i, j int64) *T {
	return at[T](plane, i*v.Strides[2]+j*v.Strides[3], sizeOf[T]())
}

// maxPool is the body of MaxPool: every plane is one goroutine's, as in all
// poolings.
func maxPool[T float](a *kernels.Args) error {
	y, p := &a.Out[0], &a.Attr.Pool
	if inC[T](minRun) != nil && poolInC(kernels.MaxPool, &a.In[0], y, &a.Out[1], p) {
		return nil
	}
	planes, grain := y.Dims[0]*y.Dims[1], grainOf(y.Dims[2]*y.Dims[3]*int64(p.Kernel[0])*int64(p.Kernel[1]))
	if chunks(planes, grain) == 1 {
		maxPoolPlanes[T](a, 0, planes)
		return nil
	}
	parallel(planes, grain, func(lo, hi int64) { maxPoolPlanes[T](a, lo, hi) })
	return nil
}

func maxPoolPlanes[T float](a *kernels.Args, lo, hi int64) {
	x, y, indices, p := &a.In[0], &a.Out[0], &a.Out[1], &a.Attr.Pool
	for u := lo; u < hi; u++ {
		n, c := u/y.Dims[1], u%y.Dims[1]
		from, to, places := planeAt(x, n, c), planeAt(y, n, c), planeAt(indices, n, c)
		for i := range y.Dims[2] {
			rows := window(p, 0, i, x.Dims[2])
			for j := range y.Dims[3] {
				best, where := largest[T](x, from, rows, window(p, 1, j, x.Dims[3]))
				*cell[T](y, to, i, j), *cell[int64](indices, places, i, j) = best, where
			}
		}
	}
}

// largest returns the largest element of a window and its place, -1 if it has
// none.
func largest[T float](x *kernels.View, plane uintptr, rows, columns span) (best T, where int64) {
	best, where = T(math.Inf(-1)), -1
	if rows.from < rows.to && columns.from < columns.to {
		where = rows.from*x.Dims[3] + columns.from
	}
	step := x.Strides[3] * sizeOf[T]()
	for h := rows.from; h < rows.to; h += rows.step {
		row := plane + uintptr(h*x.Strides[2]*sizeOf[T]())
		for w := columns.from; w < columns.to; w += columns.step {
			if v := *at[T](row, w, step); v > best || v != v {
				best, where = v, h*x.Dims[3]+w
			}
		}
	}
	return best, where
}

// maxPoolGrad is the body of MaxPoolGrad.
func maxPoolGrad[T float](a *kernels.Args) error {
	dx := &a.Out[0]
	planes, grain := dx.Dims[0]*dx.Dims[1], grainOf(dx.Dims[2]*dx.Dims[3])
	if chunks(planes, grain) == 1 {
		maxPoolGradPlanes[T](a, 0, planes)
		return nil
	}
	parallel(planes, grain, func(lo, hi int64) { maxPoolGradPlanes[T](a, lo, hi) })
	return nil
}

func maxPoolGradPlanes[T float](a *kernels.Args, lo, hi int64) {
	dy, indices, dx := &a.In[0], &a.In[1], &a.Out[0]
	inRows, sums := whole(dx), dy.Dims[2]*dy.Dims[3]
	flat := inRows && whole(dy) && whole(indices)
	for u := lo; u < hi; u++ {
		n, c := u/dx.Dims[1], u%dx.Dims[1]
		fillPlane(dx, n, c, T(0))
		from, places, to := planeAt(dy, n, c), planeAt(indices, n, c), planeAt(dx, n, c)
		if flat && sums > 0 {
			addAt(dense[T](to, dx.Dims[2]*dx.Dims[3]), dense[T](from, sums), dense[int64](places, sums))
			continue
		}
		for i := range dy.Dims[2] {
			for j := range dy.Dims[3] {
				switch where := *cell[int64](indices, places, i, j); {
				case where < 0 || where >= dx.Dims[2]*dx.Dims[3]: // a window without an element
				case inRows:
					*at[T](to, where, sizeOf[T]()) += *cell[T](dy, from, i, j)
				default:
					*cell[T](dx, to, where/dx.Dims[3], where%dx.Dims[3]) += *cell[T](dy, from, i, j)
				}
			}
		}
	}
}

// addAt adds each x to the element of out that its place names, if it is one.
func addAt[T float](out, x []T, places []int64) {
	x = x[:len(places)]
	for i, where := range places {
		if uint64(where) < uint64(len(out)) {
			out[where] += x[i]
		}
	}
}

// means is one call of an average pooling or its gradient: which range of x each
// row and column of y stands for.
type means struct {
	x, y *kernels.View     // or their gradients
	attr *kernels.PoolAttr // nil of an adaptive pooling
}

// along returns the range of row i of y, or of column i with dim 1, and by how
// much it divides: a mean divides by both.
func (m means) along(dim int, i int64) (s span, by float64) {
	n := m.x.Dims[2+dim]
	if m.attr == nil {
		s = bin(i, n, m.y.Dims[2+dim])
		return s, float64(s.to - s.from)
	}
	s = window(m.attr, dim, i, n)
	if m.attr.CountIncludePad {
		pad := int64(m.attr.Padding[dim])
		from := i*int64(m.attr.Stride[dim]) - pad
		return s, float64(min(from+int64(m.attr.Kernel[dim]), n+pad) - from)
	}
	return s, float64(s.to - s.from)
}

// work is about how many elements a plane reads and writes.
func (m means) work() int64 {
	if m.attr == nil {
		return m.x.Dims[2]*m.x.Dims[3] + m.y.Dims[2]*m.y.Dims[3]
	}
	return m.y.Dims[2] * m.y.Dims[3] * int64(m.attr.Kernel[0]) * int64(m.attr.Kernel[1])
}

// average writes to each element of y the sum of its range of x over the
// divisors; backwards it adds each element of y, so divided, to its range of x.
func average[T float](m means, backwards bool) error {
	planes, grain := m.y.Dims[0]*m.y.Dims[1], grainOf(m.work())
	if chunks(planes, grain) == 1 {
		averagePlanes[T](m, backwards, 0, planes)
		return nil
	}
	parallel(planes, grain, func(lo, hi int64) { averagePlanes[T](m, backwards, lo, hi) })
	return nil
}

func averagePlanes[T float](m means, backwards bool, lo, hi int64) {
	for u := lo; u < hi; u++ {
		n, c := u/m.y.Dims[1], u%m.y.Dims[1]
		if backwards {
			fillPlane(m.x, n, c, T(0))
		}
		x, y := planeAt(m.x, n, c), planeAt(m.y, n, c)
		for i := range m.y.Dims[2] {
			rows, rowsBy := m.along(0, i)
			for j := range m.y.Dims[3] {
				columns, columnsBy := m.along(1, j)
				to := cell[T](m.y, y, i, j)
				if backwards {
					addToCells(m.x, x, rows, columns, T(float64(*to)/(rowsBy*columnsBy)))
				} else {
					*to = T(sumOfCells[T](m.x, x, rows, columns) / (rowsBy * columnsBy))
				}
			}
		}
	}
}

func sumOfCells[T float](x *kernels.View, plane uintptr, rows, columns span) float64 {
	sum, step := 0.0, x.Strides[3]*sizeOf[T]()
	for h := rows.from; h < rows.to; h++ {
		row := plane + uintptr(h*x.Strides[2]*sizeOf[T]())
		part := T(0)
		for w := columns.from; w < columns.to; w++ {
			part += *at[T](row, w, step)
		}
		sum += float64(part)
	}
	return sum
}

func addToCells[T float](dx *kernels.View, plane uintptr, rows, columns span, share T) {
	step := dx.Strides[3] * sizeOf[T]()
	for h := rows.from; h < rows.to; h++ {
		row := plane + uintptr(h*dx.Strides[2]*sizeOf[T]())
		for w := columns.from; w < columns.to; w++ {
			*at[T](row, w, step) += share
		}
	}
}

func avgPool[T float](a *kernels.Args) error {
	if inC[T](minRun) != nil && poolInC(kernels.AvgPool, &a.In[0], &a.Out[0], nil, &a.Attr.Pool) {
		return nil
	}
	return average[T](means{&a.In[0], &a.Out[0], &a.Attr.Pool}, false)
}

func avgPoolGrad[T float](a *kernels.Args) error {
	if inC[T](minRun) != nil && poolInC(kernels.AvgPoolGrad, &a.Out[0], &a.In[0], nil, &a.Attr.Pool) {
		return nil
	}
	return average[T](means{&a.Out[0], &a.In[0], &a.Attr.Pool}, true)
}

func adaptiveAvgPool[T float](a *kernels.Args) error {
	return average[T](means{&a.In[0], &a.Out[0], nil}, false)
}

func adaptiveAvgPoolGrad[T float](a *kernels.Args) error {
	return average[T](means{&a.Out[0], &a.In[0], nil}, true)
}
