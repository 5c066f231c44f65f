package kerneltest

import (
	"slices"

	"tarn/kernels"
)

var poolFamily = family{name: "pool", cases: (*suite).pool,
	ids: []kernels.ID{kernels.MaxPool, kernels.MaxPoolGrad, kernels.AvgPool, kernels.AvgPoolGrad,
		kernels.AdaptiveAvgPool, kernels.AdaptiveAvgPoolGrad},
	sample: (*suite).samplePool, decode: (*suite).decodePool, large: (*suite).largePools, scales: poolScales}

// hasWindows reports whether id is a pooling that goes by Attr.Pool.
func hasWindows(id kernels.ID) bool { return slices.Contains(poolFamily.ids, id) && !isAdaptive(id) }

// poolScales: a choice needs none.
func poolScales(c *call, want result) scales {
	if c.id == kernels.MaxPool {
		return nil
	}
	return summedScales(c, want)
}

func (s *suite) samplePool(bool) *call {
	return s.poolCall(plainPool(2, 3, 6, 6, 2, 2, 2, 2), inOrder, uniform(s.rand))
}

func (s *suite) decodePool(src *source, values generator) *call {
	return s.poolCall(s.anyPool(), func(list []layout) layout { return list[src.below(len(list))] }, values)
}

func (s *suite) largePools() []*call {
	return []*call{s.poolCall(plainPool(5, 13, 61, 67, 3, 3, 2, 2).padded(1, 1), inOrder, uniform(s.rand))}
}

// poolShape is x [n,c,h,w] under windows; y has oh by ow bins where the pooling
// is adaptive.
type poolShape struct {
	n, c, h, w, oh, ow int64

	attr kernels.PoolAttr
}

// isAdaptive reports whether id is told how many windows to make, and not which.
func isAdaptive(id kernels.ID) bool {
	return id == kernels.AdaptiveAvgPool || id == kernels.AdaptiveAvgPoolGrad
}

func plainPool(n, c, h, w int64, kh, kw, sh, sw int) poolShape {
	return poolShape{n, c, h, w, int64(kh), int64(kw),
		kernels.PoolAttr{Kernel: [2]int{kh, kw}, Stride: [2]int{sh, sw}, Dilation: [2]int{1, 1}}}
}

func (p poolShape) padded(h, w int) poolShape  { p.attr.Padding = [2]int{h, w}; return p }
func (p poolShape) dilated(h, w int) poolShape { p.attr.Dilation = [2]int{h, w}; return p }
func (p poolShape) ceil() poolShape            { p.attr.CeilMode = true; return p }
func (p poolShape) counting() poolShape        { p.attr.CountIncludePad = true; return p }

// poolCall returns a call of s.id.
func (s *suite) poolCall(p poolShape, lie func(list []layout) layout, g generator) *call {
	x, y := []int64{p.n, p.c, p.h, p.w}, []int64{p.n, p.c, p.oh, p.ow}
	c := &call{id: s.id}
	if !isAdaptive(s.id) {
		if s.id != kernels.MaxPool && s.id != kernels.MaxPoolGrad {
			p.attr.Dilation = [2]int{1, 1}
			for d := range 2 { // at most half of the window, now that it is shorter
				p.attr.Padding[d] = min(p.attr.Padding[d], p.attr.Kernel[d]/2)
			}
		}
		y[2], y[3] = p.attr.PoolWindows(0, p.h), p.attr.PoolWindows(1, p.w)
		c.attr.Pool = p.attr
	}
	in := func(dims []int64) operand { return place(s.rand, s.dtype, dims, lie(readable)).fill(g) }
	out := func(dims []int64) []operand { return []operand{place(s.rand, s.dtype, dims, lie(writable))} }
	indices := func(l layout) operand { return place(s.rand, kernels.Int64, y, l) }
	switch s.id {
	case kernels.MaxPool:
		c.out, c.in = append(out(y), indices(lie(writable))), []operand{in(x)}
	case kernels.MaxPoolGrad:
		forward := &call{id: kernels.MaxPool, attr: c.attr, in: []operand{in(x)}}
		forward.out = append(out(y), indices(lie(writable)))
		where := forward.out[1]
		copy(where.mem.initial(), forward.run(reference).bytes[where.mem])
		c.out, c.in = out(x), []operand{in(y), where}
	case kernels.AvgPool, kernels.AdaptiveAvgPool:
		c.out, c.in = out(y), []operand{in(x)}
	default:
		c.out, c.in = out(x), []operand{in(y)}
	}
	return c
}

