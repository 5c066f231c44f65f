package tensor_test

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"tarn/memory"
	"tarn/tensor"
)

// machine runs programs on one device.
type machine struct {
	name          string
	d             *tensor.Device
	second, third *tensor.Stream

	// Of the program that runs:
	scopes  map[int]*tensor.Scope // by their numbers; 0 is there from the beginning
	tensors map[value]*tensor.Tensor
	o       graphOutcome
	before  memory.Stats
	errs    []error
	// noise, where it is not nil, moves what goes into each op that rounds, and
	// what comes out, by some last bits. That shows how much results and
	// gradients depend on what devices may differ by.
	noise *rand.Rand
	// inline is set where no Checkpoint is made.
	inline bool
}

// begin makes the machine ready for a program.
func (m *machine) begin(noise *rand.Rand) {
	m.scopes = map[int]*tensor.Scope{0: tensor.NewScope()}
	m.tensors = map[value]*tensor.Tensor{noValue: nil}
	m.o, m.errs, m.noise, m.before = newOutcome(), nil, noise, m.d.Memory().Stats()
}

// end releases all that is left, and looks whether the device is as it was.
func (m *machine) end() error {
	for _, t := range m.tensors {
		if t != nil {
			m.errs = append(m.errs, t.Release())
		}
	}
	after := m.d.Memory().Stats()
	if after.Allocation.All.Current != m.before.Allocation.All.Current {
		m.errs = append(m.errs, fmt.Errorf("books: %d blocks and %d bytes are left", after.Allocation.All.Current-m.before.Allocation.All.Current,
			after.AllocatedBytes.All.Current-m.before.AllocatedBytes.All.Current))
	}
	for _, s := range m.scopes {
		m.errs = append(m.errs, s.Close())
	}
	m.errs = append(m.errs, m.d.Memory().Check(), m.d.Synchronize())
	if err := errors.Join(m.errs...); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	return nil
}

// scope is the one of that number, or the first where shrinking took it away.
func (m *machine) scope(number int) *tensor.Scope {
	if s := m.scopes[number]; s != nil {
		return s
	}
	return m.scopes[0]
}

// run runs p and leaves the device as it was.
func (m *machine) run(p *graphProgram, noise *rand.Rand) (graphOutcome, error) {
	m.begin(noise)
	for i := range p.steps {
		m.step(i, &p.steps[i])
	}
	m.gradients(p)
	for v := range value(p.values) {
		if t := m.tensors[v]; t != nil {
			m.o.take(fmt.Sprintf("value t[%d]", v), v, t)
		}
	}
	m.errs = append(m.errs, m.o.sound())
	err := m.end()
	return m.o, err
}

func (m *machine) step(i int, st *graphStep) {
	switch {
	case st.leaf != nil:
		t := st.leaf.tensor(m.d)
		if st.leaf.grad {
			t = t.RequireGrad()
		}
		m.tensors[st.first] = t
	case st.act != nil:
		m.o.fail(fmt.Sprintf("step %d", i), m.act(i, st.act))
	case st.block != nil:
		m.block(i, st)
	default:
		m.take(i, st, st.call.run(m))
	}
	for _, v := range st.release {
		m.errs = append(m.errs, m.tensors[v].Release())
		delete(m.tensors, v)
	}
}

// take makes what a call made the program's.
func (m *machine) take(step int, st *graphStep, made []*tensor.Tensor) {
	if len(made) != st.results {
		m.errs = append(m.errs, fmt.Errorf("%d results, not %d, of step %d", len(made), st.results, step))
	}
	for i, t := range made {
		m.o.fail(fmt.Sprintf("call of step %d", step), t.Err())
		if m.noise != nil && st.call.rounds && t.Err() == nil && t.DType().IsFloat() {
			moved := perturb(t, m.noise, 4, 1)
			m.errs = append(m.errs, t.Release())
			t = moved
		}
		m.tensors[st.first+value(i)] = t
	}
}

// up makes an upstream gradient.
func (m *machine) up(l *graphLeaf) *tensor.Tensor {
	up := l.tensor(m.d)
	if m.noise != nil {
		moved := perturb(up, m.noise, 4, 0)
		m.errs = append(m.errs, up.Release())
		up = moved
	}
	return up
}

// gradients goes back from the roots and takes down what there is then.
func (m *machine) gradients(p *graphProgram) {
	var roots, ups []*tensor.Tensor
	for i, v := range p.roots {
		up := m.up(&p.ups[i])
		defer func() { m.errs = append(m.errs, up.Release()) }()
		roots, ups = append(roots, m.tensors[v]), append(ups, up)
	}
	if len(roots) > 0 && len(p.ask) > 0 {
		m.ask(p, roots, ups)
	}
	rounds := 1
	if p.retain {
		rounds = 2
	}
	for r := range rounds {
		for i, t := range roots {
			var option []tensor.BackwardOption
			if r < rounds-1 || i < len(roots)-1 {
				option = append(option, tensor.Retain)
			}
			m.o.fail(fmt.Sprintf("round %d of root %d", r, i), t.BackwardWith(ups[i], option...))
		}
	}
	if p.again {
		for i, t := range roots {
			m.o.fail(fmt.Sprintf("root %d once too often", i), t.BackwardWith(ups[i]))
		}
	}
	for v := range value(p.values) {
		if t := m.tensors[v]; t != nil {
			if g := t.Grad(); g != nil {
				m.o.take(fmt.Sprintf("gradient by Backward of t[%d]", v), noValue, g)
			}
		}
	}
}

// ask has Grad compute the gradients of p.ask.
func (m *machine) ask(p *graphProgram, roots, ups []*tensor.Tensor) {
	var inputs []*tensor.Tensor
	for _, v := range p.ask {
		inputs = append(inputs, m.tensors[v])
	}
	options := []tensor.BackwardOption{tensor.Retain}
	if p.unused {
		options = append(options, tensor.AllowUnused)
	}
	got, err := tensor.Grad(roots, inputs, ups, options...)
	m.o.fail("Grad", err)
	for i, g := range got {
		if g != nil {
			m.o.take(fmt.Sprintf("gradient by Grad of t[%d]", p.ask[i]), noValue, g)
			m.errs = append(m.errs, g.Release())
		}
	}
}
