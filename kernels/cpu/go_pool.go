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

// divisor returns by how much window i, j of y divides its sum.
func divisor(p *kernels.PoolAttr, x *kernels.View, index [2]int64) float64 {
	count := int64(1)
	for d, i := range index {
		n, pad := x.Dims[2+d], int64(p.Padding[d])
		from := i*int64(p.Stride[d]) - pad
		to := min(from+int64(p.Kernel[d]), n+pad)
		if !p.CountIncludePad {
			from, to = max(from, 0), min(to, n)
		}
		count *= to - from
	}
	return float64(count)
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
				where := *cell[int64](indices, places, i, j)
				if where >= 0 && where < dx.Dims[2]*dx.Dims[3] {
					*cell[T](dx, to, where/dx.Dims[3], where%dx.Dims[3]) += *cell[T](dy, from, i, j)
				}
			}
		}
	})
	return nil
}

// mean writes to each element of y the sum of its span of x over a divisor.
func mean[T float](x, y *kernels.View, work int64, spans func(d int, i int64) span, by func(i, j int64) float64) {
	eachPlane(y, work, func(n, c int64) {
		from, to := planeAt(x, n, c), planeAt(y, n, c)
		for i := range y.Dims[2] {
			rows := spans(0, i)
			for j := range y.Dims[3] {
				columns := spans(1, j)
				sum := 0.0
				for h := rows.from; h < rows.to; h++ {
					part := T(0)
					for w := columns.from; w < columns.to; w++ {
						part += *cell[T](x, from, h, w)
					}
					sum += float64(part)
				}
				*cell[T](y, to, i, j) = T(sum / by(i, j))
			}
		}
	})
}

// spread adds each element of dy, over a divisor, to its span of dx.
func spread[T float](dx, dy *kernels.View, work int64, spans func(d int, i int64) span, by func(i, j int64) float64) {
	eachPlane(dx, work, func(n, c int64) {
		fillPlane(dx, n, c, T(0))
		to, from := planeAt(dx, n, c), planeAt(dy, n, c)
		for i := range dy.Dims[2] {
			rows := spans(0, i)
			for j := range dy.Dims[3] {
				columns := spans(1, j)
				share := T(float64(*cell[T](dy, from, i, j)) / by(i, j))
				for h := rows.from; h < rows.to; h++ {
					for w := columns.from; w < columns.to; w++ {
						*cell[T](dx, to, h, w) += share
					}
				}
			}
		}
	})
}

func avgPool[T float](a *kernels.Args) error {
	x, y := &a.In[0], &a.Out[0]
	spans, by, work := windows(&a.Attr.Pool, x, y)
	mean[T](x, y, work, spans, by)
	return nil
}

func avgPoolGrad[T float](a *kernels.Args) error {
	dy, dx := &a.In[0], &a.Out[0]
	spans, by, work := windows(&a.Attr.Pool, dx, dy)
	spread[T](dx, dy, work, spans, by)
	return nil
}

// windows returns what mean and spread need for x and y of an average pooling.
func windows(p *kernels.PoolAttr, x, y *kernels.View) (spans func(d int, i int64) span, by func(i, j int64) float64, work int64) {
	spans = func(d int, i int64) span { return window(p, d, i, x.Dims[2+d]) }
	by = func(i, j int64) float64 { return divisor(p, x, [2]int64{i, j}) }
	return spans, by, y.Dims[2] * y.Dims[3] * int64(p.Kernel[0]) * int64(p.Kernel[1])
}

// bins is windows for an adaptive pooling.
func bins(x, y *kernels.View) (spans func(d int, i int64) span, by func(i, j int64) float64, work int64) {
	spans = func(d int, i int64) span { return bin(i, x.Dims[2+d], y.Dims[2+d]) }
	by = func(i, j int64) float64 {
		rows, columns := spans(0, i), spans(1, j)
		return float64((rows.to - rows.from) * (columns.to - columns.from))
	}
	return spans, by, x.Dims[2]*x.Dims[3] + y.Dims[2]*y.Dims[3]
}

func adaptiveAvgPool[T float](a *kernels.Args) error {
	x, y := &a.In[0], &a.Out[0]
	spans, by, work := bins(x, y)
	mean[T](x, y, work, spans, by)
	return nil
}

func adaptiveAvgPoolGrad[T float](a *kernels.Args) error {
	dy, dx := &a.In[0], &a.Out[0]
	spans, by, work := bins(dx, dy)
	spread[T](dx, dy, work, spans, by)
	return nil
}
