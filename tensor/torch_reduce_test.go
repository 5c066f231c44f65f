package tensor_test

import (
	"testing"

	"tarn/tensor"
)

// torchReduction is an op of two methods, of which the second keeps the reduced dims.
func torchReduction(drop, keep func(x *tensor.Tensor, dims ...int) *tensor.Tensor) torchOp {
	return torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		if a.bool("keepdim") {
			return keep(in[0], a.ints("dims")...)
		}
		return drop(in[0], a.ints("dims")...)
	})
}

// torchMeasured is a reduction with a number that says which.
func torchMeasured(name string, drop, keep func(x *tensor.Tensor, v float64, dims ...int) *tensor.Tensor) torchOp {
	return torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		if a.bool("keepdim") {
			return keep(in[0], a.float(name), a.ints("dims")...)
		}
		return drop(in[0], a.float(name), a.ints("dims")...)
	})
}

func torchAlong(f func(x *tensor.Tensor, dim int) *tensor.Tensor) torchOp {
	return torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return f(in[0], a.int("dim")) })
}

func torchAlongTwo(f func(x *tensor.Tensor, dim int) (values, indices *tensor.Tensor)) torchOp {
	return func(_ tensor.Place, in []*tensor.Tensor, a torchArgs) []*tensor.Tensor {
		return torchTwo(f(in[0], a.int("dim")))
	}
}

var reduceTorch = map[string]torchOp{
	"sum":              torchReduction((*tensor.Tensor).Sum, (*tensor.Tensor).SumKeep),
	"mean":             torchReduction((*tensor.Tensor).Mean, (*tensor.Tensor).MeanKeep),
	"amax":             torchReduction((*tensor.Tensor).Max, (*tensor.Tensor).MaxKeep),
	"amin":             torchReduction((*tensor.Tensor).Min, (*tensor.Tensor).MinKeep),
	"any":              torchReduction((*tensor.Tensor).Any, (*tensor.Tensor).AnyKeep),
	"all":              torchReduction((*tensor.Tensor).All, (*tensor.Tensor).AllKeep),
	"logsumexp":        torchReduction((*tensor.Tensor).LogSumExp, (*tensor.Tensor).LogSumExpKeep),
	"prod":             torchReduction((*tensor.Tensor).Prod, (*tensor.Tensor).ProdKeep),
	"var":              torchMeasured("correction", (*tensor.Tensor).Var, (*tensor.Tensor).VarKeep),
	"std":              torchMeasured("correction", (*tensor.Tensor).Std, (*tensor.Tensor).StdKeep),
	"norm":             torchMeasured("p", (*tensor.Tensor).Norm, (*tensor.Tensor).NormKeep),
	"max_with_indices": torchAlongTwo((*tensor.Tensor).MaxWithIndices),
	"min_with_indices": torchAlongTwo((*tensor.Tensor).MinWithIndices),
	"argmax":           torchAlong((*tensor.Tensor).ArgMax),
	"argmin":           torchAlong((*tensor.Tensor).ArgMin),
	"cumsum":           torchAlong((*tensor.Tensor).CumSum),
	"cumprod":          torchAlong((*tensor.Tensor).CumProd),
	"softmax":          torchAlong((*tensor.Tensor).Softmax),
	"log_softmax":      torchAlong((*tensor.Tensor).LogSoftmax),
	"sort": func(_ tensor.Place, in []*tensor.Tensor, a torchArgs) []*tensor.Tensor {
		return torchTwo(in[0].Sort(a.int("dim"), a.bool("descending")))
	},
	"argsort": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		return in[0].ArgSort(a.int("dim"), a.bool("descending"))
	}),
	"topk": func(_ tensor.Place, in []*tensor.Tensor, a torchArgs) []*tensor.Tensor {
		return torchTwo(in[0].TopK(a.int("k"), a.int("dim"), !a.has("largest") || a.bool("largest")))
	},
}

const (
	noBools  = "Any and All are the maximum and the minimum of bools"
	nanAlone = "the NaN alone gets the gradient of its row"
)

func TestTorchReductions(t *testing.T) {
	runTorchCases(t, "reduce", reduceTorch, map[string]departure{
		"amax/bool/values":                      {why: noBools, refused: true},
		"amin/bool/values":                      {why: noBools, refused: true},
		"amax/float32/special_rows":             {why: nanAlone, zeros: true, grad: map[int][]float64{0: {-0.78125, 0, 0}}},
		"amin/float32/special_rows":             {why: nanAlone, zeros: true, grad: map[int][]float64{0: {-1.03125, 0, 0}}},
		"max_with_indices/float32/special_rows": {why: "of 0 and -0 either is the larger", zeros: true},
		"min_with_indices/float32/special_rows": {why: "of 0 and -0 either is the smaller", zeros: true},
		"cumprod/float32/special_rows": {why: "PyTorch divides by the elements", grad: map[int][]float64{0: {
			-1.25, nan, nan, -0.625, -inf, -inf, 3.0625, -inf, -inf, -inf, -inf, -inf, -inf, inf, inf,
		}}},
	})
}
