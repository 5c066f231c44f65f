package kerneltest

import (
	"math"

	"tarn/kernels"
)

var attentionFamily = family{name: "attention", ids: []kernels.ID{kernels.Attention, kernels.AttentionGrad},
	cases: (*suite).attention, sample: (*suite).sampleAttention, decode: (*suite).decodeAttention,
	large: (*suite).largeAttention, scales: attentionScales}

func (s *suite) sampleAttention(bool) *call {
	return s.attentionCall(heads{b: 1, h: 2, g: 1, l: 4, s: 5, d: 3, e: 3}, always(dense), uniform(s.rand))
}

func (s *suite) largeAttention() []*call {
	values := uniform(s.rand)
	x := heads{b: 2, h: 4, g: 2, l: 150, s: 203, d: 37, e: 41}
	all := []*call{s.attentionCall(x, always(dense), values), s.attentionCall(x, s.pick, values)}
	x.causal, x.mask = true, kernels.Bool
	return append(all, s.attentionCall(x, always(dense), values),
		s.attentionCall(heads{b: 1, h: 1, g: 1, l: 300, s: 300, d: 16, e: 16, causal: true}, always(dense), values))
}

// decodeAttention makes a call of the bytes of a fuzz input.
func (s *suite) decodeAttention(src *source, _ generator) *call {
	small := []int64{0, 1, 2, 3, 7, 8, 17, 33, 66}
	size := func() int64 { return small[src.below(len(small))] }
	form := src.below(6)
	x := heads{b: int64(src.below(3)), g: int64(1 + src.below(2)), l: size(), s: size(), d: size(), e: size(),
		mask: s.masks()[form%3], causal: form >= 3}
	x.h = x.g * int64(1+src.below(3))
	return s.attentionCall(x, func(list []layout) layout { return src.layout(len(list) == len(writable)) }, uniform(s.rand))
}

// heads is what an attention case varies: [b,h,l,d] and [b,g,s,d] and e, the
// size of a value.
type heads struct {
	b, h, g, l, s, d, e int64

	mask   kernels.DType // Invalid: none
	causal bool
	scale  float64 // 0: 1/sqrt(d)
}

// attentionCall returns a call of s.id. pick gives the layout of an operand.
func (s *suite) attentionCall(x heads, pick func(list []layout) layout, g generator) *call {
	c := &call{id: kernels.Attention}
	c.attr.Attention = kernels.AttentionAttr{Scale: x.scale, Causal: x.causal}
	if x.scale == 0 {
		c.attr.Attention.Scale = 1 / math.Sqrt(float64(max(x.d, 1)))
	}
	in := func(dims ...int64) operand { return place(s.rand, s.dtype, dims, pick(readable)).fill(g) }
	out := func(dims ...int64) operand { return place(s.rand, s.dtype, dims, pick(writable)) }
	logsumexp := out(x.b, x.h, x.l)
	if s.dtype.IsHalf() {
		logsumexp = place(s.rand, kernels.Float32, []int64{x.b, x.h, x.l}, pick(writable))
	}
	c.out = []operand{out(x.b, x.h, x.l, x.e), logsumexp}
	c.in = []operand{in(x.b, x.h, x.l, x.d), in(x.b, x.g, x.s, x.d), in(x.b, x.g, x.s, x.e)}
	if x.mask != kernels.Invalid {
		c.in = append(c.in, place(s.rand, x.mask, []int64{x.b, x.h, x.l, x.s}, pick(readable)).fill(s.maskValues()))
	}
	if s.id == kernels.Attention {
		return c
	}
	results := c.values(c.run(reference))
	given := func(n int) operand {
		return c.out[n].fill(func(d kernels.DType, i int) uint64 { return toBits(d, results[n][i]) })
	}
	grad := &call{id: s.id, attr: c.attr, out: []operand{
		out(x.b, x.h, x.l, x.d), out(x.b, x.g, x.s, x.d), out(x.b, x.g, x.s, x.e)}}
	grad.in = append(grad.in, in(x.b, x.h, x.l, x.e), c.in[0], c.in[1], c.in[2], given(0), given(1))
	grad.in = append(grad.in, c.in[3:]...)
	return grad
}

// maskValues hides one key in three.
func (s *suite) maskValues() generator {
	return func(d kernels.DType, _ int) uint64 {
		hidden := s.rand.IntN(3) == 0
		switch {
		case d == kernels.Bool && hidden:
			return 0
		case d == kernels.Bool:
			return 1
		case hidden:
			return toBits(d, math.Inf(-1))
		}
		return toBits(d, 4*s.rand.Float64()-2)
	}
}

func always(l layout) func([]layout) layout { return func([]layout) layout { return l } }

// masks are the forms of a mask.
func (s *suite) masks() []kernels.DType {
	return []kernels.DType{kernels.Invalid, s.dtype, kernels.Bool}
}

// checkAttention makes a call only if it is one that check looks at: that of a
// gradient takes the reference's forward.
func (s *suite) checkAttention(x heads, pick func([]layout) layout, g generator) {
	s.Helper()
	s.checkMade(func() *call { return s.attentionCall(x, pick, g) })
}

func (s *suite) checkHidden(x heads, i, lo, hi int64) {
	s.Helper()
	s.checkMade(func() *call { return s.hideFrom(x, i, lo, hi) })
}

func (s *suite) checkMade(make func() *call) {
	s.Helper()
	if (s.calls+1)%s.every != 0 {
		s.calls++
		return
	}
	s.check(make())
}

