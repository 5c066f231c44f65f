package tensor

import (
	"errors"
	"fmt"
	"slices"

	"tarn/kernels"
)

// SGD holds the hyperparameters of an SGD step, with PyTorch's meaning.
type SGD = kernels.SGDAttr

// AdamW holds the hyperparameters of an AdamW step, with PyTorch's meaning.
type AdamW = kernels.AdamWAttr

// StepSGD updates the parameters in place from their gradients, in as few
// kernels as there are streams, dtypes and settings. Parameters are float32 or
// float64: in a half type small changes would vanish. buffers holds a momentum
// buffer for each parameter, and is nil without momentum. h is one setting for
// all parameters, or one for each, with Momentum in all or in none. No two
// parameters share memory, nor two buffers. Everything is checked before the first
// launch: an error has changed no parameter.
func StepSGD(params, buffers []*Tensor, h ...SGD) error {
	state := [][]*Tensor{buffers}
	if len(h) > 0 && h[0].Momentum == 0 {
		state = nil
	}
	return step("SGD step", kernels.SGDStep, nil, attrsOf(h, func(a *kernels.Attr, h SGD) { a.SGD = h }), params, state...)
}

// StepAdamW updates the parameters, float32 or float64, in place from their
// gradients and the first and second moments, which it updates too. h is one
// setting for all parameters or one for each; its Step counts from 1. Everything
// is checked before the first launch: an error has changed no parameter. [Steps]
// counts by itself, which a captured step needs.
func StepAdamW(params, first, second []*Tensor, h ...AdamW) error {
	return stepAdamW(nil, params, first, second, h)
}

func stepAdamW(steps *Steps, params, first, second []*Tensor, h []AdamW) error {
	attrs := attrsOf(h, func(a *kernels.Attr, h AdamW) { a.AdamW = h })
	return step("AdamW step", kernels.AdamWStep, steps, attrs, params, first, second)
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
	stream  *Stream
	dtype   DType
	attr    kernels.Attr
	counter *counter // of their steps; nil where attr says all
}

// launchable is a group's launch.
type launchable struct {
	group
	args      *kernels.Args
	outs, ins []*Tensor
}

// step updates the parameters by op id. attrs is one for all or one for each,
// state all that is kept of each beside itself; steps is nil where nothing is
// to be counted.
func step(name string, id kernels.ID, steps *Steps, attrs []kernels.Attr, params []*Tensor, state ...[]*Tensor) error {
	if len(attrs) != 1 && len(attrs) != len(params) {
		return newError(name, fmt.Errorf("%w: %d settings for %d parameters", ErrShape, len(attrs), len(params)))
	}
	if len(params) == 0 {
		return nil
	}
	grads := make([]*Tensor, len(params))
	for i, p := range params {
		var err error
		if grads[i], err = stepOperands(id, p, i, state); err == nil && steps == nil {
			err = recordable(id, &attrs[i%len(attrs)], p, grads[i])
		}
		if err != nil {
			return newError(name, err, p)
		}
	}
	if err := distinct(params, state); err != nil {
		return newError(name, err)
	}
	var counters []*counter
	if steps != nil {
		var err error
		if counters, err = steps.next(params, grads); err != nil {
			return newError(name, err)
		}
	}
	launches := grouped(attrs, counters, params, grads, state)
	defer func() {
		for _, l := range launches {
			l.args.Put()
		}
	}()
	for _, l := range launches {
		l.bind()
		if err := kernels.Check(id, id.DTypes(), l.args); err != nil {
			return newError(name, err)
		}
	}
	for i, l := range launches {
		counted := slices.ContainsFunc(launches[:i], func(before *launchable) bool { return before.counter == l.counter })
		if err := l.run(id, l.counter != nil && !counted); err != nil {
			return newError(name, err)
		}
	}
	return nil
}

// distinct returns why the parameters, or what is kept of them, are not each their
// own: one launch updates them all at once, in no order.
func distinct(params []*Tensor, state [][]*Tensor) error {
	type place struct {
		dev *Device
		ptr uintptr
	}
	of := make(map[place]int, len(params)*(1+len(state)))
	for _, list := range append([][]*Tensor{params}, state...) {
		for i, t := range list[:len(params)] {
			if t.view.Len() == 0 {
				continue
			}
			at := place{t.dev, t.view.Ptr}
			if j, met := of[at]; met && j != i {
				return fmt.Errorf("%w: parameters %d and %d, or what is kept of them, share memory", ErrInPlace, j, i)
			}
			of[at] = i
		}
	}
	return nil
}

// grouped returns a launch for each group, in the order of its first parameter.
func grouped(attrs []kernels.Attr, counters []*counter, params, grads []*Tensor, state [][]*Tensor) (launches []*launchable) {
	byGroup := map[group]*launchable{}
	for i, p := range params {
		g := group{stream: p.storage.homeStream(), dtype: p.view.DType, attr: attrs[i%len(attrs)]}
		if counters != nil {
			g.counter = counters[i]
			g.attr = g.counter.attr(g.attr)
		}
		l := byGroup[g]
		if l == nil {
			l = &launchable{group: g, args: kernels.NewArgs()}
			byGroup[g] = l
			launches = append(launches, l)
		}
		l.outs = append(l.outs, p)
		for _, s := range state {
			l.outs = append(l.outs, s[i])
		}
		l.ins = append(l.ins, grads[i])
	}
	return launches
}

// bind fills in the arguments.
func (l *launchable) bind() {
	l.args.Attr = l.attr
	for _, t := range l.outs {
		l.args.Out = append(l.args.Out, t.view)
	}
	for _, t := range l.ins {
		l.args.In = append(l.args.In, t.view)
	}
	if c := l.counter; c != nil && c.cell != nil {
		l.args.In = append(l.args.In, c.number())
		l.ins = append(l.ins, c.cell)
	}
}

// run launches l, which counts the step first if it has to.
func (l *launchable) run(id kernels.ID, count bool) error {
	if count {
		if err := l.counter.change(l.stream, kernels.Add); err != nil {
			return err
		}
	}
	if err := l.stream.launch(id, l.args, l.outs, l.ins); err != nil {
		if count { // it has not been done
			err = errors.Join(err, l.counter.change(l.stream, kernels.Sub))
		}
		return err
	}
	for _, t := range l.outs {
		t.storage.version.Add(1)
	}
	return nil
}

// recordable returns why a step is not the same each time, in a capture.
func recordable(id kernels.ID, attr *kernels.Attr, p, grad *Tensor) error {
	c := p.dev.capture.Load()
	switch {
	case c == nil:
	case id == kernels.AdamWStep:
		return c.refuseOp(p.storage.homeStream(), grad, "the bias correction counts steps, and a graph would repeat that of one; count with Steps")
	case attr.SGD.First:
		return c.refuseOp(p.storage.homeStream(), grad, "the first step with momentum differs from later ones; the first run has to do it")
	}
	return nil
}

var errNoGradient = errors.New("no gradient: backward has not reached the parameter")

// stepOperands returns parameter i's gradient, or why it cannot be updated.
func stepOperands(id kernels.ID, p *Tensor, i int, state [][]*Tensor) (*Tensor, error) {
	if err := p.usable(); err != nil {
		return nil, err
	}
	if !id.DTypes().Has(p.view.DType) {
		return nil, dtypeError("parameter %d is %v; a step needs float32 or float64, which small changes do not vanish in", i, p.view.DType)
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
