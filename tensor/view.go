package tensor

import (
	"fmt"

	"tarn/kernels"
)

// Views share t's storage and hold it by themselves: t may be released before
// them. Their gradients flow back to t.

// viewed makes a view of t through change, which rewrites the geometry.
func viewed(def *opDef, t *Tensor, change func(v *kernels.View) error, save func(n *node)) *Tensor {
	var c call
	start(&c, def, t)
	if c.err != nil {
		return c.finish(nil)
	}
	v := t.view
	if c.err = change(&v); c.err != nil {
		return c.finish(nil)
	}
	c.out = &Tensor{dev: c.dev, storage: t.storage.retain(), env: c.env, view: v}
	return c.finish(save)
}

func transposeBackward(g *gradients) error {
	g.put(0, g.up.Transpose(g.attr.dim[0], g.attr.dim[1]))
	return nil
}

// Transpose returns a view with dims i and j swapped. They may count from the
// end.
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

// T returns the transpose of a matrix, a view.
func (t *Tensor) T() *Tensor { return t.Transpose(-2, -1) }

func expandBackward(g *gradients) error {
	g.put(0, g.sumTo(0, g.up.alias()))
	return nil
}

// Expand returns a view that repeats dims of size 1, and new leading dims, up
// to the given shape, which t must broadcast to. Nothing is copied.
func (t *Tensor) Expand(shape ...int) *Tensor {
	return viewed(expandDef, t, func(v *kernels.View) error {
		var buf, together [MaxRank]int64
		dims, err := dimsOf(&buf, shape)
		if err != nil {
			return err
		}
		want, _, err := dense(v.DType, dims)
		if err != nil {
			return err
		}
		both, err := broadcast(&together, v, &want)
		if err != nil {
			return err
		}
		if !Shape(shape).Equal(shapeOf(&kernels.View{Rank: int8(len(both)), Dims: together})) {
			return fmt.Errorf("%w: %v does not expand to %v", ErrShape, shapeOf(v), Shape(shape))
		}
		*v = expanded(*v, dims)
		return nil
	}, nil)
}

// Slice returns a view of the indices start, start+step, ... below end along
// dim. dim, start and end may count from the end; step is at least 1. Unlike
// Go's slices it clips: end may lie past the dim, as in numpy.
func (t *Tensor) Slice(dim, start, end, step int) *Tensor {
	var d, from int
	return viewed(sliceDef, t, func(v *kernels.View) (err error) {
		if d, err = axis(dim, v.Rank); err != nil {
			return err
		}
		if step < 1 {
			return fmt.Errorf("%w: step %d, at least 1", ErrShape, step)
		}
		size := int(v.Dims[d])
		var to int
		from, to = clip(start, size), clip(end, size)
		v.Dims[d] = 0
		if to > from {
			v.Dims[d] = int64((to-from-1)/step + 1)
		}
		if v.Len() > 0 {
			v.Ptr += uintptr(int64(from) * v.Strides[d] * v.DType.Size())
		}
		v.Strides[d] *= int64(step)
		return nil
	}, func(n *node) { n.attr.dim[0], n.attr.start, n.attr.step = d, from, step })
}

func clip(i, size int) int {
	if i < 0 {
		i += size
	}
	return min(max(i, 0), size)
}

// sliceBackward puts the gradient into its place among zeros.
func sliceBackward(g *gradients) error {
	v := &g.slots[0].view
	s := g.up.dev.streamOf(g.env)
	full, err := newTensor(s, g.env, v.DType, v.Dims[:v.Rank])
	if err != nil {
		return err
	}
	g.put(0, full)
	if err := fill(full, 0); err != nil {
		return err
	}
	d := g.attr.dim[0]
	part := full.Slice(d, g.attr.start, g.attr.start+int(g.result.Dims[d]-1)*g.attr.step+1, g.attr.step)
	defer part.Release()
	if g.result.Len() == 0 {
		return nil
	}
	return s.copyOf(part, g.up)
}

func reshapeBackward(g *gradients) error {
	v := &g.slots[0].view
	g.put(0, g.up.Reshape(shapeOf(v)...))
	return nil
}

