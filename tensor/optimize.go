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
// kernels as there are streams, dtypes and settings. buffers holds a momentum
// buffer for each parameter, and is nil without momentum. h is one setting for
// all parameters, or one for each, with Momentum in all or in none. Everything
// is checked before the first launch: an error has changed no parameter.
func StepSGD(params, buffers []*Tensor, h ...SGD) error {
	state := [][]*Tensor{buffers}
	if len(h) > 0 && h[0].Momentum == 0 {
		state = nil
	}
	return step("SGD step", kernels.SGDStep, attrsOf(h, func(a *kernels.Attr, h SGD) { a.SGD = h }), params, state...)
}

// StepAdamW updates the parameters in place from their gradients and the first
// and second moments, which it updates too. h is one setting for all parameters
// or one for each; its Step counts from 1. Everything is checked before the
// first launch: an error has changed no parameter.
func StepAdamW(params, first, second []*Tensor, h ...AdamW) error {
	return step("AdamW step", kernels.AdamWStep, attrsOf(h, func(a *kernels.Attr, h AdamW) { a.AdamW = h }), params, first, second)
}

func attrsOf[H any](hs []H, set func(a *kernels.Attr, h H)) []kernels.Attr {
	attrs := make([]kernels.Attr, len(hs))
	for i, h := range hs {
		set(&attrs[i], h)
	}
	return attrs
}

// group is the parameters that one launch can update.
type group struct {
	stream *Stream
	dtype  DType
	attr   kernels.Attr
}

// launchable is a group's launch, checked.
type launchable struct {
	group
	args      *kernels.Args
	outs, ins []*Tensor
}

func step(name string, id kernels.ID, attrs []kernels.Attr, params []*Tensor, state ...[]*Tensor) error {
	if len(attrs) != 1 && len(attrs) != len(params) {
		return newError(name, fmt.Errorf("%w: %d settings for %d parameters", ErrShape, len(attrs), len(params)))
	}
	var launches []*launchable
	defer func() {
		for _, l := range launches {
			l.args.Put()
		}
	}()
	byGroup := map[group]*launchable{}
	for i, p := range params {
		grad, err := stepOperands(p, i, state)
		if err != nil {
			return newError(name, err, p)
		}
		if err := recordable(id, &attrs[i%len(attrs)], p, grad); err != nil {
			return newError(name, err, p)
		}
		g := group{p.storage.homeStream(), p.view.DType, attrs[i%len(attrs)]}
		l := byGroup[g]
		if l == nil {
			l = &launchable{group: g, args: kernels.NewArgs()}
			l.args.Attr = g.attr
			byGroup[g] = l
			launches = append(launches, l)
		}
		l.outs = append(l.outs, p)
		for _, s := range state {
			l.outs = append(l.outs, s[i])
		}
		l.ins = append(l.ins, grad)
	}
	for _, l := range launches {
		for _, t := range l.outs {
			l.args.Out = append(l.args.Out, t.view)
		}
		for _, t := range l.ins {
			l.args.In = append(l.args.In, t.view)
		}
		if err := kernels.Check(id, id.DTypes(), l.args); err != nil {
			return newError(name, err)
		}
	}
	for _, l := range launches {
		if err := l.stream.launch(id, l.args, l.outs, l.ins); err != nil {
			return newError(name, err)
		}
		for _, t := range l.outs {
			t.storage.version.Add(1)
		}
	}
	return nil
}

// recordable returns why a step is not the same each time, in a capture.
func recordable(id kernels.ID, attr *kernels.Attr, p, grad *Tensor) error {
	c := p.dev.capture.Load()
	switch {
	case c == nil:
	case id == kernels.AdamWStep:
		return c.refuseOp(p.storage.homeStream(), grad, "the bias correction counts steps, and a graph would repeat that of one; step after Replay")
	case attr.SGD.First:
		return c.refuseOp(p.storage.homeStream(), grad, "the first step with momentum differs from later ones; the first run has to do it")
	}
	return nil
}

var errNoGradient = errors.New("no gradient: backward has not reached the parameter")

// stepOperands returns parameter i's gradient, or why it cannot be updated.
func stepOperands(p *Tensor, i int, state [][]*Tensor) (*Tensor, error) {
	if err := p.usable(); err != nil {
		return nil, err
	}
	grad := p.Grad()
	if grad == nil {
		return nil, fmt.Errorf("parameter %d: %w", i, errNoGradient)
	}
	if err := grad.usable(); err != nil {
		return nil, fmt.Errorf("gradient of parameter %d: %w", i, err)
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
