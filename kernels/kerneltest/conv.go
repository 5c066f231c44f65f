package kerneltest

import (
	"slices"

	"tarn/kernels"
)

var convFamily = family{name: "conv", ids: []kernels.ID{kernels.Conv, kernels.ConvGradInput, kernels.ConvGradWeight}, cases: (*suite).conv,
	sample: (*suite).sampleConv, decode: (*suite).decodeConv, large: (*suite).largeConvs, scales: summedScales}

func isConv(id kernels.ID) bool { return slices.Contains(convFamily.ids, id) }

func (s *suite) sampleConv(bool) *call {
	return s.convCall(plainConv(2, 4, 5, 5, 4, 3, 3).padded(1, 1).grouped(2), true, inOrder, uniform(s.rand), uniform(s.rand))
}

func (s *suite) decodeConv(src *source, values generator) *call {
	lie := func(list []layout) layout { return list[src.below(len(list))] }
	return s.convCall(s.anyConv(), src.below(2) == 1, lie, values, uniform(s.rand))
}

func (s *suite) largeConvs() []*call {
	var all []*call
	for _, g := range []convShape{
		plainConv(3, 20, 33, 35, 50, 3, 3).padded(1, 1), plainConv(2, 3, 51, 61, 33, 7, 7).padded(3, 3).strided(2, 2),
		plainConv(3, 48, 30, 31, 48, 3, 3).padded(1, 1).grouped(48), plainConv(9, 70, 7, 7, 130, 3, 3).padded(1, 1).grouped(2),
	} {
		all = append(all, s.convCall(g, true, inOrder, uniform(s.rand), uniform(s.rand)))
	}
	return all
}

// inOrder chooses dense operands.
func inOrder([]layout) layout { return dense }

// convShape is x [n,c,h,w] under a weight [o,c/groups,kh,kw].
type convShape struct {
	n, c, h, w, o, kh, kw int64

	attr kernels.ConvAttr
}

// plainConv is a convolution with stride 1, no padding, no dilation, one group.
func plainConv(n, c, h, w, o, kh, kw int64) convShape {
	return convShape{n, c, h, w, o, kh, kw,
		kernels.ConvAttr{Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}, Groups: 1}}
}

func (c convShape) strided(h, w int) convShape { c.attr.Stride = [2]int{h, w}; return c }
func (c convShape) padded(h, w int) convShape  { c.attr.Padding = [2]int{h, w}; return c }
func (c convShape) dilated(h, w int) convShape { c.attr.Dilation = [2]int{h, w}; return c }
func (c convShape) grouped(n int) convShape    { c.attr.Groups = n; return c }

// convCall returns a call of s.id, with a bias for Conv if asked for. lie chooses
// the layout of an operand, data and weight their values: of the operand that
// takes the weight's part dy for the weight's gradient.
func (s *suite) convCall(g convShape, bias bool, lie func(list []layout) layout, data, weight generator) *call {
	oh := kernels.Windows(g.h, g.kh, g.attr.Stride[0], g.attr.Padding[0], g.attr.Dilation[0])
	ow := kernels.Windows(g.w, g.kw, g.attr.Stride[1], g.attr.Padding[1], g.attr.Dilation[1])
	c := &call{id: s.id, attr: kernels.Attr{Conv: g.attr}}
	x, w, y := []int64{g.n, g.c, g.h, g.w}, []int64{g.o, g.c / int64(g.attr.Groups), g.kh, g.kw}, []int64{g.n, g.o, oh, ow}
	in := func(dims []int64, values generator) operand {
		return place(s.rand, s.dtype, dims, lie(readable)).fill(values)
	}
	out := func(dims []int64) []operand { return []operand{place(s.rand, s.dtype, dims, lie(writable))} }
	switch s.id {
	case kernels.ConvGradInput:
		c.out, c.in = out(x), []operand{in(y, data), in(w, weight)}
	case kernels.ConvGradWeight:
		c.out, c.in = out(w), []operand{in(y, weight), in(x, data)}
	default:
		c.out, c.in = out(y), []operand{in(x, data), in(w, weight)}
		if bias {
			c.in = append(c.in, in([]int64{g.o}, weight))
		}
	}
	return c
}

