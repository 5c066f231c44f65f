package tensor_test

import (
	"slices"

	"tarn/tensor"
)

// lossOps compare with a target, of numbers, probabilities or classes.
func lossOps() []graphOp {
	reduction := func(g *graphDraw) tensor.Reduction {
		return oneOf(g, tensor.MeanReduction, tensor.SumReduction, tensor.NoReduction)
	}
	classes := func(g *graphDraw, x *graphEntry) *graphEntry {
		s := slices.Concat(x.shape[:1], x.shape[2:])
		return g.leafOf(tensor.Int64, s, "below "+argText(max(1, x.shape[1])), false)
	}
	// weights are constants of the classes of x, or of a shape that broadcasts.
	weights := func(g *graphDraw, x *graphEntry, shape []int) value {
		return g.leafOf(x.dt, shape, "positive", false).v
	}
	loss := func(name string, more ...any) graphOp {
		return always(name, func(g *graphDraw) []any {
			x := g.float()
			return slices.Concat([]any{x.v, g.sized(x.dt, x.shape).v}, more, []any{reduction(g)})
		})
	}
	// chances are probabilities that no logarithm minds, or that are any.
	chances := func(g *graphDraw, x *graphEntry, kind string) *graphEntry {
		least := map[string]float64{"between": 0.1, "chance": 0}[kind]
		e, ok := g.some(func(e *graphEntry) bool {
			return e.dt == x.dt && slices.Equal(e.shape, x.shape) && e.lo >= least && e.hi <= 1-least && (e.exact || least > 0)
		})
		if ok && g.pick(3) > 0 {
			return e
		}
		return g.leafOf(x.dt, x.shape, kind, g.pick(2) == 0)
	}
	return []graphOp{
		always("CrossEntropyWith", func(g *graphDraw) []any {
			x := g.ranked(2, 4)
			o := tensor.CrossEntropyOptions{Reduction: reduction(g), LabelSmoothing: oneOf(g, 0, 0.25)}
			target := classes(g, x)
			if g.pick(3) == 0 {
				target = chances(g, x, "chance")
			}
			if g.pick(3) == 0 {
				return []any{x.v, target.v, options{o, "Weight", weights(g, x, x.shape[1:2])}}
			}
			return []any{x.v, target.v, o}
		}),
		always("CrossEntropy", func(g *graphDraw) []any {
			x := g.ranked(2, 2)
			return []any{x.v, classes(g, x).v}
		}),
		always("NLL", func(g *graphDraw) []any {
			x := g.ranked(2, 4)
			o := tensor.NLLOptions{Reduction: reduction(g)}
			if g.pick(3) == 0 {
				return []any{x.v, classes(g, x).v, options{o, "Weight", weights(g, x, x.shape[1:2])}}
			}
			return []any{x.v, classes(g, x).v, o}
		}),
		loss("MSELoss"), loss("L1Loss"), loss("HuberLoss", 0.75), loss("SmoothL1Loss", 0.75), loss("SmoothL1Loss", 0.0),
		always("KLDiv", func(g *graphDraw) []any {
			x := g.float()
			o := tensor.KLDivOptions{Reduction: oneOf(g, reduction(g), tensor.BatchMeanReduction), LogTarget: g.pick(3) == 0}
			if o.LogTarget {
				e, ok := g.some(func(e *graphEntry) bool { return e.dt == x.dt && slices.Equal(e.shape, x.shape) && e.hi <= 3 })
				if !ok {
					e = g.leafOf(x.dt, x.shape, "normal", true)
				}
				return []any{x.v, e.v, o}
			}
			return []any{x.v, chances(g, x, "between").v, o}
		}),
		always("BCEWithLogits", func(g *graphDraw) []any {
			x := g.float()
			o := tensor.BCEOptions{Reduction: reduction(g)}
			target := chances(g, x, "chance")
			if field := oneOf(g, "", "Weight", "PosWeight"); field != "" {
				return []any{x.v, target.v, options{o, field, weights(g, x, x.shape[g.pick(len(x.shape)+1):])}}
			}
			return []any{x.v, target.v, o}
		}),
		always("BCELoss", func(g *graphDraw) []any {
			x := chances(g, g.float(), "between")
			w := noValue
			if g.pick(3) == 0 {
				w = weights(g, x, x.shape[g.pick(len(x.shape)+1):])
			}
			return []any{x.v, chances(g, x, "chance").v, w, reduction(g)}
		}),
	}
}
