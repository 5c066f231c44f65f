package tensor

import (
	"fmt"

	"tarn/kernels"
)

// These views change which dims there are, and their order, and no element's
// place in memory.

func transposeBackward(g *gradients) error {
	g.put(0, g.up.Transpose(g.attr.dim[0], g.attr.dim[1]))
	return nil
}

// Transpose returns a view with dims i and j swapped.
func (t *Tensor) Transpose(i, j int) *Tensor {
	var a, b int
	return viewed(transposeDef, t, func(v *kernels.View) (err error) {
		if a, err = axis(i, v.Rank); err != nil {
			return err
		}
		if b, err = axis(j, v.Rank); err != nil {
			return err
		}
		v.Dims[a], v.Dims[b] = v.Dims[b], v.Dims[a]
		v.Strides[a], v.Strides[b] = v.Strides[b], v.Strides[a]
		return nil
	}, func(n *node) { n.attr.dim = [2]int{a, b} })
}

// T returns the transpose of a matrix, a view; of more dims, the last two are
// swapped, as PyTorch's mT does.
func (t *Tensor) T() *Tensor { return t.Transpose(-2, -1) }

// SwapDims is [Tensor.Transpose] by PyTorch's other name.
func (t *Tensor) SwapDims(i, j int) *Tensor { return t.Transpose(i, j) }

// Permute returns a view whose dim i is t's dim dims[i]; each dim is named once.
func (t *Tensor) Permute(dims ...int) *Tensor {
	return permuted(permuteDef, t, func(rank int8, order *[MaxRank]int64) error {
		if len(dims) != int(rank) {
			return fmt.Errorf("%w: %d dims named of %d", ErrShape, len(dims), rank)
		}
		var named [MaxRank]bool
		for i, dim := range dims {
			d, err := axis(dim, rank)
			if err != nil {
				return err
			}
			if named[d] {
				return fmt.Errorf("%w: dim %d is named twice", ErrShape, dim)
			}
			order[i], named[d] = int64(d), true
		}
		return nil
	})
}

// MoveDim returns a view with dim from moved to place to, and the others in
// their order.
func (t *Tensor) MoveDim(from, to int) *Tensor {
	return permuted(moveDimDef, t, func(rank int8, order *[MaxRank]int64) error {
		a, err := axis(from, rank)
		if err != nil {
			return err
		}
		b, err := axis(to, rank)
		if err != nil {
			return err
		}
		next := int64(0)
		for i := range int(rank) {
			if i == b {
				order[i] = int64(a)
				continue
			}
			if next == int64(a) {
				next++
			}
			order[i] = next
			next++
		}
		return nil
	})
}

// permuted is the view whose dim i is t's dim order[i]. The node keeps the order
// as the dims of its second slot.
func permuted(def *opDef, t *Tensor, fill func(rank int8, order *[MaxRank]int64) error) *Tensor {
	var order [MaxRank]int64
	return viewed(def, t, func(v *kernels.View) error {
		if err := fill(v.Rank, &order); err != nil {
			return err
		}
		old := *v
		for i, d := range order[:v.Rank] {
			v.Dims[i], v.Strides[i] = old.Dims[d], old.Strides[d]
		}
		return nil
	}, func(n *node) { n.slots[1].view.Dims = order })
}

func permuteBackward(g *gradients) error {
	var inverse [MaxRank]int
	for i, d := range g.slots[1].view.Dims[:g.result.Rank] {
		inverse[d] = i
	}
	g.put(0, g.up.Permute(inverse[:g.result.Rank]...))
	return nil
}

// Unsqueeze returns a view with a dim of size 1 put in at dim.
func (t *Tensor) Unsqueeze(dim int) *Tensor {
	return viewed(unsqueezeDef, t, func(v *kernels.View) error {
		if v.Rank == MaxRank {
			return fmt.Errorf("%w: %d dims already", ErrShape, MaxRank)
		}
		d, err := axis(dim, v.Rank+1)
		if err != nil {
			return err
		}
		*v = withDim(*v, d)
		return nil
	}, nil)
}

// Squeeze returns a view without the given dims, which must have size 1: PyTorch
// leaves others as they are, which hides a wrong shape. With no dims it is a
// view without all dims of size 1.
func (t *Tensor) Squeeze(dims ...int) *Tensor {
	return viewed(squeezeDef, t, func(v *kernels.View) error {
		var gone kernels.View // marks the dims to go by a stride of 1
		for d := range int(v.Rank) {
			if len(dims) == 0 && v.Dims[d] == 1 {
				gone.Strides[d] = 1
			}
		}
		for _, dim := range dims {
			d, err := axis(dim, v.Rank)
			if err != nil {
				return err
			}
			if v.Dims[d] != 1 {
				return fmt.Errorf("%w: dim %d has size %d, not 1", ErrShape, dim, v.Dims[d])
			}
			if gone.Strides[d] == 1 {
				return fmt.Errorf("%w: dim %d is named twice", ErrShape, dim)
			}
			gone.Strides[d] = 1
		}
		*v = squeezed(*v, &gone)
		return nil
	}, nil)
}
