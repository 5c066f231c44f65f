package tensor_test

import (
	"testing"

	"tarn/tensor"
)

var productTorch = map[string]torchOp{
	"matmul": torchBinary((*tensor.Tensor).MatMul),
	"dot":    torchBinary((*tensor.Tensor).Dot),
	"outer":  torchBinary((*tensor.Tensor).Outer),
	"linear": torchWith(func(in []*tensor.Tensor, _ torchArgs) *tensor.Tensor { return in[0].Linear(in[1], in[2]) }),
	"einsum": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		return tensor.Einsum(a.text("equation"), in...)
	}),
}

func TestTorchProducts(t *testing.T) {
	runTorchCases(t, "product", productTorch, map[string]departure{})
}
