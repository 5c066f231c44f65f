package cpu

import (
	"math"
	"sync"

	"tarn/kernels"
	"tarn/kernels/scalar"
)

// function is an elementwise op on slices of one length. out may be an input.
type function[T element] struct {
	apply  loop[T]
	costly bool // an element takes as long as eight of an addition
	// buffers are pooled: what is given to any function lies on the heap.
	buffers sync.Pool
}

type loop[T element] func(out, x, y []T, s scalars[T])

// blocks hold a block of each operand.
type blocks[T element] [3][blockLen]T

// scalars are Attr.Alpha and Attr.Beta in the element type, and as they are.
type scalars[T element] struct {
	alpha, beta T
	attr        *kernels.Attr
}

// functionOf returns the function of id for elements of type T: a loop of its
// own for the common ops, else calls of the op's function of single numbers.
func functionOf[T element](id kernels.ID) *function[T] {
	f := &function[T]{apply: loopOf[T](id)}
	f.buffers.New = func() any { return new(blocks[T]) }
	if f.apply == nil {
		f.apply = typedLoopOf[T](id)
	}
	f.costly = f.apply == nil || id == kernels.FloorDivide || id == kernels.Remainder
	if f.apply != nil {
		return f
	}
	u, b := scalar.Unaries[id], scalar.Binaries[id]
	if typeOf[T]().IsFloat() {
		f.apply = floats[T](u.Float, b.Float)
	} else {
		f.apply = wholes[T](u.Whole, b.Whole)
	}
	return f
}

// floats returns the loop over that of the two that is not nil.
func floats[T element](u func(x, a, b float64) float64, b func(x, y, a, b float64) float64) loop[T] {
	if u != nil {
		return func(out, x, _ []T, s scalars[T]) {
			for i := range out {
				out[i] = T(u(float64(x[i]), float64(s.alpha), float64(s.beta)))
			}
		}
	}
	return func(out, x, y []T, s scalars[T]) {
		for i := range out {
			out[i] = T(b(float64(x[i]), float64(y[i]), float64(s.alpha), float64(s.beta)))
		}
	}
}

// wholes is floats for integers.
func wholes[T element](u func(x int64, a, b float64) int64, b func(x, y int64) int64) loop[T] {
	if u != nil {
		return func(out, x, _ []T, s scalars[T]) {
			for i := range out {
				out[i] = T(u(int64(x[i]), s.attr.Alpha, s.attr.Beta))
			}
		}
	}
	return func(out, x, y []T, _ scalars[T]) {
		for i := range out {
			out[i] = T(b(int64(x[i]), int64(y[i])))
		}
	}
}

// loopOf returns the loop of a common op that is written alike for all types, nil
// for the others.
func loopOf[T element](id kernels.ID) loop[T] {
	switch id {
	case kernels.Add:
		return func(out, x, y []T, _ scalars[T]) {
			x, y = x[:len(out)], y[:len(out)]
			for i := range out {
				out[i] = x[i] + y[i]
			}
		}
	case kernels.Sub:
		return func(out, x, y []T, _ scalars[T]) {
			x, y = x[:len(out)], y[:len(out)]
			for i := range out {
				out[i] = x[i] - y[i]
			}
		}
	case kernels.Mul:
		return func(out, x, y []T, _ scalars[T]) {
			x, y = x[:len(out)], y[:len(out)]
			for i := range out {
				out[i] = x[i] * y[i]
			}
		}
	case kernels.Maximum:
		return func(out, x, y []T, _ scalars[T]) {
			x, y = x[:len(out)], y[:len(out)]
			for i := range out {
				out[i] = max(x[i], y[i])
			}
		}
	case kernels.Minimum:
		return func(out, x, y []T, _ scalars[T]) {
			x, y = x[:len(out)], y[:len(out)]
			for i := range out {
				out[i] = min(x[i], y[i])
			}
		}
	case kernels.Neg:
		return func(out, x, _ []T, _ scalars[T]) {
			x = x[:len(out)]
			for i := range out {
				out[i] = -x[i]
			}
		}
	}
	return nil
}

// typedLoopOf is loopOf for what integers and floats do not do alike.
func typedLoopOf[T element](id kernels.ID) loop[T] {
	var x T
	var found any
	switch any(x).(type) {
	case float32:
		found = floatLoopOf[float32](id)
	case float64:
		found = floatLoopOf[float64](id)
	case int64:
		found = wholeLoopOf[int64](id)
	case int32:
		found = wholeLoopOf[int32](id)
	case uint8:
		found = wholeLoopOf[uint8](id)
	}
	l, _ := found.(loop[T])
	return l
}

func floatLoopOf[T float](id kernels.ID) loop[T] {
	switch id {
	case kernels.FloorDivide:
		return floorDivideFloats[T]
	case kernels.Remainder:
		return remainderFloats[T]
	case kernels.Div:
		return func(out, x, y []T, _ scalars[T]) {
			x, y = x[:len(out)], y[:len(out)]
			for i := range out {
				out[i] = x[i] / y[i]
			}
		}
	case kernels.Affine:
		return func(out, x, _ []T, s scalars[T]) {
			for i := range out {
				out[i] = T(s.alpha*x[i]) + s.beta
			}
		}
	case kernels.Sqrt:
		return func(out, x, _ []T, _ scalars[T]) {
			for i := range out {
				out[i] = T(math.Sqrt(float64(x[i])))
			}
		}
	case kernels.ReLU:
		return func(out, x, _ []T, _ scalars[T]) {
			for i, v := range x {
				if v < 0 {
					v = 0
				}
				out[i] = v
			}
		}
	case kernels.ReLUGrad:
		return func(out, x, y []T, _ scalars[T]) {
			for i, v := range y {
				if v > 0 || v != v {
					out[i] = x[i]
				} else {
					out[i] = 0
				}
			}
		}
	}
	return nil
}
