package cpu

import "tarn/kernels"

// fill is the body of Fill.
func fill[T element](a *kernels.Args) error {
	w := newWalk(&a.Out[0])
	v := T(a.Attr.Alpha)
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
	if !w.dense(0, sizeOf[T]()) {
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

// copyTo is the body of Copy for results of type T.
func copyTo[T element](a *kernels.Args) error {
	switch a.In[0].DType {
	case kernels.Float32:
		return convert[T, float32](a)
	case kernels.Float64:
		return convert[T, float64](a)
	default:
		return convert[T, int64](a)
	}
}

func convert[T, S element](a *kernels.Args) error {
	w := newWalk(&a.Out[0], &a.In[0])
	if chunks(w.total, serialBelow) == 1 {
		convertAll[T, S](&w)
		return nil
	}
	shared := w
	parallel(w.total, serialBelow, func(lo, hi int64) {
		w := shared
		w.seek(lo, hi)
		convertAll[T, S](&w)
	})
	return nil
}

func convertAll[T, S element](w *walk) {
	var bufOut [blockLen]T
	var bufIn [blockLen]S
	if !w.dense(0, sizeOf[T]()) || !w.dense(1, sizeOf[S]()) {
		w.limit = blockLen
	}
	for w.next() {
		out, in := room(w, 0, &bufOut), run(w, 1, &bufIn)
		if same, ok := any(out).([]S); ok {
			copy(same, in)
		} else {
			in = in[:len(out)]
			for i := range out {
				out[i] = T(in[i])
			}
		}
		store(w, 0, &bufOut)
	}
}
