package ref

import (
	"unsafe"

	"tarn/kernels"
)

// at returns the element of v at an index.
func at[T any](v *kernels.View, index ...int64) *T {
	addr := v.Ptr
	for d, i := range index {
		addr += uintptr(i * v.Strides[d] * v.DType.Size())
	}
	// The indirection says that an address is meant to become a pointer here.
	return (*T)(*(*unsafe.Pointer)(unsafe.Pointer(&addr)))
}

// value returns the element of v at an index as a float64, whatever the type.
func value(v *kernels.View, index ...int64) float64 {
	switch v.DType {
	case kernels.Float32:
		return float64(*at[float32](v, index...))
	case kernels.Float64:
		return *at[float64](v, index...)
	case kernels.Float16:
		return float64(at[kernels.F16](v, index...).Float32())
	case kernels.BFloat16:
		return float64(at[kernels.BF16](v, index...).Float32())
	}
	return float64(whole(v, index...))
}

// set stores x, rounded to v's type, a float.
func set(v *kernels.View, x float64, index ...int64) {
	switch v.DType {
	case kernels.Float32:
		*at[float32](v, index...) = float32(x)
	case kernels.Float64:
		*at[float64](v, index...) = x
	case kernels.Float16:
		*at[kernels.F16](v, index...) = kernels.ToF16(float32(x))
	case kernels.BFloat16:
		*at[kernels.BF16](v, index...) = kernels.ToBF16(float32(x))
	default:
		panic("ref: a float for " + v.DType.String())
	}
}

// whole returns the element of v, an integer or a bool, at an index.
func whole(v *kernels.View, index ...int64) int64 {
	switch v.DType {
	case kernels.Int64:
		return *at[int64](v, index...)
	case kernels.Int32:
		return int64(*at[int32](v, index...))
	case kernels.Uint8, kernels.Bool:
		return int64(*at[uint8](v, index...))
	}
	panic("ref: an integer of " + v.DType.String())
}

// setWhole stores the low bits of x, or for a bool whether it is not 0.
func setWhole(v *kernels.View, x int64, index ...int64) {
	switch v.DType {
	case kernels.Int64:
		*at[int64](v, index...) = x
	case kernels.Int32:
		*at[int32](v, index...) = int32(x)
	case kernels.Uint8:
		*at[uint8](v, index...) = uint8(x)
	case kernels.Bool:
		*at[bool](v, index...) = x != 0
	default:
		panic("ref: an integer for " + v.DType.String())
	}
}

// rounded returns x as ops with elements of type d see it: a half type computes
// in float32.
func rounded(d kernels.DType, x float64) float64 {
	if d == kernels.Float64 {
		return x
	}
	return float64(float32(x))
}
