package tensor_test

import (
	"testing"

	"tarn/tensor"
)

func torchMade(f func(p tensor.Place, a torchArgs) *tensor.Tensor) torchOp {
	return func(p tensor.Place, _ []*tensor.Tensor, a torchArgs) []*tensor.Tensor { return torchOne(f(p, a)) }
}

var indexTorch = map[string]torchOp{
	"arange": torchMade(func(p tensor.Place, a torchArgs) *tensor.Tensor {
		return tensor.Arange(p, a.dtype(), a.float("start"), a.float("stop"), a.float("step"))
	}),
	"linspace": torchMade(func(p tensor.Place, a torchArgs) *tensor.Tensor {
		return tensor.Linspace(p, a.dtype(), a.float("start"), a.float("stop"), a.int("n"))
	}),
	"eye": torchMade(func(p tensor.Place, a torchArgs) *tensor.Tensor {
		return tensor.Eye(p, a.dtype(), a.int("n"), a.int("m"))
	}),
}

func TestTorchIndexing(t *testing.T) {
	runTorchCases(t, "index", indexTorch, map[string]departure{})
}
