package tensor_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"tarn/tensor"
)

// fromNumbers makes a tensor of any type.
func fromNumbers(d *tensor.Device, dt tensor.DType, x []float64, shape []int) *tensor.Tensor {
	switch dt {
	case tensor.Float64:
		return tensor.FromSlice(d, x, shape...)
	case tensor.Float32:
		return tensor.FromSlice(d, converted(x, func(x float64) float32 { return float32(x) }), shape...)
	case tensor.Float16:
		return tensor.FromSlice(d, converted(x, func(x float64) tensor.F16 { return tensor.ToF16(float32(x)) }), shape...)
	case tensor.BFloat16:
		return tensor.FromSlice(d, converted(x, func(x float64) tensor.BF16 { return tensor.ToBF16(float32(x)) }), shape...)
	case tensor.Int64:
		return tensor.FromSlice(d, converted(x, func(x float64) int64 { return int64(x) }), shape...)
	case tensor.Int32:
		return tensor.FromSlice(d, converted(x, func(x float64) int32 { return int32(x) }), shape...)
	case tensor.Uint8:
		return tensor.FromSlice(d, converted(x, func(x float64) uint8 { return uint8(int(x)) }), shape...)
	}
	return tensor.FromSlice(d, converted(x, func(x float64) bool { return x != 0 }), shape...)
}

func converted[S, T any](x []S, f func(S) T) []T {
	y := make([]T, len(x))
	for i, v := range x {
		y[i] = f(v)
	}
	return y
}

// elementsOf returns the elements of a tensor of any type.
func elementsOf(t *tensor.Tensor) ([]float64, error) {
	switch t.DType() {
	case tensor.Float64:
		return tensor.Data[float64](t)
	case tensor.Float32:
		return dataAs(t, func(x float32) float64 { return float64(x) })
	case tensor.Float16:
		return dataAs(t, func(x tensor.F16) float64 { return float64(x.Float32()) })
	case tensor.BFloat16:
		return dataAs(t, func(x tensor.BF16) float64 { return float64(x.Float32()) })
	case tensor.Int64:
		return dataAs(t, func(x int64) float64 { return float64(x) })
	case tensor.Int32:
		return dataAs(t, func(x int32) float64 { return float64(x) })
	case tensor.Uint8:
		return dataAs(t, func(x uint8) float64 { return float64(x) })
	}
	return dataAs(t, func(x bool) float64 {
		if x {
			return 1
		}
		return 0
	})
}

func dataAs[S tensor.Element](t *tensor.Tensor, f func(S) float64) ([]float64, error) {
	x, err := tensor.Data[S](t)
	return converted(x, f), err
}

// unit is the distance from 1 to the next number of a type, 0 for integers.
func unit(dt tensor.DType) float64 {
	return map[tensor.DType]float64{tensor.Float64: 0x1p-52, tensor.Float32: 0x1p-23, tensor.Float16: 0x1p-10, tensor.BFloat16: 0x1p-7}[dt]
}

// perturb returns t with each element moved by up to so many units of its own
// and to so many of the largest one.
func perturb(t *tensor.Tensor, r *rand.Rand, own, most float64) *tensor.Tensor {
	u, largest := unit(t.DType()), 0.0
	if lo, hi, ok := rangeOf(t); ok {
		largest = max(-lo, hi)
	}
	up, down := make([]float64, t.Len()), make([]float64, t.Len())
	for i := range up {
		up[i], down[i] = 1+own*u*(2*r.Float64()-1), most*u*largest*(2*r.Float64()-1)
	}
	factors, terms := fromNumbers(t.Device(), t.DType(), up, t.Shape()), fromNumbers(t.Device(), t.DType(), down, t.Shape())
	scaled := t.Mul(factors)
	moved := scaled.Add(terms)
	for _, temporary := range []*tensor.Tensor{factors, terms, scaled} {
		if err := temporary.Release(); err != nil {
			panic(err)
		}
	}
	return moved
}

// differ returns how got differs from want, by more than the perturbed runs do
// and rounding explains; empty where it does not. Elements that are NaN or
// infinite in some perturbed run, and not alike in all, say nothing. Floor is
// what terms that cancel within one op may leave.
func differ(got, want []float64, perturbed [][]float64, float bool, unit, floor float64) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d elements, not %d", len(got), len(want))
	}
	most, spread := 0.0, 0.0
	sure := make([]bool, len(want))
	for i, w := range want {
		sure[i] = true
		for _, p := range perturbed {
			if i >= len(p) || class(p[i]) != class(w) {
				sure[i] = false
			} else if class(w) == 0 {
				spread = max(spread, math.Abs(p[i]-w))
			}
		}
		if class(w) == 0 {
			most = max(most, math.Abs(w))
		}
	}
	if !float && spread > 0 { // integers that hang on the last bit of something
		return ""
	}
	tolerance := 4*spread + 32*unit*most + floor
	for i, w := range want {
		if sure[i] && (class(got[i]) != class(w) || class(w) == 0 && !(math.Abs(got[i]-w) <= tolerance)) {
			return fmt.Sprintf("element %d is %v, not %v: %.3g apart, with %.3g allowed, of\n\t%v\n\tand not\n\t%v", i, got[i], w,
				math.Abs(got[i]-w), tolerance, got, want)
		}
	}
	return ""
}

// class tells finite numbers, 0, from infinities and NaN.
func class(x float64) int {
	switch {
	case math.IsNaN(x):
		return 2
	case math.IsInf(x, 1):
		return 1
	case math.IsInf(x, -1):
		return -1
	}
	return 0
}
