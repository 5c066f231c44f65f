package cpu

import (
	"math"

	"tarn/kernels"
)

// maxGrad is the body of MaxGrad: for each maximum it counts the elements that
// equal it, then shares dy out among them.
func maxGrad[T float](a *kernels.Args) error {
	dy, x, m, out := a.In[0], a.In[1], a.In[2], a.Out[0]
	keptX, reducedX, keptOut, reducedOut := x, x, out, out
	split(&m, &keptX, &reducedX)
	split(&m, &keptOut, &reducedOut)
	kept := newWalk(&keptX, &m, &dy, &keptOut)
	reduced := newWalk(&reducedX, &reducedOut)
	if c := inC[T](kept.total * reduced.total); c != nil && kept.rank <= 2 && reduced.rank <= 2 {
		rows, columns := reduced.step(0) == 4 && reduced.step(1) == 4, kept.step(0) == 4 && kept.step(3) == 4
		if rows || columns {
			c.maxGrad(kept, reduced, !rows)
			return nil
		}
	}
	grain := max(serialBelow/reduced.total, 1)
	if chunks(kept.total, grain) == 1 {
		maxGradAll[T](&kept, &reduced)
		return nil
	}
	sharedKept, sharedReduced := kept, reduced
	parallel(kept.total, grain, func(lo, hi int64) {
		kept, reduced := sharedKept, sharedReduced
		kept.seek(lo, hi)
		maxGradAll[T](&kept, &reduced)
	})
	return nil
}

func maxGradAll[T float](kept, reduced *walk) {
	for kept.next() {
		for i := range kept.n {
			reduced.base[0] = kept.ptr[0] + uintptr(i*kept.step(0))
			reduced.base[1] = kept.ptr[3] + uintptr(i*kept.step(3))
			m, dy := *at[T](kept.ptr[1], i, kept.step(1)), *at[T](kept.ptr[2], i, kept.step(2))
			shareOut(reduced, m, dy)
		}
	}
}

// shareOut gives dy in equal parts to the elements equal to m, 0 to others.
func shareOut[T float](w *walk, m, dy T) {
	count := 0
	for w.seek(0, w.total); w.next(); {
		for i := range w.n {
			if x := *at[T](w.ptr[0], i, w.step(0)); x == m || x != x && m != m {
				count++
			}
		}
	}
	part := dy / T(count)
	for w.seek(0, w.total); w.next(); {
		for i := range w.n {
			x, out := *at[T](w.ptr[0], i, w.step(0)), at[T](w.ptr[1], i, w.step(1))
			if x == m || x != x && m != m {
				*out = part
			} else {
				*out = 0
			}
		}
	}
}

// argBest returns the body of ArgMax or ArgMin.
func argBest(id kernels.ID) func(*kernels.Args) error {
	return func(a *kernels.Args) error {
		switch a.In[0].DType {
		case kernels.Float32:
			argBestOf[float32](id, a)
		case kernels.Float64:
			argBestOf[float64](id, a)
		case kernels.Int64:
			argBestOf[int64](id, a)
		case kernels.Int32:
			argBestOf[int32](id, a)
		case kernels.Uint8:
			argBestOf[uint8](id, a)
		default:
			return noBody(id, a)
		}
		return nil
	}
}

func argBestOf[S number](id kernels.ID, a *kernels.Args) {
	out, kept, axis := a.Out[0], a.In[0], a.Attr.Axis
	n, step := kept.Dims[axis], kept.Strides[axis]*bytesOf[S]()
	kept.Dims[axis] = 1
	w := newWalk(&out, &kept)
	if c := inC[float32](w.total * n); c != nil && w.dtypes[1] == kernels.Float32 && w.rank <= 2 && (step == 4 || w.step(1) == 4 && n <= math.MaxInt32) {
		c.index(id, w, n, step, step != 4)
		return
	}
	grain := max(serialBelow/n, 1)
	if chunks(w.total, grain) == 1 {
		argBestAll[S](id, &w, n, step)
		return
	}
	shared := w
	parallel(w.total, grain, func(lo, hi int64) {
		w := shared
		w.seek(lo, hi)
		argBestAll[S](id, &w, n, step)
	})
}

// argBestAll does what is left of w, over results and the first of the n
// elements of each.
func argBestAll[S number](id kernels.ID, w *walk, n, step int64) {
	for w.next() {
		for i := range w.n {
			out, x := at[int64](w.ptr[0], i, w.step(0)), w.ptr[1]+uintptr(i*w.step(1))
			if id == kernels.ArgMin {
				*out = firstSmallest[S](x, n, step)
			} else {
				*out = firstLargest[S](x, n, step)
			}
		}
	}
}

// firstLargest returns the index of the first of the largest elements, where
// NaN is larger than all else.
func firstLargest[S number](addr uintptr, n, step int64) int64 {
	best, value := int64(0), *at[S](addr, 0, step)
	for i := int64(1); i < n && value == value; i++ {
		if x := *at[S](addr, i, step); x > value || x != x {
			best, value = i, x
		}
	}
	return best
}

// firstSmallest is its counterpart, where NaN is smaller than all else.
func firstSmallest[S number](addr uintptr, n, step int64) int64 {
	best, value := int64(0), *at[S](addr, 0, step)
	for i := int64(1); i < n && value == value; i++ {
		if x := *at[S](addr, i, step); x < value || x != x {
			best, value = i, x
		}
	}
	return best
}