func (s *suite) attention() {
	values := uniform(s.rand)
	for _, n := range []int64{0, 1, 2, 7, 8, 9, 16, 17, 31, 33, 63, 65, 130} { // each size at each place
		for i, x := range []heads{
			{b: 1, h: 1, g: 1, l: n, s: 9, d: 5, e: 3}, {b: 1, h: 2, g: 1, l: 7, s: n, d: 4, e: 8},
			{b: 2, h: 1, g: 1, l: 5, s: 6, d: n, e: 7}, {b: 1, h: 1, g: 1, l: 9, s: 5, d: 3, e: n},
			{b: 1, h: 2, g: 2, l: n, s: n, d: 16, e: 16},
		} {
			for _, x.mask = range s.masks() {
				x.causal = (int(n)+i)%2 == 0
				s.checkAttention(x, always(dense), values)
				s.checkAttention(x, s.pick, values)
			}
		}
	}
	for _, x := range []heads{ // nothing, and heads that share
		{b: 0, h: 2, g: 1, l: 3, s: 3, d: 3, e: 3}, {b: 2, h: 0, g: 0, l: 3, s: 3, d: 3, e: 3}, {b: 2, h: 0, g: 3, l: 3, s: 3, d: 3, e: 3},
		{b: 2, h: 6, g: 2, l: 11, s: 13, d: 5, e: 6}, {b: 1, h: 4, g: 1, l: 3, s: 70, d: 8, e: 8}, {b: 1, h: 1, g: 1, l: 3, s: 0, d: 4, e: 0},
	} {
		for _, x.mask = range s.masks() {
			s.checkAttention(x, s.pick, values)
		}
	}
	for range 30 {
		x := heads{b: 1 + s.rand.Int64N(2), g: 1 + s.rand.Int64N(2), l: s.rand.Int64N(90), s: s.rand.Int64N(90),
			d: s.rand.Int64N(40), e: s.rand.Int64N(40), causal: s.rand.IntN(2) == 0, mask: s.masks()[s.rand.IntN(3)]}
		x.h = x.g * (1 + s.rand.Int64N(3))
		s.checkAttention(x, s.pick, values)
	}
	tiled := []heads{ // many tiles
		{b: 1, h: 2, g: 1, l: 140, s: 290, d: 64, e: 64}, {b: 1, h: 1, g: 1, l: 70, s: 530, d: 33, e: 40},
		{b: 1, h: 1, g: 1, l: 150, s: 150, d: 128, e: 80},
	}
	if s.every > 1 {
		tiled = []heads{{b: 1, h: 1, g: 1, l: 66, s: 140, d: 10, e: 70}, {b: 1, h: 2, g: 1, l: 130, s: 65, d: 68, e: 5}}
	}
	for _, x := range tiled {
		for _, x.causal = range []bool{false, true} {
			s.checkAttention(x, always(dense), values)
		}
		x.mask = s.dtype
		s.checkAttention(x, always(dense), values)
	}
	s.attentionExtremes()
}

// attentionExtremes: large scores, of which one key takes all; rows that see
// nothing; scores that are NaN or infinite, which spoil their rows alone.
func (s *suite) attentionExtremes() {
	for _, mask := range s.masks() {
		for _, causal := range []bool{false, true} {
			x := heads{b: 1, h: 2, g: 1, l: 40, s: 70, d: 8, e: 9, mask: mask, causal: causal, scale: 100}
			s.checkAttention(x, always(dense), uniform(s.rand))
			x.scale = -0.5
			s.checkAttention(x, always(dense), uniform(s.rand))
			if mask != kernels.Invalid {
				s.checkHidden(x, 3, 0, 70)   // one row all
				s.checkHidden(x, 3, 0, 66)   // all but the last
				s.checkHidden(x, 39, 30, 40) // a part of it
			}
		}
	}
	if s.id == kernels.AttentionGrad {
		return // NaN times 0 in the rows that are not to be spoilt
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, operand := range []int{0, 1} {
			x := heads{b: 1, h: 1, g: 1, l: 20, s: 35, d: 4, e: 5}
			c := s.attentionCall(x, always(dense), between(s.rand, 0.5, 1))
			v := c.in[operand]
			offsets(&v.view, func(i int, off int64) {
				if i == 4*7+2 { // row 7
					put(v.mem.initial()[off:], s.dtype, toBits(s.dtype, bad))
				}
			})
			s.check(c)
		}
	}
}

// hideFrom returns a call whose mask hides the keys lo to hi-1 from query i.
func (s *suite) hideFrom(x heads, i, lo, hi int64) *call {
	c := s.attentionCall(x, always(dense), uniform(s.rand))
	m := c.in[len(c.in)-1]
	offsets(&m.view, func(n int, off int64) {
		if j := int64(n) % x.s; int64(n)/x.s%x.l == i && j >= lo && j < hi {
			hidden := math.Inf(-1)
			if x.mask == kernels.Bool {
				hidden = 0
			}
			put(m.mem.initial()[off:], x.mask, toBits(x.mask, hidden))
		}
	})
	if s.id == kernels.Attention {
		return c
	}
	// o and logsumexp must be those of the changed mask.
	forward := &call{id: kernels.Attention, attr: c.attr, in: append(c.in[1:4:4], m), out: c.in[4:6:6]}
	results := forward.values(forward.run(reference))
	for n, o := range forward.out {
		o.fill(func(d kernels.DType, i int) uint64 { return toBits(d, results[n][i]) })
	}
	return c
}
