package tensor

import "tarn/kernels"

// seen holds the handles that an op makes on the way: its operands in other
// shapes, and what it keeps for backward. It fails with its call, and release
// ends them all.
type seen struct {
	c    *call
	held []*Tensor
}

// as returns t in a shape of as many elements: t itself where that is its own, a
// view of the same bytes where strides allow that, else a copy.
func (s *seen) as(t *Tensor, shape ...int) *Tensor {
	if s.c.err != nil || hasShape(&t.view, shape) {
		return t
	}
	u := t.alias()
	err := reshapeView(&u.view, shape)
	if err == errNeedsCopy {
		u.Release()
		u = cloneOn(s.c.stream, s.c.env, t)
		if err = u.err; err == nil {
			err = reshapeView(&u.view, shape)
		}
	}
	if err != nil {
		s.c.err = err
	}
	return s.keep(u)
}

func hasShape(v *kernels.View, shape []int) bool {
	same := int(v.Rank) == len(shape)
	for d := 0; same && d < len(shape); d++ {
		same = int(v.Dims[d]) == shape[d]
	}
	return same
}

// flat returns the tensors with one dim each.
func (s *seen) flat(ts []*Tensor) (flat []*Tensor) {
	for _, t := range ts {
		flat = append(flat, s.as(t, t.Len()))
	}
	return flat
}

// wide returns t in type dt: t itself, or a copy.
func (s *seen) wide(t *Tensor, dt DType) *Tensor {
	if s.c.err != nil || t.view.DType == dt {
		return t
	}
	u := s.keep(s.make(dt, t.view.Dims[:t.view.Rank]))
	if s.c.err == nil {
		s.c.err = s.c.stream.copyOf(u, t)
	}
	return u
}

// wideResult returns what an op that computes in type dt writes: the call's
// result, or a tensor of dt that settle then rounds to it.
func (s *seen) wideResult(dt DType) *Tensor {
	out := s.c.out
	if s.c.err != nil || out.view.DType == dt {
		return out
	}
	return s.keep(s.make(dt, out.view.Dims[:out.view.Rank]))
}

// settle makes the call's result of its wideResult.
func (s *seen) settle(wide *Tensor) {
	if s.c.err == nil && wide != s.c.out {
		s.c.err = s.c.stream.copyOf(s.c.out, wide)
	}
}

// make returns a new dense tensor, which the caller releases or has kept.
func (s *seen) make(dt DType, dims []int64) *Tensor {
	if s.c.err != nil {
		return nil
	}
	t, err := newTensor(s.c.stream, s.c.env, dt, dims)
	if err != nil {
		s.c.err = err
		return nil
	}
	return t
}

// keep has t released with the others.
func (s *seen) keep(t *Tensor) *Tensor {
	if t != nil {
		s.held = append(s.held, t)
	}
	return t
}

func (s *seen) release() {
	for _, t := range s.held {
		t.Release()
	}
	s.held = nil
}
