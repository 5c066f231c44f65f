package tensor_test

import (
	"fmt"
	"maps"
	"strings"

	"tarn/tensor"
)

// graphBlock is a step that makes one tensor by a Checkpoint of a function of
// several calls. The function gets some of what it reads as inputs, and finds the
// rest in its closure.
type graphBlock struct {
	inputs []value
	steps  []graphStep // calls
	out    value       // of one of them
	// tidy is set where the function releases all that it does not return, and
	// not just what the scope of the inputs does not: what no input led to, views,
	// and what the result is a view of.
	tidy bool
}

// reads calls f for each tensor from outside, once.
func (b *graphBlock) reads(f func(v value)) {
	known := map[value]bool{noValue: true}
	for i := range b.steps {
		st := &b.steps[i]
		st.operands(func(v value) {
			if !known[v] {
				f(v)
			}
			known[v] = true
		})
		for k := range st.results {
			known[st.first+value(k)] = true
		}
	}
}

// function is what goes into the Checkpoint. It holds the tensors that are there
// now: what becomes of them later is its loss.
func (b *graphBlock) function(m *machine) func(inputs ...*tensor.Tensor) *tensor.Tensor {
	outside := map[value]*tensor.Tensor{noValue: nil}
	b.reads(func(v value) { outside[v] = m.tensors[v] })
	return func(inputs ...*tensor.Tensor) *tensor.Tensor {
		inner := &machine{d: m.d, second: m.second, third: m.third, scopes: m.scopes, tensors: maps.Clone(outside)}
		led, own := map[value]bool{}, map[value]bool{}
		for i, v := range b.inputs {
			inner.tensors[v], led[v] = inputs[i], true
		}
		for i := range b.steps {
			st := &b.steps[i]
			isLed := false
			st.operands(func(v value) { isLed = isLed || led[v] })
			made := st.call.run(inner)
			for k := range st.results {
				v := st.first + value(k)
				// A Split that fails has one result.
				inner.tensors[v], led[v] = made[min(k, len(made)-1)], isLed
				own[v] = led[st.call.receiver()] && st.makesNew()
			}
		}
		for i := range b.steps {
			for k := range b.steps[i].results {
				if v := b.steps[i].first + value(k); v != b.out && (b.tidy || !own[v] || !own[b.out]) {
					inner.errs = append(inner.errs, inner.tensors[v].Release())
				}
			}
		}
		m.errs = append(m.errs, inner.errs...)
		return inner.tensors[b.out]
	}
}

// receiver is the first tensor among the arguments: not all others, such as
// the statistics of a BatchNorm, say where the result lives.
func (c *opCall) receiver() value {
	for _, a := range c.args {
		if v, ok := a.(value); ok {
			return v
		}
	}
	return noValue
}

// makesNew reports whether the results lie in memory of their own, for all that
// is known here.
func (st *graphStep) makesNew() bool { return st.call.rounds && st.call.name != "Dropout" }

// block makes the block's tensor: without a Checkpoint where m has noise, which
// is not the same twice, or is told to.
func (m *machine) block(step int, st *graphStep) {
	b := st.block
	if m.noise == nil && !m.inline {
		inputs := make([]*tensor.Tensor, len(b.inputs))
		for i, v := range b.inputs {
			inputs[i] = m.tensors[v]
		}
		m.take(step, st, []*tensor.Tensor{tensor.Checkpoint(b.function(m), inputs...)})
		return
	}
	for i := range b.steps {
		m.take(step, &b.steps[i], b.steps[i].call.run(m))
	}
	for i := range b.steps {
		for k := range b.steps[i].results {
			if v := b.steps[i].first + value(k); v != b.out {
				m.errs = append(m.errs, m.tensors[v].Release())
				delete(m.tensors, v)
			}
		}
	}
}

// text is the block as Go, or nearly: in the function the inputs go by their
// names outside.
func (b *graphBlock) text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "t[%d] = tensor.Checkpoint(func(inputs ...*tensor.Tensor) *tensor.Tensor {\n", b.out)
	for i := range b.steps {
		fmt.Fprintf(&s, "\t\t%s\n", b.steps[i].call.text(b.steps[i].first, b.steps[i].results))
	}
	fmt.Fprintf(&s, "\t\treturn t[%d] // all others released: %v\n\t}, inputs: %s)", b.out, b.tidy, argText(b.inputs))
	return s.String()
}

// drawBlock draws calls, and makes a block of those that come of it.
func (g *graphDraw) drawBlock() bool {
	start := len(g.p.steps)
	g.inBlock = true
	for range 2 + g.pick(5) {
		g.step()
	}
	g.inBlock = false
	b := &graphBlock{out: noValue, tidy: g.pick(2) == 0}
	var leaves []graphStep
	for _, st := range g.p.steps[start:] {
		if st.leaf != nil {
			leaves = append(leaves, st)
			continue
		}
		b.steps = append(b.steps, st)
		b.out = st.first + value(g.pick(st.results))
	}
	g.p.steps = append(g.p.steps[:start], leaves...)
	if len(b.steps) == 0 {
		return false
	}
	var all []value
	b.reads(func(v value) { all = append(all, v) })
	for _, v := range all {
		if !g.entry(v).grad || g.pick(4) > 0 {
			b.inputs = append(b.inputs, v)
		}
	}
	if len(b.inputs) == 0 {
		b.inputs = all[:1]
	}
	for _, st := range b.steps {
		for k := range st.results {
			e := g.entry(st.first + value(k))
			g.m.errs = append(g.m.errs, g.m.tensors[e.v].Release())
			delete(g.m.tensors, e.v)
			e.hidden, e.gone = true, true
		}
	}
	e := g.entry(b.out)
	st := graphStep{block: b, first: b.out, results: 1, types: []tensor.DType{e.dt}}
	g.p.steps = append(g.p.steps, st)
	g.m.block(0, &st)
	e.hidden = false
	g.look(e)
	return true
}

// plain reports whether the program has a Checkpoint and is to give the same
// without. In-place changes may come between its calls; and Grad shows hooks the
// gradients of a Checkpoint that may lead to an input, until it knows.
func (p *graphProgram) plain() bool {
	has := func(fits func(st *graphStep) bool) bool {
		for i := range p.steps {
			if fits(&p.steps[i]) {
				return true
			}
		}
		return false
	}
	changes := has(func(st *graphStep) bool {
		return st.act != nil && (strings.HasSuffix(st.act.name, "InPlace") || st.act.name == "Fill" || st.act.name == "RandUniform")
	})
	hooks := has(func(st *graphStep) bool { return st.act != nil && st.act.name == "OnGrad" })
	return has(func(st *graphStep) bool { return st.block != nil }) && !changes && !(hooks && len(p.ask) > 0)
}
