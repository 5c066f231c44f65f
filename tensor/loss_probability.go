package tensor

import (
	"math"

	"tarn/kernels"
)

// The losses of probabilities and of their logarithms.

// KLDivOptions say how a [Tensor.KLDiv] reads its target and is reduced. Of the
// reductions it alone has [BatchMeanReduction], which is the divergence's
// definition; the zero value, PyTorch's default, is the mean over elements.
type KLDivOptions struct {
	LogTarget bool // the target holds logarithms of probabilities
	Reduction Reduction
}

// KLDiv returns target*(log(target) - t), reduced: the divergence of Kullback and
// Leibler of the target from the log-probabilities t. A target of 0 gives 0, one
// below 0 NaN. With LogTarget it is exp(target)*(target - t), NaN for a target of
// -Inf as in PyTorch. The gradient of a target of 0 is -Inf, the limit, where
// PyTorch gives NaN.
func (t *Tensor) KLDiv(target *Tensor, o KLDivOptions) *Tensor {
	if o.LogTarget {
		return elementLoss(klDivLogLoss, t, target, o.Reduction, nodeAttr{})
	}
	return elementLoss(klDivLoss, t, target, o.Reduction, nodeAttr{})
}

// BCEOptions are the weights and the reduction of a [Tensor.BCEWithLogits]. The
// zero value is PyTorch's default.
type BCEOptions struct {
	// Weight multiplies the losses, PosWeight the part of each loss that the
	// target multiplies. Both broadcast to the logits' shape, have the common type
	// of logits and target, and are constants; nil: 1.
	Weight, PosWeight *Tensor
	Reduction         Reduction
}

// BCEWithLogits returns the binary cross-entropy of the target, probabilities,
// and the sigmoid of the logits t, reduced:
//
//	-(PosWeight*target*log(sigmoid(t)) + (1-target)*log(1-sigmoid(t))) * Weight
//
// computed as (1-target)*t - (1 + (PosWeight-1)*target)*log(sigmoid(t)), whose
// logarithm is -softplus(-t), so that no finite logit overflows. An infinite one
// gives Inf or NaN, as in PyTorch, and its gradient is the limit.
func (t *Tensor) BCEWithLogits(target *Tensor, o BCEOptions) *Tensor {
	var weights []*Tensor
	var attr nodeAttr
	if o.Weight != nil {
		weights, attr.start = append(weights, o.Weight), 1
	}
	if o.PosWeight != nil {
		weights, attr.start = append(weights, o.PosWeight), attr.start+2
	}
	return elementLoss(bceLogitsLoss, t, target, o.Reduction, attr, weights...)
}

// BCELoss is [Tensor.BCEWithLogits] of probabilities t, without a PosWeight. The
// logarithms are at least -100, and what the gradient divides by, t*(1-t), at
// least 1e-12, as in PyTorch. A t outside of [0,1] gives NaN, where PyTorch fails:
// a device that works on after the call could not say so. weight may be nil.
func (t *Tensor) BCELoss(target, weight *Tensor, r Reduction) *Tensor {
	if weight == nil {
		return elementLoss(bceLoss, t, target, r, nodeAttr{})
	}
	return elementLoss(bceLoss, t, target, r, nodeAttr{start: 1}, weight)
}

var (
	inputRead  = [2]bool{true, false}
	targetRead = [2]bool{false, true}

	klDivLoss = &lossKind{def: klDivDef, losses: divergence, slope: targetItself, slopeReads: targetRead,
		factor: minusOne, targetSlope: divergenceByTarget, targetReads: bothRead, batches: true}
	klDivLogLoss = &lossKind{def: klDivLogDef, losses: logDivergence, slope: targetExp, slopeReads: targetRead,
		factor: minusOne, targetSlope: logDivergenceByTarget, targetReads: bothRead, batches: true}
	bceLogitsLoss = &lossKind{def: bceWithLogitsDef, losses: bceOfLogits, slope: bceByLogit, slopeReads: bothRead,
		targetSlope: bceLogitsByTarget, targetReads: inputRead}
	bceLoss = &lossKind{def: bceLossDef, losses: bceOfProbabilities, slope: bceByProbability, slopeReads: bothRead,
		targetSlope: bceByTarget, targetReads: inputRead}
)

func minusOne(*nodeAttr) float64 { return -1 }

// boundedLog makes log(t), -1000 at 0 where that is to be multiplied by 0: no
// logarithm of a float64 above 0 comes near.
func boundedLog(w *lossWork, t *Tensor) *Tensor {
	l := w.run(nil, kernels.Log, kernels.Attr{}, t)
	return w.clamp(l, l, -1000, math.Inf(1))
}

func divergence(w *lossWork, x, t *Tensor) *Tensor {
	l := boundedLog(w, t)
	w.run(l, kernels.Sub, kernels.Attr{}, l, x)
	return w.run(l, kernels.Mul, kernels.Attr{}, l, t)
}

func targetItself(w *lossWork, _, t *Tensor) *Tensor {
	return w.run(nil, kernels.Copy, kernels.Attr{}, t)
}