func (s *suite) pool() {
	p := plainPool
	list := []poolShape{
		p(1, 1, 1, 1, 1, 1, 1, 1), p(2, 3, 6, 8, 2, 2, 2, 2), p(2, 3, 7, 9, 3, 3, 2, 2).padded(1, 1), p(1, 2, 7, 7, 3, 2, 1, 1),
		p(2, 2, 7, 8, 3, 3, 2, 2).ceil(), p(2, 2, 7, 8, 3, 3, 2, 2).padded(1, 1).ceil().counting(), p(1, 3, 6, 7, 3, 2, 3, 4).padded(1, 1).counting(),
		p(1, 2, 2, 5, 3, 3, 2, 2).ceil(), p(1, 2, 9, 9, 3, 3, 1, 2).dilated(2, 3).padded(2, 1), p(1, 2, 8, 9, 2, 2, 5, 4), p(1, 2, 8, 9, 2, 2, 5, 4).ceil(),
		p(1, 2, 5, 1, 5, 1, 1, 1), p(1, 1, 1, 40, 1, 4, 1, 3).padded(0, 2), p(1, 2, 1, 1, 2, 2, 1, 1).dilated(3, 3).padded(1, 1).ceil(),
		p(0, 2, 4, 4, 2, 2, 2, 2), p(2, 0, 4, 4, 2, 2, 2, 2), p(2, 3, 33, 65, 3, 3, 2, 2).padded(1, 1), p(1, 2, 5, 7, 7, 9, 1, 1).padded(2, 3),
		p(1, 2, 3, 1203, 2, 3, 1, 2).padded(0, 1), p(2, 1, 3, 700, 2, 3, 1, 1).dilated(1, 5).padded(1, 1), p(1, 1, 2, 1500, 2, 5, 2, 4).padded(1, 2).counting(),
	}
	for _, shape := range list {
		if isAdaptive(s.id) && (shape.n == 0 || shape.c == 0) {
			shape.oh, shape.ow = 2, 3
		}
		for _, g := range []generator{uniform(s.rand), ties(s.rand), unruly(s.rand)} {
			s.check(s.poolCall(shape, inOrder, g))
			s.check(s.poolCall(shape, s.pick, g))
		}
		if s.id == kernels.MaxPool {
			s.check(s.poolCall(shape, inOrder, extreme(s.rand)))
		}
	}
	for range 40 {
		s.check(s.poolCall(s.anyPool(), s.pick, uniform(s.rand)))
		s.check(s.poolCall(s.anyPool(), s.pick, ties(s.rand)))
	}
	s.check(s.poolCall(plainPool(3, 7, 61, 67, 3, 3, 2, 2).padded(1, 1), inOrder, uniform(s.rand))) // several threads
}

// anyPool returns a small pooling that is possible.
func (s *suite) anyPool() poolShape {
	upTo := func(n int) int { return 1 + s.rand.IntN(n) }
	kh, kw := upTo(4), upTo(4)
	p := plainPool(int64(upTo(2)), int64(upTo(3)), int64(kh+upTo(9)), int64(kw+upTo(20)), kh, kw, upTo(3), upTo(3))
	p.attr.CeilMode, p.attr.CountIncludePad = s.rand.IntN(2) == 0, s.rand.IntN(2) == 0
	return p.padded(s.rand.IntN(kh/2+1), s.rand.IntN(kw/2+1))
}
