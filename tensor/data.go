package tensor

import (
	"fmt"
	"unsafe"

	"tarn/cuda"
)

// maxSlice is the bytes of the largest slice that Data makes: an expanded tensor
// has any number of elements, and Go's own bound is a panic.
const maxSlice = 1 << 46

// Data returns a copy of t's elements in row-major order. It waits for the work
// that t depends on. T must be t's dtype.
func Data[T Element](t *Tensor) ([]T, error) {
	if err := t.usable(); err != nil {
		return nil, newError("Data", err, t)
	}
	if t.view.Len() > maxSlice/t.view.DType.Size() {
		return nil, newError("Data", fmt.Errorf("%w: %d elements are too many for a slice", ErrShape, t.view.Len()), t)
	}
	dst := make([]T, t.Len())
	err := transferable[T](len(dst), t)
	if err != nil {
		return nil, newError("Data", err, t)
	}
	if err := t.read("Data", bytesOf(dst)); err != nil {
		return nil, err
	}
	return dst, nil
}

// CopyTo copies t's elements to dst in row-major order, waiting for the work
// that t depends on. dst must have t's length and dtype.
func CopyTo[T Element](dst []T, t *Tensor) error {
	if err := transferable[T](len(dst), t); err != nil {
		return newError("CopyTo", err, t)
	}
	return t.read("CopyTo", bytesOf(dst))
}

// CopyFrom overwrites t's elements, in row-major order, with src, which has t's
// length and dtype. It is an in-place change: see [Tensor.CopyInPlace].
func CopyFrom[T Element](t *Tensor, src []T) error {
	err := transferable[T](len(src), t)
	if err == nil {
		err = t.writable()
	}
	if err != nil {
		return newError("CopyFrom", err, t)
	}
	return t.write("CopyFrom", bytesOf(src))
}

func transferable[T Element](n int, t *Tensor) error {
	if err := t.usable(); err != nil {
		return err
	}
	if dt := dtypeOf[T](); dt != t.view.DType {
		return dtypeError("the slice holds %v, the tensor %v", dt, t.view.DType)
	}
	if n != t.Len() {
		return fmt.Errorf("%w: the slice has %d elements, the tensor %d", ErrShape, n, t.Len())
	}
	return nil
}

func bytesOf[T Element](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}

// read copies t's elements to dst on t's stream, for op.
func (t *Tensor) read(op string, dst []byte) error { return t.readBy(op, dst, t.dev.backend.CopyOut) }

// readBy is read with another way to copy.
func (t *Tensor) readBy(op string, dst []byte, out func(cuda.Stream, []byte, cuda.DevicePtr) error) error {
	s := t.dev.streamOf(t.env)
	dense := t
	if !t.view.Contiguous() {
		dense = cloneOn(s, nil, t)
		if dense.err != nil {
			return dense.err
		}
		defer dense.Release()
	}
	if len(dst) == 0 {
		return nil
	}
	err := s.touch(dense, false, func() error {
		return out(s.id, dst, dense.pointer())
	})
	if err != nil {
		return newError(op, err, t)
	}
	return nil
}

// write copies src to t's elements on t's stream, for op.
func (t *Tensor) write(op string, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	s := t.dev.streamOf(t.env)
	dense := t
	if !t.view.Contiguous() {
		var err error
		if dense, err = newTensor(s, nil, t.view.DType, t.view.Dims[:t.view.Rank]); err != nil {
			return newError(op, err, t)
		}
		defer dense.Release()
	}
	err := s.touch(dense, true, func() error {
		return t.dev.backend.CopyIn(s.id, dense.pointer(), src)
	})
	if err == nil && dense != t {
		err = s.copyOf(t, dense)
	}
	if err != nil {
		return newError(op, err, t)
	}
	t.storage.version.Add(1)
	return nil
}

// Item returns the value of a tensor with one element, waiting for the work
// that it depends on. A Bool is 0 or 1, an int64 beyond 2^53 is rounded.
func (t *Tensor) Item() (float64, error) {
	if err := t.usable(); err != nil {
		return 0, newError("Item", err, t)
	}
	if t.Len() != 1 {
		return 0, newError("Item", fmt.Errorf("%w: %d elements, not one", ErrShape, t.Len()), t)
	}
	switch t.view.DType {
	case Float32:
		return item[float32](t)
	case Float64:
		return item[float64](t)
	case Float16:
		return item[F16](t)
	case BFloat16:
		return item[BF16](t)
	case Int64:
		return item[int64](t)
	case Int32:
		return item[int32](t)
	case Uint8:
		return item[uint8](t)
	default:
		return item[bool](t)
	}
}

func item[T Element](t *Tensor) (float64, error) {
	var v [1]T
	if err := t.read("Item", bytesOf(v[:])); err != nil {
		return 0, err
	}
	return number(v[0]), nil
}
