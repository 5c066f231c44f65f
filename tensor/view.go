package tensor

import (
	"fmt"

	"tarn/kernels"
)

// Views share t's storage and hold it by themselves: t may be released before
// them. Their gradients flow back to t. A dim counts from the end where it is
// negative; a scalar has none, where PyTorch takes 0 and -1 for it. A view that
// cannot be made carries [ErrShape].

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

// picked is viewed for a view of some of t's elements, each of them once. Its
// gradient goes to the place that change gives the view in a dense tensor; the
// node's second slot has it, counted from address 0.
func picked(def *opDef, t *Tensor, change func(v *kernels.View) error) *Tensor {
	return viewed(def, t, change, func(n *node) {
		of := &n.slots[0].view
		place, _, err := dense(of.DType, of.Dims[:of.Rank])
		if err == nil {
			err = change(&place)
		}
		if err != nil {
			panic("tensor: " + def.name + ": of t and not of a tensor of its shape: " + err.Error())
		}
		n.slots[1].view = place
	})
}

// placeBackward puts the gradient into its place among zeros, or adds it there
// to what the operand has got so far: the parts of a Split share one gradient.
func placeBackward(g *gradients) error {
	if n := g.slots[0].node; n != nil && n.walk == g.walk && n.grad != nil && n.grad.sole() && n.made == "" {
		place := g.slots[1].view
		place.Ptr += n.grad.view.Ptr
		return addInto(n.grad.dev.streamOf(n.grad.env), n.grad.seenAs(place), g.up)
	}
	full, err := g.zeros()
	if err != nil || g.result.Len() == 0 {
		return err
	}
	place := g.slots[1].view
	place.Ptr += full.view.Ptr
	return full.dev.streamOf(g.env).copyOf(full.seenAs(place), g.up)
}

// zeros gives operand 0 a gradient of zeros, to be written to.
func (g *gradients) zeros() (*Tensor, error) {
	v := &g.slots[0].view
	full, err := newTensor(g.up.dev.streamOf(g.env), g.env, v.DType, v.Dims[:v.Rank])
	if err != nil {
		return nil, err
	}
	g.put(0, full)
	return full, fill(full, 0)
}

// seenAs returns a handle on t's storage with another geometry. It borrows t's
// hold.
func (t *Tensor) seenAs(v kernels.View) *Tensor {
	return &Tensor{dev: t.dev, storage: t.storage, env: t.env, view: v, owner: t.root()}
}

// Slice returns a view of the indices start, start+step, ... below end along
// dim. start and end may count from the end; step is at least 1. Unlike Go's
// slices it clips: end may lie past the dim, as in Python.
func (t *Tensor) Slice(dim, start, end, step int) *Tensor {
	return picked(sliceDef, t, func(v *kernels.View) error {
		d, err := axis(dim, v.Rank)
		if err != nil {
			return err
		}
		if step < 1 {
			return fmt.Errorf("%w: step %d, at least 1", ErrShape, step)
		}
		size := int(v.Dims[d])
		slice(v, d, clip(start, size), clip(end, size), step)
		return nil
	})
}

// clip resolves an end of a slice as Python does.
func clip(i, size int) int {
	if i < 0 {
		i += size
	}
	return min(max(i, 0), size)
}

// slice narrows dim d of v to from, from+step, ... below to; both lie in the dim.
func slice(v *kernels.View, d, from, to, step int) {
	v.Dims[d] = 0
	if to > from {
		v.Dims[d] = int64((to-from-1)/step + 1)
	}
	if v.Len() > 0 {
		v.Ptr += uintptr(int64(from) * v.Strides[d] * v.DType.Size())
	}
	if v.Dims[d] > 1 {
		v.Strides[d] *= int64(step)
	}
}

// Select returns a view of what lies at index along dim, which may count from
// the end. The dim goes away. An index past the dim is [ErrIndex] too.
func (t *Tensor) Select(dim, index int) *Tensor {
	return picked(selectDef, t, func(v *kernels.View) error {
		d, err := axis(dim, v.Rank)
		if err != nil {
			return err
		}
		size, i := int(v.Dims[d]), index
		if i < 0 {
			i += size
		}
		if i < 0 || i >= size {
			return fmt.Errorf("%w: %w: %d of dim %d with size %d", ErrShape, ErrIndex, index, d, size)
		}
		slice(v, d, i, i+1, 1)
		*v = without(*v, d)
		return nil
	})
}

// without returns v without dim d.
func without(v kernels.View, d int) kernels.View {
	copy(v.Dims[d:], v.Dims[d+1:v.Rank])
	copy(v.Strides[d:], v.Strides[d+1:v.Rank])
	v.Rank--
	return v
}

func expandBackward(g *gradients) error {
	g.put(0, g.sumTo(0, g.up.alias()))
	return nil
}

// Expand returns a view that repeats dims of size 1, and new leading dims, up
// to the given shape, which t must broadcast to. A size of -1 keeps t's. Nothing
// is copied; elements then share memory, so the view cannot be changed in place.
func (t *Tensor) Expand(shape ...int) *Tensor {
	return viewed(expandDef, t, func(v *kernels.View) error {
		var buf, together [MaxRank]int64
		dims, err := dimsOf(&buf, shape)
		if err != nil {
			return err
		}
		for i, d := range dims {
			if own := i - len(dims) + int(v.Rank); d == -1 && own >= 0 {
				dims[i] = v.Dims[own]
			}
		}
		want, _, err := dense(v.DType, dims)
		if err != nil {
			return err
		}
		both, err := broadcast(&together, v, &want)
		if err != nil {
			return err
		}
		if !want.SameDims(&kernels.View{Rank: int8(len(both)), Dims: together}) {
			return fmt.Errorf("%w: %v does not expand to %v", ErrShape, shapeOf(v), Shape(shape))
		}
		*v = expanded(*v, dims)
		return nil
	}, nil)
}

// ExpandAs returns t expanded to u's shape.
func (t *Tensor) ExpandAs(u *Tensor) *Tensor {
	if err := usableBoth(t, u); err != nil {
		return refused("ExpandAs", err, t, u)
	}
	return t.Expand(u.Shape()...)
}

// usableBoth returns why one of t and u cannot be an operand, t's reason first.
func usableBoth(t, u *Tensor) error {
	if err := t.usable(); err != nil {
		return err
	}
	return u.usable()
}

// refused returns the view that op could not begin to make.
func refused(op string, err error, t *Tensor, more ...*Tensor) *Tensor {
	operands := append([]*Tensor{t}, more...)
	return failed(newError(op, err, operands...), t.dev, t.env, kernels.View{DType: t.view.DType})
}
