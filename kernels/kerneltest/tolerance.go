package kerneltest

import (
	"bytes"
	"math"

	"tarn/kernels"
)

// tolerance is how far a result may be from the reference: within ulps steps
// of the dtype, or within (eps + root*sqrt(terms)) epsilons of the element's
// scale. NaN must be NaN, and an infinity that infinity unless ulps reach it.
type tolerance struct {
	bits   bool // the same bits, but for NaN: tells -0 from 0
	ulps   int64
	eps    float64
	root   float64
	root64 float64 // root for float64 alone
	term64 float64 // epsilons for each term, for float64 alone
}

// tolerances is the one place that says how exact a body must be. The scale
// that eps refers to is the size of what was added up, see scales; without
// that, a sum that cancels would ask for more than any order of summing gives.
var tolerances = [kernels.NumOps]tolerance{
	// One IEEE operation or none: nothing to be off by.
	kernels.Fill: {bits: true}, kernels.Copy: {bits: true},
	kernels.Add: {bits: true}, kernels.Sub: {bits: true}, kernels.Mul: {bits: true}, kernels.Div: {bits: true},
	kernels.ReLU: {bits: true}, kernels.ReLUGrad: {bits: true},
	kernels.Neg: {bits: true}, kernels.Abs: {bits: true}, kernels.Sign: {},
	kernels.Floor: {bits: true}, kernels.Ceil: {bits: true}, kernels.Trunc: {bits: true}, kernels.Round: {bits: true},
	kernels.Reciprocal: {bits: true}, kernels.Where: {bits: true}, kernels.ClampGrad: {bits: true},
	kernels.And: {bits: true}, kernels.Or: {bits: true}, kernels.Xor: {bits: true},
	kernels.Equal: {bits: true}, kernels.NotEqual: {bits: true}, kernels.Less: {bits: true}, kernels.LessEqual: {bits: true},
	kernels.Greater: {bits: true}, kernels.GreaterEqual: {bits: true},
	kernels.IsNaN: {bits: true}, kernels.IsInf: {bits: true}, kernels.Not: {bits: true},
	kernels.LeakyReLU: {ulps: 1}, kernels.LeakyReLUGrad: {ulps: 1},
	// Of -0 and 0 either may be the larger, or the nearest.
	kernels.Maximum: {}, kernels.Minimum: {}, kernels.Clamp: {},
	// A remainder is exact but for the last addition, a quotient but for its
	// division.
	kernels.FloorDivide: {ulps: 1}, kernels.Remainder: {ulps: 1},
	// A choice among elements; of -0 and 0 either may be the maximum.
	kernels.Max: {}, kernels.Min: {}, kernels.ArgMax: {}, kernels.ArgMin: {}, kernels.Any: {}, kernels.All: {},
	// Two roundings in the reference, one with a fused multiply-add.
	kernels.Affine: {eps: 1},
	// The ops' specification.
	kernels.Exp: {ulps: 4}, kernels.Log: {ulps: 4}, kernels.Sqrt: {ulps: 4},
	kernels.Rsqrt: {ulps: 2}, kernels.Expm1: {ulps: 4}, kernels.Log1p: {ulps: 4},
	kernels.Tanh: {ulps: 4}, kernels.Sigmoid: {ulps: 4}, kernels.Erf: {ulps: 4},
	kernels.SiLU: {ulps: 6}, kernels.ELU: {ulps: 6}, kernels.Softplus: {ulps: 8},
	kernels.PowScalar: {ulps: 8}, kernels.Pow: {ulps: 8},
	kernels.Sin: {ulps: 4, eps: 1}, kernels.Cos: {ulps: 4, eps: 1}, // eps: far out, see farOut
	kernels.GELU: {eps: 8}, kernels.GELUTanh: {eps: 8},
	kernels.TanhGrad: {eps: 8}, kernels.SigmoidGrad: {eps: 8}, kernels.ELUGrad: {eps: 8}, kernels.SoftplusGrad: {eps: 8},
	// Derivatives that are a difference of numbers near 1, held to 1/100 of that.
	kernels.SiLUGrad: {eps: 128}, kernels.GELUGrad: {eps: 128}, kernels.GELUTanhGrad: {eps: 128},
	// A division, or a multiplication by the rounded reciprocal.
	kernels.MaxGrad: {ulps: 2},
	// 8 epsilons of float32 are the 1e-6 of the specification, at any length:
	// pairwise or blocked. float64 may be summed in order.
	kernels.Sum: {eps: 8, root64: 1},
	// One rounding in float32, which is multiplied in float64; there one for each
	// factor, and all the same way where the factors are the same.
	kernels.Prod: {eps: 2, term64: 1},
	// Two roundings of each difference, its square, a sum and a division.
	kernels.Var: {eps: 8, root64: 2},
	// exp and its sum; powers within 8 ulp, of which the root is taken.
	kernels.LogSumExp: {eps: 8, root64: 2}, kernels.Norm: {eps: 16, root64: 16},
	// As Sum and Prod.
	kernels.CumSum: {eps: 8, root64: 2}, kernels.CumProd: {eps: 2, term64: 1},
	// Both a sum and products, each rounded.
	kernels.CumProdGrad: {eps: 8, term64: 1},
	kernels.Sort:        {bits: true}, kernels.SortGrad: {bits: true},
	kernels.Gather: {bits: true}, kernels.Scatter: {bits: true},
	// Sums in order of the indices: an element that is added over and over is
	// rounded the same way each time.
	kernels.ScatterAdd: {eps: 2, root: 4},
	// Sums in order of K in the element type: rounding errors walk randomly,
	// hence the root. One lost product would show as 1/K of the scale.
	kernels.MatMul: {eps: 4, root: 1},
	kernels.Conv:   {eps: 4, root: 1}, kernels.ConvGradInput: {eps: 4, root: 1}, kernels.ConvGradWeight: {eps: 4, root: 1},
	// A choice, and sums of few.
	kernels.MaxPool: {}, kernels.MaxPoolGrad: {eps: 2, root: 1},
	kernels.AvgPool: {eps: 4, root: 1}, kernels.AvgPoolGrad: {eps: 4, root: 1},
	kernels.AdaptiveAvgPool: {eps: 4, root: 1}, kernels.AdaptiveAvgPoolGrad: {eps: 4, root: 1},
	// exp within 4 ulp, its sum, the logarithm and the mean.
	kernels.CrossEntropy:     {eps: 16},
	kernels.CrossEntropyGrad: {eps: 12},
	// Products, exponentials and sums in the element type; the scale grows with
	// the scores.
	kernels.Attention:     {eps: 8, root: 0.5},
	kernels.AttentionGrad: {eps: 8, root: 0.5},
	// exp within 4 ulp, the rounding of its argument, a sum and a quotient.
	kernels.Softmax: {eps: 12, root64: 1}, kernels.LogSoftmax: {eps: 8, root64: 1},
	kernels.SoftmaxGrad: {eps: 8, root64: 1}, kernels.LogSoftmaxGrad: {eps: 12, root64: 1},
	// Statistics by blocked sums, then a handful of roundings.
	kernels.LayerNorm: {eps: 12, root64: 1}, kernels.RMSNorm: {eps: 12, root64: 1}, kernels.GroupNorm: {eps: 12, root64: 1},
	kernels.BatchNorm: {eps: 12, root64: 1}, kernels.BatchNormInfer: {eps: 8, root64: 1},
	kernels.LayerNormGrad: {eps: 16, root64: 16}, kernels.RMSNormGrad: {eps: 16, root64: 16},
	kernels.GroupNormGrad: {eps: 16, root64: 16}, kernels.BatchNormGrad: {eps: 16, root64: 16},
	kernels.NLL: {eps: 8, root64: 1}, kernels.NLLGrad: {eps: 4, root64: 1},
	// A handful of roundings per element, factors rounded to the dtype.
	kernels.SGDStep:   {eps: 8},
	kernels.AdamWStep: {eps: 16},
	// Numbers by whole operations; normal ones by three functions within some ulp.
	kernels.Sequence: {bits: true}, kernels.RandomUniform: {bits: true}, kernels.RandomInt: {bits: true}, kernels.Bernoulli: {bits: true}, kernels.Dropout: {bits: true},
	kernels.RandomNormal: {eps: 8},
}

