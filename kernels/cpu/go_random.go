package cpu

import (
	"math"
	"math/bits"
	"sync"
	"unsafe"

	"tarn/kernels"
)

// philox returns block counter of the words that belong to seed (Salmon et al.
// 2011, Philox4x32-10).
func philox(seed, counter uint64) [4]uint32 {
	c0, c1, c2, c3 := uint32(counter), uint32(counter>>32), uint32(0), uint32(0)
	k0, k1 := uint32(seed), uint32(seed>>32)
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, c0)
		hi2, lo2 := bits.Mul32(0xCD9E8D57, c2)
		c0, c1, c2, c3 = hi2^c1^k0, lo2, hi0^c3^k1, lo0
		k0 += 0x9E3779B9
		k1 += 0xBB67AE85
	}
	return [4]uint32{c0, c1, c2, c3}
}

// words are those of some blocks. They are taken from a pool, since C writes to
// them: a stack may move.
type words [4 * 128]uint32

var wordsPool = sync.Pool{New: func() any { return new(words) }}

// fill makes the words of as many blocks, from one on, as most words are in, and
// returns how many of those are there.
func (w *words) fill(n numbers, block int64, most int64) int64 {
	most = min(most, int64(len(w)))
	if c := inC[float32](most); c != nil {
		c.words(n, uintptr(unsafe.Pointer(w)), block, (most+3)/4*4)
		return most
	}
	for i := int64(0); i < most; i += 4 {
		*(*[4]uint32)(w[i:]) = philox(n.seed, n.offset+uint64(block+i/4))
	}
	return most
}

func (w *words) long(i int64) uint64 { return uint64(w[2*i+1])<<32 | uint64(w[2*i]) }

// of32 makes each element of out, whose first has a number, of its word.
func of32[T element](n numbers, out []T, first int64, f func(i int, word uint32) T) {
	w := wordsPool.Get().(*words)
	defer wordsPool.Put(w)
	skip := first % 4
	for done := int64(0); done < int64(len(out)); skip = 0 {
		had := w.fill(n, (first+done)/4, skip+int64(len(out))-done)
		for i, word := range w[skip:had] {
			out[done+int64(i)] = f(int(done)+i, word)
		}
		done += had - skip
	}
}

// of64 makes each element of its long word.
func of64[T element](n numbers, out []T, first int64, f func(word uint64) T) {
	w := wordsPool.Get().(*words)
	defer wordsPool.Put(w)
	skip := first % 2
	for done := int64(0); done < int64(len(out)); skip = 0 {
		had := w.fill(n, (first+done)/2, 2*(skip+int64(len(out))-done)) / 2
		part := out[done : done+had-skip]
		for i := range part {
			part[i] = f(w.long(skip + int64(i)))
		}
		done += had - skip
	}
}

func uniform[T element](n numbers, out []T, first int64) {
	low, size := T(n.alpha), T(n.beta-n.alpha)
	if n.digits == 53 {
		unit := math.Ldexp(1, -53)
		of64(n, out, first, func(w uint64) T { return T(T(float64(w>>11)*unit)*size) + low })
		return
	}
	shift, unit := 32-n.digits, math.Ldexp(1, -n.digits)
	of32(n, out, first, func(_ int, w uint32) T { return T(T(float64(w>>shift)*unit)*size) + low })
}

// normal computes in float64, whatever T is.
func normal[T element](n numbers, out []T, first int64) {
	mean, deviation := float64(T(n.alpha)), float64(T(n.beta))
	per, unit := int64(4), math.Ldexp(1, -24)
	if n.digits == 53 {
		per, unit = 2, math.Ldexp(1, -53)
	}
	w := wordsPool.Get().(*words)
	defer wordsPool.Put(w)
	for at := first / per * per; at < first+int64(len(out)); { // the number of the first word's element
		had := w.fill(n, at/per, (first+int64(len(out))-at+per-1)/per*4) * per / 4
		for i := int64(0); i < had; i += 2 {
			x, y := uint64(w[i]>>8), uint64(w[i+1]>>8)
			if per == 2 {
				x, y = w.long(i)>>11, w.long(i+1)>>11
			}
			sin, cos := math.Sincos(2 * math.Pi * (float64(y) * unit))
			r := math.Sqrt(-2 * math.Log(float64(x+1)*unit))
			if k := at + i - first; k >= 0 && k < int64(len(out)) {
				out[k] = T(mean + deviation*(r*cos))
			}
			if k := at + i + 1 - first; k >= 0 && k < int64(len(out)) {
				out[k] = T(mean + deviation*(r*sin))
			}
		}
		at += had
	}
}

func randomInt[T element](n numbers, out []T, first int64) {
	of64(n, out, first, func(w uint64) T {
		over, _ := bits.Mul64(w, n.size)
		return T(n.low + int64(over))
	})
}

// bernoulli takes the probabilities of p, or n's.
func bernoulli[T element](n numbers, out []T, p []float64, first int64) {
	if p == nil {
		below := kernels.Threshold(n.alpha)
		of32(n, out, first, func(_ int, w uint32) T { return truth[T](uint64(w) < below) })
		return
	}
	of32(n, out, first, func(i int, w uint32) T { return truth[T](float64(w) < p[i]*0x1p32) })
}

func dropout[T element](n numbers, out, x []T, first int64) {
	below, kept := kernels.Threshold(n.alpha), T(kernels.Kept(n.alpha))
	of32(n, out, first, func(i int, w uint32) T {
		if uint64(w) < below {
			return x[i] * 0
		}
		return x[i] * kept
	})
}
