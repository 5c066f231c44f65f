package kerneltest

import (
	"math"

	"tarn/kernels"
)

var (
	scanFamily = family{name: "scan", ids: []kernels.ID{kernels.CumSum, kernels.CumProd, kernels.CumProdGrad}, cases: (*suite).scans,
		sample: (*suite).sampleScan, decode: (*suite).decodeScan, large: (*suite).largeScan, scales: scanScales}
	sortFamily = family{name: "sort", ids: []kernels.ID{kernels.Sort}, cases: (*suite).sorts,
		sample: (*suite).sampleSort, decode: (*suite).decodeSort, large: (*suite).largeSort}
	sortGradFamily = family{name: "sortgrad", ids: []kernels.ID{kernels.SortGrad}, cases: (*suite).sortGrads,
		sample: (*suite).sampleSortGrad, decode: (*suite).decodeSortGrad, large: (*suite).largeSortGrad}
)

// scanCall has as the third operand of CumProdGrad what CumProd makes of the
// second.
func (s *suite) scanCall(dims []int64, axis int, l func() layout, g generator) *call {
	c := &call{id: s.id, attr: kernels.Attr{Axis: axis},
		out: []operand{place(s.rand, s.id.Result(s.dtype), dims, dense)}}
	if s.id != kernels.CumProdGrad {
		c.in = []operand{place(s.rand, s.dtype, dims, l()).fill(g)}
		return c
	}
	x := place(s.rand, s.dtype, dims, l()).fill(g)
	y := place(s.rand, s.dtype, dims, dense)
	forward := &call{id: kernels.CumProd, attr: c.attr, out: []operand{y}, in: []operand{x}}
	if r := forward.run(reference); r.err == nil {
		copy(y.mem.initial(), r.bytes[y.mem])
	}
	c.in = []operand{place(s.rand, s.dtype, dims, l()).fill(uniform(s.rand)), x, y}
	return c
}

func (s *suite) scanned() generator {
	if s.id == kernels.CumSum {
		return uniform(s.rand)
	}
	return near1(s.rand)
}

func (s *suite) sampleScan(bool) *call {
	return s.scanCall([]int64{4, 5}, 1, func() layout { return dense }, s.scanned())
}

func (s *suite) decodeScan(src *source, _ generator) *call {
	c := s.scanCall(src.dims(), src.below(2), func() layout { return src.layout(false) }, s.scanned())
	c.out[0] = place(s.rand, c.out[0].view.DType, c.out[0].view.Dims[:c.out[0].view.Rank], src.layout(true))
	return c
}

func (s *suite) largeScan() []*call {
	var all []*call
	for axis, dims := range [][]int64{{257, 403}, {403, 257}} {
		all = append(all, s.scanCall(dims, axis, func() layout { return dense }, s.scanned()))
	}
	return all
}

// scanScales are those of what is added up, or of the products. A gradient by
// products is a sum of them.
func scanScales(c *call, want result) scales {
	if c.id == kernels.CumProd {
		return sizeScales(c, want)
	}
	return summedScales(c, want)
}

func (s *suite) scans() {
	for _, dims := range append(everyShape(), []int64{3, 1300}, []int64{1300, 3}, []int64{65, 70}) {
		for axis := range dims {
			for range 4 {
				c := s.scanCall(dims, axis, func() layout { return s.pick(readable) }, s.scanned())
				c.out[0] = place(s.rand, c.out[0].view.DType, dims, s.pick(writable))
				s.check(c)
			}
		}
	}
	if !s.dtype.IsFloat() {
		return
	}
	list := []float64{0, math.Copysign(0, -1), 1, -1, 2, 0.5} // products without rounding, many of them 0
	few := func(d kernels.DType, _ int) uint64 { return toBits(d, list[s.rand.IntN(len(list))]) }
	for _, dims := range [][]int64{{1}, {2}, {7, 9}, {64, 3}} {
		for range 20 {
			s.check(s.scanCall(dims, 0, func() layout { return s.pick(readable) }, few))
		}
	}
}

func (s *suite) sortCall(dims []int64, axis int, k int64, descending bool, out, in layout, g generator) *call {
	short := append([]int64(nil), dims...)
	if axis < len(dims) {
		short[axis] = min(k, dims[axis])
	}
	return &call{id: s.id, attr: kernels.Attr{Axis: axis, Descending: descending},
		out: []operand{place(s.rand, s.dtype, short, out), place(s.rand, kernels.Int64, short, s.pick(writable))},
		in:  []operand{place(s.rand, s.dtype, dims, in).fill(g)}}
}

func (s *suite) sampleSort(bool) *call {
	return s.sortCall([]int64{4, 5}, 1, 5, false, dense, dense, uniform(s.rand))
}

func (s *suite) decodeSort(src *source, values generator) *call {
	return s.sortCall(src.dims(), src.below(3), int64(src.below(70)), src.below(2) == 1, src.layout(true), src.layout(false), values)
}

func (s *suite) largeSort() []*call {
	return []*call{s.sortCall([]int64{257, 403}, 1, 403, false, dense, dense, uniform(s.rand)),
		s.sortCall([]int64{31, 4003}, 1, 20, true, dense, dense, uniform(s.rand))}
}

func (s *suite) sorts() {
	for _, dims := range append(everyShape(), []int64{3, 1300}, []int64{1300, 3}, []int64{5000}) {
		for axis, n := range dims {
			for _, g := range []generator{ties(s.rand), uniform(s.rand), extreme(s.rand)} {
				for _, k := range []int64{n, n/2 + 1, min(3, n)} {
					s.check(s.sortCall(dims, axis, k, s.rand.IntN(2) == 1, s.pick(writable), s.pick(readable), g))
				}
			}
		}
	}
}

func (s *suite) sortGradCall(dims []int64, axis int, k int64, l func(write bool) layout) *call {
	short := append([]int64(nil), dims...)
	if axis < len(dims) {
		short[axis] = min(k, dims[axis])
	}
	indices := place(s.rand, kernels.Int64, short, dense)
	if axis < len(dims) { // by a sort, distinct ones
		sorter := &suite{rand: s.rand, id: kernels.Sort, dtype: s.dtype}
		forward := sorter.sortCall(dims, axis, k, false, dense, dense, uniform(s.rand))
		forward.out[1] = indices
		if r := forward.run(reference); r.err == nil {
			copy(indices.mem.initial(), r.bytes[indices.mem])
		}
	}
	return &call{id: s.id, attr: kernels.Attr{Axis: axis}, out: []operand{place(s.rand, s.dtype, dims, l(true))},
		in: []operand{place(s.rand, s.dtype, short, l(false)).fill(uniform(s.rand)), indices}}
}

func (s *suite) sampleSortGrad(bool) *call {
	return s.sortGradCall([]int64{4, 5}, 1, 5, func(bool) layout { return dense })
}

func (s *suite) decodeSortGrad(src *source, _ generator) *call {
	return s.sortGradCall(src.dims(), src.below(3), int64(src.below(70)), src.layout)
}

func (s *suite) largeSortGrad() []*call {
	return []*call{s.sortGradCall([]int64{257, 403}, 1, 100, func(bool) layout { return dense })}
}

func (s *suite) sortGrads() {
	some := func(write bool) layout {
		if write {
			return s.pick(writable)
		}
		return s.pick(readable)
	}
	for _, dims := range append(everyShape(), []int64{300, 65}) {
		for axis, n := range dims {
			for _, k := range []int64{n, 1, n/2 + 1} {
				s.check(s.sortGradCall(dims, axis, k, some))
			}
		}
	}
}
