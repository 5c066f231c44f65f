package cpu

import (
	"math"

	"tarn/kernels"
)

// numbers is an op that makes an element of its number: a sequence, or a random
// op. It has no function in it, which would move the operands of small calls to
// the heap.
type numbers struct {
	id            kernels.ID
	alpha, beta   float64
	seed, offset  uint64
	low           int64
	size          uint64 // how many there are from low on
	digits, given int    // of a number of [0,1); inputs
}

// numbered returns the body of such an op in T.
func numbered[T element](id kernels.ID) func(*kernels.Args) error {
	return func(a *kernels.Args) error {
		r := &a.Attr.Random
		n := numbers{id: id, alpha: a.Attr.Alpha, beta: a.Attr.Beta, seed: r.Seed, offset: r.Offset, low: r.Low,
			size: uint64(r.High - r.Low), digits: a.Out[0].DType.Digits(), given: len(a.In)}
		var w walk
		if n.given == 1 {
			w = newOrderedWalk(&a.Out[0], &a.In[0])
		} else {
			w = newOrderedWalk(&a.Out[0])
		}
		if c := n.inC(&w); c != nil && sizeOf[T]() == 4 {
			c.random(n, w.base[0], w.base[1], w.total)
			return nil
		}
		if chunks(w.total, numberedGrain) == 1 {
			makeNumbers[T](w, n, 0)
			return nil
		}
		shared := w
		parallel(w.total, numberedGrain, func(lo, hi int64) {
			w := shared
			w.seek(lo, hi)
			makeNumbers[T](w, n, lo)
		})
		return nil
	}
}

// inC returns the bodies in C if they have the op and all operands lie dense.
func (n numbers) inC(w *walk) *fast {
	if n.id != kernels.RandomUniform && n.id != kernels.RandomNormal && n.id != kernels.Dropout || w.rank > 1 || !direct[float32](w) {
		return nil
	}
	return inC[float32](w.total)
}

// numberedGrain is serialBelow for elements that cost some as much.
const numberedGrain = serialBelow / 4

// makeNumbers makes the elements of a walk in row-major order, the first of which has
// the given number.
func makeNumbers[T element](w walk, n numbers, first int64) {
	var buf, in [blockLen]T
	var p [blockLen]float64
	if n.given == 1 || !sliceOf[T](&w, 0) {
		w.limit = blockLen
	}
	for w.next() {
		out := room(&w, 0, &buf)
		switch n.id {
		case kernels.Sequence:
			for i := range out {
				out[i] = T(math.FMA(float64(first+int64(i)), n.beta, n.alpha))
			}
		case kernels.RandomUniform:
			uniform(n, out, first)
		case kernels.RandomNormal:
			normal(n, out, first)
		case kernels.RandomInt:
			randomInt(n, out, first)
		case kernels.Dropout:
			dropout(n, out, run(&w, 1, &in), first)
		default:
			if n.given == 0 {
				bernoulli(n, out, nil, first)
			} else {
				bernoulli(n, out, run(&w, 1, &p), first)
			}
		}
		store(&w, 0, &buf)
		first += w.n
	}
}
