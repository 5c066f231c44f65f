package npy

import (
	"encoding/binary"

	"tarn/tensor"
)

const (
	// chunk is how many bytes are converted at a time.
	chunk = 1 << 16
	// firstElements is how many elements memory is taken for on the word of a
	// header alone.
	firstElements = 1 << 14
)

// decoder fills dst with the elements in src. It returns the index of one that
// cannot be, else -1.
type decoder[T tensor.Element] func(dst []T, src []byte, order binary.ByteOrder) int

// reader makes a kind's read of elements of size bytes.
func reader[T tensor.Element](size int, decode decoder[T]) func(*source, *header, tensor.Place) (*tensor.Tensor, error) {
	return func(s *source, h *header, p tensor.Place) (*tensor.Tensor, error) {
		data, err := elements(s, h, size, decode)
		if err != nil {
			return nil, err
		}
		return place(p, data, h)
	}
}

// elements reads h.len elements into memory that grows as they come, unless they
// are known to be there.
func elements[T tensor.Element](s *source, h *header, size int, decode decoder[T]) ([]T, error) {
	n := h.len
	room := n
	if !s.there {
		room = min(n, firstElements)
	}
	out := make([]T, 0, room)
	buf := make([]byte, min(n*size, chunk))
	for len(out) < n {
		start, from := len(out), s.off
		k := min(n-start, chunk/size)
		if err := s.fill(buf[:k*size], "the elements"); err != nil {
			return nil, err
		}
		if start+k > cap(out) {
			larger := make([]T, start, min(n, max(2*cap(out), start+k)))
			copy(larger, out)
			out = larger
		}
		out = out[:start+k]
		if bad := decode(out[start:], buf[:k*size], h.order); bad >= 0 {
			return nil, s.fault(from+int64(bad*size), "element %d is 0x%02x, want 0 or 1 for a bool", start+bad, buf[bad])
		}
	}
	return out, nil
}

// same decodes what tensors have as it is.
func same[T tensor.Element](dst []T, src []byte, order binary.ByteOrder) int {
	mustDecode(src, order, dst)
	return -1
}

// widened decodes integers that W holds all values of.
func widened[F int8 | int16 | uint16 | uint32, W int32 | int64](dst []W, src []byte, order binary.ByteOrder) int {
	from := make([]F, len(dst))
	mustDecode(src, order, from)
	for i, v := range from {
		dst[i] = W(v)
	}
	return -1
}

// mustDecode fills data, of which src has the bytes.
func mustDecode(src []byte, order binary.ByteOrder, data any) {
	if _, err := binary.Decode(src, order, data); err != nil {
		panic("npy: elements of a size that is not theirs: " + err.Error())
	}
}

func truths(dst []bool, src []byte, _ binary.ByteOrder) int {
	for i, b := range src {
		if b > 1 {
			return i
		}
		dst[i] = b == 1
	}
	return -1
}

func halves(dst []tensor.F16, src []byte, order binary.ByteOrder) int {
	for i := range dst {
		dst[i] = tensor.F16(order.Uint16(src[2*i:]))
	}
	return -1
}

// place makes the tensor of data, which has the order that h says.
func place[T tensor.Element](p tensor.Place, data []T, h *header) (*tensor.Tensor, error) {
	shape := h.shape
	if h.fortran {
		shape = make([]int, len(h.shape))
		for i, d := range h.shape {
			shape[len(shape)-1-i] = d
		}
	}
	t := tensor.FromSlice(p, data, shape...)
	if h.fortran {
		t = reversed(t)
	}
	return t, t.Err()
}

// reversed returns t's elements, dense, with the dims in reverse order, and
// releases t: Fortran's order of a shape is row-major order of its reverse.
func reversed(t *tensor.Tensor) *tensor.Tensor {
	for i, j := 0, t.Rank()-1; i < j; i, j = i+1, j-1 {
		v := t.Transpose(i, j)
		t.Release()
		t = v
	}
	dense := t.Contiguous()
	t.Release()
	return dense
}
