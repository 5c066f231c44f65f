package kerneltest

import (
	"math"

	"tarn/kernels"
)

var (
	reduceFamily = family{name: "reduce", ids: []kernels.ID{kernels.Sum, kernels.Max}, cases: (*suite).reduce,
		sample: (*suite).sampleReduce, decode: (*suite).decodeReduce, large: (*suite).largeReduce, scales: reduceScales}
	maxGradFamily = family{name: "maxgrad", ids: []kernels.ID{kernels.MaxGrad}, cases: (*suite).maxGrad,
		sample: (*suite).sampleMaxGrad, decode: (*suite).decodeMaxGrad, large: (*suite).largeMaxGrad}
	argMaxFamily = family{name: "argmax", ids: []kernels.ID{kernels.ArgMax}, cases: (*suite).argMax,
		sample: (*suite).sampleArgMax, decode: (*suite).decodeArgMax, large: (*suite).largeArgMax}
)

func (s *suite) sampleReduce(bool) *call {
	return s.reduceCall([]int64{4, 5}, 2, dense, dense, uniform(s.rand))
}

func (s *suite) decodeReduce(src *source, values generator) *call {
	dims, bits := src.dims(), src.below(64)
	c := s.reduceCall(dims, bits, src.layout(true), src.layout(false), values)
	c.attr.Accumulate = s.id == kernels.Sum && src.below(2) == 1
	c.out[0].fill(values)
	return c
}

func (s *suite) largeReduce() []*call {
	values := uniform(s.rand)
	var all []*call
	for _, dims := range [][]int64{{100_003}, {257, 403}, {20_011, 5}, {13, 43, 201}} {
		for _, bits := range s.reduceSets(len(dims)) {
			all = append(all, s.reduceCall(dims, bits, dense, dense, values))
		}
		all = append(all, s.reduceCall(dims, 1<<len(dims)-1, dense, writable[2], values))
	}
	return all
}

func reduceScales(c *call, want result) scales {
	if c.id == kernels.Sum {
		return summedScales(c, want)
	}
	return nil
}

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

// reducedDims returns dims with 1 at each dim whose bit is set.
func reducedDims(dims []int64, bits int) []int64 {
	small := append([]int64(nil), dims...)
	for d := range small {
		if bits>>d&1 == 1 {
			small[d] = 1
		}
	}
	return small
}

// reduceSets returns the sets of dims to reduce for a rank: all of them for
// small ranks, else a choice.
func (s *suite) reduceSets(rank int) []int {
	all := 1<<rank - 1
	if rank <= 3 {
		sets := make([]int, all+1)
		for i := range sets {
			sets[i] = i
		}
		return sets
	}
	return []int{0, 1, all >> 1, 1 << (rank - 1), 0b0101, s.rand.IntN(all + 1), s.rand.IntN(all + 1), all}
}

func (s *suite) reduceCall(dims []int64, bits int, out, in layout, g generator) *call {
	c := &call{id: s.id, attr: kernels.Attr{Alpha: 1}}
	c.out = []operand{place(s.rand, s.dtype, reducedDims(dims, bits), out)}
	c.in = []operand{place(s.rand, s.dtype, dims, in).fill(g)}
	return c
}

func (s *suite) reduce() {
	values := uniform(s.rand)
	for _, dims := range append(everyShape(), []int64{65, 130}, []int64{130, 65}, []int64{9, 33, 140}) {
		for _, bits := range s.reduceSets(len(dims)) {
			for _, l := range readable {
				s.check(s.reduceCall(dims, bits, dense, l, values))
			}
			s.check(s.reduceCall(dims, bits, s.pick(writable), s.pick(readable), values))
			s.check(s.reduceCall(dims, bits, s.pick(writable), dense, values))
			s.check(s.reduceCall(dims, bits, dense, s.pick(readable), unruly(s.rand)))
			if s.id == kernels.Sum {
				c := s.reduceCall(dims, bits, s.pick(writable), s.pick(readable), values)
				c.attr.Alpha, c.attr.Accumulate = -0.25, true
				c.out[0].fill(values)
				s.check(c)
			}
		}
	}
	for _, dims := range [][]int64{{100003}, {300, 401}, {2, 50021}, {50021, 2}, {7, 33, 301}} { // several threads
		for _, bits := range s.reduceSets(len(dims))[1:] {
			s.check(s.reduceCall(dims, bits, s.pick(writable), s.pick(readable), values))
		}
	}
	if s.id == kernels.Sum {
		s.longSums()
	} else {
		s.maxOfExtremes()
	}
}

// longSums holds sums of many elements to 1e-6, where adding one float32 after
// the other is off by far more. The expected values are known in closed form.
func (s *suite) longSums() {
	if s.every > 8 || s.dtype.IsHalf() { // whose results have too few digits to tell
		return
	}
	// One element repeated 65535*1024+1 times: a count that no 32-bit grid of
	// blocks covers, in no memory.
	const repeats = 65535*1024 + 1
	c := s.reduceCall([]int64{1}, 1, dense, dense, func(d kernels.DType, _ int) uint64 { return toBits(d, 0.75) })
	c.in[0].view.Dims[0], c.in[0].view.Strides[0] = repeats, 0
	s.sumIs(c, 0.75*repeats)

	if s.dtype == kernels.Float64 {
		return
	}
	const n = 10_000_000
	c = s.reduceCall([]int64{n}, 1, dense, dense, func(d kernels.DType, i int) uint64 { return toBits(d, 1+float64(i%8)/8) })
	s.sumIs(c, n*(1+3.5/8))
	c = s.reduceCall([]int64{1_000_000, 3}, 1, dense, dense, func(d kernels.DType, _ int) uint64 { return toBits(d, 0.1) })
	s.sumIs(c, 1_000_000*float64(float32(0.1)))
}

// sumIs demands that every result of c is want, to 1e-6.
func (s *suite) sumIs(c *call, want float64) {
	s.Helper()
	r := c.run(s.device)
	if r.err != nil {
		s.Fatal(r.err)
	}
	for i, got := range c.values(r)[0] {
		if math.Abs(got-want) > 1e-6*want {
			s.Fatalf("%v: element %d is %v, want %v", c, i, got, want)
		}
	}
}

func (s *suite) maxOfExtremes() {
	for _, dims := range [][]int64{{1}, {2}, {33}, {7, 9}, {64, 3}, {3, 64}} {
		for range 20 {
			for _, bits := range s.reduceSets(len(dims)) {
				s.check(s.reduceCall(dims, bits, dense, s.pick(readable), extreme(s.rand)))
			}
		}
	}
	for at := range 40 { // a single NaN at any place of a vector loop
		s.check(s.reduceCall([]int64{40}, 1, dense, dense, func(d kernels.DType, i int) uint64 {
			if i == at {
				return toBits(d, math.NaN())
			}
			return toBits(d, math.Inf(1))
		}))
	}
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
		copy(m.mem.initial, r.bytes[m.mem])
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
	s.check(s.argMaxCall([]int64{5}, 0, dense, dense, func(d kernels.DType, _ int) uint64 { return toBits(d, math.Inf(-1)) }))
}
