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
		sortRows[float32](a, nil, packFloats)
	case kernels.Float64:
		sortRows(a, floatKey, nil)
	case kernels.Int64:
		sortRows(a, func(x int64) uint64 { return uint64(x) ^ 1<<63 }, nil)
	case kernels.Int32:
		sortRows[int32](a, nil, packWholes[int32])
	case kernels.Uint8, kernels.Bool:
		sortRows[uint8](a, nil, packWholes[uint8])
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

// sorting is one call of Sort.
type sorting[S number] struct {
	walk            // over the first elements of the rows, of the values and of the indices
	n, k      int64 // elements of a row, and how many of them are wanted
	from, gap int64 // bytes between the elements of a row, and of the values
	indexGap  int64 // and of the indices
	flip      uint64
	room      []entry
	key       func(S) uint64
	pack      packRow // of short elements, in place of key
}

func sortRows[S number](a *kernels.Args, key func(S) uint64, pack packRow) {
	axis := a.Attr.Axis
	in, values, indices := a.In[0], a.Out[0], a.Out[1]
	s := sorting[S]{n: in.Dims[axis], k: values.Dims[axis], key: key, pack: pack,
		from: in.Strides[axis] * bytesOf[S](), gap: values.Strides[axis] * bytesOf[S](), indexGap: indices.Strides[axis] * 8}
	in.Dims[axis], values.Dims[axis], indices.Dims[axis] = 1, 1, 1
	s.walk = newWalk(&in, &values, &indices)
	slots := min(s.total, sortSlots)
	s.room = dense[entry](a.Work.Ptr, slots*2*s.n)
	if a.Attr.Descending {
		s.flip = math.MaxUint64
	}
	if s.n*s.total < serialBelow {
		s.rows(0, slots, slots)
		return
	}
	shared := s
	parallel(slots, 1, func(lo, hi int64) {
		s := shared
		s.rows(lo, hi, slots)
	})
}

// rows sorts the rows of the slots lo to hi of so many.
func (s *sorting[S]) rows(lo, hi, slots int64) {
	for slot := lo; slot < hi; slot++ {
		first, second := s.room[2*slot*s.n:][:s.n], s.room[(2*slot+1)*s.n:][:s.n]
		for s.seek(slot*s.total/slots, (slot+1)*s.total/slots); s.next(); {
			for i := range s.walk.n {
				s.row(i, first, second)
			}
		}
	}
}

// row sorts row i of the walk's present run in first and second.
func (s *sorting[S]) row(i int64, first, second []entry) {
	x := s.ptr[0] + uintptr(i*s.step(0))
	if s.pack != nil {
		s.packedRow(i, x, wordsIn(first), wordsIn(second))
		return
	}
	var sorted []entry
	if s.k <= s.n/fewOf {
		sorted = first[:s.k]
		s.smallest(sorted, x)
	} else {
		for j := range first {
			first[j] = s.entry(x, int64(j))
		}
		sorted = sortEntries(first, second)
	}
	v, d := s.ptr[1]+uintptr(i*s.step(1)), s.ptr[2]+uintptr(i*s.step(2))
	for j, e := range sorted[:s.k] {
		*at[S](v, int64(j), s.gap) = *at[S](x, e.index, s.from)
		*at[int64](d, int64(j), s.indexGap) = e.index
	}
}

// wordsIn returns as many words in the memory of entries.
func wordsIn(room []entry) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(room))), len(room))
}

// entry returns that of element j of the row at x.
func (s *sorting[S]) entry(x uintptr, j int64) entry {
	return entry{s.key(*at[S](x, j, s.from)) ^ s.flip, j}
}

// smallest fills heap with the smallest entries of the row at x, in order. The
// largest of those found so far is first, and a smaller one takes its place; an
// equal one does not, since its index is higher.
func (s *sorting[S]) smallest(heap []entry, x uintptr) {
	k := int64(len(heap))
	if k == 0 {
		return
	}
	for j := range k {
		heap[j] = s.entry(x, j)
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
	for j := k; j < s.n; j++ {
		if e := s.entry(x, j); e.key < heap[0].key {
			heap[0] = e
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
	l, k := linesOf(kernels.SortGrad, a), a.In[0].Dims[a.Attr.Axis]
	grain := max(serialBelow/max(l.len, 1), 1)
	if chunks(l.total, grain) == 1 {
		sortGradLines[T](&l, k, 0, l.total)
		return nil
	}
	shared := l
	parallel(l.total, grain, func(lo, hi int64) {
		l := shared
		sortGradLines[T](&l, k, lo, hi)
	})
	return nil
}

// sortGradLines does the lines lo to hi, which have k elements chosen of each.
func sortGradLines[T float](l *lines, k, lo, hi int64) {
	for l.seek(lo, hi); l.next(); {
		for i := range l.n {
			p := l.line(i)
			if size := sizeOf[T](); l.gaps[0] == size && l.gaps[1] == size && l.gaps[2] == 8 {
				placeAt(dense[T](p[0], l.len), dense[T](p[1], k), dense[int64](p[2], k))
				continue
			}
			for j := range l.len {
				*at[T](p[0], j, l.gaps[0]) = 0
			}
			for j := range k {
				if c := *at[int64](p[2], j, l.gaps[2]); c >= 0 && c < l.len {
					*at[T](p[0], c, l.gaps[0]) = *at[T](p[1], j, l.gaps[1])
				}
			}
		}
	}
}

// placeAt makes out 0, but for x at the places.
func placeAt[T float](out, x []T, places []int64) {
	clear(out)
	x = x[:len(places)]
	for j, c := range places {
		if uint64(c) < uint64(len(out)) {
			out[c] = x[j]
		}
	}
}
