package cpu

import (
	"unsafe"

	"tarn/kernels"
)

const (
	maxOperands = 4

	// blockLen is how many elements of a strided operand are gathered into a
	// dense buffer at a time: enough to hide the cost of a call, few enough
	// for the stack and the first-level cache.
	blockLen = 128
)

// pointer turns an address into a pointer. The indirection tells vet and the
// compiler that this is meant: the memory is not the garbage collector's.
func pointer(addr uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }

// at returns element i of those that lie step bytes apart from addr on.
func at[T any](addr uintptr, i, step int64) *T {
	return (*T)(pointer(addr + uintptr(i*step)))
}

// dense returns the n elements that lie side by side from addr on.
func dense[T any](addr uintptr, n int64) []T { return unsafe.Slice((*T)(pointer(addr)), n) }

// walk visits up to four operands of equal dims in runs: stretches along
// which every operand advances by a constant step. Dims are ordered by the
// strides of the first operand and merged where all operands allow it, so that
// dense operands are one run however many dims they have. The order of the
// visits is that of memory, not of indices.
//
//	w := newWalk(&out, &in)
//	for w.next() {
//		// w.n elements from w.ptr[k] on, w.step(k) bytes apart
//	}
type walk struct {
	operands int
	total    int64 // elements to visit in all
	limit    int64 // longest run wanted; 0 for no limit
	rank     int   // at least 1; the last dim is the one of the runs
	dims     [kernels.MaxRank]int64
	steps    [maxOperands][kernels.MaxRank]int64 // in bytes
	base     [maxOperands]uintptr
	dtypes   [maxOperands]kernels.DType

	n     int64 // elements of the present run
	ptr   [maxOperands]uintptr
	index [kernels.MaxRank]int64 // where the next run starts
	left  int64                  // elements not yet visited
}

func newWalk(views ...*kernels.View) walk {
	w := walkThrough(views)
	w.sort()
	w.merge()
	w.seek(0, w.total)
	return w
}

// newOrderedWalk is newWalk in the order of the indices: seek counts elements in
// row-major order.
func newOrderedWalk(views ...*kernels.View) walk {
	w := walkThrough(views)
	w.merge()
	w.seek(0, w.total)
	return w
}

func walkThrough(views []*kernels.View) walk {
	w := walk{operands: len(views), total: 1}
	first := views[0]
	for d := range int(first.Rank) {
		n := first.Dims[d]
		w.total *= n
		if n == 1 {
			continue
		}
		w.dims[w.rank] = n
		for k, v := range views {
			w.steps[k][w.rank] = v.Strides[d] * v.DType.Size()
		}
		w.rank++
	}
	for k, v := range views {
		w.base[k], w.dtypes[k] = v.Ptr, v.DType
	}
	if w.rank == 0 {
		w.dims[0], w.rank = 1, 1
		for k, v := range views {
			w.steps[k][0] = v.DType.Size()
		}
	}
	return w
}

// sort puts the dim with the smallest step of the first operand last.
func (w *walk) sort() {
	for i := 1; i < w.rank; i++ {
		for j := i; j > 0 && abs(w.steps[0][j-1]) < abs(w.steps[0][j]); j-- {
			w.dims[j-1], w.dims[j] = w.dims[j], w.dims[j-1]
			for k := range w.operands {
				s := &w.steps[k]
				s[j-1], s[j] = s[j], s[j-1]
			}
		}
	}
}

// merge joins neighbouring dims that all operands cross with one step.
func (w *walk) merge() {
	last := 0
	for d := 1; d < w.rank; d++ {
		joined := true
		for k := range w.operands {
			joined = joined && w.steps[k][last] == w.steps[k][d]*w.dims[d]
		}
		if joined {
			w.dims[last] *= w.dims[d]
		} else {
			last++
			w.dims[last] = w.dims[d]
		}
		for k := range w.operands {
			w.steps[k][last] = w.steps[k][d]
		}
	}
	w.rank = last + 1
}

// seek makes the walk visit the elements from lo to hi only.
func (w *walk) seek(lo, hi int64) {
	w.left = hi - lo
	if w.left <= 0 {
		return
	}
	for d := w.rank - 1; d >= 0; d-- {
		w.index[d] = lo % w.dims[d]
		lo /= w.dims[d]
	}
}

// next moves on to the next run and reports whether there is one.
func (w *walk) next() bool {
	if w.left <= 0 {
		return false
	}
	last := w.rank - 1
	n := min(w.dims[last]-w.index[last], w.left)
	if w.limit > 0 {
		n = min(n, w.limit)
	}
	for k := range w.operands {
		p := w.base[k]
		for d, i := range w.index[:w.rank] {
			p += uintptr(i * w.steps[k][d])
		}
		w.ptr[k] = p
	}
	w.n = n
	w.left -= n
	w.index[last] += n
	for d := last; d > 0 && w.index[d] == w.dims[d]; d-- {
		w.index[d] = 0
		w.index[d-1]++
	}
	return true
}

// step returns the bytes between the elements of a run of operand k.
func (w *walk) step(k int) int64 { return w.steps[k][w.rank-1] }

func sizeOf[T element]() int64 { var x T; return int64(unsafe.Sizeof(x)) }

// dense reports whether the runs of operand k are of elements of size bytes
// without gaps.
func (w *walk) dense(k int, size int64) bool { return w.step(k) == size }

// sliceOf reports whether the runs of operand k are slices of T as they lie.
func sliceOf[T element](w *walk, k int) bool {
	return storedAs[T](w.dtypes[k]) && w.dense(k, sizeOf[T]())
}

// direct reports whether those of all operands are.
func direct[T element](w *walk) bool {
	for k := range w.operands {
		if !sliceOf[T](w, k) {
			return false
		}
	}
	return true
}

func abs(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

// run returns the elements of operand k's present run: where they lie if they
// are a slice of T there, else loaded to buf.
func run[T element](w *walk, k int, buf *[blockLen]T) []T {
	if sliceOf[T](w, k) {
		return dense[T](w.ptr[k], w.n)
	}
	b := buf[:w.n]
	load(b, w.dtypes[k], w.ptr[k], w.step(k))
	return b
}

// room returns a slice for the results of operand k's present run, to be given
// to store when it is full.
func room[T element](w *walk, k int, buf *[blockLen]T) []T {
	if sliceOf[T](w, k) {
		return dense[T](w.ptr[k], w.n)
	}
	return buf[:w.n]
}

// store brings results that room had put in buf to operand k.
func store[T element](w *walk, k int, buf *[blockLen]T) {
	if !sliceOf[T](w, k) {
		save(buf[:w.n], w.dtypes[k], w.ptr[k], w.step(k))
	}
}

// share has do walk all of w, in pieces on several threads where that pays. The walk
// goes by value: a pointer given to any function would move it to the heap, and the
// pieces take it from a copy, which alone is there.
func (w walk) share(do func(w walk)) {
	if chunks(w.total, serialBelow) == 1 {
		do(w)
		return
	}
	shared := w
	parallel(w.total, serialBelow, func(lo, hi int64) {
		piece := shared
		piece.seek(lo, hi)
		do(piece)
	})
}
