package gorgonia

import (
	"fmt"

	gtensor "gorgonia.org/tensor"

	"tarn/tensor"
)

// ToDense returns a copy of t, row-major and contiguous, on gorgonia's default
// engine. It waits for the work that t depends on. The half types, which gorgonia
// has not, are [tensor.ErrDType]; all other errors are those of [tensor.Data].
func ToDense(t *tensor.Tensor) (*gtensor.Dense, error) {
	if dt := t.DType(); dt.IsHalf() && t.Err() == nil {
		return nil, fmt.Errorf("gorgonia: ToDense: %w: gorgonia has no %v; float32 has all its values", tensor.ErrDType, dt)
	}
	switch t.DType() {
	case tensor.Float32:
		return to[float32](t)
	case tensor.Float64:
		return to[float64](t)
	case tensor.Int64:
		return to[int64](t)
	case tensor.Int32:
		return to[int32](t)
	case tensor.Uint8:
		return to[uint8](t)
	default:
		return to[bool](t)
	}
}

func to[T tensor.Element](t *tensor.Tensor) (*gtensor.Dense, error) {
	data, err := tensor.Data[T](t)
	if err != nil {
		return nil, fmt.Errorf("gorgonia: ToDense: %w", err)
	}
	return gtensor.New(gtensor.WithShape(t.Shape()...), gtensor.WithBacking(data)), nil
}
