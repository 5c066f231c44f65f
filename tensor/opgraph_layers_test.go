package tensor_test

import (
	"slices"

	"tarn/tensor"
)

func viewOps() []graphOp {
	// of is a view of a tensor with so many dims or more.
	of := func(name string, rank int, draw func(g *graphDraw, e *graphEntry) (more []any, ok bool)) graphOp {
		return graphOp{name: name, draw: func(g *graphDraw) ([]any, bool) {
			e, ok := g.some(func(e *graphEntry) bool { return len(e.shape) >= rank })
			if !ok {
				e = g.ranked(rank, rank+1)
			}
			more, ok := draw(g, e)
			return slices.Concat([]any{e.v}, more), ok
		}}
	}
	ints := func(list ...int) (args []any) {
		for _, i := range list {
			args = append(args, i)
		}
		return args
	}
	return []graphOp{
		of("Transpose", 2, func(g *graphDraw, e *graphEntry) ([]any, bool) { return ints(g.dim(e), g.dim(e)), true }),
		of("MoveDim", 1, func(g *graphDraw, e *graphEntry) ([]any, bool) { return ints(g.dim(e), g.dim(e)), true }),
		of("Permute", 1, func(g *graphDraw, e *graphEntry) ([]any, bool) {
			order := make([]int, len(e.shape))
			for i := range order {
				order[i] = i
				j := g.pick(i + 1)
				order[i], order[j] = order[j], order[i]
			}
			return ints(order...), true
		}),
		of("Slice", 1, func(g *graphDraw, e *graphEntry) ([]any, bool) {
			d := g.pick(len(e.shape))
			start := g.pick(e.shape[d] + 1)
			return ints(d, start, start+g.pick(e.shape[d]-start+1), 1+g.pick(3)), true
		}),
		of("Select", 1, func(g *graphDraw, e *graphEntry) ([]any, bool) {
			d := g.pick(len(e.shape))
			return ints(d, g.pick(max(1, e.shape[d]))), e.shape[d] > 0
		}),
		of("Expand", 0, func(g *graphDraw, e *graphEntry) ([]any, bool) {
			s := slices.Clone(e.shape)
			for i := range s {
				if s[i] == 1 {
					s[i] = 1 + g.pick(4)
				}
			}
			if len(s) < 4 && g.pick(2) == 0 {
				s = append([]int{1 + g.pick(3)}, s...)
			}
			return ints(s...), true
		}),
		of("Unsqueeze", 0, func(g *graphDraw, e *graphEntry) ([]any, bool) {
			return ints(g.pick(len(e.shape) + 1)), len(e.shape) < 5
		}),
		of("Squeeze", 1, func(g *graphDraw, e *graphEntry) ([]any, bool) {
			d := g.dim(e)
			return ints(d), e.shape[(d+len(e.shape))%len(e.shape)] == 1
		}),
		of("Squeeze", 0, func(g *graphDraw, e *graphEntry) ([]any, bool) { return nil, true }),
		of("Flatten", 1, func(g *graphDraw, e *graphEntry) ([]any, bool) {
			d := g.pick(len(e.shape))
			return ints(d, d+g.pick(len(e.shape)-d)), true
		}),
		of("Reshape", 0, func(g *graphDraw, e *graphEntry) ([]any, bool) {
			n := e.shape.Len()
			for _, k := range []int{6, 5, 4, 3, 2} {
				if n > 0 && n%k == 0 && g.pick(2) == 0 {
					return ints(k, n/k), true
				}
			}
			return ints(n), true
		}),
		of("Diagonal", 2, func(g *graphDraw, e *graphEntry) ([]any, bool) {
			d := g.pick(len(e.shape))
			return ints(g.pick(3)-1, d, (d+1+g.pick(len(e.shape)-1))%len(e.shape)), true
		}),
		of("Unfold", 1, func(g *graphDraw, e *graphEntry) ([]any, bool) {
			d := g.pick(len(e.shape))
			return ints(d, 1+g.pick(max(1, e.shape[d])), 1+g.pick(3)), len(e.shape) < 5 && e.shape[d] > 0
		}),
		of("Split", 1, func(g *graphDraw, e *graphEntry) ([]any, bool) {
			d := g.pick(len(e.shape))
			return ints(1+g.pick(max(1, e.shape[d])), d), true
		}),
		of("Chunk", 1, func(g *graphDraw, e *graphEntry) ([]any, bool) { return ints(1+g.pick(3), g.dim(e)), true }),
	}
}

