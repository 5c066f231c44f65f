package cpu

import "tarn/kernels"

// scans returns the body of CumSum or CumProd.
func scans(id kernels.ID) func(*kernels.Args) error {
	return func(a *kernels.Args) error {
		switch a.In[0].DType {
		case kernels.Float32:
			if l := linesOf(id, a); l.inC(inC[float32](l.len * l.total)) {
				return nil
			}
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
	l := linesOf(id, a)
	grain := max(serialBelow/max(l.len, 1), 1)
	if chunks(l.total, grain) == 1 {
		scanLines[S, R, A](&l, 0, l.total)
		return
	}
	shared := l
	parallel(l.total, grain, func(lo, hi int64) {
		l := shared
		scanLines[S, R, A](&l, lo, hi)
	})
}

// scanLines does the lines lo to hi, in the order of the walk: one by one, or,
// where the elements of neighbouring lines lie closer than those of one, many
// side by side, so that memory is read in order.
func scanLines[S, R number, A total](l *lines, lo, hi int64) {
	sideBySide := abs(l.step(0)) < abs(l.gaps[0])
	if sideBySide {
		l.limit = blockLen
	}
	for l.seek(lo, hi); l.next(); {
		if sideBySide && l.n > 1 {
			scanColumns[S, R, A](l)
			continue
		}
		for i := range l.n {
			scanLine[S, R, A](l, l.line(i))
		}
	}
}

func scanLine[S, R number, A total](l *lines, p [maxOperands]uintptr) {
	to, from := l.gaps[0], l.gaps[1]
	if l.id == kernels.CumSum {
		total := A(0)
		for k := range l.len {
			total += A(*at[S](p[1], k, from))
			*at[R](p[0], k, to) = R(total)
		}
		return
	}
	total := A(1)
	for k := range l.len {
		total *= A(*at[S](p[1], k, from))
		*at[R](p[0], k, to) = R(total)
	}
}

// scanColumns does the lines of the present run of the walk.
func scanColumns[S, R number, A total](l *lines) {
	var buf [blockLen]A
	totals := buf[:l.n]
	if l.id == kernels.CumProd {
		for i := range totals {
			totals[i] = 1
		}
	}
	to, from := l.step(0), l.step(1)
	for k := range l.len {
		out, x := l.ptr[0]+uintptr(k*l.gaps[0]), l.ptr[1]+uintptr(k*l.gaps[1])
		if l.id == kernels.CumSum {
			for i := range totals {
				totals[i] += A(*at[S](x, int64(i), from))
				*at[R](out, int64(i), to) = R(totals[i])
			}
			continue
		}
		for i := range totals {
			totals[i] *= A(*at[S](x, int64(i), from))
			*at[R](out, int64(i), to) = R(totals[i])
		}
	}
}

// cumProdGrad is the body of CumProdGrad.
func cumProdGrad[T float](a *kernels.Args) error {
	l := linesOf(kernels.CumProdGrad, a)
	grain := max(serialBelow/max(l.len, 1), 1)
	if chunks(l.total, grain) == 1 {
		cumProdGradLines[T](&l, 0, l.total)
		return nil
	}
	shared := l
	parallel(l.total, grain, func(lo, hi int64) {
		l := shared
		cumProdGradLines[T](&l, lo, hi)
	})
	return nil
}

func cumProdGradLines[T float](l *lines, lo, hi int64) {
	for l.seek(lo, hi); l.next(); {
		for i := range l.n {
			cumProdGradLine[T](l, l.line(i))
		}
	}
}

// cumProdGradLine goes a line backwards: what element k and those behind it make
// of dy is r = dy[k] + x[k+1]*r, to which all before it are a factor.
func cumProdGradLine[T float](l *lines, p [maxOperands]uintptr) {
	n, r := l.len, 0.0
	for k := n - 1; k >= 0; k-- {
		if k < n-1 {
			r *= float64(*at[T](p[2], k+1, l.gaps[2]))
		}
		r += float64(*at[T](p[1], k, l.gaps[1]))
		before := 1.0
		if k > 0 {
			before = float64(*at[T](p[3], k-1, l.gaps[3]))
		}
		*at[T](p[0], k, l.gaps[0]) = T(before * r)
	}
}
