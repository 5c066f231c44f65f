package nn

import (
	"fmt"

	"tarn/tensor"
)

// normEps is PyTorch's, added to the variance.
const normEps = 1e-5

// LayerNorm is [tensor.Tensor.LayerNorm] as a module: over the last dims of x,
// those of Weight. Bias may be nil.
type LayerNorm struct {
	Weight, Bias *tensor.Tensor
	Eps          float64
}

// NewLayerNorm makes a LayerNorm over last dims of the given shape, with a weight
// of 1, a bias of 0 and an Eps of 1e-5.
func NewLayerNorm(p tensor.Place, dt tensor.DType, shape []int, options ...LayerOption) (*LayerNorm, error) {
	l := &LayerNorm{Eps: normEps}
	var err error
	if l.Weight, l.Bias, err = affine(p, dt, shape, options); err != nil {
		return nil, fmt.Errorf("nn: LayerNorm(%v): %w", shape, err)
	}
	return l, nil
}

// Forward returns x normalised over its last dims.
func (l *LayerNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.LayerNorm(l.Weight, l.Bias, l.Eps)
}

// Parameters returns weight and bias.
func (l *LayerNorm) Parameters() []Parameter { return weightAndBias(l.Weight, l.Bias) }

// RMSNorm is [tensor.Tensor.RMSNorm] as a module: over the last dims of x, those of
// Weight.
type RMSNorm struct {
	Weight *tensor.Tensor
	Eps    float64
}

// NewRMSNorm makes an RMSNorm over last dims of the given shape, with a weight of 1
// and PyTorch's Eps, the distance from 1 to the next float32, or float64 for that.
func NewRMSNorm(p tensor.Place, dt tensor.DType, shape []int) (*RMSNorm, error) {
	l := &RMSNorm{Eps: 0x1p-23}
	if dt == tensor.Float64 {
		l.Eps = 0x1p-52
	}
	var err error
	if l.Weight, _, err = affine(p, dt, shape, []LayerOption{NoBias}); err != nil {
		return nil, fmt.Errorf("nn: RMSNorm(%v): %w", shape, err)
	}
	return l, nil
}

// Forward returns x over the root of the mean of its squares, times the weight.
func (l *RMSNorm) Forward(x *tensor.Tensor) *tensor.Tensor { return x.RMSNorm(l.Weight, l.Eps) }

// Parameters returns the weight.
func (l *RMSNorm) Parameters() []Parameter { return weightAndBias(l.Weight, nil) }

// GroupNorm is [tensor.Tensor.GroupNorm] as a module.
type GroupNorm struct {
	Groups       int
	Weight, Bias *tensor.Tensor // [C]; either may be nil
	Eps          float64
}

// NewGroupNorm makes a GroupNorm of so many groups of channels, with a weight of 1,
// a bias of 0 and an Eps of 1e-5.
func NewGroupNorm(p tensor.Place, dt tensor.DType, groups, channels int, options ...LayerOption) (*GroupNorm, error) {
	if groups < 1 || channels%groups != 0 {
		return nil, fmt.Errorf("nn: GroupNorm(%d, %d): %w: the groups do not divide the channels", groups, channels, tensor.ErrShape)
	}
	l := &GroupNorm{Groups: groups, Eps: normEps}
	var err error
	if l.Weight, l.Bias, err = affine(p, dt, []int{channels}, options); err != nil {
		return nil, fmt.Errorf("nn: GroupNorm(%d, %d): %w", groups, channels, err)
	}
	return l, nil
}

// Forward returns x normalised over each group of channels.
func (l *GroupNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.GroupNorm(l.Groups, l.Weight, l.Bias, l.Eps)
}

// Parameters returns weight and bias.
func (l *GroupNorm) Parameters() []Parameter { return weightAndBias(l.Weight, l.Bias) }

// affine returns a weight of 1 and, if there is to be one, a bias of 0.
func affine(p tensor.Place, dt tensor.DType, shape []int, options []LayerOption) (w, b *tensor.Tensor, err error) {
	for _, n := range shape {
		if n < 1 {
			return nil, nil, fmt.Errorf("%w: sizes must be positive", tensor.ErrShape)
		}
	}
	if len(shape) == 0 {
		return nil, nil, fmt.Errorf("%w: no dims to normalise over", tensor.ErrShape)
	}
	l := &Linear{Weight: leaf(tensor.Ones(p, dt, shape...))}
	if wantsBias(options) {
		l.Bias = leaf(tensor.Zeros(p, dt, shape...))
	}
	return l.Weight, l.Bias, made(l)
}

// leaf makes t a leaf, or releases it where it cannot be one.
func leaf(t *tensor.Tensor) *tensor.Tensor {
	l := t.RequireGrad()
	if l.Err() != nil {
		return tensor.FromError(t, l.Err())
	}
	return l
}
