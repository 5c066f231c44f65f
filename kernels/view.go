package kernels

import "fmt"

// MaxRank is the largest number of dims of an operand.
const MaxRank = 8

// View is an operand as a kernel sees it. It holds no Go pointer, so an array
// of views can be handed to C as it is; its layout is mirrored by struct view
// in kernels/cpu/kernels.h.
type View struct {
	Ptr     uintptr // address of the element at index 0,...,0
	DType   DType
	Rank    int8
	_       [6]byte
	Dims    [MaxRank]int64 // only the first Rank are meaningful
	Strides [MaxRank]int64 // in elements; 0 repeats one element along the dim
}

// Len returns the number of elements: the product of the dims, 1 for rank 0.
func (v *View) Len() int64 {
	n := int64(1)
	for _, d := range v.Dims[:v.Rank] {
		n *= d
	}
	return n
}

// Contiguous reports whether the elements lie dense in row-major order. Dims
// of size 1 may have any stride, and an empty view is contiguous.
func (v *View) Contiguous() bool {
	want := int64(1)
	for i := int(v.Rank) - 1; i >= 0; i-- {
		if v.Dims[i] != 1 && v.Strides[i] != want {
			return v.Len() == 0
		}
		want *= v.Dims[i]
	}
	return true
}

// SameDims reports whether both views have the same rank and dims.
func (v *View) SameDims(w *View) bool {
	return v.Rank == w.Rank && v.Dims == w.Dims ||
		v.Rank == w.Rank && equal(v.Dims[:v.Rank], w.Dims[:w.Rank])
}

// SameElements reports whether v and w put the same index at the same bytes.
func (v *View) SameElements(w *View) bool {
	if v.Ptr != w.Ptr || v.DType.Size() != w.DType.Size() || !v.SameDims(w) {
		return false
	}
	for d, n := range v.Dims[:v.Rank] {
		if n > 1 && v.Strides[d] != w.Strides[d] {
			return false
		}
	}
	return true
}

func equal(a, b []int64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// String prints dtype, dims and strides, as errors quote them.
func (v View) String() string {
	s := fmt.Sprintf("%v%v", v.DType, v.Dims[:v.Rank])
	if !v.Contiguous() {
		s += fmt.Sprintf("/%v", v.Strides[:v.Rank])
	}
	return s
}
