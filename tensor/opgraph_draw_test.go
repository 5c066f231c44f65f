package tensor_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tarn/kernels"
	"tarn/tensor"
)

// graphDraw makes a program out of bytes: each decision takes the next one, and
// when there are none left the program ends. Every call is run as it is drawn,
// on the reference's device, for the shapes and the ranges of what there is to
// go on with; one that is refused, or whose results are too large, is dropped.
type graphDraw struct {
	bytes []byte
	d     *tensor.Device
	p     *graphProgram
	m     *machine
	pool  []*graphEntry
	dt    tensor.DType // of most leaves
	tries int
	// calm is set where nothing but calls and leaves is drawn, all of which do
	// what they are for.
	calm bool
	// inBlock is set while the calls of a block are drawn.
	inBlock bool
	// often is a handle that is met more often than others.
	often string
	// walked is what the last Backward of the program went back from.
	walked value
	// dropped counts the calls that were drawn and refused, by name.
	dropped map[string]int
}

// graphEntry is what a draw knows of a tensor.
type graphEntry struct {
	v       value
	shape   tensor.Shape
	dt      tensor.DType
	numbers []float64 // the elements
	lo, hi  float64   // their range; 0 where there are none
	grad    bool      // a backward can begin here
	exact   bool      // no rounding went into it, beyond what every device does alike
	hidden  bool      // it is made in a block, and known to nobody else
	gone    bool      // it cannot be used, and carries an error or is released
}

const largest = 100 // of an element; beyond it functions get too steep

// pick takes a byte for a number below n.
func (g *graphDraw) pick(n int) int {
	if len(g.bytes) == 0 {
		return 0
	}
	b := g.bytes[0]
	g.bytes = g.bytes[1:]
	return int(b) % n
}

func (g *graphDraw) chance(percent int) bool {
	return g.pick(256)*100 < percent*256 && len(g.bytes) > 0
}

func oneOf[T any](g *graphDraw, list ...T) T { return list[g.pick(len(list))] }

// drawProgram returns the program of some bytes.
func drawProgram(name string, bytes []byte, reference *machine, dropped map[string]int) (*graphProgram, error) {
	g := &graphDraw{bytes: bytes, d: reference.d, p: &graphProgram{name: name}, m: reference, dropped: dropped, walked: noValue}
	g.m.begin(nil)
	g.dt = oneOf(g, tensor.Float64, tensor.Float32, tensor.Float64, tensor.Float32, tensor.Float16, tensor.BFloat16)
	g.leaf(g.dt, g.shape(4))
	g.calm, g.often = g.pick(3) == 0, oneOf(g, "", "On(second)", "In", "On(third)", "NoGrad")
	if g.often == "In" && !g.calm {
		for parent := -1; parent < 1; parent++ {
			g.do(graphAct{name: "open", t: noValue, u: noValue, scope: parent + 2, parent: parent})
		}
	}
	want := 3 + g.pick(18)
	for calls := 0; calls < want && len(g.bytes) > 0; {
		if g.step() {
			calls++
		}
	}
	g.decorate()
	return g.p, g.m.end()
}

// shape draws one of up to so many dims.
func (g *graphDraw) shape(rank int) []int {
	s := make([]int, g.pick(rank+1))
	for i := range s {
		s[i] = oneOf(g, 2, 3, 1, 5, 4, 3, 2, 7, 1, 4, 6, 0)
		if s[i] == 0 && g.pick(3) > 0 {
			s[i] = 3
		}
	}
	return s
}

// leaf adds one to the program.
func (g *graphDraw) leaf(dt tensor.DType, shape []int) *graphEntry {
	return g.leafOf(dt, shape, oneOf(g, "eighths", "normal", "positive", "normal"), dt.IsFloat() && g.pick(4) > 0)
}

