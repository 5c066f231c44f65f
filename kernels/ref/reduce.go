package ref

import (
	"math"

	"tarn/kernels"
)

func sum(a *kernels.Args) error {
	out, in := &a.Out[0], &a.In[0]
	each(out, func(i []int64) {
		var elements exact
		eachOf(in, out, i, func(j []int64) { elements.add(value(in, j...)) })
		total := elements.value() * a.Attr.Alpha
		if a.Attr.Accumulate {
			total += value(out, i...)
		}
		set(out, total, i...)
	})
	return nil
}

func maximum(a *kernels.Args) error {
	out, in := &a.Out[0], &a.In[0]
	each(out, func(i []int64) {
		best := math.Inf(-1)
		eachOf(in, out, i, func(j []int64) { best = larger(best, value(in, j...)) })
		set(out, best, i...)
	})
	return nil
}

// larger returns the larger of x and y, NaN if one is NaN. [math.Max] prefers
// an infinity to a NaN.
func larger(x, y float64) float64 {
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.NaN()
	}
	return math.Max(x, y)
}

// smaller is larger's counterpart.
func smaller(x, y float64) float64 { return -larger(-x, -y) }

func maxGrad(a *kernels.Args) error {
	dx, dy, x, m := &a.Out[0], &a.In[0], &a.In[1], &a.In[2]
	each(m, func(i []int64) {
		top := value(m, i...)
		isMax := func(j []int64) bool {
			v := value(x, j...)
			return v == top || v != v && top != top
		}
		count := 0
		eachOf(x, m, i, func(j []int64) {
			if isMax(j) {
				count++
			}
		})
		eachOf(x, m, i, func(j []int64) {
			set(dx, 0, j...)
			if isMax(j) {
				set(dx, value(dy, i...)/float64(count), j...)
			}
		})
	})
	return nil
}

func argMax(a *kernels.Args) error {
	out, in, axis := &a.Out[0], &a.In[0], a.Attr.Axis
	each(out, func(i []int64) {
		best, which := 0.0, int64(-1)
		eachOf(in, out, i, func(j []int64) {
			x := value(in, j...)
			if which < 0 || x > best || math.IsNaN(x) && !math.IsNaN(best) {
				best, which = x, j[axis]
			}
		})
		*at[int64](out, i...) = which
	})
	return nil
}
