package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"tarn/tensor"
)

// array is a tensor's bytes as a file has them.
type array struct {
	header   []byte
	elements func(w io.Writer) error
}

// Write writes t to w in row-major order, waiting for the work that t depends
// on. Errors are w's, and those of [tensor.Data] and [tensor.ErrDType] for a
// bfloat16, before anything is written.
func Write(w io.Writer, t *tensor.Tensor) error {
	a, err := arrayOf(t)
	if err != nil {
		return err
	}
	return a.write(w)
}

// WriteFile writes t to the file at path, as [Write] does, in the place of what
// is there. A tensor that cannot be read leaves the file as it is; one that
// cannot be written leaves a part of it.
func WriteFile(path string, t *tensor.Tensor) error {
	a, err := arrayOf(t)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(a.write(f), f.Close())
}

// writable returns why NumPy has no array of t's type.
func writable(t *tensor.Tensor) error {
	if t.DType() == tensor.BFloat16 && t.Err() == nil {
		return fmt.Errorf("npy: %w: NumPy has no bfloat16; float32 has all its values", tensor.ErrDType)
	}
	return nil
}

func arrayOf(t *tensor.Tensor) (a array, err error) {
	if err := writable(t); err != nil {
		return a, err
	}
	switch t.DType() {
	case tensor.Float32:
		a.elements, err = elementsOf[float32](t)
	case tensor.Float64:
		a.elements, err = elementsOf[float64](t)
	case tensor.Float16:
		a.elements, err = elementsOf[tensor.F16](t)
	case tensor.Int64:
		a.elements, err = elementsOf[int64](t)
	case tensor.Int32:
		a.elements, err = elementsOf[int32](t)
	case tensor.Uint8:
		a.elements, err = elementsOf[uint8](t)
	default:
		a.elements, err = elementsOf[bool](t)
	}
	if err == nil {
		a.header = formatHeader(t.DType(), t.Shape())
	}
	return a, err
}

func elementsOf[T tensor.Element](t *tensor.Tensor) (func(io.Writer) error, error) {
	data, err := tensor.Data[T](t)
	if err != nil {
		return nil, err
	}
	return func(w io.Writer) error { return writeElements(w, data) }, nil
}

func (a array) write(w io.Writer) error {
	if _, err := w.Write(a.header); err != nil {
		return err
	}
	return a.elements(w)
}

func writeElements[T tensor.Element](w io.Writer, data []T) error {
	buf := make([]byte, 0, chunk)
	for part := range slices.Chunk(data, chunk/8) {
		b, err := appended(buf, part)
		if err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// appended returns b with the bytes of elements behind it.
func appended(b []byte, elements any) ([]byte, error) {
	halves, ok := elements.([]tensor.F16)
	if !ok {
		return binary.Append(b, binary.LittleEndian, elements)
	}
	for _, h := range halves { // a type of our own, which package binary is slow at
		b = binary.LittleEndian.AppendUint16(b, uint16(h))
	}
	return b, nil
}
