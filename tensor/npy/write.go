package npy

import (
	"encoding/binary"
	"errors"
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
// on. Errors are w's, and those of [tensor.Data], before anything is written.
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

func arrayOf(t *tensor.Tensor) (a array, err error) {
	switch t.DType() {
	case tensor.Float32:
		a.elements, err = elementsOf[float32](t)
	case tensor.Float64:
		a.elements, err = elementsOf[float64](t)
	default:
		a.elements, err = elementsOf[int64](t)
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
		b, err := binary.Append(buf, binary.LittleEndian, part)
		if err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
