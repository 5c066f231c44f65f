package kerneltest

import (
	"math"

	"tarn/kernels"
)

var (
	reduceFamily = family{name: "reduce", ids: []kernels.ID{kernels.Sum, kernels.Prod, kernels.Max, kernels.Min}, cases: (*suite).reduce,
		sample: (*suite).sampleReduce, decode: (*suite).decodeReduce, large: (*suite).largeReduce, scales: reduceScales}
	anyFamily = family{name: "any", ids: []kernels.ID{kernels.Any, kernels.All}, cases: (*suite).anyCases,
		sample: (*suite).sampleReduce, decode: (*suite).decodeReduce, large: (*suite).largeReduce}
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
	switch c.id {
	case kernels.Sum:
		return summedScales(c, want)
	case kernels.Prod:
		return sizeScales(c, want)
	}
	return nil
}

// sizeScales are the sizes of the results themselves.
func sizeScales(c *call, want result) scales {
	all := scales(c.values(want))
	for _, s := range all {
		for i, x := range s {
			s[i] = math.Abs(x)
		}
	}
	return all
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
	c.out = []operand{place(s.rand, s.id.Result(s.dtype), reducedDims(dims, bits), out)}
	c.in = []operand{place(s.rand, s.dtype, dims, in).fill(g)}
	return c
}

func (s *suite) reduce() {
	values, odd := uniform(s.rand), unruly(s.rand)
	if s.id == kernels.Prod {
		values, odd = near1(s.rand), near1(s.rand)
	}
	for _, dims := range append(everyShape(), []int64{65, 130}, []int64{130, 65}, []int64{9, 33, 140}) {
		for _, bits := range s.reduceSets(len(dims)) {
			for _, l := range readable {
				s.check(s.reduceCall(dims, bits, dense, l, values))
			}
			s.check(s.reduceCall(dims, bits, s.pick(writable), s.pick(readable), values))
			s.check(s.reduceCall(dims, bits, s.pick(writable), dense, values))
			s.check(s.reduceCall(dims, bits, dense, s.pick(readable), odd))
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
	switch s.id {
	case kernels.Sum:
		s.longSums()
	case kernels.Max, kernels.Min:
		s.choiceOfExtremes()
	case kernels.Prod:
		s.productsOfFew()
	}
}

// productsOfFew has zeros, infinities and NaN among factors that round nothing.
func (s *suite) productsOfFew() {
	list := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 2, -1, 0.5, 1}
	factors := func(d kernels.DType, _ int) uint64 { return toBits(d, list[s.rand.IntN(len(list))]) }
	if !s.dtype.IsFloat() { // they wrap
		factors = extreme(s.rand)
	}
	for _, dims := range [][]int64{{1}, {2}, {33}, {7, 9}, {64, 3}, {3, 64}} {
		for range 20 {
			for _, bits := range s.reduceSets(len(dims)) {
				s.check(s.reduceCall(dims, bits, dense, s.pick(readable), factors))
			}
		}
	}
}

// anyCases has elements of which few are 0, or few are not.
func (s *suite) anyCases() {
	seldom := func(x, y float64) generator {
		return func(d kernels.DType, _ int) uint64 {
			if s.rand.IntN(60) == 0 {
				return toBits(d, y)
			}
			return toBits(d, x)
		}
	}
	for _, dims := range append(everyShape(), []int64{65, 130}, []int64{130, 65}, []int64{300, 401}) {
		for _, bits := range s.reduceSets(len(dims)) {
			for _, values := range []generator{seldom(0, 1), seldom(1, 0), seldom(1, 1), seldom(0, 0)} {
				s.check(s.reduceCall(dims, bits, s.pick(writable), s.pick(readable), values))
			}
			if s.dtype.IsFloat() {
				s.check(s.reduceCall(dims, bits, s.pick(writable), s.pick(readable), seldom(math.Copysign(0, -1), math.NaN())))
			}
		}
	}
}

// longSums holds sums of many elements to 1e-6, where adding one float32 after
// the other is off by far more. The expected values are known in closed form.
func (s *suite) longSums() {
	if s.every > 8 || !kernels.Wides.Has(s.dtype) { // halves have too few digits to tell
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

// choiceOfExtremes has the ends of all ranges.
func (s *suite) choiceOfExtremes() {
	for _, dims := range [][]int64{{1}, {2}, {33}, {7, 9}, {64, 3}, {3, 64}} {
		for range 20 {
			for _, bits := range s.reduceSets(len(dims)) {
				s.check(s.reduceCall(dims, bits, dense, s.pick(readable), extreme(s.rand)))
			}
		}
	}
	if !s.dtype.IsFloat() {
		return
	}
	sign := 1
	if s.id == kernels.Min {
		sign = -1
	}
	for at := range 40 { // a single NaN at any place of a vector loop
		s.check(s.reduceCall([]int64{40}, 1, dense, dense, func(d kernels.DType, i int) uint64 {
			if i == at {
				return toBits(d, math.NaN())
			}
			return toBits(d, math.Inf(sign))
		}))
	}
}
