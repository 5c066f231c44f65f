package tensor_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// spacedOut returns the first input with its elements so far apart that a small
// change makes no other one the largest of a window.
func spacedOut(in []*tensor.Tensor) *tensor.Tensor {
	n := in[0].Len()
	steps := make([]float64, n)
	for i := range steps {
		steps[i] = float64(i * 7 % n)
	}
	return in[0].MulScalar(0.1).Add(tensor.FromSlice(in[0].Device(), steps, in[0].Shape()...))
}

func windowGradCases() []gradCase {
	type T = *tensor.Tensor
	var cases []gradCase
	for _, c := range []struct {
		x, w []int
		conv tensor.Conv
	}{
		{[]int{2, 3, 5, 6}, []int{4, 3, 3, 3}, tensor.Conv{}},
		{[]int{2, 3, 5, 6}, []int{4, 3, 3, 2}, tensor.Conv{Stride: [2]int{2, 1}, Padding: [2]int{1, 2}}},
		{[]int{1, 4, 7, 6}, []int{6, 2, 2, 3}, tensor.Conv{Dilation: [2]int{2, 2}, Padding: [2]int{2, 1}, Groups: 2}},
		{[]int{2, 4, 5, 5}, []int{4, 1, 3, 3}, tensor.Conv{Stride: [2]int{3, 2}, Padding: [2]int{1, 1}, Groups: 4}},
		{[]int{2, 3, 4, 4}, []int{2, 3, 1, 1}, tensor.Conv{}},
		{[]int{0, 3, 4, 4}, []int{2, 3, 2, 2}, tensor.Conv{}},
	} {
		b := c.w[:1]
		cases = append(cases,
			gradCase{name: fmt.Sprint("Conv2D ", c), shapes: [][]int{c.x, c.w, b}, f: func(in []T) T { return in[0].Conv2D(in[1], in[2], c.conv) }},
			gradCase{name: fmt.Sprint("Conv2D without bias ", c), shapes: [][]int{c.x, c.w}, f: func(in []T) T { return in[0].Conv2D(in[1], nil, c.conv) }})
	}
	cases = append(cases,
		gradCase{name: "Conv1D", shapes: [][]int{{2, 4, 9}, {6, 2, 3}, {6}}, f: func(in []T) T {
			return in[0].Conv1D(in[1], in[2], tensor.Conv{Stride: [2]int{2}, Padding: [2]int{1}, Dilation: [2]int{2}, Groups: 2})
		}},
		gradCase{name: "Conv2D of a transpose", shapes: [][]int{{5, 2, 3, 4}, {2, 3, 2, 3}}, f: func(in []T) T {
			return in[0].Transpose(0, 3).Transpose(1, 2).Conv2D(in[1].Transpose(2, 3), nil, tensor.Conv{Padding: [2]int{1, 1}})
		}, draw: nil},
		gradCase{name: "AdaptiveAvgPool2D", shapes: [][]int{{2, 3, 7, 5}}, f: func(in []T) T { return in[0].AdaptiveAvgPool2D(3, 4) }},
		gradCase{name: "AdaptiveAvgPool2D to more", shapes: [][]int{{1, 2, 2, 3}}, f: func(in []T) T { return in[0].AdaptiveAvgPool2D(3, 5) }},
		gradCase{name: "AdaptiveAvgPool1D", shapes: [][]int{{2, 3, 7}}, f: func(in []T) T { return in[0].AdaptiveAvgPool1D(3) }})
	for _, p := range []tensor.Pool{
		{Kernel: [2]int{2, 2}}, {Kernel: [2]int{3, 2}, Stride: [2]int{1, 2}, Padding: [2]int{1, 1}},
		{Kernel: [2]int{3, 3}, Stride: [2]int{2, 2}, Padding: [2]int{1, 0}, CeilMode: true},
		{Kernel: [2]int{3, 2}, Stride: [2]int{2, 2}, Padding: [2]int{1, 1}, CeilMode: true, ExcludePad: true},
	} {
		cases = append(cases,
			gradCase{name: fmt.Sprint("MaxPool2D ", p), shapes: [][]int{{2, 2, 6, 7}}, f: func(in []T) T { return spacedOut(in).MaxPool2D(p) }},
			gradCase{name: fmt.Sprint("MaxPool1D ", p), shapes: [][]int{{2, 2, 7}}, f: func(in []T) T { return spacedOut(in).MaxPool1D(p) }},
			gradCase{name: fmt.Sprint("AvgPool2D ", p), shapes: [][]int{{2, 2, 6, 7}}, f: func(in []T) T { return in[0].AvgPool2D(p) }},
			gradCase{name: fmt.Sprint("AvgPool1D ", p), shapes: [][]int{{2, 2, 7}}, f: func(in []T) T { return in[0].AvgPool1D(p) }})
	}
	return cases
}

// TestWindowGradients is TestGradients for convolutions and poolings.
func TestWindowGradients(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) { checkGradientsOf(t, d, windowGradCases()) })
}

// TestMaxPoolIndices: places are counted within the plane, the first of equals
// and the last of several NaN counts.
func TestMaxPoolIndices(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		nan := math.NaN()
		x := tensor.FromSlice(d, []float64{1, 3, 3, 2, 3, 3, 3, 0, nan, 1, 5, 4, 2, nan, 5, 6}, 1, 1, 4, 4).RequireGrad()
		y, indices := x.MaxPool2DIndices(tensor.Pool{Kernel: [2]int{2, 2}})
		values, err := tensor.Data[float64](y)
		require.NoError(t, err)
		require.Equal(t, []float64{3, 3}, values[:2])
		require.True(t, math.IsNaN(values[2]))
		require.Equal(t, 6.0, values[3])
		places, err := tensor.Data[int64](indices)
		require.NoError(t, err)
		require.Equal(t, []int64{1, 2, 13, 15}, places)
		require.Equal(t, tensor.Shape{1, 1, 2, 2}, indices.Shape())

		line, indices := tensor.FromSlice(d, []float32{1, 4, 2, 3}, 1, 1, 4).MaxPool1DIndices(tensor.Pool{Kernel: [2]int{2}})
		require.Equal(t, tensor.Shape{1, 1, 2}, line.Shape())
		places, err = tensor.Data[int64](indices)
		require.NoError(t, err)
		require.Equal(t, []int64{1, 3}, places)
	})
}

