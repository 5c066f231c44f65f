package tensor

import (
	"fmt"
	"math"

	"tarn/kernels"
)

// DType is the type of a tensor's elements.
type DType = kernels.DType

// The element types. The half types, Float16 and BFloat16, are for storing: ops
// compute with them in float32 and round each result once. A Bool is a byte
// that is 0 or 1.
const (
	Float32  = kernels.Float32
	Float64  = kernels.Float64
	Float16  = kernels.Float16
	BFloat16 = kernels.BFloat16
	Int64    = kernels.Int64
	Int32    = kernels.Int32
	Uint8    = kernels.Uint8
	Bool     = kernels.Bool
)

// F16 and BF16 are the bits of one element of a Float16 and of a BFloat16, for
// which Go has no type. Their Float32 method gives the value, [ToF16] and [ToBF16]
// round to them, and [Tensor.To] does either for whole tensors.
type (
	F16  = kernels.F16
	BF16 = kernels.BF16
)

// ToF16 rounds x to nearest even: from 65520 on it is infinite.
func ToF16(x float32) F16 { return kernels.ToF16(x) }

// ToBF16 rounds x to nearest even.
func ToBF16(x float32) BF16 { return kernels.ToBF16(x) }

// Element is what a tensor can hold, as Go types.
type Element interface {
	float32 | float64 | F16 | BF16 | int64 | int32 | uint8 | bool
}

func dtypeOf[T Element]() DType {
	switch any(*new(T)).(type) {
	case float32:
		return Float32
	case float64:
		return Float64
	case F16:
		return Float16
	case BF16:
		return BFloat16
	case int64:
		return Int64
	case int32:
		return Int32
	case uint8:
		return Uint8
	default:
		return Bool
	}
}

// number is v as a float64: rounded for an int64 beyond 2^53, 0 or 1 for a bool,
// and else exact.
func number[T Element](v T) float64 {
	switch v := any(v).(type) {
	case float32:
		return float64(v)
	case float64:
		return v
	case F16:
		return float64(v.Float32())
	case BF16:
		return float64(v.Float32())
	case int64:
		return float64(v)
	case int32:
		return float64(v)
	case uint8:
		return float64(v)
	case bool:
		if v {
			return 1
		}
	}
	return 0
}

// held returns value as dt holds it before rounding: truncated for an integer,
// 0 or 1 for a Bool. It refuses what PyTorch refuses: what is not in an integer's
// range, a NaN included, and finite numbers beyond float32's largest, though
// not those beyond a half's, which become infinite.
func held(dt DType, value float64) (float64, error) {
	below, beyond := math.Inf(-1), math.Inf(1) // below is in the range, beyond is not
	switch dt {
	case Bool:
		return number(value != 0), nil
	case Int64:
		below, beyond = -0x1p63, 0x1p63
	case Int32:
		below, beyond = -0x1p31, 0x1p31
	case Uint8:
		below, beyond = 0, 0x1p8
	case Float32:
		if math.Abs(value) > math.MaxFloat32 && !math.IsInf(value, 0) {
			return 0, fmt.Errorf("%w: %v as %v", ErrValue, value, dt)
		}
		return value, nil
	default:
		return value, nil
	}
	if !(below <= value && value < beyond) {
		return 0, fmt.Errorf("%w: %v as %v", ErrValue, value, dt)
	}
	return math.Trunc(value), nil
}