// epsilon is the distance from 1 to the next number of the type that d is
// computed in.
func epsilon(d kernels.DType) float64 {
	if d == kernels.Float64 {
		return 0x1p-52
	}
	return 0x1p-23
}

func smallest(d kernels.DType) float64 {
	if d == kernels.Float64 {
		return math.SmallestNonzeroFloat64
	}
	return math.SmallestNonzeroFloat32
}

func (t tolerance) accepts(d kernels.DType, got, want uint64, scale float64, terms int64) bool {
	if got == want {
		return true
	}
	if !d.IsFloat() {
		return false
	}
	g, w := toFloat(d, got), toFloat(d, want)
	ulps := t.ulps
	if d.IsHalf() {
		ulps = 1 // the last rounding of numbers that differ by float32's ulps
	}
	switch {
	case math.IsNaN(g) || math.IsNaN(w):
		return math.IsNaN(g) && math.IsNaN(w)
	case t.bits:
		return false
	case g == w || ulps > 0 && distance(d, got, want) <= ulps:
		return true
	case math.IsInf(g, 0) || math.IsInf(w, 0):
		return false
	}
	root := t.root
	if d == kernels.Float64 {
		root += t.root64 + t.term64*math.Sqrt(float64(terms))
	}
	allowed := (t.eps + root*math.Sqrt(float64(terms))) * epsilon(d) * scale
	if t.eps > 0 { // denormal terms are rounded by up to one step each
		allowed += 2 * float64(terms) * smallest(d)
	}
	if d.IsHalf() && allowed > 0 {
		allowed += math.Abs(toFloat(d, want+1) - w) // as above
	}
	return math.Abs(g-w) <= allowed
}

