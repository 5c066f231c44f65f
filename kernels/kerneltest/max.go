package kerneltest

import (
	"math"

	"tarn/kernels"
)

var (
	maxGradFamily = family{name: "maxgrad", ids: []kernels.ID{kernels.MaxGrad}, cases: (*suite).maxGrad,
		sample: (*suite).sampleMaxGrad, decode: (*suite).decodeMaxGrad, large: (*suite).largeMaxGrad}
	argMaxFamily = family{name: "argmax", ids: []kernels.ID{kernels.ArgMax, kernels.ArgMin}, cases: (*suite).argMax,
		sample: (*suite).sampleArgMax, decode: (*suite).decodeArgMax, large: (*suite).largeArgMax}
)

func (s *suite) sampleMaxGrad(bool) *call {
	c := s.reduceCall([]int64{4, 5}, 2, dense, dense, uniform(s.rand))
	return &call{id: s.id, out: []operand{place(s.rand, s.dtype, []int64{4, 5}, dense)}, in: []operand{c.out[0], c.in[0], c.out[0]}}
}

func (s *suite) decodeMaxGrad(src *source, values generator) *call {
	dims, bits := src.dims(), src.below(64)
	c := s.reduceCall(dims, bits, src.layout(true), src.layout(false), values)
	dy := place(s.rand, s.dtype, reducedDims(dims, bits), src.layout(false)).fill(values)
	m := c.out[0].fill(ties(s.rand))
	return &call{id: s.id, out: []operand{place(s.rand, s.dtype, dims, src.layout(true))}, in: []operand{dy, c.in[0], m}}
}

func (s *suite) largeMaxGrad() []*call {
	x := place(s.rand, s.dtype, []int64{257, 403}, dense).fill(ties(s.rand))
	m := place(s.rand, s.dtype, []int64{257, 1}, dense).fill(between(s.rand, 1, 1))
	dy := place(s.rand, s.dtype, []int64{257, 1}, dense).fill(uniform(s.rand))
	return []*call{{id: s.id, out: []operand{place(s.rand, s.dtype, []int64{257, 403}, dense)}, in: []operand{dy, x, m}}}
}

func (s *suite) argMaxCall(dims []int64, axis int, out, in layout, g generator) *call {
	return &call{id: s.id, attr: kernels.Attr{Axis: axis},
		out: []operand{place(s.rand, kernels.Int64, reducedDims(dims, 1<<axis), out)},
		in:  []operand{place(s.rand, s.dtype, dims, in).fill(g)}}
}

func (s *suite) sampleArgMax(bool) *call {
	return s.argMaxCall([]int64{4, 5}, 1, dense, dense, uniform(s.rand))
}

func (s *suite) decodeArgMax(src *source, values generator) *call {
	return s.argMaxCall(src.dims(), src.below(7), src.layout(true), src.layout(false), values)
}

func (s *suite) largeArgMax() []*call {
	return []*call{s.argMaxCall([]int64{257, 403}, 1, dense, dense, ties(s.rand))}
}

func (s *suite) maxGrad() {
	grad := func(dims []int64, bits int, layouts [4]layout, g generator) *call {
		forward := &call{id: kernels.Max, attr: kernels.Attr{}}
		x := place(s.rand, s.dtype, dims, layouts[1]).fill(g)
		m := place(s.rand, s.dtype, reducedDims(dims, bits), layouts[2])
		forward.out, forward.in = []operand{m}, []operand{x}
		r := forward.run(reference)
		if r.err != nil {
			return nil // nothing to reduce: Max refuses it
		}
		copy(m.mem.initial(), r.bytes[m.mem])
		dy := place(s.rand, s.dtype, reducedDims(dims, bits), layouts[3]).fill(uniform(s.rand))
		return &call{id: kernels.MaxGrad,
			out: []operand{place(s.rand, s.dtype, dims, layouts[0])}, in: []operand{dy, x, m}}
	}
	for _, dims := range append(everyShape(), []int64{65, 130}) {
		for _, bits := range s.reduceSets(len(dims)) {
			for _, g := range []generator{ties(s.rand), uniform(s.rand), unruly(s.rand)} {
				for _, layouts := range [][4]layout{
					{dense, dense, dense, dense},
					{s.pick(writable), s.pick(readable), s.pick(writable), s.pick(readable)},
				} {
					if c := grad(dims, bits, layouts, g); c != nil {
						s.check(c)
					}
				}
			}
		}
	}
	for _, dims := range [][]int64{{300, 401}, {40009}} { // several threads
		for _, bits := range s.reduceSets(len(dims)) {
			s.check(grad(dims, bits, [4]layout{}, ties(s.rand)))
		}
	}
}

func (s *suite) argMax() {
	for _, dims := range [][]int64{{300, 401}, {40009}} { // several threads
		for axis := range dims {
			s.check(s.argMaxCall(dims, axis, dense, s.pick(readable), uniform(s.rand)))
		}
	}
	for _, dims := range append(everyShape(), []int64{65, 130}) {
		for axis := range dims {
			for _, g := range []generator{ties(s.rand), uniform(s.rand), extreme(s.rand)} {
				for _, l := range readable {
					s.check(s.argMaxCall(dims, axis, dense, l, g))
				}
				s.check(s.argMaxCall(dims, axis, s.pick(writable), s.pick(readable), g))
			}
		}
	}
	if !s.dtype.IsFloat() {
		return
	}
	for _, sign := range []int{1, -1} {
		s.check(s.argMaxCall([]int64{5}, 0, dense, dense, func(d kernels.DType, _ int) uint64 { return toBits(d, math.Inf(sign)) }))
	}
}
