package cpu

import (
	"math"
	"slices"

	"golang.org/x/exp/constraints"
)

// An element of at most four bytes and its index fit a word, the key in the upper
// half: the order of words is that of the elements, equal ones by their index.

// packRow fills words with those of the elements that lie gap bytes apart from x
// on. flip turns the order of the keys round where it has all bits set.
type packRow func(words []uint64, x uintptr, gap int64, flip uint32)

func packFloats(words []uint64, x uintptr, gap int64, flip uint32) {
	for j := range words {
		v := *at[float32](x, int64(j), gap)
		bits := math.Float32bits(v)
		if v == 0 {
			bits = 0 // of -0 too
		}
		key := bits ^ (uint32(int32(bits)>>31) | 1<<31)
		if v != v {
			key = math.MaxUint32
		}
		words[j] = uint64(key^flip)<<32 | uint64(j)
	}
}

func packWholes[S constraints.Integer](words []uint64, x uintptr, gap int64, flip uint32) {
	for j := range words {
		key := uint32(int32(*at[S](x, int64(j), gap))) ^ 1<<31
		words[j] = uint64(key^flip)<<32 | uint64(j)
	}
}

// packedRow sorts row i of the walk's present run, whose elements begin at x.
func (s *sorting[S]) packedRow(i int64, x uintptr, words, other []uint64) {
	s.pack(words, x, s.from, uint32(s.flip))
	switch {
	case s.k > s.n/fewOf:
		words = sortWords(words, other)
	case s.k > 0:
		leastFirst(words, s.k)
	}
	v, d := s.ptr[1]+uintptr(i*s.step(1)), s.ptr[2]+uintptr(i*s.step(2))
	for j, w := range words[:s.k] {
		index := int64(uint32(w))
		*at[S](v, int64(j), s.gap) = *at[S](x, index, s.from)
		*at[int64](d, int64(j), s.indexGap) = index
	}
}

// leastFirst puts the k least words first, in order: in a heap whose largest
// gives way to any lesser word.
func leastFirst(words []uint64, k int64) {
	heap := words[:k]
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sinkWord(heap, i)
	}
	largest := heap[0]
	for j, w := range words[k:] {
		if w < largest {
			words[int(k)+j], heap[0] = largest, w
			sinkWord(heap, 0)
			largest = heap[0]
		}
	}
	slices.Sort(heap)
}

func sinkWord(heap []uint64, i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && heap[child+1] > heap[child] {
			child++
		}
		if heap[child] <= heap[i] {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

// sortWords is sortEntries for words: by the four digits of the keys.
func sortWords(x, other []uint64) []uint64 {
	if len(x) < radixFrom {
		slices.Sort(x)
		return x
	}
	var counts [4][256]uint32
	for _, w := range x {
		counts[0][byte(w>>32)]++
		counts[1][byte(w>>40)]++
		counts[2][byte(w>>48)]++
		counts[3][byte(w>>56)]++
	}
	other = other[:len(x)]
	for d := range counts {
		c, shift := &counts[d], (32+8*d)&63
		if int(c[byte(x[0]>>shift)]) == len(x) {
			continue
		}
		at := uint32(0)
		for digit, n := range c {
			c[digit] = at
			at += n
		}
		for _, w := range x {
			digit := byte(w >> shift)
			other[c[digit]] = w
			c[digit]++
		}
		x, other = other, x
	}
	return x
}
