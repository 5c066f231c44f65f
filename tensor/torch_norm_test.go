package tensor_test

import (
	"testing"

	"tarn/tensor"
)

var normTorch = map[string]torchOp{
	"layer_norm": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		if dims := a.int("dims"); len(in) == 1 {
			return in[0].LayerNormDims(dims, a.float("eps"))
		}
		return in[0].LayerNorm(in[1], torchInput(in, 2), a.float("eps"))
	}),
	"rms_norm": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		if dims := a.int("dims"); len(in) == 1 {
			return in[0].RMSNormDims(dims, a.float("eps"))
		}
		return in[0].RMSNorm(in[1], a.float("eps"))
	}),
	"group_norm": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		return in[0].GroupNorm(a.int("groups"), torchInput(in, 1), torchInput(in, 2), a.float("eps"))
	}),
	// The outputs are those of the op, and the running statistics after it.
	"batch_norm": func(_ tensor.Place, in []*tensor.Tensor, a torchArgs) []*tensor.Tensor {
		o := tensor.BatchNormOptions{Training: a.bool("training"), Momentum: a.float("momentum"), Eps: a.float("eps")}
		return []*tensor.Tensor{in[0].BatchNorm(in[1], in[2], in[3], in[4], o), in[3], in[4]}
	},
	"attention": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		o := tensor.AttentionOptions{Mask: torchInput(in, 3), Causal: a.bool("causal")}
		if a.has("scale") {
			o.Scale = a.float("scale")
		}
		return in[0].Attention(in[1], in[2], o)
	}),
}

const summedInHalf = "PyTorch adds up the gradients of float32 weights in the type of x"

func TestTorchNorms(t *testing.T) {
	equal := []float64{1.96875, 1.96875, -0.21875, -0.21875, 1.59375, 1.59375, -0.59375, -0.59375}
	runTorchCases(t, "norm", normTorch, map[string]departure{
		"group_norm/float32/equal_elements":  {why: "the bias exactly: PyTorch takes the mean off only after scaling", output: map[int][]float64{0: equal}},
		"layer_norm/float16_float32/values":  {why: summedInHalf, grad: map[int][]float64{1: {-0.29240751, 5.1038408, -2.3099515}}},
		"layer_norm/bfloat16_float32/values": {why: summedInHalf, grad: map[int][]float64{1: {-1.8314664, -5.2783313, -1.5969951}}},
		"rms_norm/float32/special_rows":      {why: "0 times a negative weight has a sign that no formula keeps", zeros: true},
	})
}
