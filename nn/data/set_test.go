package data

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func images(n, rows, cols int) *IDX {
	return &IDX{Name: "images", Dims: []int{n, rows, cols}, Data: ramp(n * rows * cols)}
}

func labels(b ...byte) *IDX { return &IDX{Name: "labels", Dims: []int{len(b)}, Data: b} }

func TestNewSet(t *testing.T) {
	s, err := NewSet(images(3, 2, 4), labels(9, 0, 5), SetOptions{Classes: 10})
	require.NoError(t, err)
	require.Equal(t, []int{3, 2, 4, 8, 10}, []int{s.Len(), s.Rows(), s.Cols(), s.Features(), s.Classes()})

	features, label := s.Example(1)
	require.EqualValues(t, 0, label)
	require.Len(t, features, 8)
	for i, b := range ramp(24)[8:16] {
		require.Equal(t, float32(b)/255, features[i])
	}
}

func TestNewSetNormalises(t *testing.T) {
	pixels := &IDX{Name: "images", Dims: []int{1, 1, 3}, Data: []byte{0, 51, 255}}
	for name, c := range map[string]struct {
		o    SetOptions
		want []float32
	}{
		"zero values":  {SetOptions{Classes: 1}, []float32{0, 0.2, 1}},
		"mean":         {SetOptions{Classes: 1, Mean: 0.2}, []float32{-0.2, 0, 0.8}},
		"mean and std": {SetOptions{Classes: 1, Mean: 0.5, Std: 0.25}, []float32{-2, -1.2, 2}},
	} {
		s, err := NewSet(pixels, labels(0), c.o)
		require.NoError(t, err, name)
		got, _ := s.Example(0)
		require.InDeltaSlice(t, c.want, got, 1e-6, name)
	}
}

func TestNewSetRefusesFiles(t *testing.T) {
	for name, c := range map[string]struct {
		images, labels *IDX
		file           string
		offset         int64
		msg            string
	}{
		"images of rank 1": {labels(1), labels(1), "labels", 3, "rank 1, want 3 for images"},
		"labels of rank 3": {images(1, 2, 2), images(1, 2, 2), "images", 3, "rank 3, want 1 for labels"},
		"no rows":          {images(2, 0, 4), labels(1, 2), "images", 8, "0 x 4 pixels"},
		"no columns":       {images(2, 4, 0), labels(1, 2), "images", 12, "4 x 0 pixels"},
		"fewer labels":     {images(3, 2, 2), labels(1, 2), "labels", 4, "2 labels, but images has 3 images"},
		"more labels":      {images(1, 2, 2), labels(1, 2), "labels", 4, "2 labels, but images has 1 images"},
		"label too large":  {images(3, 2, 2), labels(1, 9, 10), "labels", 10, "label 10, want below 10"},
	} {
		s, err := NewSet(c.images, c.labels, SetOptions{Classes: 10})
		require.Nil(t, s, name)
		var bad *FormatError
		require.ErrorAs(t, err, &bad, name)
		require.Equal(t, c.file, bad.File, name)
		require.Equal(t, c.offset, bad.Offset, name)
		require.Contains(t, bad.Msg, c.msg, name)
	}
}

func TestNewSetRefusesOptions(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for want, o := range map[string]SetOptions{
		"data: Classes is 0, want at least 1":                         {},
		"data: Classes is -3, want at least 1":                        {Classes: -3},
		"data: Mean is NaN, want a finite number":                     {Classes: 1, Mean: nan},
		"data: Mean is -Inf, want a finite number":                    {Classes: 1, Mean: -inf},
		"data: Std is -1, want a finite number above 0, or 0 for 1":   {Classes: 1, Std: -1},
		"data: Std is NaN, want a finite number above 0, or 0 for 1":  {Classes: 1, Std: nan},
		"data: Std is +Inf, want a finite number above 0, or 0 for 1": {Classes: 1, Std: inf},
	} {
		_, err := NewSet(images(1, 2, 2), labels(0), o)
		require.ErrorAs(t, err, new(*ArgumentError), want)
		require.EqualError(t, err, want)
	}
}

func TestHead(t *testing.T) {
	s, err := NewSet(images(5, 2, 2), labels(0, 1, 2, 3, 4), SetOptions{Classes: 5})
	require.NoError(t, err)
	for n, want := range map[int]int{0: 0, 1: 1, 5: 5, 6: 5, math.MaxInt: 5} {
		h, err := s.Head(n)
		require.NoError(t, err)
		require.Equal(t, want, h.Len())
		for i := range want {
			f, l := h.Example(i)
			wantF, wantL := s.Example(i)
			require.Equal(t, wantF, f)
			require.Equal(t, wantL, l)
		}
	}
	_, err = s.Head(-1)
	require.ErrorAs(t, err, new(*ArgumentError))
}

func TestGather(t *testing.T) {
	s, err := NewSet(images(4, 2, 3), labels(3, 2, 1, 0), SetOptions{Classes: 4})
	require.NoError(t, err)
	idx := []int{2, 0, 2}
	features, classes := make([]float32, 18), make([]int64, 3)
	s.Gather(features, classes, idx)
	require.Equal(t, []int64{1, 3, 1}, classes)
	for i, x := range idx {
		want, _ := s.Example(x)
		require.Equal(t, want, features[i*6:(i+1)*6])
	}
	require.PanicsWithValue(t, "data: Gather of 3 examples of 6 features into room for 17 features and 3 labels",
		func() { s.Gather(features[:17], classes, idx) })
	require.Panics(t, func() { s.Gather(features, classes[:2], idx) })
}
