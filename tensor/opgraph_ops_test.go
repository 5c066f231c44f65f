package tensor_test

import (
	"math"
	"slices"

	"tarn/tensor"
)

// graphOp is an op that programs are made of, and how its arguments are drawn.
type graphOp struct {
	name   string
	rounds bool // see opCall
	draw   func(g *graphDraw) (args []any, ok bool)
}

var graphOps []graphOp

func init() {
	graphOps = slices.Concat(elementwiseOps(), reductionOps(), viewOps(), moveOps(), layerOps(), lossOps())
}

// ranged is an op of one tensor whose elements lie from lo to hi.
func ranged(name string, rounds bool, lo, hi float64, more ...any) graphOp {
	return graphOp{name: name, rounds: rounds, draw: func(g *graphDraw) ([]any, bool) {
		e, ok := g.some(func(e *graphEntry) bool { return e.dt.IsFloat() && e.lo >= lo && e.hi <= hi && (e.shape.Len() > 0) })
		if !ok {
			if lo > 0 {
				e = g.leafOf(g.dt, g.shape(3), "positive", true)
			} else {
				e = g.leaf(g.dt, g.shape(3))
			}
		}
		return slices.Concat([]any{e.v}, more), e.lo >= lo && e.hi <= hi
	}}
}

// paired is an op of two tensors that broadcast. second says what the other may
// be, nil for anything of numbers.
func paired(name string, rounds bool, first, second func(e *graphEntry) bool) graphOp {
	return graphOp{name: name, rounds: rounds, draw: func(g *graphDraw) ([]any, bool) {
		e, ok := g.some(first)
		if !ok {
			e = g.leafOf(g.dt, g.shape(3), "positive", true)
		}
		return []any{e.v, g.partner(e, second).v}, true
	}}
}

func isFloat(e *graphEntry) bool  { return e.dt.IsFloat() }
func isNumber(e *graphEntry) bool { return e.dt != tensor.Bool }

// isExact is for the ops that ask whether a number is just 0: what rounding has
// left may be 0 on one device alone.
func isExact(e *graphEntry) bool { return isNumber(e) && e.exact }
func isBool(e *graphEntry) bool  { return e.dt == tensor.Bool }
func isInt(e *graphEntry) bool   { return e.dt.IsInt() }
func positiveFloat(e *graphEntry) bool {
	return e.dt.IsFloat() && e.lo >= 0.25
}
func modestPositive(e *graphEntry) bool { return e.dt.IsFloat() && e.lo >= 0.25 && e.hi <= 5 }
func modest(e *graphEntry) bool         { return e.dt.IsFloat() && e.lo >= -3 && e.hi <= 3 }

func elementwiseOps() []graphOp {
	ops := []graphOp{
		paired("Add", false, isNumber, isNumber), paired("Sub", false, isNumber, isNumber), paired("Mul", false, isNumber, isNumber),
		paired("Div", true, isFloat, positiveFloat), paired("Pow", true, modestPositive, modest),
		paired("Maximum", false, isNumber, isNumber), paired("Minimum", false, isNumber, isNumber),
		paired("FloorDivide", true, isFloat, positiveFloat), paired("Remainder", true, isFloat, positiveFloat),
		ranged("MulScalar", true, -infinity, infinity, 0.75), ranged("AddScalar", true, -infinity, infinity, 1.5),
		ranged("DivScalar", true, -infinity, infinity, 1.5),
		ranged("Exp", true, -20, 4), ranged("Log", true, 0.05, infinity), ranged("Sqrt", true, 0.01, infinity),
		ranged("Rsqrt", true, 0.05, infinity), ranged("Reciprocal", true, 0.05, infinity),
		ranged("Expm1", true, -20, 4), ranged("Log1p", true, -0.5, infinity),
		ranged("PowScalar", true, 0.05, 20, 1.5), ranged("PowScalar", true, -5, 5, 3.0), ranged("PowScalar", true, -infinity, infinity, 2.0),
	}
	for _, name := range []string{"Sin", "Cos", "Erf", "Tanh", "Sigmoid", "SiLU", "GELU", "GELUTanh"} {
		ops = append(ops, ranged(name, true, -20, 20))
	}
	ops = append(ops, ranged("LeakyReLU", true, -infinity, infinity, 0.1), ranged("ELU", true, -20, 20, 1.5), ranged("Softplus", true, -20, 20, 1.5, 20.0))
	for _, name := range []string{"Neg", "Abs", "Sign", "Floor", "Ceil", "Trunc", "Round", "ReLU"} {
		ops = append(ops, ranged(name, false, -infinity, infinity))
	}
	for _, name := range []string{"IsNaN", "IsInf", "Clone", "Contiguous", "Detach"} {
		ops = append(ops, graphOp{name: name, draw: func(g *graphDraw) ([]any, bool) {
			e := g.anyOf(isNumber)
			return []any{e.v}, true
		}})
	}
	ops = append(ops, ranged("Clamp", false, -infinity, infinity, -0.5, 1.25))
	for _, name := range []string{"Lt", "Le", "Gt", "Ge"} {
		ops = append(ops, paired(name, false, isNumber, isNumber))
	}
	ops = append(ops, paired("Eq", false, isExact, isExact), paired("Ne", false, isExact, isExact))
	for _, name := range []string{"And", "Or", "Xor"} {
		ops = append(ops, graphOp{name: name, draw: func(g *graphDraw) ([]any, bool) {
			e, ok := g.some(isBool)
			if !ok {
				e = g.leafOf(tensor.Bool, g.shape(3), "below 2", false)
			}
			return []any{e.v, g.partner(e, isBool).v}, true
		}})
	}
	mask := func(g *graphDraw, e *graphEntry) *graphEntry {
		like := *e
		like.dt = tensor.Bool
		return g.partner(&like, isBool)
	}
	return append(ops,
		graphOp{name: "Not", draw: func(g *graphDraw) ([]any, bool) {
			e, ok := g.some(isBool)
			if !ok {
				return nil, false
			}
			return []any{e.v}, true
		}},
		graphOp{name: "Where", draw: func(g *graphDraw) ([]any, bool) {
			x := g.float()
			return []any{mask(g, x).v, x.v, g.partner(x, isFloat).v}, true
		}},
		graphOp{name: "MaskedFill", draw: func(g *graphDraw) ([]any, bool) {
			x := g.float()
			m := mask(g, x)
			return []any{x.v, m.v, 0.5}, len(m.shape) <= len(x.shape)
		}},
		graphOp{name: "To", draw: func(g *graphDraw) ([]any, bool) {
			e := g.anyOf(func(e *graphEntry) bool { return true })
			dt := oneOf(g, tensor.Float64, tensor.Float32, tensor.Float64, tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Int64, tensor.Int32, tensor.Bool, tensor.Uint8)
			return []any{e.v, dt}, (dt != tensor.Uint8 || e.lo >= 0) && (dt != tensor.Bool || e.exact)
		}})
}