func (g *graphDraw) leafOf(dt tensor.DType, shape []int, kind string, grad bool) *graphEntry {
	if !dt.IsFloat() && !strings.HasPrefix(kind, "below") {
		kind = "below 5"
	}
	l := &graphLeaf{dt: dt, shape: slices.Clone(shape), kind: kind, seed: uint64(g.pick(256)), grad: grad}
	st := graphStep{leaf: l, first: value(g.p.values), results: 1}
	t := l.tensor(g.d)
	if grad {
		t = t.RequireGrad()
	}
	return g.add(st, []*tensor.Tensor{t})[0]
}

// add takes a step into the program, and what it made into the pool.
func (g *graphDraw) add(st graphStep, made []*tensor.Tensor) []*graphEntry {
	for _, t := range made {
		st.types = append(st.types, t.DType())
	}
	g.p.steps = append(g.p.steps, st)
	g.p.values += st.results
	var entries []*graphEntry
	exact := st.exact(func(v value) bool { return g.pool[v].exact })
	for i, t := range made {
		v := st.first + value(i)
		g.m.tensors[v] = t
		e := &graphEntry{v: v, shape: t.Shape(), dt: t.DType(), exact: exact}
		g.look(e)
		entries = append(entries, e)
	}
	g.pool = append(g.pool, entries...)
	return entries
}

// look finds out what a tensor holds now.
func (g *graphDraw) look(e *graphEntry) {
	t := g.m.tensors[e.v]
	x, err := elementsOf(t)
	if e.gone = err != nil; !e.gone {
		e.numbers, e.grad = x, t.RequiresGrad()
		e.lo, e.hi = span(x)
	}
}

// whatever is some tensor, of those that cannot be used too.
func (g *graphDraw) whatever() *graphEntry {
	for len(g.bytes) > 0 {
		if e := g.pool[g.pick(len(g.pool))]; !e.hidden {
			return e
		}
	}
	return g.pool[0]
}

// rangeOf returns the least and the greatest element, and whether all are of a
// size to go on with.
func rangeOf(t *tensor.Tensor) (lo, hi float64, ok bool) {
	x, err := elementsOf(t)
	if err != nil {
		return 0, 0, false
	}
	lo, hi = span(x)
	return lo, hi, lo >= -largest && hi <= largest
}

// span returns the least and the greatest of x.
func span(x []float64) (lo, hi float64) {
	if len(x) == 0 {
		return 0, 0
	}
	return slices.Min(x), slices.Max(x)
}

// step draws one call and reports whether the program has it.
func (g *graphDraw) step() bool {
	if g.tries++; g.tries > 400 {
		g.bytes = nil
		return false
	}
	if !g.inBlock && g.pick(20) == 0 {
		return g.drawBlock()
	}
	if !g.calm && !g.inBlock && g.pick(4) == 0 {
		a, ok := g.drawAct()
		if ok {
			g.do(a)
		}
		return ok
	}
	op := graphOps[(g.pick(256)*256+g.pick(256))%len(graphOps)]
	args, ok := op.draw(g)
	if !ok {
		return false
	}
	c := &opCall{name: op.name, args: args, rounds: op.rounds, handles: map[int]handle{}}
	for i, a := range args {
		if v, ok := a.(value); ok && v != noValue && (len(c.handles) == 0 || g.pick(4) == 0) {
			if h := g.handle(); h.how != "" {
				c.handles[i] = h
			}
		}
	}
	if op.name == "To" && unit(g.entry(args[0].(value)).dt) < unit(args[1].(tensor.DType)) {
		c.rounds = true
	}
	spoilt := !g.calm && !g.inBlock && g.pick(12) == 0 && g.spoil(c)
	made := c.run(g.m)
	ok = len(made) > 0
	size := 0
	for _, t := range made {
		if err := t.Err(); err != nil {
			g.dropped[op.name+": "+err.(*tensor.Error).Err.Error()]++
			// An index out of range is for the CPU alone to see at once.
			ok = ok && (spoilt || !g.calm && !g.inBlock && g.pick(2) == 0) && !errors.Is(err, kernels.ErrIndex)
			continue
		}
		_, _, fits := rangeOf(t)
		ok = ok && fits
		size += t.Len()
	}
	if !ok || size > 800 {
		for _, t := range made {
			g.m.errs = append(g.m.errs, t.Release())
		}
		return false
	}
	g.add(graphStep{call: c, first: value(g.p.values), results: len(made)}, made)
	return true
}

