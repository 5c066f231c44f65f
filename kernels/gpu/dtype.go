package gpu

import (
	"math/bits"

	"tarn/kernels"
)

// byDType is something for each element type; unused where an op lacks one.
type byDType[T any] struct{ f32, f64, f16, bf16, i64, i32, u8, b8 T }

func (b *byDType[T]) of(d kernels.DType) *T {
	switch d {
	case kernels.Float32:
		return &b.f32
	case kernels.Float64:
		return &b.f64
	case kernels.Float16:
		return &b.f16
	case kernels.BFloat16:
		return &b.bf16
	case kernels.Int64:
		return &b.i64
	case kernels.Int32:
		return &b.i32
	case kernels.Uint8:
		return &b.u8
	}
	return &b.b8
}

// suffix is how kernels' names call a dtype, and the sources its elements.
func suffix(d kernels.DType) string {
	return *suffixes.of(d)
}

var suffixes = byDType[string]{
	f32: "f32", f64: "f64", f16: "f16", bf16: "bf16", i64: "i64", i32: "i32", u8: "u8", b8: "b8",
}

// bySize is something for elements of 1, 2, 4 and 8 bytes.
type bySize[T any] [4]T

func (b *bySize[T]) of(size int64) *T { return &b[bits.TrailingZeros64(uint64(size))] }
