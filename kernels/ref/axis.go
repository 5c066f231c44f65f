package ref

import (
	"cmp"
	"math"
	"slices"

	"tarn/kernels"
)

// eachRow calls f once for each row of v along axis, with an index whose place
// axis f may set.
func eachRow(v *kernels.View, axis int, f func(index []int64)) {
	first := *v
	first.Dims[axis] = min(first.Dims[axis], 1)
	each(&first, f)
}

func scan(start int64, f func(x, y float64) float64, g func(x, y int64) int64) func(a *kernels.Args) error {
	return func(a *kernels.Args) error {
		out, in, axis := &a.Out[0], &a.In[0], a.Attr.Axis
		eachRow(in, axis, func(i []int64) {
			float, integer := float64(start), start
			for k := range in.Dims[axis] {
				i[axis] = k
				if in.DType.IsFloat() {
					float = f(float, value(in, i...))
					set(out, float, i...)
				} else {
					integer = g(integer, whole(in, i...))
					setWhole(out, integer, i...)
				}
			}
			i[axis] = 0
		})
		return nil
	}
}

// cumProdGrad: element k goes into result j >= k as the product of all elements
// up to j but itself.
func cumProdGrad(a *kernels.Args) error {
	dx, dy, x, axis := &a.Out[0], &a.In[0], &a.In[1], a.Attr.Axis
	n := x.Dims[axis]
	eachRow(x, axis, func(i []int64) {
		for k := range n {
			var sum exact
			product := 1.0
			for j := range n {
				i[axis] = j
				if j != k {
					product *= value(x, i...)
				}
				if j >= k {
					sum.add(value(dy, i...) * product)
				}
			}
			i[axis] = k
			set(dx, sum.value(), i...)
		}
		i[axis] = 0
	})
	return nil
}

func sortAxis(a *kernels.Args) error {
	out, indices, in, axis := &a.Out[0], &a.Out[1], &a.In[0], a.Attr.Axis
	eachRow(in, axis, func(i []int64) {
		order := make([]int64, in.Dims[axis])
		for k := range order {
			order[k] = int64(k)
		}
		slices.SortStableFunc(order, func(k, l int64) int {
			c := compare(in, i, axis, k, l)
			if a.Attr.Descending {
				return -c
			}
			return c
		})
		for k := range out.Dims[axis] {
			i[axis] = order[k]
			if in.DType.IsFloat() {
				x := value(in, i...)
				i[axis] = k
				set(out, x, i...)
			} else {
				x := whole(in, i...)
				i[axis] = k
				setWhole(out, x, i...)
			}
			setWhole(indices, order[k], i...)
		}
		i[axis] = 0
	})
	return nil
}

// compare orders elements k and l of a row: NaN last, and all NaN alike.
func compare(v *kernels.View, i []int64, axis int, k, l int64) int {
	at := func(k int64) []int64 { i[axis] = k; return i }
	if !v.DType.IsFloat() {
		x := whole(v, at(k)...)
		return cmp.Compare(x, whole(v, at(l)...))
	}
	x := value(v, at(k)...)
	y := value(v, at(l)...)
	switch {
	case math.IsNaN(x) && math.IsNaN(y):
		return 0
	case math.IsNaN(x):
		return 1
	case math.IsNaN(y):
		return -1
	}
	return cmp.Compare(x, y)
}

func sortGrad(a *kernels.Args) error {
	dx, dy, indices, axis := &a.Out[0], &a.In[0], &a.In[1], a.Attr.Axis
	each(dx, func(i []int64) { set(dx, 0, i...) })
	each(dy, func(i []int64) {
		x, k := value(dy, i...), whole(indices, i...)
		if k >= 0 && k < dx.Dims[axis] {
			to := slices.Clone(i)
			to[axis] = k
			set(dx, x, to...)
		}
	})
	return nil
}
