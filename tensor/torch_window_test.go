package tensor_test

import (
	"testing"

	"tarn/tensor"
)

// pairOf gives a window's argument of one dim, or of two, as a pair.
func pairOf(n []int) (p [2]int) {
	copy(p[:], n)
	return p
}

func windowOf(a torchArgs) tensor.Pool {
	return tensor.Pool{
		Kernel: pairOf(a.ints("kernel")), Stride: pairOf(a.ints("stride")), Padding: pairOf(a.ints("padding")), Dilation: pairOf(a.ints("dilation")),
		CeilMode: a.bool("ceil"), ExcludePad: a.bool("exclude_pad"),
	}
}

func convolution(f func(x, w, b *tensor.Tensor, c tensor.Conv) *tensor.Tensor) torchOp {
	return torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		return f(in[0], in[1], torchInput(in, 2), tensor.Conv{
			Stride: pairOf(a.ints("stride")), Padding: pairOf(a.ints("padding")), Dilation: pairOf(a.ints("dilation")), Groups: a.int("groups"),
		})
	})
}

func maxPool(f func(x *tensor.Tensor, p tensor.Pool) *tensor.Tensor, g func(x *tensor.Tensor, p tensor.Pool) (values, indices *tensor.Tensor)) torchOp {
	return func(_ tensor.Place, in []*tensor.Tensor, a torchArgs) []*tensor.Tensor {
		if a.bool("indices") {
			return torchTwo(g(in[0], windowOf(a)))
		}
		return torchOne(f(in[0], windowOf(a)))
	}
}

func avgPool(f func(x *tensor.Tensor, p tensor.Pool) *tensor.Tensor) torchOp {
	return torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return f(in[0], windowOf(a)) })
}

var windowTorch = map[string]torchOp{
	"conv1d":     convolution((*tensor.Tensor).Conv1D),
	"conv2d":     convolution((*tensor.Tensor).Conv2D),
	"max_pool1d": maxPool((*tensor.Tensor).MaxPool1D, (*tensor.Tensor).MaxPool1DIndices),
	"max_pool2d": maxPool((*tensor.Tensor).MaxPool2D, (*tensor.Tensor).MaxPool2DIndices),
	"avg_pool1d": avgPool((*tensor.Tensor).AvgPool1D),
	"avg_pool2d": avgPool((*tensor.Tensor).AvgPool2D),
	"adaptive_avg_pool1d": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		return in[0].AdaptiveAvgPool1D(a.ints("size")[0])
	}),
	"adaptive_avg_pool2d": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		size := a.ints("size")
		return in[0].AdaptiveAvgPool2D(size[0], size[1])
	}),
}

func TestTorchWindows(t *testing.T) {
	runTorchCases(t, "window", windowTorch, map[string]departure{})
}
