package tensor_test

import (
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

// graphStep makes one leaf, runs one op or does something else; its results have
// the numbers from first on. Then it releases some.
type graphStep struct {
	leaf    *graphLeaf
	call    *opCall
	act     *graphAct
	block   *graphBlock
	first   value
	results int
	types   []tensor.DType // of the results
	blurs   []value        // that are not exact any more
	release []value
}

// operands calls f for each tensor that the step needs.
func (st *graphStep) operands(f func(v value)) {
	switch {
	case st.call != nil:
		st.call.operands(f)
	case st.act != nil:
		f(st.act.t)
		f(st.act.u)
	case st.block != nil:
		st.block.reads(f)
	}
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
	// round of them; again has one more that finds it freed.
	retain, again bool
	// ask has Grad compute the gradients of these, before; unused is AllowUnused.
	ask    []value
	unused bool
}

// String is the program as a test that can be pasted into this package.
func (p *graphProgram) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "// %s\nfunc TestPasted(t0 *testing.T) {\n\td := newCPU(t0)\n\tscopes := []*tensor.Scope{tensor.NewScope()}\n"+
		"\tsecond, err := d.NewStream()\n\trequire.NoError(t0, err)\n\tvar t [%d]*tensor.Tensor\n\t_, _ = scopes, second\n", p.name, p.values)
	for i := range p.steps {
		st := &p.steps[i]
		switch {
		case st.leaf != nil:
			fmt.Fprintf(&s, "\tt[%d] = %s\n", st.first, st.leaf.text())
		case st.act != nil:
			fmt.Fprintf(&s, "\t%s\n", st.act.text())
		case st.block != nil:
			fmt.Fprintf(&s, "\t%s\n", st.block.text())
		default:
			fmt.Fprintf(&s, "\t%s\n", st.call.text(st.first, st.results))
		}
		for _, v := range st.release {
			fmt.Fprintf(&s, "\trequire.NoError(t0, t[%d].Release())\n", v)
		}
	}
	if len(p.ask) > 0 {
		fmt.Fprintf(&s, "\t// before: tensor.Grad of %v for %v, with Retain and AllowUnused: %v\n", p.roots, p.ask, p.unused)
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
	if p.again {
		fmt.Fprintf(&s, "\t// and again, of a freed graph\n")
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
		st.operands(func(v value) { drop = drop || v != noValue && gone[v] })
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
	q.ask = slices.DeleteFunc(slices.Clone(p.ask), func(v value) bool { return gone[v] })
	for j := range q.steps {
		q.steps[j].blurs = slices.DeleteFunc(slices.Clone(q.steps[j].blurs), func(v value) bool { return gone[v] })
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