// TestBadWindows: what does not fit is refused with the numbers, and leaks
// nothing.
func TestBadWindows(t *testing.T) {
	type T = *tensor.Tensor
	two := func(a, b int) [2]int { return [2]int{a, b} }
	for _, c := range []struct {
		name string
		f    func(x, w, b T) T // x [2,4,5,5], w [6,2,3,3], b [6]
		is   error
		says string
	}{
		{"groups", func(x, w, b T) T { return x.Conv2D(w, b, tensor.Conv{Groups: 3}) }, tensor.ErrShape, "4 input and 6 output channels do not divide into 3 groups"},
		{"channels", func(x, w, b T) T { return x.Conv2D(w, b, tensor.Conv{}) }, tensor.ErrShape, "weight has 2 input channels, and 4 in 1 groups"},
		{"bias", func(x, w, _ T) T { return x.Conv2D(w, x, tensor.Conv{Groups: 2}) }, tensor.ErrShape, "bias is [2, 4, 5, 5] for 6"},
		{"kernel", func(x, w, b T) T { return x.Conv2D(w, b, tensor.Conv{Groups: 2, Dilation: two(1, 3)}) }, tensor.ErrShape, "kernel of 3, dilation 3, does not fit on 5 with padding 0"},
		{"stride", func(x, w, b T) T { return x.Conv2D(w, b, tensor.Conv{Groups: 2, Stride: two(-1, 1)}) }, tensor.ErrShape, "stride of -1"},
		{"padding", func(x, w, b T) T { return x.Conv2D(w, b, tensor.Conv{Groups: 2, Padding: two(0, -1)}) }, tensor.ErrShape, "padding of -1"},
		{"negative groups", func(x, w, b T) T { return x.Conv2D(w, b, tensor.Conv{Groups: -2}) }, tensor.ErrShape, "-2 groups"},
		{"no batch", func(x, w, b T) T { return x.Select(0, 0).Conv2D(w, b, tensor.Conv{Groups: 2}) }, tensor.ErrShape, "need 4 dims, the batch first, not 3 and 4"},
		{"1-d of 2-d", func(x, w, b T) T { return x.Conv1D(w, b, tensor.Conv{Groups: 2}) }, tensor.ErrShape, "need 3 dims"},
		{"dtypes", func(x, w, b T) T { return x.Conv2D(w.To(tensor.Float64), b, tensor.Conv{Groups: 2}) }, tensor.ErrDType, "float64"},
		{"whole numbers", func(x, w, _ T) T {
			return x.To(tensor.Int64).Conv2D(w.To(tensor.Int64), nil, tensor.Conv{Groups: 2})
		}, tensor.ErrDType, "int64"},
		{"no kernel", func(x, _, _ T) T { return x.MaxPool2D(tensor.Pool{}) }, tensor.ErrShape, "kernel of 0"},
		{"window", func(x, _, _ T) T { return x.AvgPool2D(tensor.Pool{Kernel: two(2, 6)}) }, tensor.ErrShape, "spans 6 fits on 5"},
		{"pool's padding", func(x, _, _ T) T { return x.MaxPool2D(tensor.Pool{Kernel: two(2, 3), Padding: two(2, 0)}) }, tensor.ErrShape, "padding 2 is more than half of a window that spans 2"},
		{"dilated mean", func(x, _, _ T) T { return x.AvgPool2D(tensor.Pool{Kernel: two(2, 2), Dilation: two(2, 2)}) }, tensor.ErrShape, "dilation [2 2]"},
		{"pool without batch", func(x, _, _ T) T { return x.Select(0, 0).MaxPool2D(tensor.Pool{Kernel: two(2, 2)}) }, tensor.ErrShape, "needs 4 dims"},
		{"negative bins", func(x, _, _ T) T { return x.AdaptiveAvgPool2D(2, -1) }, tensor.ErrShape, "-1 bins"},
		{"bins of nothing", func(x, _, _ T) T { return x.Slice(2, 0, 0, 1).AdaptiveAvgPool2D(2, 1) }, tensor.ErrShape, "without elements"},
		{"pool of whole numbers", func(x, _, _ T) T { return x.To(tensor.Int64).MaxPool2D(tensor.Pool{Kernel: two(2, 2)}) }, tensor.ErrDType, "int64"},
		{"indices", func(x, _, _ T) T {
			_, indices := x.MaxPool2DIndices(tensor.Pool{Kernel: two(9, 9)})
			return indices
		}, tensor.ErrShape, "spans 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newCPU(t)
			s := tensor.NewScope()
			x, w, b := tensor.Ones(d.In(s), tensor.Float32, 2, 4, 5, 5), tensor.Ones(d.In(s), tensor.Float32, 6, 2, 3, 3), tensor.Ones(d.In(s), tensor.Float32, 6)
			y := c.f(x, w, b)
			require.ErrorIs(t, y.Err(), c.is)
			require.ErrorContains(t, y.Err(), c.says)
			require.NoError(t, s.Close())
		})
	}
}
