package kerneltest

import (
	"math"

	"tarn/kernels"
)

var (
	gatherFamily = family{name: "gather", ids: []kernels.ID{kernels.Gather}, cases: (*suite).indexed,
		sample: (*suite).sampleIndexed, decode: (*suite).decodeIndexed, large: (*suite).largeIndexed}
	scatterFamily = family{name: "scatter", ids: []kernels.ID{kernels.Scatter, kernels.ScatterAdd}, cases: (*suite).indexed,
		sample: (*suite).sampleIndexed, decode: (*suite).decodeIndexed, large: (*suite).largeIndexed, scales: indexedScales}
)

// indexedCall returns a call whose indices, count of them along the axis, name
// places of dims along it. index is their layout.
func (s *suite) indexedCall(dims []int64, axis int, count int64, out, in, index layout, g generator) *call {
	named, n := append([]int64(nil), dims...), int64(1)
	if axis < len(dims) {
		n = dims[axis]
		named[axis] = count
		if n == 0 {
			named[axis] = 0 // no index is right
		}
	}
	x := place(s.rand, kernels.Int64, named, index).fill(below(s.rand, max(n, 1)))
	c := &call{id: s.id, attr: kernels.Attr{Axis: axis}}
	if s.id == kernels.Gather {
		c.out = []operand{place(s.rand, s.dtype, named, out)}
		c.in = []operand{place(s.rand, s.dtype, dims, in).fill(g), x}
		return c
	}
	c.out = []operand{place(s.rand, s.dtype, dims, out).fill(g)}
	c.in = []operand{place(s.rand, s.dtype, named, in).fill(g), x}
	return c
}

func (s *suite) sampleIndexed(bool) *call {
	return s.indexedCall([]int64{4, 5}, 1, 3, dense, dense, dense, uniform(s.rand))
}

func (s *suite) decodeIndexed(src *source, values generator) *call {
	return s.indexedCall(src.dims(), src.below(3), int64(src.below(40)), src.layout(true), src.layout(false), src.layout(false), values)
}

// largeIndexed has whole rows by one index, elements by one each, and many
// indices for few places.
func (s *suite) largeIndexed() []*call {
	rows := layout{name: "one index a row", order: backwards, expanded: true} // the dim before the last repeats
	return []*call{
		s.indexedCall([]int64{403, 257}, 0, 300, dense, dense, expanded, uniform(s.rand)),
		s.indexedCall([]int64{257, 403}, 1, 300, dense, dense, rows, uniform(s.rand)),
		s.indexedCall([]int64{3, 1031}, 0, 200, dense, dense, dense, uniform(s.rand)),
		s.indexedCall([]int64{7}, 0, 100_003, dense, dense, dense, uniform(s.rand)),
	}
}

func (s *suite) indexed() {
	values := uniform(s.rand)
	if s.id != kernels.ScatterAdd {
		values = extreme(s.rand) // which are moved as they are
	}
	for _, dims := range append(everyShape(), []int64{3, 300}, []int64{40, 64}) {
		for axis, n := range dims {
			for _, count := range []int64{0, 1, n, n + 3, 2*n + 40} {
				if total(dims)/max(n, 1)*count > 1<<15 {
					continue
				}
				for _, index := range []layout{dense, expanded, s.pick(readable)} {
					s.check(s.indexedCall(dims, axis, count, s.pick(writable), s.pick(readable), index, values))
				}
				s.check(s.indexedCall(dims, axis, count, dense, dense, expanded, values))
			}
		}
	}
	for _, c := range s.largeIndexed() {
		s.check(c)
	}
	for _, bad := range []int64{-1, -10, 10, 11, 1 << 31, 1 << 32, math.MaxInt64, math.MinInt64} {
		for axis, dims := range [][]int64{{10, 50}, {50, 10}} {
			c := s.indexedCall(dims, axis, 40, dense, dense, dense, values)
			index := c.in[1]
			offsets(&index.view, func(i int, off int64) {
				if i == 137 {
					put(index.mem.initial()[off:], kernels.Int64, uint64(bad))
				}
			})
			s.always(c)
			s.namesIndex(c, bad, 10)
		}
	}
}

func total(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}

// indexedScales are the sizes of what was added up.
func indexedScales(c *call, want result) scales {
	if c.id == kernels.Scatter {
		return nil
	}
	return summedScales(c, want)
}
