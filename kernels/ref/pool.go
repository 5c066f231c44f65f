package ref

import (
	"math"

	"tarn/kernels"
)

// places calls f with the rows and columns of x [N,C,H,W] in the window at the
// index at of y.
func places(p *kernels.PoolAttr, x *kernels.View, at []int64, f func(h, w int64)) {
	for k := range int64(p.Kernel[0]) {
		for l := range int64(p.Kernel[1]) {
			h := at[2]*int64(p.Stride[0]) - int64(p.Padding[0]) + k*int64(p.Dilation[0])
			w := at[3]*int64(p.Stride[1]) - int64(p.Padding[1]) + l*int64(p.Dilation[1])
			if h >= 0 && h < x.Dims[2] && w >= 0 && w < x.Dims[3] {
				f(h, w)
			}
		}
	}
}

func maxPool(a *kernels.Args) error {
	x, y, indices := &a.In[0], &a.Out[0], &a.Out[1]
	each(y, func(at0 []int64) {
		best, where := math.Inf(-1), int64(-1)
		places(&a.Attr.Pool, x, at0, func(h, w int64) {
			v := value(x, at0[0], at0[1], h, w)
			if where < 0 || v > best || math.IsNaN(v) {
				best, where = v, h*x.Dims[3]+w
			}
		})
		set(y, best, at0...)
		*at[int64](indices, at0...) = where
	})
	return nil
}

func maxPoolGrad(a *kernels.Args) error {
	dy, indices, dx := &a.In[0], &a.In[1], &a.Out[0]
	s := sumsOf(dx)
	each(dy, func(i []int64) {
		where := *at[int64](indices, i...)
		if where >= 0 && where < dx.Dims[2]*dx.Dims[3] {
			s.at([]int64{i[0], i[1], where / dx.Dims[3], where % dx.Dims[3]}).add(value(dy, i...))
		}
	})
	s.store()
	return nil
}

// divisor returns by how much the sum of a window is divided.
func divisor(p *kernels.PoolAttr, x *kernels.View, at []int64) float64 {
	count := int64(1)
	for d := range 2 {
		n := x.Dims[2+d]
		from := at[2+d]*int64(p.Stride[d]) - int64(p.Padding[d])
		to := min(from+int64(p.Kernel[d]), n+int64(p.Padding[d]))
		if !p.CountIncludePad {
			from, to = max(from, 0), min(to, n)
		}
		count *= to - from
	}
	return float64(count)
}

func avgPool(a *kernels.Args) error {
	x, y, p := &a.In[0], &a.Out[0], &a.Attr.Pool
	each(y, func(i []int64) {
		var elements exact
		places(p, x, i, func(h, w int64) { elements.add(value(x, i[0], i[1], h, w)) })
		set(y, elements.value()/divisor(p, x, i), i...)
	})
	return nil
}

func avgPoolGrad(a *kernels.Args) error {
	dy, dx, p := &a.In[0], &a.Out[0], &a.Attr.Pool
	s := sumsOf(dx)
	each(dy, func(i []int64) {
		share := value(dy, i...) / divisor(p, dx, i)
		places(p, dx, i, func(h, w int64) { s.at([]int64{i[0], i[1], h, w}).add(share) })
	})
	s.store()
	return nil
}

// bin returns the elements of n that bin i of bins has.
func bin(i, n, bins int64) (from, to int64) { return i * n / bins, ((i+1)*n + bins - 1) / bins }

// binned calls f with the rows and columns of x in the bin at the index at of y.
func binned(x, y *kernels.View, at []int64, f func(h, w int64, count float64)) {
	h0, h1 := bin(at[2], x.Dims[2], y.Dims[2])
	w0, w1 := bin(at[3], x.Dims[3], y.Dims[3])
	for h := h0; h < h1; h++ {
		for w := w0; w < w1; w++ {
			f(h, w, float64((h1-h0)*(w1-w0)))
		}
	}
}

func adaptiveAvgPool(a *kernels.Args) error {
	x, y := &a.In[0], &a.Out[0]
	s := sumsOf(y)
	each(y, func(i []int64) {
		binned(x, y, i, func(h, w int64, count float64) { s.at(i).add(value(x, i[0], i[1], h, w) / count) })
	})
	s.store()
	return nil
}

func adaptiveAvgPoolGrad(a *kernels.Args) error {
	dy, dx := &a.In[0], &a.Out[0]
	s := sumsOf(dx)
	each(dy, func(i []int64) {
		binned(dx, dy, i, func(h, w int64, count float64) { s.at([]int64{i[0], i[1], h, w}).add(value(dy, i...) / count) })
	})
	s.store()
	return nil
}
