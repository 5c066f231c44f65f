package tensor

import (
	"fmt"
	"math"

	"tarn/kernels"
)

// The losses of the difference of input and target.

// MSELoss returns the squares of t - target, reduced.
func (t *Tensor) MSELoss(target *Tensor, r Reduction) *Tensor {
	return elementLoss(mseLoss, t, target, r, nodeAttr{})
}

// L1Loss returns the sizes of t - target, reduced. Its gradient is 0 where the
// two are equal, and where one is NaN, as in PyTorch.
func (t *Tensor) L1Loss(target *Tensor, r Reduction) *Tensor {
	return elementLoss(l1Loss, t, target, r, nodeAttr{})
}

// HuberLoss returns, reduced, d*d/2 of each d = t - target whose size is at most
// delta, and delta*(|d| - delta/2) beyond. delta is above 0 and finite.
func (t *Tensor) HuberLoss(target *Tensor, delta float64, r Reduction) *Tensor {
	if !(delta > 0) || math.IsInf(delta, 1) {
		return refused("HuberLoss", fmt.Errorf("%w: delta %v, want above 0 and finite", kernels.ErrAttr, delta), t, target)
	}
	return elementLoss(huberLoss, t, target, r, nodeAttr{beta: delta})
}

// SmoothL1Loss is the HuberLoss of beta, divided by beta: |d| - beta/2 beyond
// the knee. A beta of 0 makes it an L1Loss; it is finite.
func (t *Tensor) SmoothL1Loss(target *Tensor, beta float64, r Reduction) *Tensor {
	switch {
	case !(beta >= 0) || math.IsInf(beta, 1):
		return refused("SmoothL1Loss", fmt.Errorf("%w: beta %v, want 0 or more and finite", kernels.ErrAttr, beta), t, target)
	case 1/beta > math.MaxFloat32:
		// The inverse would be infinite in float32; so small a knee is none.
		return elementLoss(sharpL1Loss, t, target, r, nodeAttr{})
	}
	return elementLoss(smoothL1Loss, t, target, r, nodeAttr{beta: beta})
}

var (
	bothRead = [2]bool{true, true}

	mseLoss = &lossKind{def: mseLossDef, losses: squaredDifferences, slope: difference, slopeReads: bothRead, targetReads: bothRead,
		factor: func(*nodeAttr) float64 { return 2 }}
	l1Loss       = &lossKind{def: l1LossDef, losses: distances, slope: directions, slopeReads: bothRead, targetReads: bothRead}
	sharpL1Loss  = &lossKind{def: sharpL1LossDef, losses: distances, slope: directions, slopeReads: bothRead, targetReads: bothRead}
	huberLoss    = &lossKind{def: huberLossDef, losses: kneed(0), slope: differenceToKnee, slopeReads: bothRead, targetReads: bothRead}
	smoothL1Loss = &lossKind{def: smoothL1LossDef, losses: kneed(-1), slope: differenceToKnee, slopeReads: bothRead, targetReads: bothRead,
		factor: func(a *nodeAttr) float64 { return 1 / a.beta }}
)

func difference(w *lossWork, x, t *Tensor) *Tensor {
	return w.run(nil, kernels.Sub, kernels.Attr{}, x, t)
}

func squaredDifferences(w *lossWork, x, t *Tensor) *Tensor {
	d := difference(w, x, t)
	return w.run(d, kernels.Mul, kernels.Attr{}, d, d)
}

func distances(w *lossWork, x, t *Tensor) *Tensor {
	d := difference(w, x, t)
	return w.run(d, kernels.Abs, kernels.Attr{}, d)
}

func directions(w *lossWork, x, t *Tensor) *Tensor {
	d := difference(w, x, t)
	return w.run(d, kernels.Sign, kernels.Attr{}, d)
}

func differenceToKnee(w *lossWork, x, t *Tensor) *Tensor {
	d := difference(w, x, t)
	return w.clamp(d, d, -w.attr.beta, w.attr.beta)
}

// kneed makes 2 * (|d| - h) * h * beta^power with h = min(|d|, beta)/2, which is
// d*d/2 up to the knee and beta*(|d| - beta/2) beyond, times the power.
func kneed(power float64) lossFunc {
	return func(w *lossWork, x, t *Tensor) *Tensor {
		size := distances(w, x, t)
		h := w.clamp(nil, size, 0, w.attr.beta)
		w.affine(h, h, 0.5, 0)
		w.run(size, kernels.Sub, kernels.Attr{}, size, h)
		w.affine(h, h, 2*math.Pow(w.attr.beta, power), 0)
		w.run(size, kernels.Mul, kernels.Attr{}, size, h)
		w.drop(h)
		return size
	}
}
