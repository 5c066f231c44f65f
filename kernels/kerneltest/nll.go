package kerneltest

import (
	"math"

	"tarn/kernels"
)

var nllFamily = family{name: "nll", ids: []kernels.ID{kernels.NLL, kernels.NLLGrad}, cases: (*suite).nll,
	sample: (*suite).sampleNLL, decode: (*suite).decodeNLL, large: (*suite).largeNLL, scales: (*call).nllScales}

func (s *suite) sampleNLL(bool) *call {
	c := s.nllCall(4, 5, true, 0.1, dense, uniform(s.rand))
	dims := []int64{4}
	if s.id == kernels.NLLGrad {
		dims = []int64{4, 5}
	}
	c.out[0] = place(s.rand, s.dtype, dims, dense)
	return c
}

func (s *suite) decodeNLL(src *source, values generator) *call {
	return s.nllCall(src.size(), src.size(), src.below(2) == 1, float64(src.below(3))/2, src.layout(false), values)
}

func (s *suite) largeNLL() []*call {
	values := between(s.rand, -8, 0)
	return []*call{s.nllCall(4001, 33, true, 0.25, dense, values), s.nllCall(100_003, 2, true, 0, dense, values)}
}

// nllCall returns a call for n rows of c classes, of which some are to be
// ignored.
func (s *suite) nllCall(n, c int64, weighted bool, smoothing float64, l layout, g generator) *call {
	const ignore = -100
	classes := place(s.rand, kernels.Int64, []int64{n}, s.pick(writable))
	classes.fill(func(d kernels.DType, i int) uint64 {
		if c == 0 || s.rand.IntN(5) == 0 {
			return ^uint64(0) - 99 // -100
		}
		return below(s.rand, c)(d, i)
	})
	call := &call{id: s.id, attr: kernels.Attr{Loss: kernels.LossAttr{Ignore: ignore, Smoothing: smoothing}}}
	if s.id == kernels.NLL {
		call.out = []operand{place(s.rand, s.dtype, []int64{n}, s.pick(writable)), place(s.rand, s.dtype, []int64{n}, s.pick(writable))}
		call.in = []operand{place(s.rand, s.dtype, []int64{n, c}, l).fill(g), classes}
	} else {
		call.out = []operand{place(s.rand, s.dtype, []int64{n, c}, s.pick(writable))}
		call.in = []operand{place(s.rand, s.dtype, []int64{n}, l).fill(g), classes}
	}
	if weighted {
		call.in = append(call.in, place(s.rand, s.dtype, []int64{c}, s.pick(readable)).fill(between(s.rand, 0, 2)))
	}
	return call
}

func (s *suite) nll() {
	values := between(s.rand, -8, 0)
	for _, n := range sizes {
		for form := range 4 {
			smoothing := float64(form/2) * 0.1
			for _, l := range readable {
				s.check(s.nllCall(n, 10, form%2 == 1, smoothing, l, values))
				s.check(s.nllCall(5, n, form%2 == 1, smoothing, l, values))
			}
			s.check(s.nllCall(33, n, form%2 == 1, smoothing, s.pick(readable), unruly(s.rand)))
		}
	}
	for _, c := range s.largeNLL() {
		s.check(c)
	}
	for _, bad := range []int64{-1, 10, 11, 1 << 31, 1 << 32, math.MaxInt64, math.MinInt64} {
		c := s.nllCall(50, 10, false, 0.1, dense, values)
		classes := c.in[1]
		offsets(&classes.view, func(i int, off int64) {
			if i == 37 {
				put(classes.mem.initial()[off:], kernels.Int64, uint64(bad))
			}
		})
		s.check(c)
		s.namesIndex(c, 37, bad)
	}
}

// nllScales adds up the sizes of what a loss is made of; a gradient is a product
// or the sum of two of one sign.
func (c *call) nllScales(want result) scales {
	s := c.values(want)
	if c.id == kernels.NLLGrad {
		for i, v := range s[0] {
			s[0][i] = math.Abs(v)
		}
		return s
	}
	logp := c.in[0].numbers()
	columns := int(c.in[0].view.Dims[1])
	for i := range s[0] {
		s[0][i], s[1][i] = math.Abs(s[0][i]), math.Abs(s[1][i])
		for j := range columns {
			s[0][i] += math.Abs(logp[i*columns+j]) * weightOf(c.in, 2, j, 1) * c.attr.Loss.Smoothing / float64(columns)
		}
	}
	return s
}
