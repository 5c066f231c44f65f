package tensor_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tarn/tensor"
)

// graphLeaf is a tensor that a program begins with.
type graphLeaf struct {
	dt    tensor.DType
	shape []int
	kind  string // "eighths", "normal", "positive", "chance", "between", "below N"
	seed  uint64
	grad  bool
}

// numbers draws the elements. Eighths are multiples of 1/8 from -2 to 2, so that
// there are ties; chances are those from 0 to 1, and between leaves both ends out.
// The integers of a leaf below N are from 0 on.
func (l *graphLeaf) numbers() []float64 {
	r := rand.New(rand.NewPCG(l.seed, 3))
	list := make([]float64, tensor.Shape(l.shape).Len())
	for i := range list {
		switch l.kind {
		case "eighths":
			list[i] = float64(r.IntN(33)-16) / 8
		case "chance":
			list[i] = float64(r.IntN(9)) / 8
		case "between":
			list[i] = float64(1+r.IntN(7)) / 8
		case "positive":
			list[i] = 0.5 + float64(r.IntN(33))/16
		case "normal":
			list[i] = r.NormFloat64()
		default:
			var n int
			fmt.Sscanf(l.kind, "below %d", &n)
			list[i] = float64(r.IntN(n))
		}
	}
	return list
}

func (l *graphLeaf) tensor(d *tensor.Device) *tensor.Tensor {
	return fromNumbers(d, l.dt, l.numbers(), l.shape)
}

func (l *graphLeaf) text() string {
	s := fmt.Sprintf("(&graphLeaf{dt: %s, shape: %#v, kind: %q, seed: %d}).tensor(d)", dtypeText(l.dt), l.shape, l.kind, l.seed)
	if l.grad {
		s += ".RequireGrad()"
	}
	return s
}

// graphStep makes one leaf or runs one op; its results have the numbers from
// first on. Then it releases some.
type graphStep struct {
	leaf    *graphLeaf
	call    *opCall
	first   value
	results int
	release []value
}

// graphProgram is a graph of ops, what is to become of its tensors, and a
// backward from its roots.
type graphProgram struct {
	name   string
	steps  []graphStep
	values int
	roots  []value
	ups    []graphLeaf // of the roots
	// retain makes each backward but the last keep the graph, and adds one more
	// round of them; ask also has Grad compute the gradients, before.
	retain, ask bool
}

// String is the program as a test that can be pasted into this package.
func (p *graphProgram) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "// %s\nfunc TestPasted(t0 *testing.T) {\n\td := newCPU(t0)\n\tscope := tensor.NewScope()\n\tdefer scope.Close()\n"+
		"\tsecond, err := d.NewStream()\n\trequire.NoError(t0, err)\n\tvar t [%d]*tensor.Tensor\n\t_ = second\n", p.name, p.values)
	for i := range p.steps {
		st := &p.steps[i]
		if st.leaf != nil {
			fmt.Fprintf(&s, "\tt[%d] = %s\n", st.first, st.leaf.text())
		} else {
			fmt.Fprintf(&s, "\t%s\n", st.call.text(st.first, st.results))
		}
		for _, v := range st.release {
			fmt.Fprintf(&s, "\trequire.NoError(t0, t[%d].Release())\n", v)
		}
	}
	if p.ask {
		fmt.Fprintf(&s, "\t// before: tensor.Grad of %v for the leaves, with Retain and AllowUnused\n", p.roots)
	}
	for i, v := range p.roots {
		option := ""
		if p.retain || i < len(p.roots)-1 {
			option = ", tensor.Retain"
		}
		fmt.Fprintf(&s, "\trequire.NoError(t0, t[%d].BackwardWith(%s%s))\n", v, p.ups[i].text(), option)
	}
	if p.retain {
		fmt.Fprintf(&s, "\t// and all of them once more\n")
	}
	return s.String() + "}\n"
}

// without returns the program less step i and all that needs it.
func (p *graphProgram) without(i int) *graphProgram {
	q := *p
	q.steps, q.roots, q.ups = nil, nil, nil
	gone := make([]bool, p.values)
	for j, st := range p.steps {
		drop := i == j
		if st.call != nil {
			st.call.operands(func(v value) { drop = drop || v != noValue && gone[v] })
		}
		if drop {
			for k := range st.results {
				gone[int(st.first)+k] = true
			}
			if n := len(q.steps); n > 0 { // what this one releases was made before
				q.steps[n-1].release = slices.Concat(q.steps[n-1].release, st.release)
			}
			continue
		}
		q.steps = append(q.steps, st)
	}
	for j := range q.steps {
		q.steps[j].release = slices.DeleteFunc(slices.Clone(q.steps[j].release), func(v value) bool { return gone[v] })
	}
	for j, v := range p.roots {
		if !gone[v] {
			q.roots, q.ups = append(q.roots, v), append(q.ups, p.ups[j])
		}
	}
	return &q
}

// shrink takes steps out of the program as long as it fails.
func (p *graphProgram) shrink(fails func(p *graphProgram) bool) *graphProgram {
	for again := true; again; {
		again = false
		for i := len(p.steps) - 1; i >= 0; i-- {
			if i >= len(p.steps) {
				continue
			}
			if q := p.without(i); len(q.steps) > 0 && fails(q) {
				p, again = q, true
			}
		}
		for i := range p.roots {
			q := *p
			q.roots = slices.Delete(slices.Clone(p.roots), i, i+1)
			q.ups = slices.Delete(slices.Clone(p.ups), i, i+1)
			if fails(&q) {
				p, again = &q, true
				break
			}
		}
	}
	return p
}

