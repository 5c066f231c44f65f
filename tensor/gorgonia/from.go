package gorgonia

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	gtensor "gorgonia.org/tensor"

	"tarn/tensor"
)

// FromDense returns a copy of d at p, dense in row-major order, with d's shape
// as gorgonia has it: a slice of length 1 has lost its dim there. int becomes
// int64.
//
// Refused are other types with [tensor.ErrDType]; a shape that the elements of d
// do not fill, or whose strides gorgonia has lost, with [tensor.ErrShape]; masked
// tensors, and memory that Go cannot read, with [errors.ErrUnsupported].
// A tensor that cannot be made fails as [tensor.FromSlice] does.
func FromDense(p tensor.Place, d *gtensor.Dense) (*tensor.Tensor, error) {
	if d == nil {
		panic("gorgonia: FromDense of nil")
	}
	if !d.IsNativelyAccessible() {
		return nil, fmt.Errorf("gorgonia: FromDense: %w: the memory is not Go's to read", errors.ErrUnsupported)
	}
	var t *tensor.Tensor
	var err error
	switch d.Dtype() {
	case gtensor.Float32:
		t, err = from(p, d, d.Float32s)
	case gtensor.Float64:
		t, err = from(p, d, d.Float64s)
	case gtensor.Int64:
		t, err = from(p, d, d.Int64s)
	case gtensor.Int32:
		t, err = from(p, d, d.Int32s)
	case gtensor.Uint8:
		t, err = from(p, d, d.Uint8s)
	case gtensor.Bool:
		t, err = from(p, d, d.Bools)
	case gtensor.Int:
		t, err = fromInts(p, d)
	default:
		err = fmt.Errorf("%w: %v, want float32, float64, int, int64, int32, uint8 or bool", tensor.ErrDType, d.Dtype())
	}
	if err != nil {
		return nil, fmt.Errorf("gorgonia: FromDense: %w", err)
	}
	return t, nil
}

func from[T tensor.Element](p tensor.Place, d *gtensor.Dense, elements func() []T) (*tensor.Tensor, error) {
	data, err := rowMajor(d, elements())
	if err != nil {
		return nil, err
	}
	t := tensor.FromSlice(p, data, dims(d)...)
	return t, t.Err()
}

func fromInts(p tensor.Place, d *gtensor.Dense) (*tensor.Tensor, error) {
	data, err := rowMajor(d, d.Ints())
	if err != nil {
		return nil, err
	}
	wide := make([]int64, len(data))
	for i, v := range data {
		wide[i] = int64(v)
	}
	t := tensor.FromSlice(p, wide, dims(d)...)
	return t, t.Err()
}

// dims is d's shape, not nil for a scalar.
func dims(d *gtensor.Dense) []int { return append([]int{}, d.Shape()...) }

// rowMajor returns d's elements in row-major order: of data, which has them by
// d's strides.
func rowMajor[T any](d *gtensor.Dense, data []T) ([]T, error) {
	shape := d.Shape()
	n, err := length(shape, len(data))
	if err != nil || n == 0 {
		return nil, err
	}
	if d.IsMasked() { // what has no elements counts as masked too
		return nil, fmt.Errorf("%w: the tensor is masked", errors.ErrUnsupported)
	}
	strides, err := stridesOf(d)
	if err != nil {
		return nil, err
	}
	if lost(shape, strides, len(data)) {
		return nil, fmt.Errorf("%w: a vector of shape %v with strides %v over %d elements: gorgonia loses the strides "+
			"where it transposes such a view; make it dense before", tensor.ErrShape, shape, strides, len(data))
	}
	last := 0
	for i, size := range shape {
		if size > 1 && (strides[i] < 0 || strides[i] > (len(data)-1-last)/(size-1)) {
			return nil, fmt.Errorf("%w: strides %v of shape %v leave the %d elements", tensor.ErrShape, strides, shape, len(data))
		}
		if size > 1 {
			last += strides[i] * (size - 1)
		}
	}
	return walk(data, shape, strides, n), nil
}

// length returns the number of elements of shape, of which there are so many: a
// shape may have fewer, in a view, but not more.
func length(shape gtensor.Shape, have int) (int, error) {
	n, empty := uint64(1), false
	for _, size := range shape {
		if size == 0 {
			empty = true
			continue
		}
		hi, lo := bits.Mul64(n, uint64(size))
		if size < 0 || hi != 0 {
			n, empty = math.MaxUint64, false
			break
		}
		n = lo
	}
	switch {
	case empty:
		return 0, nil
	case n > uint64(have):
		return 0, fmt.Errorf("%w: shape %v of %d elements", tensor.ErrShape, shape, have)
	}
	return int(n), nil
}

// stridesOf returns one stride a dim. gorgonia leaves out those of column-major
// vectors and of column-major tensors with one element.
func stridesOf(d *gtensor.Dense) ([]int, error) {
	shape, have := d.Shape(), d.Strides()
	if len(have) == len(shape) {
		return have, nil
	}
	strides, long := make([]int, len(shape)), 0
	for i, size := range shape {
		if size == 1 {
			continue
		}
		if long++; long > len(have) {
			return nil, fmt.Errorf("%w: shape %v with strides %v", tensor.ErrShape, shape, have)
		}
		strides[i] = have[long-1]
	}
	return strides, nil
}

// lost reports whether gorgonia has forgotten the stride of a vector: it says
// that the elements lie side by side, but the view spans more than those. That
// is what T makes of a (1,n) or (n,1) that has gaps.
func lost(shape gtensor.Shape, strides []int, have int) bool {
	if !shape.IsVector() {
		return false
	}
	for _, stride := range strides {
		if stride != 1 {
			return false
		}
	}
	return shape.TotalSize() < have
}

// walk collects n elements, the last dim running fastest.
func walk[T any](data []T, shape, strides []int, n int) []T {
	out := make([]T, 0, n)
	at, index := 0, make([]int, len(shape))
	for {
		out = append(out, data[at])
		i := len(shape) - 1
		for ; i >= 0; i-- {
			at += strides[i]
			if index[i]++; index[i] < shape[i] {
				break
			}
			at -= strides[i] * shape[i]
			index[i] = 0
		}
		if i < 0 {
			return out
		}
	}
}
