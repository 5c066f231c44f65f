package tensor

import (
	"errors"
	"fmt"
	"math"
)

// ErrNotFinite is about a NaN or an infinity where none may be; see
// [Tensor.DetectAnomaly].
var ErrNotFinite = errors.New("value is not finite")

// DetectAnomaly returns a handle on t whose ops are checked, and those on their
// results, and the gradients of all of them: the first op whose result holds a
// NaN or an infinity fails with [ErrNotFinite], and in a backward the first
// gradient that does. The error names the op, the element, and where the op was
// called from, for a gradient where the op in the forward was. Each check waits
// for its result and copies it to the host. It borrows t's hold.
func (t *Tensor) DetectAnomaly() *Tensor {
	v := t.env.get()
	v.anomaly = true
	return t.derive(v)
}

// finite returns ErrNotFinite where an element of t is not a finite number.
func (t *Tensor) finite() error {
	switch {
	case t.err != nil:
		return t.err
	case t.view.DType == Float32:
		return finite[float32](t)
	case t.view.DType == Float64:
		return finite[float64](t)
	case t.view.DType == Float16:
		return finite[F16](t)
	case t.view.DType == BFloat16:
		return finite[BF16](t)
	}
	return nil
}

func finite[T float32 | float64 | F16 | BF16](t *Tensor) error {
	data, err := Data[T](t)
	if err != nil {
		return err
	}
	first, count := -1, 0
	for i, v := range data {
		if v := number(v); math.IsNaN(v) || math.IsInf(v, 0) {
			if count++; first < 0 {
				first = i
			}
		}
	}
	if count == 0 {
		return nil
	}
	index, rest := make(Shape, t.view.Rank), first
	for d := len(index) - 1; d >= 0; d-- {
		index[d] = rest % int(t.view.Dims[d])
		rest /= int(t.view.Dims[d])
	}
	return fmt.Errorf("%w: %v at %v, the first of %d among %d elements", ErrNotFinite, number(data[first]), index, count, len(data))
}

// calledFrom is the place of the user's call, as a backward names it later.
func calledFrom() string {
	if p := place(); p != "" {
		return p
	}
	return "an unknown place"
}