// always is an op that rounds and whose arguments are there or made.
func always(name string, draw func(g *graphDraw) []any) graphOp {
	return graphOp{name: name, rounds: true, draw: func(g *graphDraw) ([]any, bool) { return draw(g), true }}
}

// layerOps are those with weights or windows.
func layerOps() []graphOp {
	// weight is one of the pool's or a new one, maybe none.
	weight := func(g *graphDraw, x *graphEntry, shape ...int) *graphEntry {
		if e, ok := g.some(func(e *graphEntry) bool { return e.dt == x.dt && slices.Equal(e.shape, shape) }); ok && g.pick(2) == 0 {
			return e
		}
		return g.leaf(x.dt, shape)
	}
	maybe := func(g *graphDraw, x *graphEntry, shape ...int) value {
		if g.pick(3) == 0 {
			return noValue
		}
		return weight(g, x, shape...).v
	}
	linear := func(name string) graphOp {
		return always(name, func(g *graphDraw) []any {
			x := g.ranked(2, 2)
			n := 1 + g.pick(6)
			return []any{x.v, weight(g, x, x.shape[1], n).v, weight(g, x, n).v}
		})
	}
	pool := func(g *graphDraw) tensor.Pool {
		k := 1 + g.pick(3)
		return tensor.Pool{Kernel: [2]int{k, 1 + g.pick(3)}, Stride: [2]int{g.pick(3), g.pick(3)}, Padding: [2]int{g.pick(k/2 + 1), 0}, CeilMode: g.pick(3) == 0}
	}
	pooled := func(name string, rank int, rounds, mean bool) graphOp {
		return graphOp{name: name, rounds: rounds, draw: func(g *graphDraw) ([]any, bool) {
			p := pool(g)
			if mean {
				p.ExcludePad = g.pick(2) == 0
			} else {
				p.Dilation = [2]int{g.pick(3), g.pick(2)}
			}
			return []any{g.ranked(rank, rank).v, p}, true
		}}
	}
	convolution := func(name string, rank int) graphOp {
		return always(name, func(g *graphDraw) []any {
			x := g.ranked(rank, rank)
			groups := 1
			if c := x.shape[1]; c%2 == 0 && c > 0 && g.pick(2) == 0 {
				groups = oneOf(g, 2, c)
			}
			o := groups * (1 + g.pick(3))
			s := []int{o, x.shape[1] / groups}
			for range rank - 2 {
				s = append(s, 1+g.pick(3))
			}
			c := tensor.Conv{Stride: [2]int{g.pick(3), g.pick(3)}, Padding: [2]int{g.pick(3), g.pick(3)}, Dilation: [2]int{g.pick(3), g.pick(3)}, Groups: groups}
			return []any{x.v, weight(g, x, s...).v, maybe(g, x, o), c}
		})
	}
	return []graphOp{
		always("MatMul", func(g *graphDraw) []any {
			x := g.ranked(1, 4)
			n := len(x.shape)
			s := []int{x.shape[n-1], 1 + g.pick(6)}
			switch {
			case g.pick(4) == 0:
				s = s[:1]
			case n > 2 && g.pick(2) == 0:
				s = slices.Concat(x.shape[:n-2], s)
			}
			return []any{x.v, weight(g, x, s...).v}
		}),
		graphOp{name: "MatMul", rounds: true, draw: func(g *graphDraw) ([]any, bool) {
			x := g.ranked(2, 2)
			u, ok := g.some(func(u *graphEntry) bool {
				return u.dt == x.dt && len(u.shape) == 2 && u.shape[0] == x.shape[1]
			})
			if !ok {
				return nil, false
			}
			return []any{x.v, u.v}, true
		}},
		linear("Linear"), linear("LinearReLU"),
		always("Dot", func(g *graphDraw) []any {
			x := g.ranked(1, 1)
			return []any{x.v, weight(g, x, x.shape...).v}
		}),
		always("Outer", func(g *graphDraw) []any {
			x := g.ranked(1, 1)
			return []any{x.v, weight(g, x, 1+g.pick(6)).v}
		}),
		always("Einsum", func(g *graphDraw) []any {
			x := g.ranked(2, 2)
			n, m, k := x.shape[0], x.shape[1], 1+g.pick(5)
			switch g.pick(4) {
			case 0:
				return []any{"ij,jk->ki", x.v, weight(g, x, m, k).v}
			case 1:
				return []any{"ij,ij->j", x.v, weight(g, x, n, m).v}
			case 2:
				return []any{"ij,kj", x.v, weight(g, x, k, m).v}
			}
			return []any{"ij,kij->i", x.v, weight(g, x, k, n, m).v}
		}),
		always("LayerNorm", func(g *graphDraw) []any {
			x := g.ranked(1, 4)
			s := x.shape[g.pick(len(x.shape)):]
			return []any{x.v, maybe(g, x, s...), weight(g, x, s...).v, 1e-2}
		}),
		always("LayerNormDims", func(g *graphDraw) []any {
			x := g.ranked(1, 4)
			return []any{x.v, 1 + g.pick(len(x.shape)), 1e-2}
		}),
		always("RMSNorm", func(g *graphDraw) []any {
			x := g.ranked(1, 4)
			return []any{x.v, weight(g, x, x.shape[g.pick(len(x.shape)):]...).v, 1e-2}
		}),
		always("RMSNormDims", func(g *graphDraw) []any {
			x := g.ranked(1, 4)
			return []any{x.v, 1 + g.pick(len(x.shape)), 1e-2}
		}),
		always("GroupNorm", func(g *graphDraw) []any {
			x := g.ranked(2, 4)
			c := x.shape[1]
			groups := 1
			if c%2 == 0 && c > 0 {
				groups = oneOf(g, 1, 2, c)
			}
			return []any{x.v, groups, maybe(g, x, c), maybe(g, x, c), 1e-2}
		}),
		always("BatchNorm", func(g *graphDraw) []any {
			x := g.ranked(2, 4)
			c := x.shape[1]
			o := tensor.BatchNormOptions{Training: g.pick(2) == 0, Momentum: 0.25, Eps: 1e-2}
			w, b, mean, variance := maybe(g, x, c), maybe(g, x, c), noValue, noValue
			if !o.Training {
				dt := tensor.Float32
				if x.dt == tensor.Float64 {
					dt = tensor.Float64
				}
				mean, variance = g.leafOf(dt, []int{c}, "normal", false).v, g.leafOf(dt, []int{c}, "positive", false).v
			}
			return []any{x.v, w, b, mean, variance, o}
		}),
		always("Attention", func(g *graphDraw) []any {
			q := g.ranked(2, 4)
			n := len(q.shape)
			s, e := 1+g.pick(5), 1+g.pick(5)
			lead := slices.Clone(q.shape[:n-2])
			if n > 2 && lead[n-3]%2 == 0 && g.pick(2) == 0 {
				lead[n-3] /= 2
			}
			k := weight(g, q, slices.Concat(lead, []int{s, q.shape[n-1]})...)
			v := weight(g, q, slices.Concat(lead, []int{s, e})...)
			o := tensor.AttentionOptions{Causal: g.pick(2) == 0}
			if g.pick(3) == 0 {
				mask := g.leafOf(oneOf(g, tensor.Bool, q.dt), []int{q.shape[n-2], s}, "below 2", false)
				return []any{q.v, k.v, v.v, options{o, "Mask", mask.v}}
			}
			return []any{q.v, k.v, v.v, o}
		}),
		convolution("Conv2D", 4), convolution("Conv1D", 3),
		pooled("MaxPool2D", 4, false, false), pooled("MaxPool1D", 3, false, false), pooled("MaxPool2DIndices", 4, false, false),
		pooled("MaxPool1DIndices", 3, false, false),
		pooled("AvgPool2D", 4, true, true), pooled("AvgPool1D", 3, true, true),
		always("AdaptiveAvgPool2D", func(g *graphDraw) []any { return []any{g.ranked(4, 4).v, 1 + g.pick(4), 1 + g.pick(4)} }),
		always("AdaptiveAvgPool1D", func(g *graphDraw) []any { return []any{g.ranked(3, 3).v, 1 + g.pick(4)} }),
	}
}
