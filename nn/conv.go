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
	groups := max(c.Groups, 1)
	switch {
	case in < 1 || out < 1 || kernel[0] < 1 || kernel[1] < 1:
		return nil, fmt.Errorf("nn: Conv2D(%d, %d, %v): %w: sizes must be positive", in, out, kernel, tensor.ErrShape)
	case c.Groups < 0 || in%groups != 0 || out%groups != 0:
		return nil, fmt.Errorf("nn: Conv2D(%d, %d, %v): %w: %d groups do not divide the channels", in, out, kernel, tensor.ErrShape, c.Groups)
	}
	bound := KaimingUniformBound(in / groups * kernel[0] * kernel[1])
	l := &Conv2D{Weight: Uniform(p, dt, bound, r, out, in/groups, kernel[0], kernel[1]).RequireGrad(), Conv: c}
	if wantsBias(options) {
		l.Bias = Uniform(p, dt, bound, r, out).RequireGrad()
	}
	if err := made(l); err != nil {
		return nil, fmt.Errorf("nn: Conv2D(%d, %d, %v): %w", in, out, kernel, err)
	}
	return l, nil
}

// Forward returns the convolution of x with the weight plus the bias.
func (l *Conv2D) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Conv2D(l.Weight, l.Bias, l.Conv) }

// Parameters returns weight and bias.
func (l *Conv2D) Parameters() []Parameter { return weightAndBias(l.Weight, l.Bias) }
