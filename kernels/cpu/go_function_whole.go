package cpu

import (
	"golang.org/x/exp/constraints"

	"tarn/kernels"
)

// wholeLoopOf returns the loop of a common op of integers as they are stored, nil
// for the others.
func wholeLoopOf[T constraints.Integer](id kernels.ID) loop[T] {
	switch id {
	case kernels.And:
		return func(out, x, y []T, _ scalars[T]) {
			x, y = x[:len(out)], y[:len(out)]
			for i := range out {
				out[i] = x[i] & y[i]
			}
		}
	case kernels.Or:
		return func(out, x, y []T, _ scalars[T]) {
			x, y = x[:len(out)], y[:len(out)]
			for i := range out {
				out[i] = x[i] | y[i]
			}
		}
	case kernels.Xor:
		return func(out, x, y []T, _ scalars[T]) {
			x, y = x[:len(out)], y[:len(out)]
			for i := range out {
				out[i] = x[i] ^ y[i]
			}
		}
	case kernels.Abs:
		return func(out, x, _ []T, _ scalars[T]) {
			x = x[:len(out)]
			for i := range out {
				v := x[i]
				if v < 0 {
					v = -v
				}
				out[i] = v
			}
		}
	case kernels.Sign:
		return func(out, x, _ []T, _ scalars[T]) {
			x = x[:len(out)]
			for i := range out {
				out[i] = truth[T](x[i] > 0) - truth[T](x[i] < 0)
			}
		}
	case kernels.FloorDivide:
		return floorDivideWholes[T]
	case kernels.Remainder:
		return remainderWholes[T]
	}
	return nil
}

// asBits returns the op that does on bits what id does on bools.
func asBits(id kernels.ID) kernels.ID {
	switch id {
	case kernels.Add:
		return kernels.Or
	case kernels.Mul:
		return kernels.And
	}
	return id
}

func floorDivideWholes[T constraints.Integer](out, x, y []T, _ scalars[T]) {
	x, y = x[:len(out)], y[:len(out)]
	for i := range out {
		u, v := x[i], y[i]
		if v == 0 {
			out[i] = ^v
			continue
		}
		q := u / v
		if q*v != u && (u < 0) != (v < 0) {
			q--
		}
		out[i] = q
	}
}

func remainderWholes[T constraints.Integer](out, x, y []T, _ scalars[T]) {
	x, y = x[:len(out)], y[:len(out)]
	for i := range out {
		u, v := x[i], y[i]
		if v == 0 {
			out[i] = u
			continue
		}
		r := u % v
		if r != 0 && (r < 0) != (v < 0) {
			r += v
		}
		out[i] = r
	}
}
