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
	moved   []bool // by parameter: its buffer holds something
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
	r, err := s.ready(state...)
	if err != nil {
		return err
	}
	if s.moved == nil {
		s.moved = make([]bool, len(s.parameters))
	}
	settings := make([]tensor.SGD, len(r.at))
	for k, i := range r.at {
		settings[k] = tensor.SGD{LR: o.LR, Momentum: o.Momentum, Dampening: o.Dampening, WeightDecay: o.WeightDecay,
			Nesterov: o.Nesterov, First: o.Momentum != 0 && !s.moved[i]}
	}
	var buffers []*tensor.Tensor
	if o.Momentum != 0 {
		buffers = r.states[0]
	}
	if err := tensor.StepSGD(r.params, buffers, settings...); err != nil {
		return err
	}
	for _, i := range r.at {
		s.moved[i] = o.Momentum != 0
	}
	return nil
}

// Release ends the handles on the optimiser's state.
func (s *SGD) Release() error {
	err := releaseAll(s.buffers)
	s.buffers, s.moved = nil, nil
	return err
}
