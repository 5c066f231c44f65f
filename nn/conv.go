package nn

import (
	"fmt"
	"math/rand/v2"

	"tarn/tensor"
)

// Conv2D is the convolution of x [N,In,H,W] with Weight [Out,In/Groups,KH,KW] plus
// Bias [Out], which may be nil. See [tensor.Tensor.Conv2D].
type Conv2D struct {
	Weight, Bias *tensor.Tensor
	tensor.Conv
}

// NewConv2D makes a Conv2D whose window has the given rows and columns, initialised
// from r as PyTorch's is: weight and bias uniform in ±1/sqrt(the elements of
// Weight that make one element of the result).
func NewConv2D(p tensor.Place, dt tensor.DType, in, out int, kernel [2]int, c tensor.Conv, r *rand.Rand, options ...LayerOption) (*Conv2D, error) {
	w, b, err := convolution(p, dt, in, out, kernel[:], c, r, options)
	if err != nil {
		return nil, fmt.Errorf("nn: Conv2D(%d, %d, %v): %w", in, out, kernel, err)
	}
	return &Conv2D{w, b, c}, nil
}

// Forward returns the convolution of x with the weight plus the bias.
func (l *Conv2D) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Conv2D(l.Weight, l.Bias, l.Conv) }

// Parameters returns weight and bias.
func (l *Conv2D) Parameters() []Parameter { return weightAndBias(l.Weight, l.Bias) }

// Conv1D is the convolution of x [N,In,L] with Weight [Out,In/Groups,K] plus Bias
// [Out], which may be nil. See [tensor.Tensor.Conv1D].
type Conv1D struct {
	Weight, Bias *tensor.Tensor
	tensor.Conv  // the first of each pair
}

// NewConv1D makes a Conv1D whose window has kernel elements, initialised as by
// [NewConv2D].
func NewConv1D(p tensor.Place, dt tensor.DType, in, out, kernel int, c tensor.Conv, r *rand.Rand, options ...LayerOption) (*Conv1D, error) {
	w, b, err := convolution(p, dt, in, out, []int{kernel}, c, r, options)
	if err != nil {
		return nil, fmt.Errorf("nn: Conv1D(%d, %d, %d): %w", in, out, kernel, err)
	}
	return &Conv1D{w, b, c}, nil
}

// Forward returns the convolution of x with the weight plus the bias.
func (l *Conv1D) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Conv1D(l.Weight, l.Bias, l.Conv) }

// Parameters returns weight and bias.
func (l *Conv1D) Parameters() []Parameter { return weightAndBias(l.Weight, l.Bias) }

// convolution makes the weight and the bias of one.
func convolution(p tensor.Place, dt tensor.DType, in, out int, kernel []int, c tensor.Conv, r *rand.Rand, options []LayerOption) (w, b *tensor.Tensor, err error) {
	if in < 1 || out < 1 {
		return nil, nil, fmt.Errorf("%w: sizes must be positive", tensor.ErrShape)
	}
	groups := max(c.Groups, 1)
	if c.Groups < 0 || in%groups != 0 || out%groups != 0 {
		return nil, nil, fmt.Errorf("%w: %d groups do not divide the channels", tensor.ErrShape, c.Groups)
	}
	fanIn := in / groups
	for _, k := range kernel {
		if k < 1 {
			return nil, nil, fmt.Errorf("%w: sizes must be positive", tensor.ErrShape)
		}
		fanIn *= k
	}
	l := &Linear{Weight: Uniform(p, dt, KaimingUniformBound(fanIn), r, append([]int{out, in / groups}, kernel...)...).RequireGrad()}
	if wantsBias(options) {
		l.Bias = Uniform(p, dt, KaimingUniformBound(fanIn), r, out).RequireGrad()
	}
	return l.Weight, l.Bias, made(l)
}
