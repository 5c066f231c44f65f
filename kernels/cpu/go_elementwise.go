package cpu

import (
	"math"

	"tarn/kernels"
)

// elementwise returns the body of an op that makes one element of the output
// from one of each input.
func elementwise[T element](id kernels.ID) func(*kernels.Args) error {
	return func(a *kernels.Args) error {
		var w walk
		if len(a.In) == 1 {
			w = newWalk(&a.Out[0], &a.In[0])
		} else {
			w = newWalk(&a.Out[0], &a.In[0], &a.In[1])
		}
		grain := int64(serialBelow)
		if id == kernels.Exp || id == kernels.Log {
			grain /= 8
		}
		alpha, beta := T(a.Attr.Alpha), T(a.Attr.Beta)
		if sizeOf[T]() == 4 && elementwiseInC(id, &w, float32(alpha), float32(beta)) {
			return nil
		}
		if chunks(w.total, grain) == 1 {
			applyAll(id, &w, alpha, beta)
			return nil
		}
		shared := w
		parallel(w.total, grain, func(lo, hi int64) {
			w := shared
			w.seek(lo, hi)
			applyAll(id, &w, alpha, beta)
		})
		return nil
	}
}

// elementwiseInC does the op if it is one for C. An input of one operand has no
// use for a scalar that is repeated, nor has C for two of them.
func elementwiseInC(id kernels.ID, w *walk, alpha, beta float32) bool {
	c := w.inC(1)
	if c == nil || !c.has(id) || w.step(1) == 0 && (w.operands == 2 || w.step(2) == 0) {
		return false
	}
	var r rows
	for w.nextRows(&r) {
		c.elementwise(id, r, alpha, beta)
	}
	return true
}

func applyAll[T element](id kernels.ID, w *walk, alpha, beta T) {
	size := sizeOf[T]()
	straight := true
	for k := range w.operands {
		straight = straight && w.dense(k, size)
	}
	if !straight {
		applyStrided(id, w, alpha, beta)
		return
	}
	for w.next() {
		out, x := dense[T](w.ptr[0], w.n), dense[T](w.ptr[1], w.n)
		y := x
		if w.operands == 3 {
			y = dense[T](w.ptr[2], w.n)
		}
		apply(id, out, x, y, alpha, beta)
	}
}

func applyStrided[T element](id kernels.ID, w *walk, alpha, beta T) {
	var bufOut, bufX, bufY [blockLen]T
	w.limit = blockLen
	for w.next() {
		out, x := room(w, 0, &bufOut), run(w, 1, &bufX)
		y := x
		if w.operands == 3 {
			y = run(w, 2, &bufY)
		}
		apply(id, out, x, y, alpha, beta)
		store(w, 0, &bufOut)
	}
}

// apply does the op for dense slices of one length. out may be x or y.
func apply[T element](id kernels.ID, out, x, y []T, alpha, beta T) {
	x, y = x[:len(out)], y[:len(out)]
	switch id {
	case kernels.Add:
		for i := range out {
			out[i] = x[i] + y[i]
		}
	case kernels.Sub:
		for i := range out {
			out[i] = x[i] - y[i]
		}
	case kernels.Mul:
		for i := range out {
			out[i] = x[i] * y[i]
		}
	case kernels.Div:
		for i := range out {
			out[i] = x[i] / y[i]
		}
	case kernels.Affine:
		for i := range out {
			out[i] = T(alpha*x[i]) + beta
		}
	case kernels.Exp:
		for i := range out {
			out[i] = T(kernels.ExpFloat(float64(x[i])))
		}
	case kernels.Log:
		for i := range out {
			out[i] = T(kernels.LogFloat(float64(x[i])))
		}
	case kernels.Sqrt:
		for i := range out {
			out[i] = T(math.Sqrt(float64(x[i])))
		}
	case kernels.ReLU:
		for i, v := range x {
			if v < 0 {
				v = 0
			}
			out[i] = v
		}
	case kernels.ReLUGrad:
		for i, v := range y {
			if v > 0 || v != v {
				out[i] = x[i]
			} else {
				out[i] = 0
			}
		}
	}
}
