package tensor

import (
	"errors"
	"fmt"

	"tarn/kernels"
)

// SGD holds the hyperparameters of an SGD step, with PyTorch's meaning.
type SGD = kernels.SGDAttr

// AdamW holds the hyperparameters of an AdamW step, with PyTorch's meaning.
type AdamW = kernels.AdamWAttr

// StepSGD updates the parameters in place from their gradients, in as few
// kernels as there are streams and dtypes. buffers holds a momentum buffer for
// each parameter, and is nil where h.Momentum is 0. Everything is checked
// before the first launch: an error has changed no parameter.
func StepSGD(params, buffers []*Tensor, h SGD) error {
	state := [][]*Tensor{buffers}
	if h.Momentum == 0 {
		state = nil
	}
	return step("SGD step", kernels.SGDStep, kernels.Attr{SGD: h}, params, state...)
}

// StepAdamW updates the parameters in place from their gradients and the first
// and second moments, which it updates too. h.Step counts from 1. Everything is
// checked before the first launch: an error has changed no parameter.
func StepAdamW(params, first, second []*Tensor, h AdamW) error {
	return step("AdamW step", kernels.AdamWStep, kernels.Attr{AdamW: h}, params, first, second)
}

// group is the parameters that one launch can update.
type group struct {
	stream *Stream
	dtype  DType
}

func step(name string, id kernels.ID, attr kernels.Attr, params []*Tensor, state ...[]*Tensor) error {
	var launches []group
	outs := map[group][]*Tensor{}
	ins := map[group][]*Tensor{}
	for i, p := range params {
		grad, err := stepOperands(p, i, state)
		if err != nil {
			return newError(name, err, p)
		}
		g := group{p.storage.home, p.view.DType}
		if outs[g] == nil {
			launches = append(launches, g)
		}
		outs[g] = append(outs[g], p)
		for _, s := range state {
			outs[g] = append(outs[g], s[i])
		}
		ins[g] = append(ins[g], grad)
	}
	for _, g := range launches {
		a := kernels.NewArgs()
		for _, t := range outs[g] {
			a.Out = append(a.Out, t.view)
		}
		for _, t := range ins[g] {
			a.In = append(a.In, t.view)
		}
		a.Attr = attr
		err := g.stream.launch(id, a, outs[g], ins[g])
		a.Put()
		if err != nil {
			return newError(name, err)
		}
		for _, t := range outs[g] {
			t.storage.version.Add(1)
		}
	}
	return nil
}

var errNoGradient = errors.New("no gradient: backward has not reached the parameter")

// stepOperands returns parameter i's gradient, or why it cannot be updated.
func stepOperands(p *Tensor, i int, state [][]*Tensor) (*Tensor, error) {
	grad := p.Grad()
	if grad == nil {
		return nil, fmt.Errorf("parameter %d: %w", i, errNoGradient)
	}
	if err := errors.Join(p.usable(), grad.usable()); err != nil {
		return nil, fmt.Errorf("parameter %d: %w", i, err)
	}
	if repeats(&p.view) {
		return nil, fmt.Errorf("parameter %d: %w: its elements share memory", i, ErrInPlace)
	}
	for _, s := range state {
		if i >= len(s) {
			return nil, fmt.Errorf("parameter %d: %w: it has no optimiser state", i, ErrShape)
		}
		if err := s[i].usable(); err != nil {
			return nil, fmt.Errorf("state of parameter %d: %w", i, err)
		}
		if !s[i].view.SameDims(&p.view) || s[i].view.DType != p.view.DType || s[i].dev != p.dev {
			return nil, fmt.Errorf("state of parameter %d: %w: %v %v on %s", i, ErrShape, s[i].view.DType, s[i].Shape(), s[i].dev)
		}
	}
	return grad, nil
}
