package tensor

import (
	"fmt"

	"tarn/kernels"
)

// Diagonal returns a view of the elements whose index along dim2 is that along
// dim1 plus offset. The two dims go away; the diagonal is the last dim, empty
// where the offset lies past the edge.
func (t *Tensor) Diagonal(offset, dim1, dim2 int) *Tensor {
	return picked(diagonalDef, t, func(v *kernels.View) error {
		a, err := axis(dim1, v.Rank)
		if err != nil {
			return err
		}
		b, err := axis(dim2, v.Rank)
		if err != nil {
			return err
		}
		if a == b {
			return fmt.Errorf("%w: the diagonal of dim %d with itself", ErrShape, dim1)
		}
		rows, columns := int(v.Dims[a]), int(v.Dims[b])
		down, right := max(-max(offset, -rows), 0), max(min(offset, columns), 0)
		slice(v, a, down, rows, 1)
		slice(v, b, right, columns, 1)
		size, stride := min(v.Dims[a], v.Dims[b]), v.Strides[a]+v.Strides[b]
		*v = without(*v, max(a, b))
		*v = without(*v, min(a, b))
		v.Dims[v.Rank], v.Strides[v.Rank] = size, stride
		v.Rank++
		return nil
	})
}

// Unfold returns a view of all windows of size indices along dim that lie step
// apart: dim counts the windows, and a new last dim is the place in the window.
// Windows overlap where step is less than size; such a view cannot be changed in
// place.
func (t *Tensor) Unfold(dim, size, step int) *Tensor {
	var d int
	return viewed(unfoldDef, t, func(v *kernels.View) (err error) {
		if v.Rank == MaxRank {
			return fmt.Errorf("%w: %d dims already", ErrShape, MaxRank)
		}
		if d, err = axis(dim, v.Rank); err != nil {
			return err
		}
		if size < 0 || int64(size) > v.Dims[d] {
			return fmt.Errorf("%w: windows of size %d along dim %d of size %d", ErrShape, size, d, v.Dims[d])
		}
		if step < 1 {
			return fmt.Errorf("%w: step %d, at least 1", ErrShape, step)
		}
		unfold(v, d, size, step)
		return nil
	}, func(n *node) { n.attr.dim[0], n.attr.start, n.attr.step = d, size, step })
}

// unfold makes dim d of v the windows of size that lie step apart.
func unfold(v *kernels.View, d, size, step int) {
	v.Dims[v.Rank], v.Strides[v.Rank] = int64(size), v.Strides[d]
	v.Rank++
	v.Dims[d] = (v.Dims[d]-int64(size))/int64(step) + 1
	if v.Dims[d] > 1 {
		v.Strides[d] *= int64(step)
	}
}

// unfoldBackward adds each window to its place among zeros. Windows that lie
// apart by their size share no element, so every apart-th of them goes in one
// launch.
func unfoldBackward(g *gradients) error {
	full, err := g.zeros()
	if err != nil || g.result.Len() == 0 {
		return err
	}
	d, size, step := g.attr.dim[0], g.attr.start, g.attr.step
	apart, windows := (size-1)/step+1, int(g.result.Dims[d])
	s := full.dev.streamOf(g.env)
	for first := range min(apart, windows) {
		place, up := full.view, g.up.view
		slice(&place, d, first*step, int(place.Dims[d]), 1)
		unfold(&place, d, size, apart*step)
		slice(&up, d, first, windows, apart)
		if err := s.change(kernels.Add, full.seenAs(place), g.up.seenAs(up)); err != nil {
			return err
		}
	}
	return nil
}
