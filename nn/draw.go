package nn

import (
	"math"
	"math/rand/v2"

	"tarn/tensor"
)

// KaimingUniformBound is the bound of the uniform distribution that PyTorch
// initialises a Linear and a Conv2d with: gain*sqrt(3/fanIn) for a leaky ReLU of
// slope sqrt(5), which comes to 1/sqrt(fanIn) (He et al. 2015).
func KaimingUniformBound(fanIn int) float64 { return 1 / math.Sqrt(float64(fanIn)) }

// Uniform returns a tensor with elements uniform in [-bound, bound), rounded to
// dt, which may be the bound itself. It is an error, carried by the tensor, for
// types that are no floats.
func Uniform(p tensor.Place, dt tensor.DType, bound float64, r *rand.Rand, shape ...int) *tensor.Tensor {
	return drawn(p, dt, func() float64 { return (2*r.Float64() - 1) * bound }, shape)
}

// drawn returns a tensor of the numbers that next returns, rounded to dt.
func drawn(p tensor.Place, dt tensor.DType, next func() float64, shape []int) *tensor.Tensor {
	t := tensor.Zeros(p, dt, shape...)
	if t.Err() != nil {
		return t
	}
	var err error
	switch dt {
	case tensor.Float64:
		err = draw(t, func() float64 { return next() })
	case tensor.Float32:
		err = draw(t, func() float32 { return float32(next()) })
	case tensor.Float16:
		err = draw(t, func() tensor.F16 { return tensor.ToF16(float32(next())) })
	case tensor.BFloat16:
		err = draw(t, func() tensor.BF16 { return tensor.ToBF16(float32(next())) })
	default:
		err = t.RequireGrad().Err()
	}
	if err != nil { // t is not what was asked for
		return tensor.FromError(t, err)
	}
	return t
}

func draw[T tensor.Element](t *tensor.Tensor, next func() T) error {
	data := make([]T, t.Len())
	for i := range data {
		data[i] = next()
	}
	return tensor.CopyFrom(t, data)
}
