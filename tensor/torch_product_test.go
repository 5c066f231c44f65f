package tensor_test

import (
	"testing"
)

var productTorch = map[string]torchOp{}

func TestTorchProducts(t *testing.T) {
	runTorchCases(t, "product", productTorch, map[string]departure{})
}
