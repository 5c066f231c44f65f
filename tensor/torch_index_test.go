package tensor_test

import (
	"testing"

	"tarn/tensor"
)

func torchMade(f func(p tensor.Place, a torchArgs) *tensor.Tensor) torchOp {
	return func(p tensor.Place, _ []*tensor.Tensor, a torchArgs) []*tensor.Tensor { return torchOne(f(p, a)) }
}

// torchIndexed is an op of a dim, an index and, if it has one, a source.
func torchIndexed(f func(x *tensor.Tensor, dim int, index *tensor.Tensor) *tensor.Tensor) torchOp {
	return torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return f(in[0], a.int("dim"), in[1]) })
}

func torchSourced(f func(x *tensor.Tensor, dim int, index, src *tensor.Tensor) *tensor.Tensor) torchOp {
	return torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return f(in[0], a.int("dim"), in[1], in[2]) })
}

var indexTorch = map[string]torchOp{
	"gather":       torchIndexed((*tensor.Tensor).Gather),
	"index_select": torchIndexed((*tensor.Tensor).IndexSelect),
	"scatter":      torchSourced((*tensor.Tensor).Scatter),
	"scatter_add":  torchSourced((*tensor.Tensor).ScatterAdd),
	"index_add":    torchSourced((*tensor.Tensor).IndexAdd),
	"embedding":    torchBinary(func(index, weight *tensor.Tensor) *tensor.Tensor { return tensor.Embedding(weight, index) }),
	"one_hot":      torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return in[0].OneHot(a.int("classes")) }),
	"triu":         torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return in[0].Triu(a.int("k")) }),
	"tril":         torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return in[0].Tril(a.int("k")) }),
	"concat":       torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return tensor.Concat(a.int("dim"), in...) }),
	"stack":        torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return tensor.Stack(a.int("dim"), in...) }),
	"roll": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		return in[0].Roll(a.ints("shifts"), a.ints("dims"))
	}),
	"flip":   torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return in[0].Flip(a.ints("dims")...) }),
	"repeat": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return in[0].Repeat(a.ints("times")...) }),
	"pad": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		mode := a.text("mode")
		if mode == "constant" {
			return in[0].Pad(a.ints("padding"), a.float("value"))
		}
		modes := map[string]tensor.PadMode{"reflect": tensor.ReflectPad, "replicate": tensor.ReplicatePad, "circular": tensor.CircularPad}
		return in[0].PadWith(modes[mode], a.ints("padding"))
	}),
	"repeat_interleave": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		return in[0].RepeatInterleave(a.int("times"), a.int("dim"))
	}),
	"diagonal": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		return in[0].Diagonal(a.int("offset"), a.int("dim1"), a.int("dim2"))
	}),
	"unfold": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		return in[0].Unfold(a.int("dim"), a.int("size"), a.int("step"))
	}),
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
