package kernels_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
)

func TestWindows(t *testing.T) {
	for _, c := range []struct {
		n, kernel              int64
		stride, pad, dil, want int
	}{
		{224, 7, 2, 3, 1, 112}, {56, 3, 1, 1, 1, 56}, {5, 5, 1, 0, 1, 1}, {5, 6, 1, 0, 1, 0}, {5, 3, 1, 0, 2, 1}, {5, 3, 1, 0, 3, 0},
		{0, 1, 1, 0, 1, 0}, {0, 2, 1, 1, 1, 1}, {4, 2, 5, 0, 1, 1}, {5, 0, 1, 0, 1, 0}, {math.MaxInt64, 3, 1, 1, 1, 0},
		{7, math.MaxInt64, 1, 0, math.MaxInt32, 0},
	} {
		require.EqualValues(t, c.want, kernels.Windows(c.n, c.kernel, c.stride, c.pad, c.dil), "%+v", c)
	}
}

// TestPoolWindows has the sizes that PyTorch's max_pool1d makes.
func TestPoolWindows(t *testing.T) {
	for _, c := range []struct {
		n                        int64
		kernel, stride, pad, dil int
		floor, ceil              int64
	}{
		{7, 3, 2, 0, 1, 3, 3}, {8, 3, 2, 0, 1, 3, 4}, {8, 3, 2, 1, 1, 4, 5}, {2, 3, 2, 0, 1, 0, 1}, {1, 3, 2, 0, 1, 0, 0},
		{8, 2, 5, 0, 1, 2, 2}, {5, 2, 3, 1, 1, 2, 2}, {9, 3, 2, 0, 3, 2, 2}, {4, 2, 4, 1, 1, 2, 2}, {3, 2, 4, 1, 1, 1, 1},
	} {
		p := kernels.PoolAttr{Kernel: [2]int{1, c.kernel}, Stride: [2]int{1, c.stride}, Padding: [2]int{0, c.pad}, Dilation: [2]int{1, c.dil}}
		require.Equal(t, c.floor, p.PoolWindows(1, c.n), "%+v", c)
		p.CeilMode = true
		require.Equal(t, c.ceil, p.PoolWindows(1, c.n), "%+v, ceil", c)
	}
}

func conv(stride, padding, dilation, groups int) kernels.Attr {
	return kernels.Attr{Conv: kernels.ConvAttr{Stride: [2]int{stride, stride}, Padding: [2]int{padding, padding},
		Dilation: [2]int{dilation, dilation}, Groups: groups}}
}

func pool(kernel, stride, padding, dilation int) kernels.Attr {
	return kernels.Attr{Pool: kernels.PoolAttr{Kernel: [2]int{kernel, kernel}, Stride: [2]int{stride, stride},
		Padding: [2]int{padding, padding}, Dilation: [2]int{dilation, dilation}}}
}

func TestCheckWindows(t *testing.T) {
	y, x, w := view(f32, 2, 6, 5, 5), view(f32, 2, 4, 5, 5), view(f32, 6, 2, 3, 3)
	half := view(f32, 2, 4, 2, 2)
	for _, c := range []checkCase{
		good("conv", kernels.Conv, 1, y, x, w).with(conv(1, 1, 1, 2)),
		good("conv with bias", kernels.Conv, 1, y, x, w, view(f32, 6)).with(conv(1, 1, 1, 2)),
		good("conv's input", kernels.ConvGradInput, 1, x, y, w).with(conv(1, 1, 1, 2)),
		good("conv's weight", kernels.ConvGradWeight, 1, w, y, x).with(conv(1, 1, 1, 2)),
		good("max pool", kernels.MaxPool, 2, half, view(i64, 2, 4, 2, 2), x).with(pool(2, 2, 0, 1)),
		good("max pool's input", kernels.MaxPoolGrad, 1, x, half, view(i64, 2, 4, 2, 2)).with(pool(2, 2, 0, 1)),
		good("bins", kernels.AdaptiveAvgPool, 1, view(f32, 2, 4, 7, 1), x),
		good("bins of nothing into nothing", kernels.AdaptiveAvgPool, 1, view(f32, 0, 4, 1, 1), view(f32, 0, 4, 0, 5)),

		bad("attributes left out", kernels.Conv, kernels.ErrAttr, "stride [0 0]", 1, y, x, w),
		bad("stride too large", kernels.Conv, kernels.ErrAttr, "want 1 to", 1, y, x, w).with(conv(1<<40, 1, 1, 2)),
		bad("image without a batch", kernels.Conv, kernels.ErrDims, "has 3 dims, want 4", 1, y, view(f32, 4, 5, 5), w).with(conv(1, 1, 1, 2)),
		bad("groups", kernels.Conv, kernels.ErrDims, "in 3 groups", 1, y, x, w).with(conv(1, 1, 1, 3)),
		bad("channels", kernels.Conv, kernels.ErrDims, "float32[6 2 3 3] in 1 groups", 1, y, x, w).with(conv(1, 1, 1, 1)),
		bad("kernel too large", kernels.Conv, kernels.ErrDims, "does not fit", 1, y, x, w).with(conv(1, 0, 3, 2)),
		bad("another output", kernels.Conv, kernels.ErrDims, "do not make float32[2 6 5 5]", 1, y, x, w).with(conv(2, 1, 1, 2)),
		bad("another batch", kernels.ConvGradWeight, kernels.ErrDims, "do not make", 1, w, y, view(f32, 3, 4, 5, 5)).with(conv(1, 1, 1, 2)),
		bad("bias", kernels.Conv, kernels.ErrDims, "the bias", 1, y, x, w, view(f32, 4)).with(conv(1, 1, 1, 2)),
		bad("float indices", kernels.MaxPool, kernels.ErrDType, "the indices, is float32", 2, half, view(f32, 2, 4, 2, 2), x).with(pool(2, 2, 0, 1)),
		bad("indices of other dims", kernels.MaxPool, kernels.ErrDims, "out[1]", 2, half, view(i64, 2, 4, 2, 1), x).with(pool(2, 2, 0, 1)),
		bad("indices elsewhere", kernels.MaxPoolGrad, kernels.ErrDType, "the indices", 1, x, half, half).with(pool(2, 2, 0, 1)),
		bad("padding", kernels.MaxPool, kernels.ErrAttr, "more than half", 2, half, view(i64, 2, 4, 2, 2), x).with(pool(2, 2, 2, 1)),
		bad("mean with dilation", kernels.AvgPool, kernels.ErrAttr, "dilation [2 2]", 1, half, x).with(pool(2, 2, 0, 2)),
		bad("window too large", kernels.AvgPool, kernels.ErrDims, "no window of [6 6]", 1, half, x).with(pool(6, 2, 0, 1)),
		bad("bins of nothing", kernels.AdaptiveAvgPool, kernels.ErrDims, "no elements", 1, view(f32, 2, 4, 1, 1), view(f32, 2, 4, 0, 5)),
		bad("bins of other channels", kernels.AdaptiveAvgPoolGrad, kernels.ErrDims, "does not make", 1, x, view(f32, 2, 3, 1, 1)),
	} {
		t.Run(c.name, c.run)
	}
}
