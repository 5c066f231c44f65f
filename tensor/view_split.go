package tensor

import (
	"fmt"
	"slices"

	"tarn/kernels"
)

// Split returns views of size indices each along dim, one after the other; the
// last has what is left. A failure is one tensor that carries it.
func (t *Tensor) Split(size, dim int) []*Tensor {
	d, total, err := t.along(dim)
	if err == nil && (size < 0 || size == 0 && total > 0) {
		err = fmt.Errorf("%w: parts of size %d", ErrShape, size)
	}
	if err != nil {
		return noParts(splitDef, t, err, 1)
	}
	return t.parts(splitDef, d, evenly(total, size))
}

// SplitSizes returns views of the given sizes along dim, one after the other.
// They must add up to the dim. A failure is as many tensors that carry it.
func (t *Tensor) SplitSizes(sizes []int, dim int) []*Tensor {
	d, total, err := t.along(dim)
	left := total
	for i, size := range sizes {
		if err == nil && (size < 0 || size > left) {
			err = fmt.Errorf("%w: part %d has size %d where %d of %d are left", ErrShape, i, size, left, total)
		}
		left -= size
	}
	if err == nil && left != 0 {
		err = fmt.Errorf("%w: the sizes %v leave %d of %d", ErrShape, sizes, left, total)
	}
	if err != nil {
		return noParts(splitDef, t, err, len(sizes))
	}
	return t.parts(splitDef, d, sizes)
}

// Chunk returns n views of one size along dim, one after the other. Where n does
// not divide the dim the last is smaller, and as in PyTorch there may be fewer:
// 6 in 4 is three of 2. A failure is n tensors that carry it, or maxParts where n is
// more, which is one for a dim of size 0, of which there would be n.
func (t *Tensor) Chunk(n, dim int) []*Tensor {
	if n < 1 {
		return noParts(chunkDef, t, fmt.Errorf("%w: %d parts, at least 1", ErrShape, n), 1)
	}
	d, total, err := t.along(dim)
	if err == nil && total == 0 && n > maxParts {
		err = fmt.Errorf("%w: %d parts of nothing, at most %d", ErrShape, n, maxParts)
	}
	if err != nil {
		return noParts(chunkDef, t, err, n)
	}
	if total == 0 {
		return t.parts(chunkDef, d, make([]int, n))
	}
	return t.parts(chunkDef, d, evenly(total, (total-1)/n+1))
}

// along resolves dim and returns its size.
func (t *Tensor) along(dim int) (d, size int, err error) {
	if err = t.usable(); err == nil {
		d, err = axis(dim, t.view.Rank)
	}
	if err != nil {
		return 0, 0, err
	}
	return d, int(t.view.Dims[d]), nil
}

// evenly returns the sizes of total's parts of size, at least one.
func evenly(total, size int) []int {
	sizes := []int{}
	for ; total > size; total -= size {
		sizes = append(sizes, size)
	}
	return append(sizes, total)
}

func (t *Tensor) parts(def *opDef, d int, sizes []int) []*Tensor {
	parts, from := make([]*Tensor, len(sizes)), 0
	for i, size := range sizes {
		at := from
		parts[i] = picked(def, t, func(v *kernels.View) error {
			slice(v, d, at, at+size, 1)
			return nil
		})
		from += size
	}
	return parts
}

// maxParts bounds the parts of nothing: a number of them that is a mistake must not
// end in a list that the program has no memory for.
const maxParts = 1 << 20

// noParts is n times, and at least once, the tensor that carries err: who takes
// the parts by index finds it there.
func noParts(def *opDef, t *Tensor, err error, n int) []*Tensor {
	return slices.Repeat([]*Tensor{refused(def.name, err, t)}, min(max(n, 1), maxParts))
}
