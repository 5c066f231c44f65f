package npy

import (
	"io"
	"os"

	"tarn/tensor"
)

// Read reads one array from r and returns it as a dense tensor at p. It reads
// no further than the array's last byte, so that several can follow each other.
// An array that cannot be read is an [*Error]; a tensor that cannot be made
// fails as [tensor.FromSlice] does.
func Read(r io.Reader, p tensor.Place) (*tensor.Tensor, error) {
	return (&source{r: r, end: -1}).array(p)
}

// ReadFile reads the array in the file at path, as [Read] does. Bytes after the
// array are an error.
func ReadFile(path string, p tensor.Place) (*tensor.Tensor, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := &source{r: f, name: path, end: -1}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() {
		s.end, s.there = info.Size(), true
	}
	return s.whole(p)
}

// array reads one array.
func (s *source) array(p tensor.Place) (*tensor.Tensor, error) {
	h, err := s.header()
	if err != nil {
		return nil, err
	}
	if need := int64(h.len) * int64(h.kind.size); s.end >= 0 && need != s.end-s.off {
		return nil, s.fault(s.off, "shape %v of %d bytes an element is %d bytes, %d follow",
			tensor.Shape(h.shape), h.kind.size, need, s.end-s.off)
	}
	return h.kind.read(s, h, p)
}

// whole reads one array after which nothing may follow.
func (s *source) whole(p tensor.Place) (*tensor.Tensor, error) {
	t, err := s.array(p)
	if err != nil {
		return nil, err
	}
	if err := s.finish(); err != nil {
		t.Release()
		return nil, err
	}
	return t, nil
}
