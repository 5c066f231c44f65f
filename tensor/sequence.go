package tensor

import (
	"fmt"
	"math"

	"tarn/kernels"
)

// Arange returns start, start+step, start+2*step and so on, up to and without
// stop: ceil((stop-start)/step) elements, as by PyTorch, so that rounding may let
// the last one reach stop. An element is start plus its index times step, rounded
// once in float64 and once to dt. stop must not lie on the other side of start
// than step points to.
//
// For an integer dt the three are whole numbers, and the elements in its range,
// else it is [ErrValue]: PyTorch truncates them, by rules that differ between its
// types, and wraps. A Bool has no Arange.
func Arange(p Place, dt DType, start, stop, step float64) *Tensor {
	n, err := arangeLen(dt, start, stop, step)
	if err != nil {
		return notCreated("Arange", p, dt, err)
	}
	t := create("Arange", p, dt, []int{n})
	return t.sequence("Arange", t.view, start, step)
}

func arangeLen(dt DType, start, stop, step float64) (int, error) {
	if !kernels.Numbers.Has(dt) {
		return 0, dtypeError("a sequence of %v", dt)
	}
	n := math.Ceil((stop - start) / step)
	switch {
	case step == 0 || math.IsNaN(n) || math.IsInf(start, 0) || math.IsInf(stop, 0):
		return 0, fmt.Errorf("%w: from %v to %v by %v", ErrValue, start, stop, step)
	case n < 0:
		return 0, fmt.Errorf("%w: from %v to %v goes against a step of %v", ErrValue, start, stop, step)
	case n >= math.MaxInt64:
		return 0, fmt.Errorf("%w: %v elements", ErrShape, n)
	}
	if dt.IsInt() {
		for _, x := range []float64{start, stop, step} {
			if x != math.Trunc(x) {
				return 0, fmt.Errorf("%w: %v is not whole, and the elements are %v", ErrValue, x, dt)
			}
		}
	}
	if n > 0 {
		for _, x := range []float64{start, start + (n-1)*step} {
			if _, err := held(dt, x); err != nil {
				return 0, err
			}
		}
	}
	return int(n), nil
}

// Linspace returns n numbers at equal distances from start to end, both among
// them; one number is start. As in PyTorch the first half is counted from start
// and the second from end, which is met exactly, and integers are truncated. An
// element is rounded once in float64 and once to dt.
func Linspace(p Place, dt DType, start, end float64, n int) *Tensor {
	err := error(nil)
	if !kernels.Numbers.Has(dt) {
		err = dtypeError("a sequence of %v", dt)
	}
	for _, x := range []float64{start, end} {
		if err == nil {
			_, err = held(dt, x)
		}
	}
	if err != nil {
		return notCreated("Linspace", p, dt, err)
	}
	t := create("Linspace", p, dt, []int{n})
	if n == 1 {
		return t.sequence("Linspace", t.view, start, 0)
	}
	step := (end - start) / float64(n-1)
	first, last := t.view, t.view
	first.Dims[0] = int64(n / 2)
	last.Dims[0], last.Strides[0] = int64(n-n/2), -1
	last.Ptr += uintptr(max(n-1, 0)) * uintptr(dt.Size())
	return t.sequence("Linspace", first, start, step).sequence("Linspace", last, end, -step)
}

// sequence writes start, start+step and so on to a view of t, and returns t.
func (t *Tensor) sequence(op string, v kernels.View, start, step float64) *Tensor {
	if t.err != nil {
		return t
	}
	a := kernels.NewArgs()
	defer a.Put()
	a.Out = append(a.Out, v)
	a.Attr.Alpha, a.Attr.Beta = start, step
	if err := t.dev.streamOf(t.env).launch(kernels.Sequence, a, []*Tensor{t}, nil); err != nil {
		return t.discard(newError(op, err, t))
	}
	return t
}

// Eye returns a matrix of n by m that is 1 on its diagonal and else 0.
func Eye(p Place, dt DType, n, m int) *Tensor {
	t := full("Eye", p, dt, 0, []int{n, m})
	if t.err != nil || t.Len() == 0 {
		return t
	}
	v := t.view
	v.Rank, v.Dims[0], v.Strides[0] = 1, int64(min(n, m)), int64(m+1)
	if err := fill(t.seenAs(v), 1); err != nil {
		return t.discard(newError("Eye", err, t))
	}
	return t
}

// notCreated returns the tensor that op could not begin to make at p.
func notCreated(op string, p Place, dt DType, err error) *Tensor {
	if p == nil {
		panic("tensor: " + op + " at a nil Place")
	}
	dev, e := p.place()
	return failed(newError(op, err), dev, e, kernels.View{DType: dt})
}