func reductionOps() []graphOp {
	over := func(name string, rounds bool, fits func(e *graphEntry) bool, before ...any) graphOp {
		return graphOp{name: name, rounds: rounds, draw: func(g *graphDraw) ([]any, bool) {
			e, ok := g.some(fits)
			if !ok {
				return nil, false
			}
			return slices.Concat([]any{e.v}, before, g.dims(e)), true
		}}
	}
	some := func(e *graphEntry) bool { return e.dt.IsFloat() && e.shape.Len() > 0 }
	someExact := func(e *graphEntry) bool { return some(e) && e.exact }
	var ops []graphOp
	for _, keep := range []string{"", "Keep"} {
		ops = append(ops, over("Sum"+keep, true, isFloat), over("Mean"+keep, true, some), over("Prod"+keep, true, modest),
			over("Max"+keep, false, some), over("Min"+keep, false, some), over("LogSumExp"+keep, true, some),
			over("Any"+keep, false, isBool), over("All"+keep, false, isBool),
			over("Var"+keep, true, some, 0.0), over("Var"+keep, true, some, 1.0), over("Std"+keep, true, some, 0.0),
			over("Norm"+keep, true, some, 2.0), over("Norm"+keep, true, some, 1.0), over("Norm"+keep, true, some, 3.0),
			over("Norm"+keep, true, someExact, 0.0), over("Norm"+keep, false, some, math.Inf(1)), over("Norm"+keep, false, some, math.Inf(-1)))
	}
	ops = append(ops, over("Sum", false, isInt), over("Max", false, func(e *graphEntry) bool { return isInt(e) && e.shape.Len() > 0 }))
	along := func(name string, rounds bool, fits func(e *graphEntry) bool, after ...any) graphOp {
		return graphOp{name: name, rounds: rounds, draw: func(g *graphDraw) ([]any, bool) {
			e, ok := g.some(func(e *graphEntry) bool { return len(e.shape) > 0 && fits(e) })
			if !ok {
				return nil, false
			}
			return slices.Concat([]any{e.v, g.dim(e)}, after), true
		}}
	}
	return append(ops, along("ArgMax", false, some), along("ArgMin", false, some), along("MaxWithIndices", false, some),
		along("MinWithIndices", false, some), along("CumSum", true, isFloat), along("CumProd", true, modest),
		along("Sort", false, isFloat, true), along("Sort", false, isNumber, false), along("ArgSort", false, isFloat, true),
		along("Softmax", true, isFloat), along("LogSoftmax", true, isFloat), along("CumSum", false, isInt),
		graphOp{name: "TopK", draw: func(g *graphDraw) ([]any, bool) {
			e, ok := g.some(func(e *graphEntry) bool { return len(e.shape) > 0 && e.dt.IsFloat() })
			if !ok {
				return nil, false
			}
			d := g.pick(len(e.shape))
			return []any{e.v, g.pick(e.shape[d] + 1), d, g.pick(2) == 0}, true
		}})
}
