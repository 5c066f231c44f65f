package tensor

import (
	"fmt"

	"tarn/kernels"
)

// In-place changes return an error. They change neither the owner nor the scope
// nor the home stream of t, and bump the storage's version, so that a backward
// that needs the old values reports it. They refuse what would make history
// wrong: a tensor that has history or requires grad, unless it is a NoGrad
// handle, and an operand whose history the change would lose. An operand of
// another type is converted to t's first, unless its kind is above t's: no float
// goes into an integer.

// AddInPlace adds u, broadcast to t's shape, to t.
func (t *Tensor) AddInPlace(u *Tensor) error { return t.change("AddInPlace", kernels.Add, u) }

// SubInPlace subtracts u, broadcast to t's shape, from t.
func (t *Tensor) SubInPlace(u *Tensor) error { return t.change("SubInPlace", kernels.Sub, u) }

// MulInPlace multiplies t by u, broadcast to t's shape.
func (t *Tensor) MulInPlace(u *Tensor) error { return t.change("MulInPlace", kernels.Mul, u) }

// CopyInPlace overwrites t with u, broadcast to t's shape and converted to its
// dtype.
func (t *Tensor) CopyInPlace(u *Tensor) error { return t.change("CopyInPlace", kernels.Copy, u) }

// Fill sets every element of t to value, converted as [Full] does it.
func (t *Tensor) Fill(value float64) error {
	err := t.usable()
	if err == nil {
		err = t.writable()
	}
	if err == nil {
		err = fill(t, value)
	}
	if err != nil {
		return newError("Fill", err, t)
	}
	t.storage.version.Add(1)
	return nil
}

func (t *Tensor) change(name string, id kernels.ID, u *Tensor) error {
	j, err := join(t, u)
	if err == nil {
		err = t.writable()
	}
	switch {
	case err != nil:
	case u.RequiresGrad():
		err = fmt.Errorf("%w: the operand has history that the change would lose; use its NoGrad", ErrInPlace)
	case id != kernels.Copy && kind(u.view.DType) > kind(t.view.DType):
		err = dtypeError("%v does not go into %v", u.view.DType, t.view.DType)
	case !id.DTypes().Has(t.view.DType):
		err = dtypeError("%v of %v", id, t.view.DType)
	}
	if err == nil && j.dev != t.dev {
		err = fmt.Errorf("%w: the tensor and its new value, %s", ErrDevice, two(t.dev, j.dev))
	}
	if err == nil && u.dev != t.dev {
		if u, err = u.constantOn(j.stream, j.env); err == nil {
			defer u.Release()
		}
	}
	if err == nil && id != kernels.Copy && u.view.DType != t.view.DType {
		if u = converted(u.NoGrad(), t.view.DType); u.err == nil {
			defer u.Release()
		}
		err = u.err
	}
	if err == nil {
		err = j.stream.change(id, t, u)
	}
	if err != nil {
		return newError(name, err, t, u)
	}
	t.storage.version.Add(1)
	if j.env.get().anomaly {
		if err := t.finite(); err != nil {
			return newError(name, err, t, u)
		}
	}
	return nil
}

// change runs t = t op u on s.
func (s *Stream) change(id kernels.ID, t, u *Tensor) error {
	var together [MaxRank]int64
	dims, err := broadcast(&together, &t.view, &u.view)
	if err != nil {
		return err
	}
	if len(dims) != int(t.view.Rank) || !shapeOf(&t.view).Equal(shapeOf(&kernels.View{Rank: t.view.Rank, Dims: together})) {
		return fmt.Errorf("%w: the operand is larger than the tensor", ErrShape)
	}
	if overlaps(t, u) {
		copied := cloneOn(s, nil, u)
		if copied.err != nil {
			return copied.err
		}
		defer copied.Release()
		u = copied
	}
	a := kernels.NewArgs()
	defer a.Put()
	a.Out = append(a.Out, t.view)
	if id != kernels.Copy {
		a.In = append(a.In, t.view)
	}
	a.In = append(a.In, expanded(u.view, dims))
	return s.launch(id, a, []*Tensor{t}, []*Tensor{u})
}

// overlaps reports whether writing t while reading u could read what was
// written: they share a storage and are not the very same elements.
func overlaps(t, u *Tensor) bool {
	return t.storage == u.storage && t.view != u.view
}

// addInto adds g to sum, a gradient, on s.
func addInto(s *Stream, sum, g *Tensor) error {
	if g.err != nil {
		return g.err
	}
	if err := s.change(kernels.Add, sum, g); err != nil {
		return err
	}
	sum.storage.version.Add(1)
	return nil
}

// writable returns why t must not be changed in place.
func (t *Tensor) writable() error {
	if t.RequiresGrad() {
		return fmt.Errorf("%w: the tensor requires grad or has history; use its NoGrad", ErrInPlace)
	}
	if repeats(&t.view) {
		return fmt.Errorf("%w: elements of the tensor share memory (strides %v)", ErrInPlace, t.view.Strides[:t.view.Rank])
	}
	return nil
}