// Reshape returns t's elements, in row-major order, with another shape of the
// same length; one dim may be -1 and is then worked out. It is a view where
// t's strides allow, else a copy.
func (t *Tensor) Reshape(shape ...int) *Tensor {
	if t.usable() == nil && !t.view.Contiguous() {
		if v := t.view; reshapeView(&v, shape) == errNeedsCopy {
			dense := t.Contiguous()
			defer dense.Release()
			return dense.Reshape(shape...)
		}
	}
	return viewed(reshapeDef, t, func(v *kernels.View) error { return reshapeView(v, shape) }, nil)
}

// Unsqueeze returns a view with a dim of size 1 put in at dim.
func (t *Tensor) Unsqueeze(dim int) *Tensor {
	return viewed(reshapeDef, t, func(v *kernels.View) error {
		if v.Rank == MaxRank {
			return fmt.Errorf("%w: %d dims already", ErrShape, MaxRank)
		}
		d, err := axis(dim, v.Rank+1)
		if err != nil {
			return err
		}
		copy(v.Dims[d+1:], v.Dims[d:v.Rank])
		copy(v.Strides[d+1:], v.Strides[d:v.Rank])
		v.Dims[d], v.Strides[d] = 1, 1
		v.Rank++
		return nil
	}, nil)
}

// Squeeze returns a view without dim, which must have size 1.
func (t *Tensor) Squeeze(dim int) *Tensor {
	return viewed(reshapeDef, t, func(v *kernels.View) error {
		d, err := axis(dim, v.Rank)
		if err != nil {
			return err
		}
		if v.Dims[d] != 1 {
			return fmt.Errorf("%w: dim %d has size %d, not 1", ErrShape, dim, v.Dims[d])
		}
		kept := kernels.View{}
		kept.Strides[d] = 1
		*v = squeezed(*v, &kept)
		return nil
	}, nil)
}

var errNeedsCopy = fmt.Errorf("%w: the strides do not allow a view", ErrShape)

// reshapeView gives v another shape of the same length, or errNeedsCopy. It
// walks v's dims, without those of size 1, in runs that are dense among
// themselves; the new dims must divide each run.
func reshapeView(v *kernels.View, shape []int) error {
	var buf [MaxRank]int64
	dims, err := dimsOf(&buf, shape)
	if err != nil {
		return err
	}
	if err := inferDim(dims, v.Len()); err != nil {
		return err
	}
	w, _, err := dense(v.DType, dims)
	if err != nil {
		return err
	}
	if w.Len() != v.Len() {
		return fmt.Errorf("%w: %d elements do not make %v", ErrShape, v.Len(), shapeOf(&w))
	}
	w.Ptr = v.Ptr
	if v.Contiguous() {
		*v = w
		return nil
	}
	old, next := int(v.Rank)-1, int(w.Rank)-1
	for old >= 0 {
		if v.Dims[old] == 1 {
			old--
			continue
		}
		run, stride := v.Dims[old], v.Strides[old]
		for old--; old >= 0 && (v.Dims[old] == 1 || v.Strides[old] == stride*run); old-- {
			run *= v.Dims[old]
		}
		for ; next >= 0 && (run > 1 || w.Dims[next] == 1); next-- {
			if run%w.Dims[next] != 0 {
				return errNeedsCopy
			}
			w.Strides[next] = stride
			stride *= w.Dims[next]
			run /= w.Dims[next]
		}
	}
	*v = w
	return nil
}

// inferDim replaces the one dim that is -1.
func inferDim(dims []int64, length int64) error {
	unknown, rest := -1, int64(1)
	for i, d := range dims {
		switch {
		case d == -1 && unknown >= 0:
			return fmt.Errorf("%w: two dims are -1", ErrShape)
		case d == -1:
			unknown = i
		default:
			rest *= d
		}
	}
	if unknown < 0 {
		return nil
	}
	if rest <= 0 || length%rest != 0 {
		return fmt.Errorf("%w: %d elements do not leave a whole dim for -1 in %v", ErrShape, length, dims)
	}
	dims[unknown] = length / rest
	return nil
}
