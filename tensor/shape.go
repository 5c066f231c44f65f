package tensor

import (
	"fmt"
	"math"
	"math/bits"

	"tarn/kernels"
)

// MaxRank is the largest number of dims of a tensor.
const MaxRank = kernels.MaxRank

// Shape is the sizes of a tensor's dims; empty for a scalar.
type Shape []int

// Len returns the number of elements.
func (s Shape) Len() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// Equal reports whether both shapes have the same dims.
func (s Shape) Equal(t Shape) bool {
	if len(s) != len(t) {
		return false
	}
	for i := range s {
		if s[i] != t[i] {
			return false
		}
	}
	return true
}

// String prints as PyTorch does: [2, 3].
func (s Shape) String() string {
	b := []byte{'['}
	for i, d := range s {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = fmt.Append(b, d)
	}
	return string(append(b, ']'))
}

func shapeOf(v *kernels.View) Shape {
	s := make(Shape, v.Rank)
	for i := range s {
		s[i] = int(v.Dims[i])
	}
	return s
}

// dense returns a row-major view of the given dims and the bytes that it
// spans, or an error where a dim is negative, there are too many, or the bytes
// overflow an int64. A dim of 0 does not hide an overflow of the others: they
// come back as strides.
func dense(dt DType, dims []int64) (v kernels.View, size int64, err error) {
	if !dt.Valid() {
		return v, 0, fmt.Errorf("%w: %v", ErrDType, dt)
	}
	if len(dims) > MaxRank {
		return v, 0, fmt.Errorf("%w: %d dims, at most %d", ErrShape, len(dims), MaxRank)
	}
	v.DType, v.Rank = dt, int8(len(dims))
	n, empty := uint64(1), false
	for i := len(dims) - 1; i >= 0; i-- {
		d := dims[i]
		if d < 0 {
			return v, 0, fmt.Errorf("%w: dim %d is negative (%d)", ErrShape, i, d)
		}
		v.Dims[i], v.Strides[i] = d, int64(n)
		if d == 0 {
			empty = true
			continue
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > math.MaxInt64/uint64(dt.Size()) {
			return v, 0, fmt.Errorf("%w: the bytes of %v%v overflow", ErrShape, dt, shapeOf(&v))
		}
		n = lo
	}
	if empty {
		return v, 0, nil
	}
	return v, int64(n) * dt.Size(), nil
}

// dimsOf converts a user's shape. It copies into a caller's array so that the
// dims stay off the heap.
func dimsOf(buf *[MaxRank]int64, shape []int) ([]int64, error) {
	if len(shape) > MaxRank {
		return nil, fmt.Errorf("%w: %d dims, at most %d", ErrShape, len(shape), MaxRank)
	}
	for i, d := range shape {
		buf[i] = int64(d)
	}
	return buf[:len(shape)], nil
}

// broadcast writes to out the dims that a and b have together, as numpy rules:
// aligned at the last dim, equal or 1.
func broadcast(out *[MaxRank]int64, a, b *kernels.View) ([]int64, error) {
	rank := max(a.Rank, b.Rank)
	for i := int8(1); i <= rank; i++ {
		da, db := int64(1), int64(1)
		if i <= a.Rank {
			da = a.Dims[a.Rank-i]
		}
		if i <= b.Rank {
			db = b.Dims[b.Rank-i]
		}
		d := da
		switch {
		case da == db:
		case da == 1:
			d = db
		case db != 1:
			return nil, fmt.Errorf("%w: %v and %v do not broadcast", ErrShape, shapeOf(a), shapeOf(b))
		}
		out[rank-i] = d
	}
	return out[:rank], nil
}

// expanded returns v seen with the given dims, which it broadcasts to.
func expanded(v kernels.View, dims []int64) kernels.View {
	w := kernels.View{Ptr: v.Ptr, DType: v.DType, Rank: int8(len(dims))}
	copy(w.Dims[:], dims)
	shift := len(dims) - int(v.Rank)
	for i := 0; i < int(v.Rank); i++ {
		if v.Dims[i] == dims[i+shift] {
			w.Strides[i+shift] = v.Strides[i]
		}
	}
	return w
}

// axis resolves a dim that may count from the end.
func axis(dim int, rank int8) (int, error) {
	d := dim
	if d < 0 {
		d += int(rank)
	}
	if d < 0 || d >= int(rank) {
		return 0, fmt.Errorf("%w: dim %d of a tensor with %d dims", ErrShape, dim, rank)
	}
	return d, nil
}
