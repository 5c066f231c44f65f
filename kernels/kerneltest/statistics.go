package kerneltest

import (
	"math"

	"tarn/kernels"
)

var (
	varFamily = family{name: "var", ids: []kernels.ID{kernels.Var}, cases: (*suite).variances,
		sample: (*suite).sampleVar, decode: (*suite).decodeVar, large: (*suite).largeVar, scales: varScales}
	powerFamily = family{name: "norm", ids: []kernels.ID{kernels.LogSumExp, kernels.Norm}, cases: (*suite).powers,
		sample: (*suite).sampleReduce, decode: (*suite).decodeReduce, large: (*suite).largeReduce, scales: powerScales}
)

func (s *suite) varCall(dims []int64, bits int, out, in layout, g generator) *call {
	c := s.reduceCall(dims, bits, out, in, g)
	c.out = append(c.out, place(s.rand, s.dtype, reducedDims(dims, bits), s.pick(writable)))
	c.attr = kernels.Attr{Correction: 1}
	return c
}

func (s *suite) sampleVar(bool) *call {
	return s.varCall([]int64{4, 5}, 2, dense, dense, uniform(s.rand))
}

func (s *suite) decodeVar(src *source, values generator) *call {
	c := s.varCall(src.dims(), src.below(64), src.layout(true), src.layout(false), values)
	c.attr.Correction = float64(src.below(2))
	return c
}

func (s *suite) largeVar() []*call {
	var all []*call
	for _, dims := range [][]int64{{100_003}, {257, 403}, {20_011, 5}} {
		for _, bits := range s.reduceSets(len(dims)) {
			all = append(all, s.varCall(dims, bits, dense, dense, uniform(s.rand)))
		}
	}
	return all
}

// varScales refer to the variance and what the rounding of the mean makes of
// it, and to the size of what the mean is of.
func varScales(c *call, want result) scales {
	all := sizeScales(c, want)
	sizes := &call{id: kernels.Sum, attr: kernels.Attr{Alpha: float64(c.out[0].view.Len()) / float64(max(c.in[0].view.Len(), 1))},
		out: c.out[1:], in: c.in}
	all[1] = summedScales(sizes, want)[0]
	for i, m := range all[1] {
		all[0][i] += epsilon(c.out[0].view.DType) * m * m
	}
	return all
}

func (s *suite) variances() {
	// Around 1000 a difference of squares would have no digits left.
	for _, values := range []generator{uniform(s.rand), between(s.rand, 999, 1001), unruly(s.rand)} {
		for _, dims := range append(everyShape(), []int64{65, 130}, []int64{130, 65}, []int64{9, 33, 140}) {
			for _, bits := range s.reduceSets(len(dims)) {
				for correction := range 2 {
					c := s.varCall(dims, bits, s.pick(writable), s.pick(readable), values)
					c.attr.Correction = float64(correction)
					s.check(c)
				}
			}
		}
	}
	for _, dims := range [][]int64{{100_003}, {300, 401}, {2, 50_021}} { // several threads
		for _, bits := range s.reduceSets(len(dims))[1:] {
			s.check(s.varCall(dims, bits, s.pick(writable), s.pick(readable), between(s.rand, 999, 1001)))
		}
	}
}

// powerScales refer to the results, which nothing cancels in but the logarithm
// of a number near 1.
func powerScales(c *call, want result) scales {
	all := sizeScales(c, want)
	if c.id == kernels.LogSumExp {
		for i := range all[0] {
			all[0][i]++
		}
	}
	return all
}

func (s *suite) powers() {
	exponents := []float64{0, 1, 2, 3, 0.5, -1}
	if s.id == kernels.LogSumExp {
		exponents = exponents[:1]
	}
	far := between(s.rand, -300, 300) // beyond where exp overflows
	if s.id == kernels.Norm {
		far = between(s.rand, 0.5, 2)
	}
	list := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 2, -1.5}
	wild := func(d kernels.DType, _ int) uint64 { return toBits(d, list[s.rand.IntN(len(list))]) }
	infinite := func(d kernels.DType, _ int) uint64 { return toBits(d, math.Inf(s.rand.IntN(9)-8)) }
	for _, p := range exponents {
		for _, values := range []generator{uniform(s.rand), far, wild, infinite} {
			for _, dims := range append(everyShape(), []int64{65, 130}, []int64{9, 33, 140}) {
				for _, bits := range s.reduceSets(len(dims)) {
					c := s.reduceCall(dims, bits, s.pick(writable), s.pick(readable), values)
					c.attr.Alpha = p
					s.check(c)
				}
			}
		}
	}
	for _, dims := range [][]int64{{100_003}, {300, 401}, {2, 50_021}} { // several threads
		for _, bits := range s.reduceSets(len(dims))[1:] {
			c := s.reduceCall(dims, bits, s.pick(writable), s.pick(readable), far)
			c.attr.Alpha = 2
			s.check(c)
		}
	}
}
