package kerneltest

import (
	"math"

	"tarn/kernels"
)

// elementwiseIDs are the ops that make an element of one of each input.
var elementwiseIDs = ids(kernels.Add, kernels.Where)

var elementwiseFamily = family{name: "elementwise", ids: elementwiseIDs, cases: (*suite).elementwise,
	sample: (*suite).sampleElementwise, decode: (*suite).decodeElementwise, large: (*suite).largeElementwise, scales: elementwiseScales}

// ids returns the ops from the first to the last.
func ids(first, last kernels.ID) []kernels.ID {
	var all []kernels.ID
	for id := first; id <= last; id++ {
		all = append(all, id)
	}
	return all
}

// inputs returns how many inputs the elementwise op has.
func inputs(id kernels.ID) int { return id.Inputs() }

func (s *suite) sampleElementwise(bool) *call {
	return s.elementwiseCall([]int64{4, 5}, [4]layout{}, uniform(s.rand))
}

func (s *suite) decodeElementwise(src *source, values generator) *call {
	c := s.elementwiseCall(src.dims(), [4]layout{src.layout(true), src.layout(false), src.layout(false), src.layout(false)}, values)
	if last := len(c.in) - 1; c.in[last].view.DType == c.out[0].view.DType && src.below(4) == 1 {
		c.out[0] = c.in[last] // where the layout repeats elements, both must refuse
	}
	return c
}

func (s *suite) largeElementwise() []*call {
	return []*call{
		s.elementwiseCall([]int64{100_003}, [4]layout{}, uniform(s.rand)),
		s.elementwiseCall([]int64{257, 403}, [4]layout{writable[2], dense, expanded, dense}, uniform(s.rand)),
	}
}

// elementwiseScales: a gradient is relative to dy, an activation that cancels to
// its input, down to 1/100.
func elementwiseScales(c *call, want result) scales {
	s := c.values(want)
	first := c.inputValues(0)
	for i := range s[0] {
		size := math.Abs(first[i])
		switch {
		case c.id == kernels.Affine:
			s[0][i] = math.Abs(c.attr.Alpha)*size + math.Abs(c.attr.Beta)
		case c.id == kernels.Sin || c.id == kernels.Cos:
			s[0][i] = farOut(c.out[0].view.DType, size)
		default:
			s[0][i] = max(math.Abs(s[0][i]), size/100)
		}
	}
	return s
}

// farOut is what the error of a sine of x may be, in epsilons: where x is a
// large number it is an absolute one.
func farOut(d kernels.DType, x float64) float64 {
	switch {
	case x <= 1<<20:
		return 0
	case d == kernels.Float64:
		return 1e-13 / epsilon(d)
	}
	return 1e-5 / epsilon(d)
}

// elementwiseAttrs are the scalars of the ops that have some.
var elementwiseAttrs = map[kernels.ID]kernels.Attr{
	kernels.LeakyReLU: {Alpha: 0.01}, kernels.LeakyReLUGrad: {Alpha: 0.01},
	kernels.ELU: {Alpha: 1.5}, kernels.ELUGrad: {Alpha: 1.5},
	kernels.Softplus: {Alpha: 1.25, Beta: 20}, kernels.SoftplusGrad: {Alpha: 1.25, Beta: 20},
	kernels.PowScalar: {Alpha: 2.5},
	kernels.Clamp:     {Alpha: -0.5, Beta: 1.25}, kernels.ClampGrad: {Alpha: -0.5, Beta: 1.25},
}

// elementwiseCall returns a call for the given dims; layouts has the one of
// the output first.
func (s *suite) elementwiseCall(dims []int64, layouts [4]layout, g generator) *call {
	c := &call{id: s.id, attr: kernels.Attr{Alpha: -1.5, Beta: 0.75}}
	if attr, ok := elementwiseAttrs[s.id]; ok {
		c.attr = attr
	}
	c.out = []operand{place(s.rand, s.id.Result(s.dtype), dims, layouts[0])}
	for i := range inputs(s.id) {
		d := s.dtype
		if s.id == kernels.Where && i == 0 {
			d = kernels.Bool
		}
		c.in = append(c.in, place(s.rand, d, dims, layouts[1+i]).fill(g))
	}
	return c
}

func (s *suite) elementwise() {
	values := uniform(s.rand)
	s.elementwiseExtremes()
	if s.id > kernels.ReLUGrad && s.id != kernels.Where && s.id != kernels.Less {
		s.every *= 16 // the ways through strided operands are those of the first ops
	}
	for _, dims := range everyShape() {
		for _, l := range writable { // all alike
			s.check(s.elementwiseCall(dims, [4]layout{l, l, l, l}, values))
		}
		for _, l := range readable { // one strange operand among dense ones
			s.check(s.elementwiseCall(dims, [4]layout{dense, l, dense, dense}, values))
			s.check(s.elementwiseCall(dims, [4]layout{dense, dense, l, l}, values))
		}
		for range 4 {
			s.check(s.elementwiseCall(dims, [4]layout{s.pick(writable), s.pick(readable), s.pick(readable), s.pick(readable)}, values))
		}
		s.check(s.elementwiseCall(dims, [4]layout{dense, expanded, expanded, dense}, values))
	}
	s.elementwiseInPlace()
	for _, dims := range [][]int64{{70001}, {257, 255}, {3, 40009}} { // enough for several threads
		s.check(s.elementwiseCall(dims, [4]layout{}, values))
		s.check(s.elementwiseCall(dims, [4]layout{s.pick(writable), s.pick(readable), expanded, dense}, values))
	}
}