// handle draws one; none more often than not.
func (g *graphDraw) handle() handle {
	how := oneOf(g, "", "", "", "", "", "", "", "", "", "", "", "NoGrad", "On(second)", "On(third)", "In", g.often, g.often, g.often)
	if g.inBlock && how == "In" { // whose results would outlive each call
		how = ""
	}
	return handle{how, g.pick(len(g.m.scopes))}
}

// do makes an act the next step of the program.
func (g *graphDraw) do(a graphAct) {
	st := graphStep{act: &a, first: value(g.p.values)}
	exact := a.name != "RandUniform"
	st.operands(func(v value) { exact = exact && (v == noValue || g.entry(v).exact) })
	g.m.act(len(g.p.steps), &a)
	for _, v := range g.refresh() {
		if e := g.entry(v); e.exact && !exact {
			e.exact = false
			st.blurs = append(st.blurs, v)
		}
	}
	g.add(st, nil)
}

// spoil makes a call one that may be refused.
func (g *graphDraw) spoil(c *opCall) bool {
	if g.pick(3) == 0 { // in scopes that may have nothing to do with each other
		for i, a := range c.args {
			if v, ok := a.(value); ok && v != noValue {
				c.handles[i] = handle{"In", g.pick(len(g.m.scopes))}
			}
		}
		return true
	}
	i := g.pick(len(c.args))
	switch a := c.args[i].(type) {
	case value:
		if a == noValue {
			return false
		}
		c.args[i] = g.whatever().v
	case int:
		c.args[i] = oneOf(g, 9, -9, -1, 0, 77)
	case []int:
		c.args[i] = append(slices.Clone(a), oneOf(g, 1, -1, 9))
	default:
		return false
	}
	return true
}

func (g *graphDraw) entry(v value) *graphEntry { return g.pool[v] }

// some returns a tensor of the pool, one of the newest more often than not.
func (g *graphDraw) some(fits func(e *graphEntry) bool) (*graphEntry, bool) {
	var list []*graphEntry
	for _, e := range g.pool {
		if !e.gone && fits(e) {
			list = append(list, e)
		}
	}
	if len(list) == 0 {
		return nil, false
	}
	n := len(list)
	if n > 4 && g.pick(3) > 0 {
		return list[n-1-g.pick(4)], true
	}
	return list[g.pick(n)], true
}

// anyOf is some tensor that fits, or a new one, of floats.
func (g *graphDraw) anyOf(fits func(e *graphEntry) bool) *graphEntry {
	if e, ok := g.some(fits); ok {
		return e
	}
	return g.leaf(g.dt, g.shape(3))
}

// float is some tensor of floats.
func (g *graphDraw) float() *graphEntry { return g.anyOf(isFloat) }

// ranked is some tensor of floats with so many dims, from the pool or new.
func (g *graphDraw) ranked(least, most int) *graphEntry {
	if e, ok := g.some(func(e *graphEntry) bool { return e.dt.IsFloat() && len(e.shape) >= least && len(e.shape) <= most }); ok && g.pick(8) > 0 {
		return e
	}
	s := make([]int, least+g.pick(most-least+1))
	for i := range s {
		s[i] = oneOf(g, 2, 3, 5, 4, 6, 1, 3, 7)
	}
	return g.leaf(g.dt, s)
}

