package cpu

import (
	"math"
	"sync"

	"tarn/kernels"
)

// compares returns the body of an op whose result is a Bool, for inputs that are
// computed in T.
func compares[T element](id kernels.ID) func(*kernels.Args) error {
	loop := testOf[T](id)
	buffers := &sync.Pool{New: func() any { return new(testBuffers[T]) }}
	return func(a *kernels.Args) error {
		w := elementwiseWalk(a)
		if elementwiseInC(id, &w, 0, 0) {
			return nil
		}
		if chunks(w.total, serialBelow) == 1 {
			testAll(loop, w, buffers)
			return nil
		}
		shared := w
		parallel(w.total, serialBelow, func(lo, hi int64) {
			w := shared
			w.seek(lo, hi)
			testAll(loop, w, buffers)
		})
		return nil
	}
}

// test is a comparison of slices of one length; y is nil where there is one input.
type test[T element] func(out []bool, x, y []T)

// testBuffers hold a block of each operand. They are pooled: what is given to any
// function lies on the heap.
type testBuffers[T element] struct {
	in  [2][blockLen]T
	out [blockLen]bool
}

func testAll[T element](loop test[T], w walk, buffers *sync.Pool) {
	bufs := buffers.Get().(*testBuffers[T])
	defer buffers.Put(bufs)
	w.limit = blockLen
	for w.next() {
		out, x, y := bufs.out[:w.n], run(&w, 1, &bufs.in[0]), []T(nil)
		if w.dense(0, 1) {
			out = dense[bool](w.ptr[0], w.n)
		}
		if w.operands == 3 {
			y = run(&w, 2, &bufs.in[1])
		}
		loop(out, x, y)
		if !w.dense(0, 1) {
			for i, b := range out {
				*at[bool](w.ptr[0], int64(i), w.step(0)) = b
			}
		}
	}
}

func testOf[T element](id kernels.ID) test[T] {
	switch id {
	case kernels.Equal:
		return func(out []bool, x, y []T) {
			x, y = x[:len(out)], y[:len(out)]
			for i := range out {
				out[i] = x[i] == y[i]
			}
		}
	case kernels.NotEqual:
		return func(out []bool, x, y []T) {
			x, y = x[:len(out)], y[:len(out)]
			for i := range out {
				out[i] = x[i] != y[i]
			}
		}
	case kernels.Less, kernels.Greater:
		return func(out []bool, x, y []T) {
			if id == kernels.Greater {
				x, y = y, x
			}
			x, y = x[:len(out)], y[:len(out)]
			for i := range out {
				out[i] = x[i] < y[i]
			}
		}
	case kernels.LessEqual, kernels.GreaterEqual:
		return func(out []bool, x, y []T) {
			if id == kernels.GreaterEqual {
				x, y = y, x
			}
			x, y = x[:len(out)], y[:len(out)]
			for i := range out {
				out[i] = x[i] <= y[i]
			}
		}
	case kernels.IsNaN:
		return func(out []bool, x, _ []T) {
			x = x[:len(out)]
			for i := range out {
				out[i] = x[i] != x[i]
			}
		}
	case kernels.IsInf:
		return func(out []bool, x, _ []T) {
			x = x[:len(out)]
			for i := range out {
				out[i] = math.IsInf(float64(x[i]), 0)
			}
		}
	}
	return func(out []bool, x, _ []T) { // Not
		x = x[:len(out)]
		for i := range out {
			out[i] = x[i] == 0
		}
	}
}

// where is the body of Where, which moves elements as they are.
func where(a *kernels.Args) error {
	w := elementwiseWalk(a)
	if elementwiseInC(kernels.Where, &w, 0, 0) {
		return nil
	}
	do := whereAll[uint64]
	switch a.Out[0].DType.Size() {
	case 1:
		do = whereAll[uint8]
	case 2:
		do = whereAll[uint16]
	case 4:
		do = whereAll[uint32]
	}
	w.share(do)
	return nil
}

func whereAll[T word](w walk) {
	size := w.dtypes[0].Size()
	dense3 := w.dense(0, size) && w.dense(1, 1) && w.dense(2, size) && w.dense(3, size)
	for w.next() {
		if dense3 {
			out, c, x, y := dense[T](w.ptr[0], w.n), dense[bool](w.ptr[1], w.n), dense[T](w.ptr[2], w.n), dense[T](w.ptr[3], w.n)
			c, x, y = c[:len(out)], x[:len(out)], y[:len(out)]
			for i := range out {
				yes, v := x[i], y[i] // both, so that no branch is needed
				if c[i] {
					v = yes
				}
				out[i] = v
			}
			continue
		}
		for i := range w.n {
			yes, v := *at[T](w.ptr[2], i, w.step(2)), *at[T](w.ptr[3], i, w.step(3))
			if *at[bool](w.ptr[1], i, w.step(1)) {
				v = yes
			}
			*at[T](w.ptr[0], i, w.step(0)) = v
		}
	}
}
