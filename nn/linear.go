package nn

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"tarn/tensor"
)

// Linear is x [N,In] times Weight [In,Out] plus Bias [Out].
type Linear struct {
	Weight, Bias *tensor.Tensor
}

// NewLinear makes a Linear of the given dtype at p, initialised from r as
// PyTorch's is: weight and bias uniform in ±1/sqrt(in) (Kaiming uniform with
// a = sqrt(5)). The same r gives the same numbers on every device.
func NewLinear(p tensor.Place, dt tensor.DType, in, out int, r *rand.Rand) (*Linear, error) {
	if in < 1 || out < 1 {
		return nil, fmt.Errorf("nn: Linear(%d, %d): %w: sizes must be positive", in, out, tensor.ErrShape)
	}
	bound := KaimingUniformBound(in)
	l := &Linear{
		Weight: Uniform(p, dt, bound, r, in, out).RequireGrad(),
		Bias:   Uniform(p, dt, bound, r, out).RequireGrad(),
	}
	if err := errors.Join(l.Weight.Err(), l.Bias.Err()); err != nil {
		return nil, fmt.Errorf("nn: Linear(%d, %d): %w", in, out, errors.Join(err, Release(l)))
	}
	return l, nil
}

// Forward returns x times the weight plus the bias.
func (l *Linear) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Linear(l.Weight, l.Bias) }

// Parameters returns weight and bias.
func (l *Linear) Parameters() []Parameter {
	return []Parameter{{"weight", l.Weight}, {"bias", l.Bias}}
}

// KaimingUniformBound is the bound of the uniform distribution that PyTorch
// initialises a Linear with: gain*sqrt(3/fanIn) for a leaky ReLU of slope
// sqrt(5), which comes to 1/sqrt(fanIn) (He et al. 2015).
func KaimingUniformBound(fanIn int) float64 { return 1 / math.Sqrt(float64(fanIn)) }

// Uniform returns a tensor with elements uniform in [-bound, bound), rounded to
// dt, which may be the bound itself. It is an error, carried by the tensor, for
// types that are no floats.
func Uniform(p tensor.Place, dt tensor.DType, bound float64, r *rand.Rand, shape ...int) *tensor.Tensor {
	t := tensor.Zeros(p, dt, shape...)
	if t.Err() != nil {
		return t
	}
	var err error
	switch dt {
	case tensor.Float64:
		err = draw(t, bound, r, func(v float64) float64 { return v })
	case tensor.Float32:
		err = draw(t, bound, r, func(v float64) float32 { return float32(v) })
	case tensor.Float16:
		err = draw(t, bound, r, func(v float64) tensor.F16 { return tensor.ToF16(float32(v)) })
	case tensor.BFloat16:
		err = draw(t, bound, r, func(v float64) tensor.BF16 { return tensor.ToBF16(float32(v)) })
	default:
		err = t.RequireGrad().Err()
	}
	if err != nil { // t is not what was asked for
		return tensor.FromError(t, err)
	}
	return t
}

func draw[T tensor.Element](t *tensor.Tensor, bound float64, r *rand.Rand, round func(float64) T) error {
	data := make([]T, t.Len())
	for i := range data {
		data[i] = round((2*r.Float64() - 1) * bound)
	}
	return tensor.CopyFrom(t, data)
}