// elementwiseExtremes tests NaN, infinities, denormals and the like, each
// against each for two inputs.
func (s *suite) elementwiseExtremes() {
	list := extremes[s.dtype]
	if tame(s.id) {
		s.check(s.elementwiseCall([]int64{1000}, [4]layout{}, unruly(s.rand)))
		return
	}
	for _, attr := range s.moreAttrs() {
		n := int64(len(list))
		if n == 0 {
			break
		}
		c := s.elementwiseCall([]int64{n, n}, [4]layout{}, uniform(s.rand))
		if attr != nil {
			c.attr = *attr
		}
		for i := range c.in {
			if c.in[i].view.DType != s.dtype || i == 0 && isGradient(s.id) {
				continue
			}
			c.in[i].fill(func(d kernels.DType, at int) uint64 {
				if i == 0 {
					at /= len(list)
				}
				x := list[at%len(list)]
				if s.id >= kernels.TanhGrad && s.id <= kernels.ClampGrad && i == 0 && math.IsInf(x, 0) {
					x = 3 // times a slope that has become 0 in float32 it would be NaN
				}
				if least, ok := resultsFrom[s.id]; ok && i == 1 && (x < least || x > 1) {
					x = 0.5
				}
				return toBits(d, x)
			})
		}
		s.always(c)
	}
	if _, ok := resultsFrom[s.id]; ok {
		return
	}
	for _, l := range writable {
		s.check(s.wildCall([]int64{257}, [4]layout{l, l, l, l}))
		s.check(s.wildCall([]int64{7, 19}, [4]layout{l, dense, dense, dense}))
	}
}

// isGradient reports whether the first input of the op is a gradient, of an op
// whose derivative is computed.
func isGradient(id kernels.ID) bool { return id >= kernels.TanhGrad && id <= kernels.ClampGrad }

// tame reports whether bodies of the op need not agree where numbers are so large
// that a product overflows on the way: one with a fused multiply-add keeps what
// the reference loses, and one in float32 loses what the reference keeps.
func tame(id kernels.ID) bool {
	return id == kernels.Affine || id == kernels.TanhGrad || id == kernels.SigmoidGrad
}

// wildCall is elementwiseCall with extreme numbers, as far as the op can take
// them: where a derivative is too small for float32 a gradient is finite, so that
// the product is no NaN.
func (s *suite) wildCall(dims []int64, layouts [4]layout) *call {
	if tame(s.id) {
		return s.elementwiseCall(dims, layouts, unruly(s.rand))
	}
	c := s.elementwiseCall(dims, layouts, extreme(s.rand))
	if isGradient(s.id) {
		c.in[0].fill(uniform(s.rand))
	}
	return c
}

// elementwiseInPlace writes over the first, the second and both inputs.
func (s *suite) elementwiseInPlace() {
	for _, dims := range [][]int64{{40009}, {1}, {7}, {257}, {9, 31}, {2, 3, 5}} {
		layouts := writable
		if dims[0] == 40009 { // several threads
			layouts = writable[:1]
		}
		for _, l := range layouts {
			for over := range inputs(s.id) {
				c := s.wildCall(dims, [4]layout{l, l, l, l})
				if c.in[over].view.DType != c.out[0].view.DType {
					continue
				}
				c.out[0] = c.in[over]
				s.check(c)
				if len(c.in) == 2 {
					c.in[1-over] = c.in[over]
					s.check(c)
				}
			}
		}
	}
}

// resultsFrom has the least of the results, none above 1, that the gradient op
// of a function sees as its second input.
var resultsFrom = map[kernels.ID]float64{kernels.TanhGrad: -1, kernels.SigmoidGrad: 0}

// moreAttrs returns scalars to try extreme numbers with; nil: the usual ones.
func (s *suite) moreAttrs() []*kernels.Attr {
	all := []*kernels.Attr{nil}
	switch s.id {
	case kernels.PowScalar:
		for _, x := range []float64{0, 1, 2, 3, -1, -2, 0.5, -0.5, math.Inf(1), math.Inf(-1), math.NaN()} {
			all = append(all, &kernels.Attr{Alpha: x})
		}
	case kernels.Clamp, kernels.ClampGrad:
		for _, x := range [][2]float64{{0, math.Inf(1)}, {math.Inf(-1), 0}, {2, 1}, {0, 0}} {
			all = append(all, &kernels.Attr{Alpha: x[0], Beta: x[1]})
		}
	case kernels.LeakyReLU, kernels.LeakyReLUGrad:
		all = append(all, &kernels.Attr{}, &kernels.Attr{Alpha: -1})
	}
	return all
}
