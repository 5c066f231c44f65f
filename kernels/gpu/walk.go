package gpu

import (
	"math/bits"

	"tarn/cuda"
	"tarn/kernels"
)

// maxOperands is how many operands one walk leads through.
const maxOperands = 5

// walk leads through the elements of operands of the same dims, as few dims as
// do. Element i lies at the same place of all of them.
type walk struct {
	count    int64
	rank     int
	operands int
	dims     [kernels.MaxRank]int64 // from the innermost; none is 1, but the only one may be
	ptrs     [maxOperands]uintptr
	strides  [maxOperands][kernels.MaxRank]int64 // in elements
	sizes    [maxOperands]int64                  // bytes of an element
}

// walkOver returns the walk through operands with the dims of the first one.
// Dims are ordered so that the first operand is walked as it lies in memory.
func walkOver(views ...*kernels.View) walk {
	w := pushAll(views)
	w.simplify()
	return w
}

// pushAll returns the walk with all dims of the operands, as they are.
func pushAll(views []*kernels.View) walk {
	w := walk{count: 1, operands: len(views)}
	for j, v := range views {
		w.ptrs[j], w.sizes[j] = v.Ptr, v.DType.Size()
	}
	for d := int(views[0].Rank) - 1; d >= 0; d-- {
		var strides [maxOperands]int64
		for j, v := range views {
			strides[j] = v.Strides[d]
		}
		w.push(views[0].Dims[d], strides)
	}
	return w
}

// push adds a dim outside of the others. A walk without dims has a count of 1.
func (w *walk) push(n int64, strides [maxOperands]int64) {
	if n == 1 {
		return
	}
	w.count *= n
	w.dims[w.rank] = n
	for j := range w.operands {
		w.strides[j][w.rank] = strides[j]
	}
	w.rank++
}

// simplify makes the first operand's strides positive and growing, and joins
// dims that are one in all operands.
func (w *walk) simplify() {
	for d := range w.rank {
		if w.strides[0][d] < 0 {
			w.reverse(d)
		}
	}
	for d := 1; d < w.rank; d++ { // few dims, and mostly in order
		for e := d; e > 0 && w.strides[0][e] < w.strides[0][e-1]; e-- {
			w.swap(e, e-1)
		}
	}
	w.join()
}

// join merges neighbouring dims that are one in all operands. A walk without
// dims gets one of 1.
func (w *walk) join() {
	to := 0
	for d := 1; d < w.rank; d++ {
		if w.joined(to, d) {
			w.dims[to] *= w.dims[d]
			continue
		}
		to++
		w.move(to, d)
	}
	if w.rank == 0 {
		w.dims[0] = 1
		for j := range w.operands {
			w.strides[j][0] = 1
		}
	}
	w.rank = to + 1
}

func (w *walk) joined(inner, outer int) bool {
	for j := range w.operands {
		if w.strides[j][outer] != w.strides[j][inner]*w.dims[inner] {
			return false
		}
	}
	return true
}

// reverse turns dim d around: its last element becomes the first.
func (w *walk) reverse(d int) {
	for j := range w.operands {
		w.ptrs[j] += uintptr((w.dims[d] - 1) * w.strides[j][d] * w.sizes[j])
		w.strides[j][d] = -w.strides[j][d]
	}
}

func (w *walk) swap(d, e int) {
	w.dims[d], w.dims[e] = w.dims[e], w.dims[d]
	for j := range w.operands {
		w.strides[j][d], w.strides[j][e] = w.strides[j][e], w.strides[j][d]
	}
}

func (w *walk) move(to, from int) {
	w.dims[to] = w.dims[from]
	for j := range w.operands {
		w.strides[j][to] = w.strides[j][from]
	}
}

// dense reports whether all operands lie dense in the order of the walk.
func (w *walk) dense() bool {
	for j := range w.operands {
		if w.strides[j][0] != 1 {
			return false
		}
	}
	return w.rank == 1
}

// inVectors reports whether width elements at a time can be taken as one
// vector of all operands: they are neighbours or the same element, and aligned
// to the smaller of their size and 16 bytes. Only a walk of one dim may have
// elements left over.
func (w *walk) inVectors(width int64) bool {
	if w.rank > 1 && w.dims[0]%width != 0 {
		return false
	}
	for j := range w.operands {
		switch w.strides[j][0] {
		case 0:
			continue
		case 1:
		default:
			return false
		}
		if w.ptrs[j]%uintptr(min(width*w.sizes[j], 16)) != 0 {
			return false
		}
		for d := 1; d < w.rank; d++ {
			if w.strides[j][d]%width != 0 {
				return false
			}
		}
	}
	return true
}

// vectors returns the walk that has a vector of width elements for each
// element of w, strides still counted in elements. A last vector may be short.
func (w walk) vectors(width int64) walk {
	w.dims[0] = (w.dims[0] + width - 1) / width
	w.count = w.dims[0]
	for j := range w.operands {
		w.strides[j][0] *= width
	}
	for _, n := range w.dims[1:w.rank] {
		w.count *= n
	}
	return w
}

// halves returns w in two parts along its outermost dim, which has at least two
// elements. The first has a multiple of 16 of them if it can, so that vectors
// stay whole.
func (w *walk) halves() (first, rest walk) {
	first, rest = *w, *w
	d := w.rank - 1
	n := w.dims[d] / 2
	if n > 16 {
		n &^= 15
	}
	inner := w.count / w.dims[d]
	first.dims[d], first.count = n, n*inner
	rest.dims[d], rest.count = w.dims[d]-n, w.count-n*inner
	for j := range w.operands {
		rest.ptrs[j] += uintptr(n * w.strides[j][d] * w.sizes[j])
	}
	first.shed()
	rest.shed()
	return first, rest
}

// shed takes off the outermost dim if it is 1, but for an only one.
func (w *walk) shed() {
	if w.rank > 1 && w.dims[w.rank-1] == 1 {
		w.rank--
	}
}

// isWide reports whether elements cannot be counted in 31 bits.
func (k *Kernels) isWide(count int64) bool { return k.wide || count > 1<<31-1 }

// pass adds w to the arguments as a struct Walk of u32 or, if it is wide, of
// u64, with an array of strides for each operand. The arguments before it must
// end at a multiple of 8, as the struct does.
func (w *walk) pass(l *cuda.Launch, wide bool) *cuda.Launch {
	if wide {
		l.Int64(w.count).Int64(int64(w.rank))
		for _, n := range w.dims {
			magic, shift := divider(uint64(max(n, 1)), 64)
			l.Int64(n).Uint64(magic).Uint64(shift)
		}
	} else {
		l.Int32(int32(w.count)).Int32(int32(w.rank))
		for _, n := range w.dims {
			passDivider(l, n)
		}
	}
	for j := range w.operands {
		for _, s := range w.strides[j] {
			l.Int64(s)
		}
	}
	return l
}

// passDivider adds a struct Divider of u32.
func passDivider(l *cuda.Launch, n int64) {
	magic, shift := divider(uint64(max(n, 1)), 32)
	l.Int32(int32(n)).Uint32(uint32(magic)).Uint32(uint32(shift))
}

// divider returns by what a Divider of 32 or 64 bits divides by n: with
// 2^shift the first power of two that is n or more, the reciprocal
// 2^(width+shift)/n rounded up, without its bit of 2^width.
func divider(n uint64, width int) (magic, shift uint64) {
	shift = uint64(bits.Len64(n - 1))
	over := 1<<shift - n // less than n
	if width == 32 {
		return over<<32/n + 1, shift
	}
	magic, _ = bits.Div64(over, 0, n)
	return magic + 1, shift
}
