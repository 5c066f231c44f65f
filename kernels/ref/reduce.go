package ref

import (
	"math"

	"tarn/kernels"
)

func sum[T float](a *kernels.Args) error {
	out, in := &a.Out[0], &a.In[0]
	each(out, func(i []int64) {
		var elements exact
		eachOf(in, out, i, func(j []int64) { elements.add(float64(*at[T](in, j...))) })
		total := elements.value() * a.Attr.Alpha
		if a.Attr.Accumulate {
			total += float64(*at[T](out, i...))
		}
		*at[T](out, i...) = T(total)
	})
	return nil
}

func maximum[T float](a *kernels.Args) error {
	out, in := &a.Out[0], &a.In[0]
	each(out, func(i []int64) {
		best := math.Inf(-1)
		eachOf(in, out, i, func(j []int64) { best = larger(best, float64(*at[T](in, j...))) })
		*at[T](out, i...) = T(best)
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

func maxGrad[T float](a *kernels.Args) error {
	dx, dy, x, m := &a.Out[0], &a.In[0], &a.In[1], &a.In[2]
	each(m, func(i []int64) {
		top := *at[T](m, i...)
		isMax := func(j []int64) bool {
			v := *at[T](x, j...)
			return v == top || v != v && top != top
		}
		count := 0
		eachOf(x, m, i, func(j []int64) {
			if isMax(j) {
				count++
			}
		})
		eachOf(x, m, i, func(j []int64) {
			*at[T](dx, j...) = 0
			if isMax(j) {
				*at[T](dx, j...) = *at[T](dy, i...) / T(count)
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