// convShapes have one thing each that a fast body takes another way for.
func convShapes() []convShape {
	p := plainConv
	return []convShape{
		p(1, 1, 1, 1, 1, 1, 1), p(2, 3, 5, 7, 4, 3, 3), p(1, 5, 9, 6, 3, 1, 1), p(2, 3, 8, 8, 2, 5, 1),
		p(2, 3, 7, 7, 4, 3, 3).padded(1, 1), p(1, 4, 6, 5, 9, 3, 3).padded(1, 2).strided(2, 1),
		p(2, 3, 15, 14, 5, 7, 7).padded(3, 3).strided(2, 2), p(1, 2, 9, 10, 3, 3, 2).dilated(2, 3).padded(2, 0),
		p(2, 2, 11, 9, 3, 3, 3).dilated(2, 2).strided(3, 2).padded(1, 3), p(1, 2, 6, 6, 2, 2, 2).strided(4, 5),
		p(1, 2, 4, 4, 2, 3, 3).padded(5, 4), p(1, 2, 1, 40, 3, 1, 5).padded(0, 2), // 1-d; padding wider than the kernel
		p(2, 3, 6, 7, 4, 1, 1).strided(2, 2), p(2, 3, 6, 7, 4, 1, 1).padded(1, 1),
		p(2, 6, 7, 5, 4, 3, 3).grouped(2).padded(1, 1), p(1, 6, 7, 5, 9, 2, 3).grouped(3).strided(2, 1),
		p(2, 5, 8, 9, 5, 3, 3).grouped(5).padded(1, 1), p(2, 4, 9, 35, 4, 3, 3).grouped(4).padded(1, 1).strided(2, 2),
		p(1, 3, 9, 9, 6, 3, 3).grouped(3).padded(2, 2).dilated(2, 2), p(1, 4, 9, 9, 4, 5, 5).grouped(4).padded(2, 2),
		p(1, 3, 7, 70, 3, 3, 5).grouped(3).padded(1, 2).strided(1, 3), p(1, 2, 3, 3, 2, 1, 1).grouped(2),
		p(0, 2, 5, 5, 3, 3, 3), p(2, 0, 5, 5, 3, 3, 3), p(2, 2, 5, 5, 0, 3, 3), p(1, 2, 0, 3, 3, 2, 2).padded(1, 1),
		p(2, 17, 9, 9, 33, 3, 3).padded(1, 1), p(5, 16, 7, 7, 24, 3, 3).padded(1, 1), p(3, 33, 5, 5, 65, 1, 1),
	}
}

func (s *suite) conv() {
	values := uniform(s.rand)
	for _, g := range convShapes() {
		for _, bias := range []bool{false, true} {
			s.check(s.convCall(g, bias, inOrder, values, values))
			s.check(s.convCall(g, bias, s.pick, values, values))
		}
		// NaN and infinities reach what they should, and nothing else. What
		// padding meets is kept finite: 0 times that may be NaN or left out.
		s.check(s.convCall(g, true, inOrder, unruly(s.rand), values))
		s.check(s.convCall(g, true, s.pick, unruly(s.rand), values))
	}
	for range 60 {
		s.check(s.convCall(s.anyConv(), s.rand.IntN(2) == 0, s.pick, values, values))
	}
	for _, g := range []convShape{ // several blocks and threads
		plainConv(2, 36, 11, 13, 70, 3, 3).padded(1, 1), plainConv(1, 3, 30, 41, 33, 7, 7).padded(3, 3).strided(2, 2),
		plainConv(2, 20, 30, 31, 20, 3, 3).padded(1, 1).grouped(20), plainConv(2, 130, 11, 12, 70, 1, 1),
	} {
		s.check(s.convCall(g, true, inOrder, values, values))
	}
}

// anyConv returns a small convolution that is possible.
func (s *suite) anyConv() convShape {
	upTo := func(n int) int { return 1 + s.rand.IntN(n) }
	groups := upTo(3)
	g := plainConv(int64(upTo(3)), int64(groups*upTo(3)), int64(upTo(12)), int64(upTo(20)), int64(groups*upTo(4)), int64(upTo(4)), int64(upTo(4)))
	g = g.grouped(groups).strided(upTo(3), upTo(3)).padded(upTo(4)-1, upTo(4)-1).dilated(upTo(3), upTo(3))
	if (g.kh-1)*int64(g.attr.Dilation[0]) >= g.h+2*int64(g.attr.Padding[0]) {
		g.kh = 1
	}
	if (g.kw-1)*int64(g.attr.Dilation[1]) >= g.w+2*int64(g.attr.Padding[1]) {
		g.kw = 1
	}
	return g
}
