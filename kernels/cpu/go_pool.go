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

// eachPlane runs f for all planes n, c of v, which take that much work each.
func eachPlane(v *kernels.View, work int64, f func(n, c int64)) {
	channels := v.Dims[1]
	parallel(v.Dims[0]*channels, grainOf(work), func(lo, hi int64) {
		for u := lo; u < hi; u++ {
			f(u/channels, u%channels)
		}
	})
}

// cell returns the element i, j of a plane of v.
func cell[T element](v *kernels.View, plane uintptr, i, j int64) *T {
	return at[T](plane, i*v.Strides[2]+j*v.Strides[3], sizeOf[T]())
}

func maxPool[T float](a *kernels.Args) error {
	x, y, indices, p := &a.In[0], &a.Out[0], &a.Out[1], &a.Attr.Pool
	work := y.Dims[2] * y.Dims[3] * int64(p.Kernel[0]) * int64(p.Kernel[1])
	eachPlane(y, work, func(n, c int64) {
		from, to, places := planeAt(x, n, c), planeAt(y, n, c), planeAt(indices, n, c)
		for i := range y.Dims[2] {
			rows := window(p, 0, i, x.Dims[2])
			for j := range y.Dims[3] {
				best, where := largest[T](x, from, rows, window(p, 1, j, x.Dims[3]))
				*cell[T](y, to, i, j), *cell[int64](indices, places, i, j) = best, where
			}
		}
	})
	return nil
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

func maxPoolGrad[T float](a *kernels.Args) error {
	dy, indices, dx := &a.In[0], &a.In[1], &a.Out[0]
	eachPlane(dx, dx.Dims[2]*dx.Dims[3], func(n, c int64) {
		fillPlane(dx, n, c, T(0))
		from, places, to := planeAt(dy, n, c), planeAt(indices, n, c), planeAt(dx, n, c)
		for i := range dy.Dims[2] {
			for j := range dy.Dims[3] {
				switch where := *cell[int64](indices, places, i, j); {
				case where < 0 || where >= dx.Dims[2]*dx.Dims[3]: // a window without an element
				case whole(dx):
					*at[T](to, where, sizeOf[T]()) += *cell[T](dy, from, i, j)
				default:
					*cell[T](dx, to, where/dx.Dims[3], where%dx.Dims[3]) += *cell[T](dy, from, i, j)
				}
			}
		}
	})
	return nil
}

// spans are the ranges of x that the rows and the columns of y stand for, and by
// how much each divides: a mean divides by both.
type spans struct {
	rows, columns     []span
	rowsBy, columnsBy []float64
	work              int64 // of a plane
}

// windowSpans returns those of an average pooling.
func windowSpans(p *kernels.PoolAttr, x, y *kernels.View) *spans {
	along := func(d int) (list []span, by []float64) {
		n, pad := x.Dims[2+d], int64(p.Padding[d])
		for i := range y.Dims[2+d] {
			s := window(p, d, i, n)
			count := s.to - s.from
			if from := i*int64(p.Stride[d]) - pad; p.CountIncludePad {
				count = min(from+int64(p.Kernel[d]), n+pad) - from
			}
			list, by = append(list, s), append(by, float64(count))
		}
		return list, by
	}
	s := &spans{work: y.Dims[2] * y.Dims[3] * int64(p.Kernel[0]) * int64(p.Kernel[1])}
	s.rows, s.rowsBy = along(0)
	s.columns, s.columnsBy = along(1)
	return s
}

// binSpans returns those of an adaptive pooling.
func binSpans(x, y *kernels.View) *spans {
	along := func(d int) (list []span, by []float64) {
		for i := range y.Dims[2+d] {
			s := bin(i, x.Dims[2+d], y.Dims[2+d])
			list, by = append(list, s), append(by, float64(s.to-s.from))
		}
		return list, by
	}
	s := &spans{work: x.Dims[2]*x.Dims[3] + y.Dims[2]*y.Dims[3]}
	s.rows, s.rowsBy = along(0)
	s.columns, s.columnsBy = along(1)
	return s
}

// mean writes to each element of y the sum of its span of x over the divisors.
func mean[T float](x, y *kernels.View, s *spans) {
	step := x.Strides[3] * sizeOf[T]()
	eachPlane(y, s.work, func(n, c int64) {
		from, to := planeAt(x, n, c), planeAt(y, n, c)
		for i, rows := range s.rows {
			for j, columns := range s.columns {
				sum := 0.0
				for h := rows.from; h < rows.to; h++ {
					row := from + uintptr(h*x.Strides[2]*sizeOf[T]())
					part := T(0)
					for w := columns.from; w < columns.to; w++ {
						part += *at[T](row, w, step)
					}
					sum += float64(part)
				}
				*cell[T](y, to, int64(i), int64(j)) = T(sum / (s.rowsBy[i] * s.columnsBy[j]))
			}
		}
	})
}

// spread adds each element of dy, over the divisors, to its span of dx.
func spread[T float](dx, dy *kernels.View, s *spans) {
	step := dx.Strides[3] * sizeOf[T]()
	eachPlane(dx, s.work, func(n, c int64) {
		fillPlane(dx, n, c, T(0))
		to, from := planeAt(dx, n, c), planeAt(dy, n, c)
		for i, rows := range s.rows {
			for j, columns := range s.columns {
				share := T(float64(*cell[T](dy, from, int64(i), int64(j))) / (s.rowsBy[i] * s.columnsBy[j]))
				for h := rows.from; h < rows.to; h++ {
					row := to + uintptr(h*dx.Strides[2]*sizeOf[T]())
					for w := columns.from; w < columns.to; w++ {
						*at[T](row, w, step) += share
					}
				}
			}
		}
	})
}

func avgPool[T float](a *kernels.Args) error {
	x, y := &a.In[0], &a.Out[0]
	mean[T](x, y, windowSpans(&a.Attr.Pool, x, y))
	return nil
}

func avgPoolGrad[T float](a *kernels.Args) error {
	dy, dx := &a.In[0], &a.Out[0]
	spread[T](dx, dy, windowSpans(&a.Attr.Pool, dx, dy))
	return nil
}

func adaptiveAvgPool[T float](a *kernels.Args) error {
	x, y := &a.In[0], &a.Out[0]
	mean[T](x, y, binSpans(x, y))
	return nil
}

func adaptiveAvgPoolGrad[T float](a *kernels.Args) error {
	dy, dx := &a.In[0], &a.Out[0]
	spread[T](dx, dy, binSpans(dx, dy))
	return nil
}
