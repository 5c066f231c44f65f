package cpu

import (
	"unsafe"

	"golang.org/x/exp/constraints"

	"tarn/kernels"
)

type float interface{ constraints.Float }

// element is what bodies compute in: float32 for float32 and the half types,
// float64, and for integers int64 or what they are stored as; a bool is a uint8.
type element interface {
	constraints.Float | constraints.Integer
}

// typeOf returns the dtype that is stored as a T.
func typeOf[T element]() kernels.DType {
	var x T
	switch any(x).(type) {
	case float32:
		return kernels.Float32
	case float64:
		return kernels.Float64
	case int32:
		return kernels.Int32
	case uint8:
		return kernels.Uint8
	}
	return kernels.Int64
}

// storedAs reports whether elements of d are stored as a T.
func storedAs[T element](d kernels.DType) bool {
	return d == typeOf[T]() || d == kernels.Bool && typeOf[T]() == kernels.Uint8
}

// load copies n = len(dst) elements of type d that lie step bytes apart from
// addr on.
func load[T element](dst []T, d kernels.DType, addr uintptr, step int64) {
	switch d {
	case kernels.Float32:
		loadAs[T, float32](dst, addr, step)
	case kernels.Float64:
		loadAs[T, float64](dst, addr, step)
	case kernels.Int64:
		loadAs[T, int64](dst, addr, step)
	case kernels.Int32:
		loadAs[T, int32](dst, addr, step)
	case kernels.Uint8, kernels.Bool:
		loadAs[T, uint8](dst, addr, step)
	case kernels.Float16:
		if floats, ok := any(dst).([]float32); ok && step == 2 && halvesToFloats(floats, d, addr) {
			return
		}
		for i := range dst {
			dst[i] = T(at[kernels.F16](addr, int64(i), step).Float32())
		}
	case kernels.BFloat16:
		if floats, ok := any(dst).([]float32); ok && step == 2 && halvesToFloats(floats, d, addr) {
			return
		}
		for i := range dst {
			dst[i] = T(at[kernels.BF16](addr, int64(i), step).Float32())
		}
	}
}

func loadAs[T, S element](dst []T, addr uintptr, step int64) {
	if step == 0 {
		x := T(*at[S](addr, 0, 0))
		for i := range dst {
			dst[i] = x
		}
		return
	}
	if step == int64(unsafe.Sizeof(*new(S))) {
		src := dense[S](addr, int64(len(dst)))
		for i := range dst {
			dst[i] = T(src[i])
		}
		return
	}
	for i := range dst {
		dst[i] = T(*at[S](addr, int64(i), step))
	}
}

// save is load the other way round. An integer keeps its low bits, a bool
// whether it is not 0.
func save[T element](src []T, d kernels.DType, addr uintptr, step int64) {
	switch d {
	case kernels.Float32:
		saveAs[T, float32](src, addr, step)
	case kernels.Float64:
		saveAs[T, float64](src, addr, step)
	case kernels.Int64:
		saveAs[T, int64](src, addr, step)
	case kernels.Int32:
		for i, x := range src {
			*at[int32](addr, int64(i), step) = int32(int64(x))
		}
	case kernels.Uint8:
		for i, x := range src {
			*at[uint8](addr, int64(i), step) = uint8(int64(x))
		}
	case kernels.Bool:
		for i, x := range src {
			*at[bool](addr, int64(i), step) = x != 0
		}
	case kernels.Float16:
		if floats, ok := any(src).([]float32); ok && step == 2 && halvesFromFloats(floats, d, addr) {
			return
		}
		for i, x := range src {
			*at[kernels.F16](addr, int64(i), step) = kernels.ToF16(float32(x))
		}
	case kernels.BFloat16:
		if floats, ok := any(src).([]float32); ok && step == 2 && halvesFromFloats(floats, d, addr) {
			return
		}
		for i, x := range src {
			*at[kernels.BF16](addr, int64(i), step) = kernels.ToBF16(float32(x))
		}
	}
}

func saveAs[T element, S element](src []T, addr uintptr, step int64) {
	for i, x := range src {
		*at[S](addr, int64(i), step) = S(x)
	}
}