// log(t) + 1 - x
func divergenceByTarget(w *lossWork, x, t *Tensor) *Tensor {
	l := w.run(nil, kernels.Log, kernels.Attr{}, t)
	w.affine(l, l, 1, 1)
	return w.run(l, kernels.Sub, kernels.Attr{}, l, x)
}

func targetExp(w *lossWork, _, t *Tensor) *Tensor { return w.run(nil, kernels.Exp, kernels.Attr{}, t) }

func logDivergence(w *lossWork, x, t *Tensor) *Tensor { return timesExp(w, difference(w, t, x), t) }

// exp(t) * (t - x + 1)
func logDivergenceByTarget(w *lossWork, x, t *Tensor) *Tensor {
	d := difference(w, t, x)
	return timesExp(w, w.affine(d, d, 1, 1), t)
}

// timesExp multiplies d by exp(t).
func timesExp(w *lossWork, d, t *Tensor) *Tensor {
	e := targetExp(w, nil, t)
	w.run(d, kernels.Mul, kernels.Attr{}, d, e)
	w.drop(e)
	return d
}

// logSigmoid makes log(sigmoid(x)), which is -softplus(-x). Beyond the
// threshold, far below 0, it is x to the last bit of a float64.
func logSigmoid(w *lossWork, x *Tensor) *Tensor {
	return w.run(nil, kernels.Softplus, kernels.Attr{Alpha: -1, Beta: 40}, x)
}

// timesPositive multiplies y by 1 + (PosWeight-1)*t.
func timesPositive(w *lossWork, y, t *Tensor) {
	if w.posWeight == nil {
		return
	}
	less := w.affine(nil, w.posWeight, 1, -1)
	m := w.run(nil, kernels.Mul, kernels.Attr{}, t, less)
	w.drop(less)
	w.affine(m, m, 1, 1)
	w.run(y, kernels.Mul, kernels.Attr{}, y, m)
	w.drop(m)
}

func bceOfLogits(w *lossWork, x, t *Tensor) *Tensor {
	l := logSigmoid(w, x)
	timesPositive(w, l, t)
	m := w.affine(nil, t, -1, 1)
	w.run(m, kernels.Mul, kernels.Attr{}, m, x)
	w.run(m, kernels.Sub, kernels.Attr{}, m, l)
	w.drop(l)
	return m
}

// sigmoid(x)*(1 + (PosWeight-1)*t) - PosWeight*t
func bceByLogit(w *lossWork, x, t *Tensor) *Tensor {
	y := w.run(nil, kernels.Sigmoid, kernels.Attr{}, x)
	if w.posWeight == nil {
		return w.run(y, kernels.Sub, kernels.Attr{}, y, t)
	}
	timesPositive(w, y, t)
	m := w.run(nil, kernels.Mul, kernels.Attr{}, t, w.posWeight)
	w.run(y, kernels.Sub, kernels.Attr{}, y, m)
	w.drop(m)
	return y
}

// -x - (PosWeight-1)*log(sigmoid(x))
func bceLogitsByTarget(w *lossWork, x, _ *Tensor) *Tensor {
	if w.posWeight == nil {
		return w.run(nil, kernels.Neg, kernels.Attr{}, x)
	}
	l := logSigmoid(w, x)
	less := w.affine(nil, w.posWeight, -1, 1)
	w.run(l, kernels.Mul, kernels.Attr{}, l, less)
	w.drop(less)
	return w.run(l, kernels.Sub, kernels.Attr{}, l, x)
}

// logOfRest makes log(1-x).
func logOfRest(w *lossWork, x *Tensor) *Tensor {
	y := w.run(nil, kernels.Neg, kernels.Attr{}, x)
	return w.run(y, kernels.Log1p, kernels.Attr{}, y)
}

func bceOfProbabilities(w *lossWork, x, t *Tensor) *Tensor {
	l := logOfRest(w, x)
	w.clamp(l, l, -100, math.Inf(1))
	m := w.affine(nil, t, 1, -1)
	w.run(l, kernels.Mul, kernels.Attr{}, l, m)
	w.run(m, kernels.Log, kernels.Attr{}, x)
	w.clamp(m, m, -100, math.Inf(1))
	w.run(m, kernels.Mul, kernels.Attr{}, m, t)
	w.run(l, kernels.Sub, kernels.Attr{}, l, m)
	w.drop(m)
	return l
}

func bceByProbability(w *lossWork, x, t *Tensor) *Tensor {
	y := difference(w, x, t)
	below := w.affine(nil, x, -1, 1)
	w.run(below, kernels.Mul, kernels.Attr{}, below, x)
	w.clamp(below, below, 1e-12, math.Inf(1))
	w.run(y, kernels.Div, kernels.Attr{}, y, below)
	w.drop(below)
	return y
}

// log(1-x) - log(x)
func bceByTarget(w *lossWork, x, _ *Tensor) *Tensor {
	y := logOfRest(w, x)
	l := w.run(nil, kernels.Log, kernels.Attr{}, x)
	w.run(y, kernels.Sub, kernels.Attr{}, y, l)
	w.drop(l)
	return y
}
