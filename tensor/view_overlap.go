package tensor

import "tarn/kernels"

// repeats reports whether two indices of v may name the same element, as in
// expanded tensors and overlapping windows. It takes the dims by rising stride:
// where each steps over all that the smaller ones span, no two do. A view that
// interleaves without meeting, such as every other element of overlapping
// windows, may be taken for one that repeats. One without elements does not.
func repeats(v *kernels.View) bool {
	if v.Len() == 0 {
		return false
	}
	var done [MaxRank]bool
	span := int64(0) // from the first element to the last, over the dims done
	for {
		least := -1
		for d := range int(v.Rank) {
			if v.Dims[d] > 1 && !done[d] && (least < 0 || v.Strides[d] < v.Strides[least]) {
				least = d
			}
		}
		if least < 0 {
			return false
		}
		if v.Strides[least] <= span {
			return true
		}
		done[least] = true
		span += (v.Dims[least] - 1) * v.Strides[least]
	}
}
