package data

import (
	"fmt"
	"math"
)

// Set is labelled images of one size in host memory.
type Set struct {
	rows, cols, classes int

	features []float32 // Len x rows x cols
	labels   []int64   // each at least 0 and below classes
}

// SetOptions says how a Set is made of files.
type SetOptions struct {
	// Classes is the number of classes: labels run from 0 to Classes-1.
	Classes int
	// Mean and Std normalise: a feature is (byte/255 - Mean) / Std. A Std of 0
	// stands for 1, so that the zero values give features from 0 to 1.
	Mean, Std float32
}

func (o SetOptions) check() error {
	switch mean, std := float64(o.Mean), float64(o.Std); {
	case o.Classes < 1:
		return &ArgumentError{Name: "Classes", Value: o.Classes, Want: "at least 1"}
	case math.IsNaN(mean) || math.IsInf(mean, 0):
		return &ArgumentError{Name: "Mean", Value: o.Mean, Want: "a finite number"}
	case !(std >= 0) || math.IsInf(std, 0):
		return &ArgumentError{Name: "Std", Value: o.Std, Want: "a finite number above 0, or 0 for 1"}
	}
	return nil
}

// NewSet pairs images (rank 3: example, row, column) with labels (rank 1).
// Files that do not fit each other or o are refused with a [*FormatError].
func NewSet(images, labels *IDX, o SetOptions) (*Set, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if r := len(images.Dims); r != 3 {
		return nil, images.fault(rankAt, "rank %d, want 3 for images", r)
	}
	if r := len(labels.Dims); r != 1 {
		return nil, labels.fault(rankAt, "rank %d, want 1 for labels", r)
	}
	n, rows, cols := images.Dims[0], images.Dims[1], images.Dims[2]
	for i, d := range images.Dims[1:] {
		if d == 0 {
			return nil, images.fault(int64(dimsAt+dimBytes*(i+1)), "images of %d x %d pixels", rows, cols)
		}
	}
	if labels.Dims[0] != n {
		return nil, labels.fault(dimsAt, "%d labels, but %s has %d images", labels.Dims[0], images.Name, n)
	}
	s := &Set{rows: rows, cols: cols, classes: o.Classes}
	s.labels = make([]int64, n)
	for i, b := range labels.Data {
		if int(b) >= o.Classes {
			return nil, labels.fault(labels.headerBytes()+int64(i), "label %d, want below %d", b, o.Classes)
		}
		s.labels[i] = int64(b)
	}
	s.features = normalise(images.Data, o)
	return s, nil
}

// normalise goes through a table: there are only 256 results.
func normalise(pixels []byte, o SetOptions) []float32 {
	std := o.Std
	if std == 0 {
		std = 1
	}
	var table [256]float32
	for b := range table {
		table[b] = (float32(b)/255 - o.Mean) / std
	}
	features := make([]float32, len(pixels))
	for i, b := range pixels {
		features[i] = table[b]
	}
	return features
}

// Len returns the number of examples.
func (s *Set) Len() int { return len(s.labels) }

// Rows returns the height of an image in pixels.
func (s *Set) Rows() int { return s.rows }

// Cols returns the width of an image in pixels.
func (s *Set) Cols() int { return s.cols }

// Features returns the number of features of an example: Rows x Cols.
func (s *Set) Features() int { return s.rows * s.cols }

// Classes returns the number of classes.
func (s *Set) Classes() int { return s.classes }

// Example returns the features and the label of example i. The features are
// the set's own: they must not be changed.
func (s *Set) Example(i int) (features []float32, label int64) {
	f := s.Features()
	return s.features[i*f : (i+1)*f : (i+1)*f], s.labels[i]
}

// Head returns a set of the first n examples, all of them where there are
// fewer. It shares the memory of s.
func (s *Set) Head(n int) (*Set, error) {
	if n < 0 {
		return nil, &ArgumentError{Name: "number of examples", Value: n, Want: "at least 0"}
	}
	n = min(n, s.Len())
	h := *s
	h.features, h.labels = s.features[:n*s.Features()], s.labels[:n]
	return &h, nil
}

// Gather copies the examples at idx to features, one after the other, and
// their classes to labels. Both must have exactly the room: len(idx) x
// Features and len(idx).
func (s *Set) Gather(features []float32, labels []int64, idx []int) {
	f := s.Features()
	if len(features) != f*len(idx) || len(labels) != len(idx) {
		panic(fmt.Sprintf("data: Gather of %d examples of %d features into room for %d features and %d labels",
			len(idx), f, len(features), len(labels)))
	}
	for i, x := range idx {
		copy(features[i*f:(i+1)*f], s.features[x*f:(x+1)*f])
		labels[i] = s.labels[x]
	}
}
