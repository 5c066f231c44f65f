package cpu

import "tarn/kernels"

// scans returns the body of CumSum or CumProd.
func scans(id kernels.ID) func(*kernels.Args) error {
	return func(a *kernels.Args) error {
		switch a.In[0].DType {
		case kernels.Float32:
			scanRows[float32, float32, float64](id, a)
		case kernels.Float64:
			scanRows[float64, float64, float64](id, a)
		case kernels.Int64:
			scanRows[int64, int64, int64](id, a)
		case kernels.Int32:
			scanRows[int32, int64, int64](id, a)
		case kernels.Uint8, kernels.Bool:
			scanRows[uint8, int64, int64](id, a)
		default:
			return noBody(id, a)
		}
		return nil
	}
}

// scanRows scans elements of type S into results of type R by totals of type A.
func scanRows[S, R number, A total](id kernels.ID, a *kernels.Args) {
	axis := a.Attr.Axis
	n := a.In[0].Dims[axis]
	to, from := a.Out[0].Strides[axis]*bytesOf[R](), a.In[0].Strides[axis]*bytesOf[S]()
	eachRow(axis, []*kernels.View{&a.Out[0], &a.In[0]}, func(p [maxOperands]uintptr) {
		if id == kernels.CumSum {
			total := A(0)
			for k := range n {
				total += A(*at[S](p[1], k, from))
				*at[R](p[0], k, to) = R(total)
			}
			return
		}
		total := A(1)
		for k := range n {
			total *= A(*at[S](p[1], k, from))
			*at[R](p[0], k, to) = R(total)
		}
	})
}

// eachRow calls f with where each row along axis of the operands begins, on
// several threads where there is enough to do. The operands have the same dims
// but along the axis.
func eachRow(axis int, operands []*kernels.View, f func(at [maxOperands]uintptr)) {
	var views [maxOperands]kernels.View
	var list [maxOperands]*kernels.View
	longest := int64(1)
	for k, v := range operands {
		longest = max(longest, v.Dims[axis])
		views[k] = *v
		views[k].Dims[axis] = 1
		list[k] = &views[k]
	}
	shared := newWalk(list[:len(operands)]...)
	parallel(shared.total, max(serialBelow/longest, 1), func(lo, hi int64) {
		w := shared
		for w.seek(lo, hi); w.next(); {
			for i := range w.n {
				var at [maxOperands]uintptr
				for k := range operands {
					at[k] = w.ptr[k] + uintptr(i*w.step(k))
				}
				f(at)
			}
		}
	})
}

// cumProdGrad goes each row backwards: what element k and those behind it make
// of dy is r = dy[k] + x[k+1]*r, to which all before it are a factor.
func cumProdGrad[T float](a *kernels.Args) error {
	axis := a.Attr.Axis
	n := a.Out[0].Dims[axis]
	operands := []*kernels.View{&a.Out[0], &a.In[0], &a.In[1], &a.In[2]}
	var steps [maxOperands]int64
	for k, v := range operands {
		steps[k] = v.Strides[axis] * sizeOf[T]()
	}
	eachRow(axis, operands, func(p [maxOperands]uintptr) {
		r := 0.0
		for k := n - 1; k >= 0; k-- {
			if k < n-1 {
				r *= float64(*at[T](p[2], k+1, steps[2]))
			}
			r += float64(*at[T](p[1], k, steps[1]))
			before := 1.0
			if k > 0 {
				before = float64(*at[T](p[3], k-1, steps[3]))
			}
			*at[T](p[0], k, steps[0]) = T(before * r)
		}
	})
	return nil
}
