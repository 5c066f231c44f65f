package nn

import (
	"errors"
	"fmt"

	"tarn/tensor"
)

// AdamWOptions are the settings of AdamW, with PyTorch's meaning. Start from
// [DefaultAdamW].
type AdamWOptions struct {
	LR           float64
	Beta1, Beta2 float64
	Eps          float64
	WeightDecay  float64
}

// DefaultAdamW returns PyTorch's defaults.
func DefaultAdamW() AdamWOptions {
	return AdamWOptions{LR: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, WeightDecay: 1e-2}
}

// AdamW is Adam with decoupled weight decay (Loshchilov and Hutter, 2019), as
// PyTorch's. With a WeightDecay of 0 it is Adam (Kingma and Ba, 2015).
type AdamW struct {
	parameters
	Options AdamWOptions // may be changed between steps

	first, second []*tensor.Tensor
	steps         tensor.Steps
}

// NewAdamW returns an AdamW over params.
func NewAdamW(params []Parameter, o AdamWOptions) (*AdamW, error) {
	err := errors.Join(parameters(params).check(), atLeast0("LR", o.LR), below1("Beta1", o.Beta1),
		below1("Beta2", o.Beta2), atLeast0("Eps", o.Eps), atLeast0("WeightDecay", o.WeightDecay))
	if err == nil && o.Eps == 0 && o.Beta2 == 0 {
		err = fmt.Errorf("%w: Eps and Beta2 are 0, so a gradient of 0 would make NaN; start from DefaultAdamW", ErrHyperparameter)
	}
	if err != nil {
		return nil, err
	}
	return &AdamW{parameters: params, Options: o}, nil
}

// ZeroGrad releases the gradients of all parameters.
func (a *AdamW) ZeroGrad() error { return a.parameters.ZeroGrad() }

// Step updates every parameter that has a gradient. The bias correction counts
// the steps of each parameter by itself, those of a captured Step at each Replay
// too.
func (a *AdamW) Step() error {
	r, err := a.ready(&a.first, &a.second)
	if err != nil {
		return err
	}
	o := a.Options
	return a.steps.StepAdamW(r.params, r.states[0], r.states[1],
		tensor.AdamW{LR: o.LR, Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps, WeightDecay: o.WeightDecay})
}

// Release ends the handles on the optimiser's state.
func (a *AdamW) Release() error {
	err := errors.Join(releaseAll(a.first, a.second), a.steps.Release())
	a.first, a.second = nil, nil
	return err
}
