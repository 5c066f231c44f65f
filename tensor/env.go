package tensor

import "fmt"

// env is the state that travels with a tensor: Go has no goroutine-local
// state, so where and how an op runs comes from its operands. A handle's env
// is immutable and shared by the handles that inherit it; nil is neutral.
type env struct {
	stream   *Stream // nil: the device's default stream
	scope    *Scope  // nil: no scope, the garbage collector is the net
	noGrad   bool    // results are not recorded, the operand is a constant
	autocast DType   // Invalid: off
	anomaly  bool    // results and their gradients must be finite
	region   *region // of a call of a checkpoint's function
}

func (e *env) get() env {
	if e == nil {
		return env{}
	}
	return *e
}

// with returns a shared env equal to v: one of the candidates where there is
// one, so that an op on inherited state allocates nothing.
func (v env) with(candidates ...*env) *env {
	if v == (env{}) {
		return nil
	}
	for _, c := range candidates {
		if c != nil && *c == v {
			return c
		}
	}
	shared := v // the copy, and not v itself, is what moves to the heap
	return &shared
}

// joined is what the operands of an op agree on.
type joined struct {
	dev    *Device
	env    *env // inherited by the result
	stream *Stream
	// record is set where the op must leave a node: an operand has history, or
	// is a leaf that requires grad while no operand is NoGrad. Operands that
	// are NoGrad are constants of that node.
	record bool
}

// join decides, for every op, where it runs and what its result inherits. The
// first operand is the receiver. Field by field:
//
//	device    the same, but a 0-dim CPU operand is a constant anywhere
//	stream    the receiver's, else the first that is set
//	scope     the inner, where one is the other's ancestor
//	grad      see joined.record
//	autocast  the receiver's, else the first that is set
//	anomaly   set where an operand has it
//	region    the first that is not recorded, not of constants where there is
//	          another, else the first that is set
//	error     the first operand's that has one
func join(operands ...*Tensor) (j joined, err error) {
	for _, t := range operands {
		if err := t.usable(); err != nil {
			return j, err
		}
	}
	if j.dev, err = joinDevice(operands); err != nil {
		return j, err
	}
	var v env
	var history, leaf, noGrad bool
	for _, t := range operands {
		e := t.env.get()
		if v.stream == nil && e.stream != nil && e.stream.dev == j.dev {
			v.stream = e.stream
		}
		if v.autocast == 0 {
			v.autocast = e.autocast
		}
		v.anomaly = v.anomaly || e.anomaly
		if e.region != nil && e.region.rank() > v.region.rank() {
			v.region = e.region
		}
		if v.scope, err = joinScope(v.scope, e.scope); err != nil {
			return j, err
		}
		switch {
		case e.noGrad:
			noGrad = true
		case t.node != nil:
			history = true
		case t.leaf != nil:
			leaf = true
		}
	}
	if r := v.region; r != nil && !r.recorded {
		if r.of != nil && (history || leaf && !noGrad) {
			v.region = r.of
		}
		if v.region.of == nil {
			v.region.meet(operands)
		}
		history, leaf, noGrad = false, false, true
	}
	j.record = history || leaf && !noGrad
	v.noGrad = noGrad && !j.record
	if j.stream = v.stream; j.stream == nil {
		j.stream = j.dev.stream
	}
	for _, t := range operands {
		if t.env != nil && *t.env == v {
			j.env = t.env
			return j, nil
		}
	}
	j.env = v.with(v.scope.shared())
	return j, nil
}

func joinDevice(operands []*Tensor) (*Device, error) {
	var dev *Device
	for _, t := range operands {
		switch {
		case dev == nil:
			dev = t.dev
		case t.dev == dev || isConstant(t):
		case onlyConstants(operands, dev):
			dev = t.dev
		default:
			return nil, fmt.Errorf("%w: %s", ErrDevice, two(dev, t.dev))
		}
	}
	return dev, nil
}

// isConstant reports whether t may join operands of any device.
func isConstant(t *Tensor) bool { return t.view.Rank == 0 && t.dev == cpuIfOpen() }

// onlyConstants reports whether all operands on dev are 0-dim CPU constants,
// so that another operand's device may win over it.
func onlyConstants(operands []*Tensor, dev *Device) bool {
	for _, t := range operands {
		if t.dev == dev && !isConstant(t) {
			return false
		}
	}
	return true
}

func joinScope(a, b *Scope) (*Scope, error) {
	switch {
	case a == b || b == nil:
		return a, nil
	case a == nil || a.isAncestorOf(b):
		return b, nil
	case b.isAncestorOf(a):
		return a, nil
	}
	return nil, fmt.Errorf("%w: %v and %v", ErrScope, a, b)
}

// derive makes another handle on t's storage with a changed env. It borrows
// t's hold: it is usable as long as t is.
func (t *Tensor) derive(v env) *Tensor {
	d := &Tensor{dev: t.dev, storage: t.storage, node: t.node, leaf: t.leaf, err: t.err, view: t.view}
	d.env = v.with(t.env, v.scope.shared())
	d.owner = t.root()
	return d
}

// On returns a handle on t whose ops run on stream s. It borrows t's hold.
func (t *Tensor) On(s *Stream) *Tensor {
	v := t.env.get()
	v.stream = s
	d := t.derive(v)
	if d.err == nil && s != nil && s.dev != t.dev {
		d.err = newError("On", fmt.Errorf("%w: the stream's and the tensor's, %s", ErrDevice, two(s.dev, t.dev)), t)
	}
	return d
}

// NoGrad returns a handle on t that counts as a constant: no op records it,
// and results made of it alone, and of parameters, are NoGrad too. To train on
// top of a frozen part, go on from its result's Detach, which is not NoGrad. It
// borrows t's hold.
func (t *Tensor) NoGrad() *Tensor {
	v := t.env.get()
	v.noGrad = true
	return t.derive(v)
}

// In returns a handle on t whose results live in scope s: closing s releases
// them. t itself stays where it is. It borrows t's hold.
func (t *Tensor) In(s *Scope) *Tensor {
	v := t.env.get()
	v.scope = s
	return t.derive(v)
}

// Autocast returns a handle on t that asks for matrix products in dtype dt. The
// setting travels to results; no op acts on it yet. It borrows t's hold.
func (t *Tensor) Autocast(dt DType) *Tensor {
	v := t.env.get()
	v.autocast = dt
	return t.derive(v)
}