// partner is a tensor that broadcasts with e.
func (g *graphDraw) partner(e *graphEntry, fits func(u *graphEntry) bool) *graphEntry {
	u, ok := g.some(func(u *graphEntry) bool { return fits(u) && broadcasts(e.shape, u.shape) })
	if ok && g.pick(4) > 0 {
		return u
	}
	s := slices.Clone(e.shape[g.pick(len(e.shape)+1):])
	for i := range s {
		if g.pick(3) == 0 {
			s[i] = 1
		}
	}
	u = g.leaf(e.dt, s)
	if !fits(u) {
		u = g.leafOf(e.dt, s, "positive", g.pick(2) == 0 && e.dt.IsFloat())
	}
	return u
}

func broadcasts(a, b []int) bool {
	for i := 1; i <= min(len(a), len(b)); i++ {
		x, y := a[len(a)-i], b[len(b)-i]
		if x != y && x != 1 && y != 1 {
			return false
		}
	}
	return true
}

// dim draws one of e's, from the end or the beginning; e has dims.
func (g *graphDraw) dim(e *graphEntry) int {
	d := g.pick(len(e.shape))
	if g.pick(2) == 0 {
		return d - len(e.shape)
	}
	return d
}

// dims draws some, which may be none.
func (g *graphDraw) dims(e *graphEntry) (list []any) {
	for d := range e.shape {
		switch g.pick(4) {
		case 0:
			list = append(list, d)
		case 1:
			list = append(list, d-len(e.shape))
		}
	}
	return list
}

// decorate says what is released early, where the backward begins and how.
func (g *graphDraw) decorate() {
	last := make([]int, g.p.values) // the step of the last use
	for i, st := range g.p.steps {
		for k := range st.results {
			last[int(st.first)+k] = i
		}
		st.operands(func(v value) {
			if v != noValue {
				last[v] = i
			}
		})
	}
	used := map[value]bool{}
	for range 1 + g.pick(3) {
		var list []*graphEntry
		for _, e := range g.pool {
			if (e.grad && !e.gone || !g.calm && g.pick(40) == 0) && !used[e.v] && !e.hidden && g.p.made(e.v).leaf == nil {
				list = append(list, e)
			}
		}
		if len(list) == 0 {
			break
		}
		e := list[len(list)-1-g.pick(min(len(list), 5))]
		used[e.v] = true
		g.p.roots = append(g.p.roots, e.v)
		g.p.ups = append(g.p.ups, graphLeaf{dt: e.dt, shape: e.shape, kind: "normal", seed: uint64(g.pick(256))})
	}
	if g.chance(60) {
		for _, e := range g.pool {
			if !used[e.v] && !e.hidden && g.p.made(e.v).leaf == nil && g.pick(2) == 0 {
				st := &g.p.steps[last[e.v]]
				st.release = append(st.release, e.v)
			}
		}
	}
	if g.chance(40) {
		g.decorateAsk()
	}
	g.p.retain, g.p.again = g.chance(20), !g.calm && g.chance(10)
}

// decorateAsk says what Grad is to be asked for: all leaves that are there to
// the end, or some tensors.
func (g *graphDraw) decorateAsk() {
	released := map[value]bool{}
	for _, st := range g.p.steps {
		for _, v := range st.release {
			released[v] = true
		}
	}
	all := g.pick(2) == 0
	g.p.unused = all || g.pick(4) > 0
	for _, e := range g.pool {
		if !released[e.v] && e.grad && !e.gone && (all && g.p.made(e.v).leaf != nil || !all && g.pick(4) == 0) {
			g.p.ask = append(g.p.ask, e.v)
		}
	}
}

// made returns the step that made v.
func (p *graphProgram) made(v value) *graphStep {
	for i := range p.steps {
		if st := &p.steps[i]; v >= st.first && v < st.first+value(st.results) {
			return st
		}
	}
	panic(fmt.Sprint("no step made tensor ", v))
}

var infinity = math.Inf(1)
