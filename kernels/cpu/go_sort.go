package cpu

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"tarn/kernels"
)

// entry is an element to sort: a key in the order of the elements, and where it
// stands, by which equal ones stay in order.
type entry struct {
	key   uint64
	index int64
}

func compareEntries(x, y entry) int {
	if c := cmp.Compare(x.key, y.key); c != 0 {
		return c
	}
	return cmp.Compare(x.index, y.index)
}

// sortSlots is how many rows are sorted at a time at most: each has room in the
// workspace, which must not depend on the number of threads.
const sortSlots = 16

const (
	radixFrom = 256 // elements, from which on counting digits beats comparing
	fewOf     = 16  // a 16th of a row or less is picked out, not sorted for
)

func sortWorkspace(a *kernels.Args) int64 {
	n := a.In[0].Dims[a.Attr.Axis]
	rows := a.In[0].Len() / max(n, 1)
	return min(rows, sortSlots) * 2 * n * int64(unsafe.Sizeof(entry{}))
}

// sortAxis is the body of Sort.
func sortAxis(a *kernels.Args) error {
	switch a.In[0].DType {
	case kernels.Float32:
		sortRows(a, func(x float32) uint64 { return floatKey(float64(x)) })
	case kernels.Float64:
		sortRows(a, floatKey)
	case kernels.Int64:
		sortRows(a, func(x int64) uint64 { return uint64(x) ^ 1<<63 })
	case kernels.Int32:
		sortRows(a, func(x int32) uint64 { return uint64(int64(x)) ^ 1<<63 })
	case kernels.Uint8, kernels.Bool:
		sortRows(a, func(x uint8) uint64 { return uint64(x) })
	default:
		return noBody(kernels.Sort, a)
	}
	return nil
}

// floatKey orders floats: -0 and 0 are one, NaN is beyond all.
func floatKey(x float64) uint64 {
	switch bits := math.Float64bits(x); {
	case x != x:
		return math.MaxUint64
	case x == 0:
		return 1 << 63
	case bits>>63 == 1:
		return ^bits
	default:
		return bits | 1<<63
	}
}

func sortRows[S number](a *kernels.Args, key func(S) uint64) {
	axis := a.Attr.Axis
	n, k := a.In[0].Dims[axis], a.Out[0].Dims[axis]
	in, values, indices := a.In[0], a.Out[0], a.Out[1]
	from, to, at64 := in.Strides[axis]*bytesOf[S](), values.Strides[axis]*bytesOf[S](), indices.Strides[axis]*8
	in.Dims[axis], values.Dims[axis], indices.Dims[axis] = 1, 1, 1
	shared := newWalk(&in, &values, &indices)
	slots := min(shared.total, sortSlots)
	room := dense[entry](a.Work.Ptr, slots*2*n)
	flip := uint64(0)
	if a.Attr.Descending {
		flip = math.MaxUint64
	}
	slot := func(s int64) {
		w := shared
		first, second := room[2*s*n:][:n], room[(2*s+1)*n:][:n]
		for w.seek(s*w.total/slots, (s+1)*w.total/slots); w.next(); {
			for i := range w.n {
				x := w.ptr[0] + uintptr(i*w.step(0))
				for j := range first {
					first[j] = entry{key(*at[S](x, int64(j), from)) ^ flip, int64(j)}
				}
				sorted := first
				if k <= n/fewOf {
					smallest(first, k)
				} else {
					sorted = sortEntries(first, second)
				}
				v, d := w.ptr[1]+uintptr(i*w.step(1)), w.ptr[2]+uintptr(i*w.step(2))
				for j, e := range sorted[:k] {
					*at[S](v, int64(j), to) = *at[S](x, e.index, from)
					*at[int64](d, int64(j), at64) = e.index
				}
			}
		}
	}
	if n*shared.total < serialBelow {
		for s := range slots {
			slot(s)
		}
		return
	}
	parallel(slots, 1, func(lo, hi int64) {
		for s := lo; s < hi; s++ {
			slot(s)
		}
	})
}

// smallest brings the k smallest entries to the front, in order: a heap of them
// has the largest first, which a smaller one takes the place of.
func smallest(x []entry, k int64) {
	heap := x[:k]
	if k == 0 {
		return
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
	for i := range x[k:] {
		if e := &x[int(k)+i]; compareEntries(*e, heap[0]) < 0 {
			heap[0] = *e
			sink(heap, 0)
		}
	}
	slices.SortFunc(heap, compareEntries)
}

func sink(heap []entry, i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && compareEntries(heap[child+1], heap[child]) > 0 {
			child++
		}
		if compareEntries(heap[child], heap[i]) <= 0 {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

// sortEntries sorts x, whose indices rise, and returns it or other, where it is
// then. Long rows are sorted digit by digit from the last, which keeps equals in
// order; a digit that all have is passed over.
func sortEntries(x, other []entry) []entry {
	if len(x) < radixFrom {
		slices.SortFunc(x, compareEntries)
		return x
	}
	var counts [8][256]int
	for _, e := range x {
		for d := range counts {
			counts[d][byte(e.key>>(8*d))]++
		}
	}
	for d := range counts {
		c := &counts[d]
		if c[byte(x[0].key>>(8*d))] == len(x) {
			continue
		}
		at := 0
		for digit, n := range c {
			c[digit] = at
			at += n
		}
		for _, e := range x {
			digit := byte(e.key >> (8 * d))
			other[c[digit]] = e
			c[digit]++
		}
		x, other = other, x
	}
	return x
}

// sortGrad is the body of SortGrad.
func sortGrad[T float](a *kernels.Args) error {
	axis := a.Attr.Axis
	n, k := a.Out[0].Dims[axis], a.In[0].Dims[axis]
	to, from, index := a.Out[0].Strides[axis]*sizeOf[T](), a.In[0].Strides[axis]*sizeOf[T](), a.In[1].Strides[axis]*8
	eachRow(axis, []*kernels.View{&a.Out[0], &a.In[0], &a.In[1]}, func(p [maxOperands]uintptr) {
		for i := range n {
			*at[T](p[0], i, to) = 0
		}
		for i := range k {
			if j := *at[int64](p[2], i, index); j >= 0 && j < n {
				*at[T](p[0], j, to) = *at[T](p[1], i, from)
			}
		}
	})
	return nil
}
