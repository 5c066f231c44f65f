package tensor_test

import (
	"slices"

	"tarn/tensor"
)

// An opCall of these arguments gets another one on each device, and each time
// that it is run.
type (
	ownDevice  struct{} // the device that the program runs on
	seedNumber uint64   // a generator that begins with this seed
)

// moveOps put elements in other places: by indices, side by side, around.
func moveOps() []graphOp {
	// of is an op of a tensor with so many dims or more, and some elements.
	of := func(name string, rank int, draw func(g *graphDraw, e *graphEntry) []any) graphOp {
		return graphOp{name: name, draw: func(g *graphDraw) ([]any, bool) {
			e, ok := g.some(func(e *graphEntry) bool { return len(e.shape) >= rank && e.shape.Len() > 0 })
			if !ok {
				e = g.ranked(rank, rank+1)
			}
			if e.shape.Len() == 0 {
				return nil, false
			}
			return slices.Concat([]any{e.v}, draw(g, e)), true
		}}
	}
	numbers := func(op graphOp) graphOp {
		draw := op.draw
		op.rounds = true
		op.draw = func(g *graphDraw) ([]any, bool) {
			args, ok := draw(g)
			return args, ok && isNumber(g.entry(args[0].(value)))
		}
		return op
	}
	scatter := func(g *graphDraw, e *graphEntry) []any {
		d := g.pick(len(e.shape))
		s := g.smaller(e.shape, d)
		src := g.sized(e.dt, s)
		return []any{d, g.index(e.shape[d], g.smaller(src.shape, -1)).v, src.v}
	}
	return slices.Concat([]graphOp{
		of("Gather", 1, func(g *graphDraw, e *graphEntry) []any {
			d := g.pick(len(e.shape))
			return []any{d - len(e.shape), g.index(e.shape[d], g.smaller(e.shape, d)).v}
		}),
		of("IndexSelect", 1, func(g *graphDraw, e *graphEntry) []any {
			d := g.pick(len(e.shape))
			return []any{d, g.index(e.shape[d], []int{g.pick(6)}).v}
		}),
		of("Scatter", 1, scatter), numbers(of("ScatterAdd", 1, scatter)),
		numbers(of("IndexAdd", 1, func(g *graphDraw, e *graphEntry) []any {
			d, s := g.pick(len(e.shape)), slices.Clone(e.shape)
			s[d] = g.pick(6)
			return []any{d, g.index(e.shape[d], s[d:d+1]).v, g.sized(e.dt, s).v}
		})),
		{name: "Embedding", draw: func(g *graphDraw) ([]any, bool) {
			w := g.ranked(2, 2)
			return []any{w.v, g.index(max(1, w.shape[0]), g.shape(3)).v}, w.shape[0] > 0
		}},
		{name: "OneHot", draw: func(g *graphDraw) ([]any, bool) {
			n := 1 + g.pick(6)
			return []any{g.index(n, g.shape(3)).v, n}, true
		}},
		{name: "Concat", draw: func(g *graphDraw) ([]any, bool) {
			e, ok := g.some(func(e *graphEntry) bool { return len(e.shape) > 0 })
			if !ok {
				return nil, false
			}
			d := g.dim(e)
			args := []any{d, e.v}
			for range 1 + g.pick(2) {
				s := slices.Clone(e.shape)
				s[(d+len(s))%len(s)] = g.pick(4)
				args = append(args, g.sized(e.dt, s).v)
			}
			return args, true
		}},
		{name: "Stack", draw: func(g *graphDraw) ([]any, bool) {
			e := g.anyOf(func(e *graphEntry) bool { return len(e.shape) < 5 })
			return []any{g.pick(len(e.shape) + 1), e.v, g.sized(e.dt, e.shape).v, e.v}[:3+g.pick(2)], true
		}},
		of("Flip", 0, func(g *graphDraw, e *graphEntry) []any { return g.dims(e) }),
		of("Roll", 1, func(g *graphDraw, e *graphEntry) []any {
			if g.pick(4) == 0 {
				return []any{[]int{g.pick(9) - 4}, []int{}}
			}
			return []any{[]int{g.pick(9) - 4, g.pick(3)}, []int{g.dim(e), g.dim(e)}}
		}),
		of("Repeat", 0, func(g *graphDraw, e *graphEntry) (times []any) {
			for range min(len(e.shape)+g.pick(2), 5) {
				times = append(times, oneOf(g, 1, 2, 1, 3, 0))
			}
			return times
		}),
		of("Tile", 0, func(g *graphDraw, e *graphEntry) []any { return []any{1 + g.pick(3)} }),
		of("RepeatInterleave", 1, func(g *graphDraw, e *graphEntry) []any { return []any{g.pick(4), g.dim(e)} }),
		of("Pad", 1, func(g *graphDraw, e *graphEntry) []any {
			return []any{[]int{g.pick(4) - 1, g.pick(4) - 1, g.pick(3), 0}[:2*(1+g.pick(min(len(e.shape), 2)))], 1.0}
		}),
		of("PadWith", 1, func(g *graphDraw, e *graphEntry) []any {
			mode := oneOf(g, tensor.ReflectPad, tensor.ReplicatePad, tensor.CircularPad)
			var pads []int
			for i := range 1 + g.pick(min(len(e.shape), 3)) {
				n := e.shape[len(e.shape)-1-i]
				if mode == tensor.ReflectPad {
					n--
				}
				pads = append(pads, g.pick(n+1), g.pick(n+1))
			}
			return []any{mode, pads}
		}),
		of("Triu", 2, func(g *graphDraw, e *graphEntry) []any { return []any{g.pick(7) - 3} }),
		of("Tril", 2, func(g *graphDraw, e *graphEntry) []any { return []any{g.pick(7) - 3} }),
		of("View", 0, func(g *graphDraw, e *graphEntry) []any {
			if n := e.shape.Len(); n%2 == 0 && g.pick(2) == 0 {
				return []any{n / 2, 2}
			}
			return []any{-1}
		}),
		of("SplitSizes", 1, func(g *graphDraw, e *graphEntry) []any {
			d := g.pick(len(e.shape))
			at := g.pick(e.shape[d] + 1)
			return []any{[]int{at, 0, e.shape[d] - at}, d}
		}),
		of("ToDevice", 0, func(*graphDraw, *graphEntry) []any { return []any{ownDevice{}} }),
	}, randomOps())
}

