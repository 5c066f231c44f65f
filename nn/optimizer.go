package nn

import (
	"errors"
	"fmt"

	"tarn/tensor"
)

// ErrHyperparameter means that an optimiser's setting makes no sense.
var ErrHyperparameter = errors.New("nn: bad hyperparameter")

// ErrNoGradients means that no parameter had a gradient at a step: backward was
// not called, or the loss does not depend on the parameters.
var ErrNoGradients = errors.New("nn: no parameter has a gradient")

// Optimizer updates parameters from their gradients. Several of them, each over some
// of a model's parameters, are what PyTorch calls parameter groups.
type Optimizer interface {
	// Step updates every parameter that has a gradient. An error has changed
	// no parameter.
	Step() error
	// ZeroGrad releases the gradients.
	ZeroGrad() error
	// Release ends the handles on the optimiser's state; a next Step begins anew.
	Release() error
}

// parameters is what optimisers share.
type parameters []Parameter

// ZeroGrad releases the gradients of all parameters.
func (ps parameters) ZeroGrad() error {
	for _, p := range ps {
		if err := p.ZeroGrad(); err != nil {
			return fmt.Errorf("nn: zero gradient of %s: %w", p.Name, err)
		}
	}
	return nil
}

// ready is the parameters that a step updates.
type ready struct {
	at     []int // their places among all parameters
	params []*tensor.Tensor
	states [][]*tensor.Tensor
}

// ready collects the parameters that have a gradient and their state, made at
// the first sight of each. All state is there before anything is launched.
func (ps parameters) ready(state ...*[]*tensor.Tensor) (*ready, error) {
	r := &ready{states: make([][]*tensor.Tensor, len(state))}
	for i, p := range ps {
		if p.Grad() == nil {
			continue
		}
		r.at = append(r.at, i)
		r.params = append(r.params, p.Tensor)
		for k, s := range state {
			if *s == nil {
				*s = make([]*tensor.Tensor, len(ps))
			}
			if (*s)[i] == nil {
				z := tensor.ZerosLike(p.Tensor)
				if z.Err() != nil {
					return nil, fmt.Errorf("nn: state of %s: %w", p.Name, z.Err())
				}
				if err := z.SetTag(tensor.OptimizerState); err != nil {
					return nil, fmt.Errorf("nn: state of %s: %w", p.Name, err)
				}
				(*s)[i] = z
			}
			r.states[k] = append(r.states[k], (*s)[i])
		}
	}
	if len(r.params) == 0 {
		return nil, ErrNoGradients
	}
	return r, nil
}

func (ps parameters) check() error {
	if len(ps) == 0 {
		return fmt.Errorf("%w: no parameters", ErrHyperparameter)
	}
	first := map[*tensor.Tensor]string{}
	for _, p := range ps {
		if name, twice := first[p.Tensor]; twice {
			return fmt.Errorf("%w: parameters %s and %s are one tensor, which a step would update twice", ErrHyperparameter, name, p.Name)
		}
		first[p.Tensor] = p.Name
		if p.Err() != nil {
			return fmt.Errorf("nn: parameter %s: %w", p.Name, p.Err())
		}
		if !p.RequiresGrad() {
			return fmt.Errorf("%w: parameter %s does not require grad", ErrHyperparameter, p.Name)
		}
		if dt := p.DType(); dt != tensor.Float32 && dt != tensor.Float64 {
			return fmt.Errorf("nn: parameter %s: %w: a step updates float32 and float64, not %v", p.Name, tensor.ErrDType, dt)
		}
	}
	return nil
}

func releaseAll(states ...[]*tensor.Tensor) error {
	var errs []error
	for _, s := range states {
		for _, t := range s {
			if t != nil {
				errs = append(errs, t.Release())
			}
		}
	}
	return errors.Join(errs...)
}

// atLeast0 checks a setting that must be a number and not negative.
func atLeast0(name string, v float64) error {
	if v >= 0 {
		return nil
	}
	return fmt.Errorf("%w: %s is %v, must be at least 0", ErrHyperparameter, name, v)
}

// below1 checks a decay rate.
func below1(name string, v float64) error {
	if v >= 0 && v < 1 {
		return nil
	}
	return fmt.Errorf("%w: %s is %v, must be in [0, 1)", ErrHyperparameter, name, v)
}
