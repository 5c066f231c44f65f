package tensor_test

import (
	"testing"

	"tarn/tensor"
)

func reductionOf(a torchArgs) tensor.Reduction {
	return map[string]tensor.Reduction{
		"mean": tensor.MeanReduction, "sum": tensor.SumReduction, "none": tensor.NoReduction, "batchmean": tensor.BatchMeanReduction,
	}[a.text("reduction")]
}

func ignored(a torchArgs) *int64 {
	if !a.has("ignore_index") {
		return nil
	}
	class := int64(a.int("ignore_index"))
	return &class
}

var lossTorch = map[string]torchOp{
	"cross_entropy": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		o := tensor.CrossEntropyOptions{Weight: torchInput(in, 2), IgnoreIndex: ignored(a), Reduction: reductionOf(a)}
		if a.has("label_smoothing") {
			o.LabelSmoothing = a.float("label_smoothing")
		}
		return in[0].CrossEntropyWith(in[1], o)
	}),
	"nll": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		return in[0].NLL(in[1], tensor.NLLOptions{Weight: torchInput(in, 2), IgnoreIndex: ignored(a), Reduction: reductionOf(a)})
	}),
	"mse": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return in[0].MSELoss(in[1], reductionOf(a)) }),
	"l1":  torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor { return in[0].L1Loss(in[1], reductionOf(a)) }),
	"huber": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		return in[0].HuberLoss(in[1], a.float("delta"), reductionOf(a))
	}),
	"smooth_l1": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		return in[0].SmoothL1Loss(in[1], a.float("beta"), reductionOf(a))
	}),
	"kl_div": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		return in[0].KLDiv(in[1], tensor.KLDivOptions{LogTarget: a.bool("log_target"), Reduction: reductionOf(a)})
	}),
	"bce_with_logits": torchWith(func(in []*tensor.Tensor, a torchArgs) *tensor.Tensor {
		o := tensor.BCEOptions{Reduction: reductionOf(a)}
		var with []string
		a.get("with", &with)
		for i, name := range with {
			*map[string]**tensor.Tensor{"weight": &o.Weight, "pos_weight": &o.PosWeight}[name] = in[2+i]
		}
		return in[0].BCEWithLogits(in[1], o)
	}),
}

func TestTorchLosses(t *testing.T) {
	runTorchCases(t, "loss", lossTorch, map[string]departure{
		"kl_div/float32/zero_targets_none": {why: "0 times a negative logarithm", zeros: true},
		"kl_div/float32/zero_targets_sum": {why: "the limit, where PyTorch has 0 times Inf", grad: map[int][]float64{
			1: {-inf, 0.045006715, 0.3868036, 0.21190472, 0.54481834, -inf, -inf, -inf},
		}},
	})
}