// randomOps draw the same numbers everywhere.
func randomOps() []graphOp {
	return []graphOp{
		{name: "Bernoulli", draw: func(g *graphDraw) ([]any, bool) {
			p, ok := g.some(func(e *graphEntry) bool { return isFloat(e) && e.exact && e.lo >= 0 && e.hi <= 1 })
			if !ok || g.pick(2) == 0 {
				p = g.leafOf(g.dt, g.shape(3), "chance", false)
			}
			return []any{p.v, seedNumber(g.pick(256))}, true
		}},
		{name: "Dropout", rounds: true, draw: func(g *graphDraw) ([]any, bool) {
			return []any{g.float().v, seedNumber(g.pick(256)), oneOf(g, 0.5, 0.25, 0, 1), g.pick(4) > 0}, true
		}},
	}
}

// index is a leaf of indices below n, which is at least 1 where there are any.
func (g *graphDraw) index(n int, shape []int) *graphEntry {
	return g.leafOf(oneOf(g, tensor.Int64, tensor.Int32, tensor.Int64), shape, "below "+argText(n), false)
}

// smaller is a shape with no size above s, but for the one of dim d.
func (g *graphDraw) smaller(s []int, d int) []int {
	small := slices.Clone(s)
	for i := range small {
		switch {
		case i == d:
			small[i] = g.pick(6)
		case g.pick(3) == 0:
			small[i] = g.pick(small[i] + 1)
		}
	}
	return small
}

// sized is a tensor of a type and a shape, from the pool or new.
func (g *graphDraw) sized(dt tensor.DType, shape []int) *graphEntry {
	if e, ok := g.some(func(e *graphEntry) bool { return e.dt == dt && slices.Equal(e.shape, shape) }); ok && g.pick(2) == 0 {
		return e
	}
	kind := oneOf(g, "eighths", "normal", "positive")
	if dt == tensor.Bool {
		kind = "below 2"
	}
	return g.leafOf(dt, shape, kind, dt.IsFloat() && g.pick(3) > 0)
}