// machine runs programs on one device.
type machine struct {
	name   string
	d      *tensor.Device
	second *tensor.Stream

	// Of the program that runs:
	scope   *tensor.Scope
	tensors map[value]*tensor.Tensor
	errs    []error
	// noise, where it is not nil, moves what goes into each op that rounds, and
	// what comes out, by some last bits. That shows how much results and
	// gradients depend on what devices may differ by.
	noise *rand.Rand
}

// graphOutcome is what a program gave, by tensor. The gradients are those of
// leaves, by Backward and by Grad.
type graphOutcome struct {
	values, grads, asked map[value][]float64
	types                map[value]tensor.DType
}

// run runs p and leaves the device as it was.
func (m *machine) run(p *graphProgram, noise *rand.Rand) (o graphOutcome, err error) {
	m.scope, m.tensors, m.errs, m.noise = tensor.NewScope(), map[value]*tensor.Tensor{noValue: nil}, nil, noise
	before := m.d.Memory().Stats()
	o, err = m.perform(p)
	for v := range value(p.values) {
		if t := m.tensors[v]; t != nil {
			m.errs = append(m.errs, t.Release())
		}
	}
	after := m.d.Memory().Stats()
	if err == nil && after.Allocation.All.Current != before.Allocation.All.Current {
		err = fmt.Errorf("books: %d blocks and %d bytes are left", after.Allocation.All.Current-before.Allocation.All.Current,
			after.AllocatedBytes.All.Current-before.AllocatedBytes.All.Current)
	}
	m.errs = append(m.errs, m.scope.Close(), m.d.Memory().Check(), m.d.Synchronize())
	if err := errors.Join(m.errs...); err != nil {
		return o, fmt.Errorf("at the end: %w", err)
	}
	return o, err
}

func (m *machine) perform(p *graphProgram) (o graphOutcome, err error) {
	o.values, o.grads, o.asked = map[value][]float64{}, map[value][]float64{}, map[value][]float64{}
	o.types = map[value]tensor.DType{}
	for i := range p.steps {
		if err := m.step(&p.steps[i]); err != nil {
			return o, err
		}
	}
	if err := m.gradients(p, &o); err != nil {
		return o, err
	}
	for v := range value(p.values) {
		if t := m.tensors[v]; t != nil {
			o.types[v] = t.DType()
			if o.values[v], err = elementsOf(t); err != nil {
				return o, fmt.Errorf("t[%d]: %w", v, err)
			}
		}
	}
	return o, nil
}

func (m *machine) step(st *graphStep) error {
	var made []*tensor.Tensor
	if st.leaf != nil {
		t := st.leaf.tensor(m.d)
		if st.leaf.grad {
			t = t.RequireGrad()
		}
		made = []*tensor.Tensor{t}
	} else {
		made = st.call.run(m)
	}
	for i, t := range made {
		m.tensors[st.first+value(i)] = t
		if t.Err() != nil {
			return t.Err()
		}
		if st.call != nil && st.call.rounds && m.noise != nil && t.DType().IsFloat() {
			moved := perturb(t, m.noise, 4, 1)
			m.errs = append(m.errs, t.Release())
			m.tensors[st.first+value(i)] = moved
		}
	}
	if len(made) != st.results {
		return fmt.Errorf("%d results, not %d, of %s", len(made), st.results, st.call.name)
	}
	for _, v := range st.release {
		if err := m.tensors[v].Release(); err != nil {
			return err
		}
		delete(m.tensors, v)
	}
	return nil
}

// gradients goes back from the roots and takes down what the leaves get.
func (m *machine) gradients(p *graphProgram, o *graphOutcome) (err error) {
	if len(p.roots) == 0 {
		return nil
	}
	var leaves, roots, ups []*tensor.Tensor
	var numbers []value
	for _, st := range p.steps {
		if st.leaf != nil && st.leaf.grad && m.tensors[st.first] != nil {
			numbers, leaves = append(numbers, st.first), append(leaves, m.tensors[st.first])
		}
	}
	for i, v := range p.roots {
		up := p.ups[i].tensor(m.d)
		if m.noise != nil {
			moved := perturb(up, m.noise, 4, 0)
			m.errs = append(m.errs, up.Release())
			up = moved
		}
		roots, ups = append(roots, m.tensors[v]), append(ups, up)
	}
	defer func() {
		for _, t := range ups {
			err = errors.Join(err, t.Release())
		}
	}()
	if p.ask {
		asked, err := tensor.Grad(roots, leaves, ups, tensor.Retain, tensor.AllowUnused)
		if err != nil {
			return err
		}
		for i, g := range asked {
			if g == nil {
				continue
			}
			if o.asked[numbers[i]], err = elementsOf(g); err == nil {
				err = g.Release()
			}
			if err != nil {
				return err
			}
		}
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
			if err := t.BackwardWith(ups[i], option...); err != nil {
				return err
			}
		}
	}
	for i, v := range numbers {
		if g := leaves[i].Grad(); g != nil {
			if o.grads[v], err = elementsOf(g); err != nil {
				return err
			}
		}
	}
	return nil
}
