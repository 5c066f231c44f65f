package ref

import (
	"math"
	"slices"

	"tarn/kernels"
	"tarn/kernels/scalar"
)

func sum(a *kernels.Args) error {
	out, in := &a.Out[0], &a.In[0]
	each(out, func(i []int64) {
		if out.DType == kernels.Int64 {
			total := int64(0)
			if a.Attr.Accumulate {
				total = whole(out, i...)
			}
			eachOf(in, out, i, func(j []int64) { total += whole(in, j...) })
			setWhole(out, total, i...)
			return
		}
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

func product(a *kernels.Args) error {
	out, in := &a.Out[0], &a.In[0]
	each(out, func(i []int64) {
		if out.DType == kernels.Int64 {
			total := int64(1)
			eachOf(in, out, i, func(j []int64) { total *= whole(in, j...) })
			setWhole(out, total, i...)
			return
		}
		total := 1.0
		eachOf(in, out, i, func(j []int64) { total *= value(in, j...) })
		set(out, total, i...)
	})
	return nil
}

// choose returns the body of an op that reduces to the better of any two: by
// f of floats and by g of integers.
func choose(f func(x, y float64) float64, g func(x, y int64) int64) func(*kernels.Args) error {
	return func(a *kernels.Args) error {
		out, in := &a.Out[0], &a.In[0]
		each(out, func(i []int64) {
			var best float64
			var bestWhole int64
			first := true
			eachOf(in, out, i, func(j []int64) {
				switch {
				case in.DType.IsFloat() && first:
					best = value(in, j...)
				case in.DType.IsFloat():
					best = f(best, value(in, j...))
				case first:
					bestWhole = whole(in, j...)
				default:
					bestWhole = g(bestWhole, whole(in, j...))
				}
				first = false
			})
			if in.DType.IsFloat() {
				set(out, best, i...)
			} else {
				setWhole(out, bestWhole, i...)
			}
		})
		return nil
	}
}

var (
	maximum = choose(scalar.Larger, func(x, y int64) int64 { return max(x, y) })
	minimum = choose(scalar.Smaller, func(x, y int64) int64 { return min(x, y) })
)

// holds returns the body of Any or All: where an element tells, the result is
// tells, else it is the opposite.
func holds(tells bool) func(*kernels.Args) error {
	return func(a *kernels.Args) error {
		out, in := &a.Out[0], &a.In[0]
		each(out, func(i []int64) {
			result := !tells
			eachOf(in, out, i, func(j []int64) {
				if (value(in, j...) != 0) == tells {
					result = tells
				}
			})
			setWhole(out, truth(result), i...)
		})
		return nil
	}
}

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

// argBest returns the body of ArgMax or ArgMin: better reports whether x, an
// element, is to be preferred to best.
func argBest(better func(x, best float64) bool, betterWhole func(x, best int64) bool) func(*kernels.Args) error {
	return func(a *kernels.Args) error {
		out, in, axis := &a.Out[0], &a.In[0], a.Attr.Axis
		each(out, func(i []int64) {
			var at []int64 // of the best so far
			eachOf(in, out, i, func(j []int64) {
				switch {
				case at == nil:
				case in.DType.IsFloat():
					x, best := value(in, j...), value(in, at...)
					if !better(x, best) && (!math.IsNaN(x) || math.IsNaN(best)) {
						return
					}
				case !betterWhole(whole(in, j...), whole(in, at...)):
					return
				}
				at = slices.Clone(j)
			})
			setWhole(out, at[axis], i...)
		})
		return nil
	}
}

var (
	argMax = argBest(func(x, best float64) bool { return x > best }, func(x, best int64) bool { return x > best })
	argMin = argBest(func(x, best float64) bool { return x < best }, func(x, best int64) bool { return x < best })
)
