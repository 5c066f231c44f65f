package tensor

import (
	"fmt"
	"slices"

	"tarn/kernels"
)

func reshapeBackward(g *gradients) error {
	v := &g.slots[0].view
	g.put(0, g.up.Reshape(shapeOf(v)...))
	return nil
}

// Reshape returns t's elements, in row-major order, with another shape of the
// same length; one dim may be -1 and is then worked out. It is a view where
// t's strides allow, else a copy.
func (t *Tensor) Reshape(shape ...int) *Tensor { return reshaped(reshapeDef, t, shape) }

// View is [Tensor.Reshape] that never copies: where t's strides do not allow a
// view it fails.
func (t *Tensor) View(shape ...int) *Tensor {
	return viewed(viewDef, t, func(v *kernels.View) error { return reshapeView(v, shape) }, nil)
}

// ViewAs returns t viewed with u's shape.
func (t *Tensor) ViewAs(u *Tensor) *Tensor {
	if err := usableBoth(t, u); err != nil {
		return refused("ViewAs", err, t, u)
	}
	return t.View(u.Shape()...)
}

// Flatten returns t with the dims from start to end, which is one of them, made
// one; a scalar becomes a vector. It is a view where t's strides allow, else a
// copy.
func (t *Tensor) Flatten(start, end int) *Tensor {
	var shape Shape
	err := t.usable()
	if err == nil {
		shape, err = flattened(t.Shape(), start, end)
	}
	if err != nil {
		return refused("Flatten", err, t)
	}
	return reshaped(flattenDef, t, shape)
}

func flattened(s Shape, start, end int) (Shape, error) {
	if len(s) == 0 {
		s = Shape{1}
	}
	first, err := axis(start, int8(len(s)))
	if err != nil {
		return nil, err
	}
	last, err := axis(end, int8(len(s)))
	if err != nil {
		return nil, err
	}
	if first > last {
		return nil, fmt.Errorf("%w: dim %d does not come before dim %d", ErrShape, start, end)
	}
	return slices.Concat(s[:first], Shape{s[first : last+1].Len()}, s[last+1:]), nil
}

func reshaped(def *opDef, t *Tensor, shape []int) *Tensor {
	if t.usable() == nil && !t.view.Contiguous() {
		if v := t.view; reshapeView(&v, shape) == errNeedsCopy {
			dense := t.Contiguous()
			defer dense.Release()
			return reshaped(def, dense, shape)
		}
	}
	return viewed(def, t, func(v *kernels.View) error { return reshapeView(v, shape) }, nil)
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
