package nn

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"tarn/tensor"
)

// LayerOption changes what the constructor of a layer makes.
type LayerOption uint8

// NoBias leaves the bias out: it is nil.
const NoBias LayerOption = 1

// Linear is x [..., In] times Weight [In,Out] plus Bias [Out], which may be nil.
type Linear struct {
	Weight, Bias *tensor.Tensor
}

// NewLinear makes a Linear of the given dtype at p, initialised from r as
// PyTorch's is: weight and bias uniform in ±1/sqrt(in) (Kaiming uniform with
// a = sqrt(5)). The same r gives the same numbers on every device.
func NewLinear(p tensor.Place, dt tensor.DType, in, out int, r *rand.Rand, options ...LayerOption) (*Linear, error) {
	if in < 1 || out < 1 {
		return nil, fmt.Errorf("nn: Linear(%d, %d): %w: sizes must be positive", in, out, tensor.ErrShape)
	}
	bound := KaimingUniformBound(in)
	l := &Linear{Weight: Uniform(p, dt, bound, r, in, out).RequireGrad()}
	if wantsBias(options) {
		l.Bias = Uniform(p, dt, bound, r, out).RequireGrad()
	}
	if err := made(l); err != nil {
		return nil, fmt.Errorf("nn: Linear(%d, %d): %w", in, out, err)
	}
	return l, nil
}

// Forward returns x times the weight plus the bias.
func (l *Linear) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Linear(l.Weight, l.Bias) }

// Parameters returns weight and bias.
func (l *Linear) Parameters() []Parameter { return weightAndBias(l.Weight, l.Bias) }

// weightAndBias returns those of the two that there are.
func weightAndBias(w, b *tensor.Tensor) []Parameter {
	var all []Parameter
	if w != nil {
		all = append(all, Parameter{"weight", w})
	}
	if b != nil {
		all = append(all, Parameter{"bias", b})
	}
	return all
}

func wantsBias(options []LayerOption) bool {
	for _, o := range options {
		if o == NoBias {
			return false
		}
	}
	return true
}

// made returns what went wrong with m's tensors, and then releases them.
func made(m Module) error {
	var errs []error
	for _, p := range State(m) {
		errs = append(errs, p.Err())
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, Release(m))
	}
	return nil
}
