package nn

import (
	"errors"
	"fmt"

	"tarn/tensor"
)

// SGDOptions are the settings of SGD, with PyTorch's meaning.
type SGDOptions struct {
	LR          float64
	Momentum    float64 // 0: none, and no buffers
	Dampening   float64
	WeightDecay float64
	Nesterov    bool
}

// SGD is stochastic gradient descent with momentum, as PyTorch's.
type SGD struct {
	parameters
	Options SGDOptions // may be changed between steps

	buffers []*tensor.Tensor
	started bool
}

// NewSGD returns an SGD over params.
func NewSGD(params []Parameter, o SGDOptions) (*SGD, error) {
	err := errors.Join(parameters(params).check(), atLeast0("LR", o.LR), atLeast0("Momentum", o.Momentum),
		atLeast0("WeightDecay", o.WeightDecay))
	if err == nil && o.Nesterov && (o.Momentum == 0 || o.Dampening != 0) {
		err = fmt.Errorf("%w: Nesterov needs momentum and no dampening", ErrHyperparameter)
	}
	if err != nil {
		return nil, err
	}
	return &SGD{parameters: params, Options: o}, nil
}

// ZeroGrad releases the gradients of all parameters.
func (s *SGD) ZeroGrad() error { return s.parameters.ZeroGrad() }

// Step updates every parameter that has a gradient.
func (s *SGD) Step() error {
	o := s.Options
	var state []*[]*tensor.Tensor
	if o.Momentum != 0 {
		state = append(state, &s.buffers)
	}
	params, states, err := s.ready(state...)
	if err != nil {
		return err
	}
	var buffers []*tensor.Tensor
	if o.Momentum != 0 {
		buffers = states[0]
	}
	h := tensor.SGD{LR: o.LR, Momentum: o.Momentum, Dampening: o.Dampening, WeightDecay: o.WeightDecay,
		Nesterov: o.Nesterov, First: !s.started}
	if err := tensor.StepSGD(params, buffers, h); err != nil {
		return err
	}
	s.started = true
	return nil
}

// Release ends the handles on the optimiser's state.
func (s *SGD) Release() error {
	err := releaseAll(s.buffers)
	s.buffers, s.started = nil, false
	return err
}
