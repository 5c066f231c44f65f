package cpu

import (
	"math"
	"sync"

	"tarn/kernels"
	"tarn/kernels/scalar"
)

// function is an elementwise op on slices of one length. out may be an input.
type function[T element] struct {
	apply  func(out, x, y, z []T, s scalars[T])
	costly bool // an element takes as long as eight of an addition
	// buffers are pooled: what is given to any function lies on the heap.
	buffers sync.Pool
}

// blocks hold a block of each operand.
type blocks[T element] [maxOperands][blockLen]T

// scalars are Attr.Alpha and Attr.Beta in the element type, and as they are.
type scalars[T element] struct {
	alpha, beta T
	attr        *kernels.Attr
}

// functionOf returns the function of id for elements of type T: a loop of its
// own for the ops that training is made of, else calls of the op's function of
// single numbers.
func functionOf[T element](id kernels.ID) *function[T] {
	f := &function[T]{apply: loopOf[T](id)}
	f.buffers.New = func() any { return new(blocks[T]) }
	if f.apply != nil {
		return f
	}
	f.costly = true
	u, b, t := scalar.Unaries[id], scalar.Binaries[id], scalar.Tests[id]
	var x T
	if _, whole := any(x).(int64); whole {
		f.apply = wholes[T](u.Whole, b.Whole, t.Whole)
	} else {
		f.apply = floats[T](u.Float, b.Float, t.Float)
	}
	return f
}

// floats returns the loop over that of the three that is not nil.
func floats[T element](u func(x, a, b float64) float64, b func(x, y, a, b float64) float64, t func(x, y float64) bool) func(out, x, y, z []T, s scalars[T]) {
	switch {
	case u != nil:
		return func(out, x, _, _ []T, s scalars[T]) {
			for i := range out {
				out[i] = T(u(float64(x[i]), float64(s.alpha), float64(s.beta)))
			}
		}
	case b != nil:
		return func(out, x, y, _ []T, s scalars[T]) {
			for i := range out {
				out[i] = T(b(float64(x[i]), float64(y[i]), float64(s.alpha), float64(s.beta)))
			}
		}
	}
	return func(out, x, y, _ []T, _ scalars[T]) {
		for i := range out {
			second := 0.0
			if y != nil {
				second = float64(y[i])
			}
			out[i] = truth[T](t(float64(x[i]), second))
		}
	}
}

// wholes is floats for integers.
func wholes[T element](u func(x int64, a, b float64) int64, b func(x, y int64) int64, t func(x, y int64) bool) func(out, x, y, z []T, s scalars[T]) {
	switch {
	case u != nil:
		return func(out, x, _, _ []T, s scalars[T]) {
			for i := range out {
				out[i] = T(u(int64(x[i]), s.attr.Alpha, s.attr.Beta))
			}
		}
	case b != nil:
		return func(out, x, y, _ []T, _ scalars[T]) {
			for i := range out {
				out[i] = T(b(int64(x[i]), int64(y[i])))
			}
		}
	}
	return func(out, x, y, _ []T, _ scalars[T]) {
		for i := range out {
			second := int64(0)
			if y != nil {
				second = int64(y[i])
			}
			out[i] = truth[T](t(int64(x[i]), second))
		}
	}
}

// loopOf returns the loop of a common op, nil for the others.
func loopOf[T element](id kernels.ID) func(out, x, y, z []T, s scalars[T]) {
	switch id {
	case kernels.Add:
		return func(out, x, y, _ []T, _ scalars[T]) {
			for i := range out {
				out[i] = x[i] + y[i]
			}
		}
	case kernels.Sub:
		return func(out, x, y, _ []T, _ scalars[T]) {
			for i := range out {
				out[i] = x[i] - y[i]
			}
		}
	case kernels.Mul:
		return func(out, x, y, _ []T, _ scalars[T]) {
			for i := range out {
				out[i] = x[i] * y[i]
			}
		}
	case kernels.Div:
		return func(out, x, y, _ []T, _ scalars[T]) {
			for i := range out {
				out[i] = x[i] / y[i]
			}
		}
	case kernels.Affine:
		return func(out, x, _, _ []T, s scalars[T]) {
			for i := range out {
				out[i] = T(s.alpha*x[i]) + s.beta
			}
		}
	case kernels.Sqrt:
		return func(out, x, _, _ []T, _ scalars[T]) {
			for i := range out {
				out[i] = T(math.Sqrt(float64(x[i])))
			}
		}
	case kernels.ReLU:
		return func(out, x, _, _ []T, _ scalars[T]) {
			for i, v := range x {
				if v < 0 {
					v = 0
				}
				out[i] = v
			}
		}
	case kernels.ReLUGrad:
		return func(out, x, y, _ []T, _ scalars[T]) {
			for i, v := range y {
				if v > 0 || v != v {
					out[i] = x[i]
				} else {
					out[i] = 0
				}
			}
		}
	case kernels.Where:
		return func(out, x, y, z []T, _ scalars[T]) {
			for i := range out {
				if x[i] != 0 {
					out[i] = y[i]
				} else {
					out[i] = z[i]
				}
			}
		}
	}
	return testOf[T](id)
}

// testOf is loopOf for comparisons.
func testOf[T element](id kernels.ID) func(out, x, y, z []T, s scalars[T]) {
	loop := func(f func(x, y T) bool) func(out, x, y, z []T, s scalars[T]) {
		return func(out, x, y, _ []T, _ scalars[T]) {
			for i := range out {
				out[i] = truth[T](f(x[i], y[i]))
			}
		}
	}
	switch id {
	case kernels.Equal:
		return loop(func(x, y T) bool { return x == y })
	case kernels.NotEqual:
		return loop(func(x, y T) bool { return x != y })
	case kernels.Less:
		return loop(func(x, y T) bool { return x < y })
	case kernels.LessEqual:
		return loop(func(x, y T) bool { return x <= y })
	case kernels.Greater:
		return loop(func(x, y T) bool { return x > y })
	case kernels.GreaterEqual:
		return loop(func(x, y T) bool { return x >= y })
	}
	return nil
}
