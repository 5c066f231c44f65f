package ref

import (
	"fmt"
	"slices"

	"tarn/kernels"
)

// checkIndices returns an error if an index of v is not one of n places.
func checkIndices(id kernels.ID, v *kernels.View, n int64) (err error) {
	each(v, func(i []int64) {
		if k := whole(v, i...); err == nil && (k < 0 || k >= n) {
			err = &kernels.Error{Op: id, Err: kernels.ErrIndex, Detail: fmt.Sprintf("index %d at %v for a dim of %d", k, i, n)}
		}
	})
	return err
}

// along returns the index i with k for its place along an axis.
func along(i []int64, axis int, k int64) []int64 {
	to := slices.Clone(i)
	to[axis] = k
	return to
}

func gather(a *kernels.Args) error {
	out, in, indices, axis := &a.Out[0], &a.In[0], &a.In[1], a.Attr.Axis
	if err := checkIndices(kernels.Gather, indices, in.Dims[axis]); err != nil {
		return err
	}
	each(out, func(i []int64) { move(out, i, in, along(i, axis, whole(indices, i...))) })
	return nil
}

// scatter goes through the indices in row-major order, which is also that along
// the axis for each place that one of them names.
func scatter(adds bool) func(a *kernels.Args) error {
	id := kernels.Scatter
	if adds {
		id = kernels.ScatterAdd
	}
	return func(a *kernels.Args) error {
		out, in, indices, axis := &a.Out[0], &a.In[0], &a.In[1], a.Attr.Axis
		if kernels.NothingToWrite(a) {
			return nil
		}
		if err := checkIndices(id, indices, out.Dims[axis]); err != nil {
			return err
		}
		sums := map[string]*exact{} // a half type is rounded once, at the end
		each(in, func(i []int64) {
			to := along(i, axis, whole(indices, i...))
			switch {
			case !adds:
				move(out, to, in, i)
			case out.DType.IsFloat():
				at := fmt.Sprint(to)
				if sums[at] == nil {
					sums[at] = new(exact)
					sums[at].add(value(out, to...))
				}
				sums[at].add(value(in, i...))
			default:
				setWhole(out, whole(out, to...)+whole(in, i...), to...)
			}
		})
		each(out, func(i []int64) {
			if sum := sums[fmt.Sprint(i)]; sum != nil {
				set(out, sum.value(), i...)
			}
		})
		return nil
	}
}

// move copies the element of in at j to that of out at i, as its bits: a NaN stays
// the one it is.
func move(out *kernels.View, i []int64, in *kernels.View, j []int64) {
	switch out.DType.Size() {
	case 1:
		*at[uint8](out, i...) = *at[uint8](in, j...)
	case 2:
		*at[uint16](out, i...) = *at[uint16](in, j...)
	case 4:
		*at[uint32](out, i...) = *at[uint32](in, j...)
	default:
		*at[uint64](out, i...) = *at[uint64](in, j...)
	}
}
