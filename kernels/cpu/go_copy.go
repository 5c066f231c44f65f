package cpu

import (
	"unsafe"

	"tarn/kernels"
)

// fill is the body of Fill.
func fill[T element](a *kernels.Args) error {
	w := newWalk(&a.Out[0])
	v := T(a.Attr.Alpha)
	if a.Out[0].DType == kernels.Bool {
		v = truth[T](a.Attr.Alpha != 0)
	}
	if c := w.inC(1); c != nil && sizeOf[T]() == 4 {
		var r rows
		for w.nextRows(&r) {
			c.fill(r, float32(v))
		}
		return nil
	}
	if chunks(w.total, serialBelow) == 1 {
		fillAll(&w, v)
		return nil
	}
	shared := w
	parallel(w.total, serialBelow, func(lo, hi int64) {
		w := shared
		w.seek(lo, hi)
		fillAll(&w, v)
	})
	return nil
}

func fillAll[T element](w *walk, v T) {
	var buf [blockLen]T
	if !direct[T](w) {
		w.limit = blockLen
	}
	for w.next() {
		out := room(w, 0, &buf)
		for i := range out {
			out[i] = v
		}
		store(w, 0, &buf)
	}
}

// copyTo returns the body of Copy for results that are computed in T. The same
// type is copied as it is, by its size.
func copyTo[T element]() func(*kernels.Args) error {
	same := map[int64]func(walk){1: copyAll[uint8], 2: copyAll[uint16], 4: copyAll[uint32], 8: copyAll[uint64]}
	f32, f64, i64 := convertAll[T, float32], convertAll[T, float64], convertAll[T, int64]
	return func(a *kernels.Args) error {
		do := i64
		switch d := a.In[0].DType; {
		case d == a.Out[0].DType:
			do = same[d.Size()]
		case d == kernels.Float64:
			do = f64
		case d.IsFloat():
			do = f32
		}
		return overRuns(a, do)
	}
}

// overRuns shares the walk over the output and the input out.
func overRuns(a *kernels.Args, do func(w walk)) error {
	w := newWalk(&a.Out[0], &a.In[0])
	if w.dtypes[0] != w.dtypes[1] && w.dtypes[0].IsFloat() && elementwiseInC(kernels.Copy, &w, 0, 0) {
		return nil
	}
	if w.transposedInC() {
		return nil
	}
	w.share(do)
	return nil
}

// minTransposed is from how many elements on the blocks of a transpose pay.
const minTransposed = 256

// transposedInC copies in C and reports whether it could: elements of four bytes,
// in up to three dims, of which the output has another side by side than the input.
func (w *walk) transposedInC() bool {
	last := w.rank - 1
	if w.total < minTransposed || w.rank < 2 || w.rank > 3 || w.dtypes[0] != w.dtypes[1] || w.step(0) != 4 || w.step(1) == 4 || w.dtypes[0].Size() != 4 {
		return false
	}
	for d := range last {
		if w.steps[1][d] != 4 {
			continue
		}
		outer := -1
		if w.rank == 3 {
			outer = 1 - d
		}
		c := bodiesInC()
		if c != nil {
			c.transpose(*w, d, outer)
		}
		return c != nil
	}
	return false
}

func convertAll[T, S element](w walk) {
	var bufOut [blockLen]T
	var bufIn [blockLen]S
	if !sliceOf[T](&w, 0) || !sliceOf[S](&w, 1) {
		w.limit = blockLen
	}
	toBool := w.dtypes[0] == kernels.Bool
	for w.next() {
		out, in := room(&w, 0, &bufOut), run(&w, 1, &bufIn)
		in = in[:len(out)]
		if toBool { // 0.5 is true
			for i := range out {
				out[i] = truth[T](in[i] != 0)
			}
		} else {
			for i := range out {
				out[i] = T(in[i])
			}
		}
		store(&w, 0, &bufOut)
	}
}

func copyAll[T word](w walk) {
	size := int64(unsafe.Sizeof(*new(T)))
	for w.next() {
		outStep, inStep := w.step(0), w.step(1)
		if outStep == size && inStep == size {
			copy(dense[T](w.ptr[0], w.n), dense[T](w.ptr[1], w.n))
			continue
		}
		for i := range w.n {
			*at[T](w.ptr[0], i, outStep) = *at[T](w.ptr[1], i, inStep)
		}
	}
}

func truth[T element](b bool) T {
	if b {
		return 1
	}
	return 0
}