// distance returns how many representable numbers lie from x to y.
func distance(d kernels.DType, x, y uint64) int64 {
	diff := ordinal(d, x) - ordinal(d, y)
	if diff < 0 {
		diff = -diff
	}
	return diff
}

// ordinal numbers the floats in their order, infinities included.
func ordinal(d kernels.DType, bits uint64) int64 {
	sign := uint64(1) << (8*d.Size() - 1)
	if bits&sign != 0 {
		return -int64(bits &^ sign)
	}
	return int64(bits)
}

// scales holds, for each element of each output, the size of the numbers that
// went into it. nil means that the op's tolerance needs none.
type scales [][]float64

func (s scales) at(out, i int) float64 {
	if s == nil {
		return 0
	}
	return s[out][i]
}

// scales returns the scales of c, whose reference result is want.
func (c *call) scales(want result) scales {
	if f := familyOf(c.id).scales; f != nil {
		return f(c, want)
	}
	return nil
}

// summedScales are the sizes of what was added up.
func summedScales(c *call, _ result) scales {
	abs := c.absolute()
	return abs.values(abs.run(reference))
}

// values returns the elements of the outputs.
func (c *call) values(r result) [][]float64 {
	vs := make([][]float64, len(c.out))
	for n, o := range c.out {
		vs[n] = make([]float64, o.view.Len())
		offsets(&o.view, func(i int, off int64) {
			vs[n][i] = toFloat(o.view.DType, get(r.bytes[o.mem][off:], o.view.DType))
		})
	}
	return vs
}

// inputValues returns the elements of input n.
func (c *call) inputValues(n int) []float64 {
	o := c.in[n]
	vs := make([]float64, o.view.Len())
	offsets(&o.view, func(i int, off int64) {
		vs[i] = toFloat(o.view.DType, get(o.mem.initial()[off:], o.view.DType))
	})
	return vs
}

// absolute returns c with all its numbers made positive and, where the op
// subtracts, the sign of that turned, so that the result is the sum of the
// sizes.
func (c *call) absolute() *call {
	abs := *c
	abs.attr.Alpha, abs.attr.Beta = math.Abs(c.attr.Alpha), math.Abs(c.attr.Beta)
	abs.attr.Activation = kernels.Identity
	abs.attr.SGD.LR = -math.Abs(c.attr.SGD.LR)
	abs.attr.AdamW.LR = -math.Abs(c.attr.AdamW.LR)
	copies := map[*memory]*memory{}
	positive := func(list []operand) []operand {
		moved := make([]operand, len(list))
		for i, o := range list {
			m := copies[o.mem]
			if m == nil {
				m = &memory{bytes: bytes.Clone(o.mem.initial()), writable: o.mem.writable}
				copies[o.mem] = m
			}
			moved[i] = operand{m, o.view}
			offsets(&o.view, func(_ int, off int64) {
				x := toFloat(o.view.DType, get(m.initial()[off:], o.view.DType))
				put(m.initial()[off:], o.view.DType, toBits(o.view.DType, math.Abs(x)))
			})
		}
		return moved
	}
	abs.out, abs.in = positive(c.out), positive(c.in)
	return &abs
}
