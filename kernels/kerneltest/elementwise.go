package kerneltest

import (
	"math"

	"tarn/kernels"
)

// inputs returns how many inputs the elementwise op has.
func inputs(id kernels.ID) int {
	switch id {
	case kernels.Fill:
		return 0
	case kernels.Add, kernels.Sub, kernels.Mul, kernels.Div, kernels.ReLUGrad:
		return 2
	}
	return 1
}

// elementwiseCall returns a call for the given dims; layouts has the one of
// the output first.
func (s *suite) elementwiseCall(dims []int64, layouts [3]layout, g generator) *call {
	c := &call{id: s.id, attr: kernels.Attr{Alpha: -1.5, Beta: 0.75}}
	c.out = []operand{place(s.rand, s.dtype, dims, layouts[0])}
	for i := range inputs(s.id) {
		c.in = append(c.in, place(s.rand, s.dtype, dims, layouts[1+i]).fill(g))
	}
	return c
}

func (s *suite) elementwise() {
	values := uniform(s.rand)
	for _, dims := range everyShape() {
		for _, l := range writable { // all alike
			s.check(s.elementwiseCall(dims, [3]layout{l, l, l}, values))
		}
		for _, l := range readable { // one strange operand among dense ones
			s.check(s.elementwiseCall(dims, [3]layout{dense, l, dense}, values))
			s.check(s.elementwiseCall(dims, [3]layout{dense, dense, l}, values))
		}
		for range 4 {
			s.check(s.elementwiseCall(dims, [3]layout{s.pick(writable), s.pick(readable), s.pick(readable)}, values))
		}
		s.check(s.elementwiseCall(dims, [3]layout{dense, expanded, expanded}, values))
	}
	s.elementwiseExtremes()
	s.elementwiseInPlace()
	for _, dims := range [][]int64{{70001}, {257, 255}, {3, 40009}} { // enough for several threads
		s.check(s.elementwiseCall(dims, [3]layout{dense, dense, dense}, values))
		s.check(s.elementwiseCall(dims, [3]layout{s.pick(writable), s.pick(readable), expanded}, values))
	}
}

// elementwiseExtremes tests NaN, infinities, denormals and the like, each
// against each for two inputs.
func (s *suite) elementwiseExtremes() {
	list := extremes[s.dtype]
	if s.id == kernels.Affine {
		// A body with a fused multiply-add keeps products that the reference
		// loses to overflow.
		s.check(s.elementwiseCall([]int64{1000}, [3]layout{dense, dense, dense}, unruly(s.rand)))
		return
	}
	n := int64(len(list))
	if n > 0 {
		c := s.elementwiseCall([]int64{n, n}, [3]layout{dense, dense, dense}, uniform(s.rand))
		for i := range c.in {
			c.in[i].fill(func(d kernels.DType, at int) uint64 {
				if i == 0 {
					at /= len(list)
				}
				return toBits(d, list[at%len(list)])
			})
		}
		s.check(c)
	}
	for _, l := range writable {
		s.check(s.elementwiseCall([]int64{257}, [3]layout{l, l, l}, extreme(s.rand)))
		s.check(s.elementwiseCall([]int64{7, 19}, [3]layout{l, dense, dense}, extreme(s.rand)))
	}
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
				c := s.elementwiseCall(dims, [3]layout{l, l, l}, extreme(s.rand))
				if s.id == kernels.Affine {
					c = s.elementwiseCall(dims, [3]layout{l, l, l}, unruly(s.rand))
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

func (s *suite) fill() {
	fillCall := func(dims []int64, l layout, v float64) *call {
		c := s.elementwiseCall(dims, [3]layout{l}, nil)
		c.attr.Alpha = v
		return c
	}
	values := []float64{0, 1, -2, 1e6}
	if s.dtype.IsFloat() {
		values = append(values, -2.5, 1e30, 1e-40, math.Inf(-1), math.NaN(), math.Copysign(0, -1))
	}
	for i, dims := range everyShape() {
		for _, l := range writable {
			s.check(fillCall(dims, l, values[i%len(values)]))
		}
	}
	for _, v := range values {
		s.check(fillCall([]int64{33}, dense, v))
	}
	for _, dims := range [][]int64{{70001}, {3, 40009}} { // several threads
		s.check(fillCall(dims, dense, 7))
		s.check(fillCall(dims, s.pick(writable), 7))
	}
}

// copies tests Copy into s.dtype from every dtype.
func (s *suite) copies() {
	for _, from := range []kernels.DType{kernels.Float32, kernels.Float64, kernels.Int64} {
		copyCall := func(dims []int64, out, in layout, g generator) *call {
			return &call{id: kernels.Copy,
				out: []operand{place(s.rand, s.dtype, dims, out)},
				in:  []operand{place(s.rand, from, dims, in).fill(g)}}
		}
		values := between(s.rand, -1e4, 1e4)
		for _, dims := range everyShape() {
			for _, l := range writable {
				s.check(copyCall(dims, l, dense, values))
			}
			for _, l := range readable {
				s.check(copyCall(dims, dense, l, values))
			}
			s.check(copyCall(dims, s.pick(writable), s.pick(readable), values))
		}
		for _, dims := range [][]int64{{70001}, {257, 255}} { // several threads
			s.check(copyCall(dims, dense, dense, values))
			s.check(copyCall(dims, s.pick(writable), s.pick(readable), values))
		}
		if s.dtype != kernels.Int64 || from == kernels.Int64 { // no int64 is right for NaN or 1e300
			s.check(copyCall([]int64{1000}, dense, dense, extreme(s.rand)))
			s.check(copyCall([]int64{9, 31}, dense, writable[2], extreme(s.rand)))
		}
		if s.dtype.Size() == from.Size() {
			c := copyCall([]int64{33, 5}, dense, dense, values)
			c.out[0] = c.in[0]
			c.out[0].view.DType = s.dtype
			s.check(c)
		}
	}
}
