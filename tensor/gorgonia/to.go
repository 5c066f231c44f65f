package gorgonia

import (
	"fmt"

	gtensor "gorgonia.org/tensor"

	"tarn/tensor"
)

// ToDense returns a copy of t, row-major and contiguous, on gorgonia's default
// engine. It waits for the work that t depends on, and its errors are those of
// [tensor.Data].
func ToDense(t *tensor.Tensor) (*gtensor.Dense, error) {
	switch t.DType() {
	case tensor.Float32:
		return to[float32](t)
	case tensor.Float64:
		return to[float64](t)
	default:
		return to[int64](t)
	}
}

func to[T tensor.Element](t *tensor.Tensor) (*gtensor.Dense, error) {
	data, err := tensor.Data[T](t)
	if err != nil {
		return nil, fmt.Errorf("gorgonia: ToDense: %w", err)
	}
	return gtensor.New(gtensor.WithShape(t.Shape()...), gtensor.WithBacking(data)), nil
}
