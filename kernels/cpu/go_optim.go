package cpu

import (
	"math"

	"tarn/kernels"
)

// sgdStep is the body of SGDStep.
func sgdStep[T float](a *kernels.Args) error {
	attr := a.Attr.SGD
	for i := range a.In {
		var w walk
		if attr.Momentum == 0 {
			w = newWalk(&a.Out[i], &a.In[i])
		} else {
			w = newWalk(&a.Out[2*i], &a.In[i], &a.Out[2*i+1])
		}
		if c := w.inC(w.operands); c != nil && sizeOf[T]() == 4 {
			var r rows
			for w.nextRows(&r) {
				c.sgd(r, attr)
			}
			continue
		}
		if chunks(w.total, serialBelow) == 1 {
			sgdAll[T](&w, &attr)
			continue
		}
		shared, hyper := w, attr
		parallel(w.total, serialBelow, func(lo, hi int64) {
			w := shared
			w.seek(lo, hi)
			sgdAll[T](&w, &hyper)
		})
	}
	return nil
}

func sgdAll[T float](w *walk, attr *kernels.SGDAttr) {
	var bufP, bufG, bufM [blockLen]T
	w.limit = blockLen
	for w.next() {
		p, g := run(w, 0, &bufP), run(w, 1, &bufG)
		if w.operands == 2 {
			sgdPlain(p, g, attr)
		} else {
			m := run(w, 2, &bufM)
			sgdMomentum(p, g, m, attr)
			store(w, 2, &bufM)
		}
		store(w, 0, &bufP)
	}
}

func sgdPlain[T float](p, g []T, attr *kernels.SGDAttr) {
	lr, decay := T(attr.LR), T(attr.WeightDecay)
	g = g[:len(p)]
	if decay == 0 { // as PyTorch: 0 times an infinite weight is not NaN here
		for i := range p {
			p[i] -= T(lr * g[i])
		}
		return
	}
	for i := range p {
		p[i] -= T(lr * (g[i] + T(decay*p[i])))
	}
}

func sgdMomentum[T float](p, g, m []T, attr *kernels.SGDAttr) {
	lr, decay := T(attr.LR), T(attr.WeightDecay)
	keep, take := T(attr.Momentum), T(1-attr.Dampening)
	g, m = g[:len(p)], m[:len(p)]
	for i := range p {
		d := g[i]
		if decay != 0 {
			d += T(decay * p[i])
		}
		if attr.First {
			m[i] = d
		} else {
			m[i] = T(keep*m[i]) + T(take*d)
		}
		if attr.Nesterov {
			d += T(keep * m[i])
		} else {
			d = m[i]
		}
		p[i] -= T(lr * d)
	}
}

// adamWStep is the body of AdamWStep.
func adamWStep[T float](a *kernels.Args) error {
	step := a.Attr.AdamW.Step
	if step == 0 {
		step = *(*int64)(pointer(a.In[len(a.In)-1].Ptr))
	}
	h := newAdamW[T](&a.Attr.AdamW, step)
	for i := range len(a.Out) / 3 {
		w := newWalk(&a.Out[3*i], &a.Out[3*i+1], &a.Out[3*i+2], &a.In[i])
		if c := w.inC(w.operands); c != nil && sizeOf[T]() == 4 {
			var r rows
			for w.nextRows(&r) {
				c.adamW(r, h.single())
			}
			continue
		}
		if chunks(w.total, serialBelow/4) == 1 {
			adamWAll(&w, &h)
			continue
		}
		shared, hyper := w, h
		parallel(w.total, serialBelow/4, func(lo, hi int64) {
			w := shared
			w.seek(lo, hi)
			adamWAll(&w, &hyper)
		})
	}
	return nil
}

// adamW holds the factors of one step, made in float64.
type adamW[T float] struct {
	shrink       T // of the weight, by decay
	keep1, take1 T // of the first moment
	keep2, take2 T // of the second moment
	rate         T // LR over the first bias correction
	root         T // square root of the second bias correction
	eps          T
}

func newAdamW[T float](attr *kernels.AdamWAttr, step int64) adamW[T] {
	return adamW[T]{
		shrink: T(1 - attr.LR*attr.WeightDecay),
		keep1:  T(attr.Beta1), take1: T(1 - attr.Beta1),
		keep2: T(attr.Beta2), take2: T(1 - attr.Beta2),
		rate: T(attr.LR / kernels.BiasCorrection(attr.Beta1, step)),
		root: T(math.Sqrt(kernels.BiasCorrection(attr.Beta2, step))),
		eps:  T(attr.Eps),
	}
}

func (h *adamW[T]) single() adamW[float32] {
	return adamW[float32]{float32(h.shrink), float32(h.keep1), float32(h.take1), float32(h.keep2), float32(h.take2),
		float32(h.rate), float32(h.root), float32(h.eps)}
}

func adamWAll[T float](w *walk, h *adamW[T]) {
	var bufP, bufM, bufV, bufG [blockLen]T
	w.limit = blockLen
	for w.next() {
		p, m, v, g := run(w, 0, &bufP), run(w, 1, &bufM), run(w, 2, &bufV), run(w, 3, &bufG)
		m, v, g = m[:len(p)], v[:len(p)], g[:len(p)]
		for i, d := range g {
			m[i] = T(h.keep1*m[i]) + T(h.take1*d)
			v[i] = T(h.keep2*v[i]) + T(T(h.take2*d)*d)
			norm := T(math.Sqrt(float64(v[i])))/h.root + h.eps
			p[i] = T(h.shrink*p[i]) - T(h.rate*m[i])/norm
		}
		store(w, 0, &bufP)
		store(w, 1, &bufM)
		store(w, 2, &bufV)
	}
}
