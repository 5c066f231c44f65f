package cpu

import "tarn/kernels"

// fast has the float32 bodies that C does at least twice as fast as Go's
// loops. They take addresses, of elements that lie side by side unless a step
// is given, in elements.
type fast struct {
	unary      func(id kernels.ID, out, x uintptr, n int64, alpha, beta float32)
	binary     func(id kernels.ID, out, x uintptr, xstep int64, y uintptr, ystep int64, n int64)
	fill       func(out uintptr, n int64, value float32)
	sum        func(x uintptr, n int64) float64
	sumColumns func(out, x uintptr, ld, rows, n int64, alpha float64, accumulate bool)
	max        func(x uintptr, n int64) float32
	loss       func(a *kernels.Args, losses []float64, lo, hi int64)
	lossGrad   func(a *kernels.Args, scale float32, lo, hi int64)
	sgd        func(p, m, g uintptr, n int64, attr kernels.SGDAttr)
	adamW      func(p, m, v, g uintptr, n int64, h adamW[float32])
	matMul     func(a *kernels.Args) error
}

// minRun is the length of a run from which calling C pays: a call costs about
// as much as 30 elements in Go.
const minRun = 32

// inC returns the bodies in C if a run of n elements of type T is for them, and
// nil otherwise.
func inC[T element](n int64) *fast {
	if n < minRun || sizeOf[T]() != 4 {
		return nil
	}
	return bodiesInC()
}

// applyInC runs the op over all of w if each run is one call in C: the output
// without gaps, an input without gaps or one scalar repeated.
func applyInC(c *fast, id kernels.ID, w *walk, alpha, beta float32) bool {
	if w.step(0) != 4 {
		return false
	}
	for k := 1; k < w.operands; k++ {
		if s := w.step(k); s != 0 && s != 4 {
			return false
		}
	}
	if w.operands == 2 && w.step(1) != 4 {
		return false
	}
	for w.next() {
		if w.operands == 2 {
			c.unary(id, w.ptr[0], w.ptr[1], w.n, alpha, beta)
		} else {
			c.binary(id, w.ptr[0], w.ptr[1], w.step(1)/4, w.ptr[2], w.step(2)/4, w.n)
		}
	}
	return true
}

// gapless reports whether the runs of all operands have no gaps.
func (w *walk) gapless(size int64) bool {
	for k := range w.operands {
		if !w.dense(k, size) {
			return false
		}
	}
	return true
}
