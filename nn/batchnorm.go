package nn

import (
	"fmt"

	"tarn/tensor"
)

// BatchNorm is [tensor.Tensor.BatchNorm] as a module, PyTorch's BatchNorm1d, 2d and
// 3d: of the channels of x [N,C,...]. In training it normalises by the statistics
// of the batch and moves the running ones towards them, also where x is NoGrad; with
// Eval set it takes the running ones. See [Train] and [Eval].
type BatchNorm struct {
	Weight, Bias *tensor.Tensor // [C]; either may be nil
	// RunningMean and RunningVar are [C] and float32, or float64 for float64. Where
	// they are nil the statistics are always the batch's.
	RunningMean, RunningVar *tensor.Tensor
	Eps, Momentum           float64
	Eval                    bool
}

// NewBatchNorm makes a BatchNorm with a weight of 1, a bias of 0, a running mean of
// 0 and variance of 1, and PyTorch's Eps of 1e-5 and Momentum of 0.1.
func NewBatchNorm(p tensor.Place, dt tensor.DType, channels int, options ...LayerOption) (*BatchNorm, error) {
	b := &BatchNorm{Eps: normEps, Momentum: 0.1}
	var err error
	if b.Weight, b.Bias, err = affine(p, dt, []int{channels}, options); err != nil {
		return nil, fmt.Errorf("nn: BatchNorm(%d): %w", channels, err)
	}
	b.RunningMean = tensor.Zeros(p, dt.Statistic(), channels)
	b.RunningVar = tensor.Ones(p, dt.Statistic(), channels)
	if err := made(b); err != nil {
		return nil, fmt.Errorf("nn: BatchNorm(%d): %w", channels, err)
	}
	return b, nil
}

// Forward returns x normalised by channel.
func (b *BatchNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.BatchNorm(b.Weight, b.Bias, b.RunningMean, b.RunningVar, tensor.BatchNormOptions{
		Training: !b.Eval || b.RunningMean == nil, Momentum: b.Momentum, Eps: b.Eps})
}

// Parameters returns weight and bias.
func (b *BatchNorm) Parameters() []Parameter { return weightAndBias(b.Weight, b.Bias) }

// Buffers returns the running statistics.
func (b *BatchNorm) Buffers() []Parameter {
	if b.RunningMean == nil {
		return nil
	}
	return []Parameter{{"running_mean", b.RunningMean}, {"running_var", b.RunningVar}}
}

// SetTraining clears Eval, or sets it.
func (b *BatchNorm) SetTraining(on bool) { b.Eval = !on }
