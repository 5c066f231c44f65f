package kerneltest

import (
	"math"

	"tarn/kernels"
)

// The cases of the ops that make an element of its number: sequences and random
// numbers.

var (
	sequenceFamily = family{name: "sequence", ids: []kernels.ID{kernels.Sequence}, cases: (*suite).sequences,
		sample: func(s *suite, _ bool) *call { return s.sequence([]int64{4, 5}, dense, 1, 2) },
		decode: func(s *suite, src *source, _ generator) *call {
			return s.sequence(src.dims(), src.layout(true), float64(src.below(200)), float64(src.below(9))/4)
		},
		large: func(s *suite) []*call { return []*call{s.sequence([]int64{100_003}, dense, -3, 0.1)} }}
	randomFamily = family{name: "random",
		ids:   []kernels.ID{kernels.RandomUniform, kernels.RandomNormal, kernels.RandomInt, kernels.Bernoulli, kernels.Dropout},
		cases: (*suite).randoms, sample: (*suite).sampleRandom, decode: (*suite).decodeRandom, large: (*suite).largeRandoms,
		scales: normalScales}
)

func (s *suite) sequence(dims []int64, l layout, start, step float64) *call {
	return &call{id: kernels.Sequence, attr: kernels.Attr{Alpha: start, Beta: step}, out: []operand{place(s.rand, s.dtype, dims, l)}}
}

func (s *suite) sequences() {
	steps := [][2]float64{{0, 1}, {1, 0}, {5, 0.1}, {2.5, 1.0 / 3}}
	if s.dtype != kernels.Uint8 {
		steps = append(steps, [2]float64{-7, 2}, [2]float64{100, -0.7}, [2]float64{1e6, 1e3})
	}
	if s.dtype.IsFloat() {
		steps = append(steps, [2]float64{1e-3, 1e-9}, [2]float64{-1, math.Inf(1)}, [2]float64{math.NaN(), 1}, [2]float64{math.Copysign(0, -1), 0})
	}
	for i, dims := range everyShape() {
		for j, l := range writable {
			at := steps[(i+j)%len(steps)]
			s.check(s.sequence(dims, l, at[0], at[1]))
		}
	}
	for _, at := range steps {
		s.always(s.sequence([]int64{257}, dense, at[0], at[1]))
	}
	for _, dims := range [][]int64{{70001}, {3, 40009}} { // several threads
		s.check(s.sequence(dims, dense, 3, 0.5))
		s.check(s.sequence(dims, s.pick(writable), 3, 0.5))
	}
}

// randomSeeds are seeds and offsets that have all their bits, or carry in the
// middle of a call.
var randomSeeds = []kernels.RandomAttr{
	{}, {Seed: 3, Offset: 7}, {Seed: 0xfedcba9876543210, Offset: 1<<32 - 2}, {Seed: 1, Offset: math.MaxUint64 - 1}, {Seed: 1 << 63, Offset: 1 << 40},
}

// random returns a call of s.id, whose scalars are the k-th of some.
func (s *suite) random(dims []int64, l layout, k int) *call {
	c := &call{id: s.id, attr: kernels.Attr{Random: randomSeeds[k%len(randomSeeds)]}, out: []operand{place(s.rand, s.dtype, dims, l)}}
	pick := func(pairs [][2]float64) { c.attr.Alpha, c.attr.Beta = pairs[k%len(pairs)][0], pairs[k%len(pairs)][1] }
	switch s.id {
	case kernels.RandomUniform:
		pick([][2]float64{{0, 1}, {-0.1, 0.3}, {5, 5}, {-3e3, 1e4}})
	case kernels.RandomNormal:
		pick([][2]float64{{0, 1}, {-3, 0.5}, {7, 0}})
	case kernels.RandomInt:
		ranges := [][2]int64{{0, 10}, {0, 1}, {3, 200}, {0, 256}}
		if s.dtype != kernels.Uint8 {
			ranges = append(ranges, [2]int64{-5, 6}, [2]int64{-256, 257})
		}
		if s.dtype == kernels.Int64 {
			ranges = append(ranges, [2]int64{math.MinInt64, math.MaxInt64}, [2]int64{-1 << 40, 1 << 50})
		}
		at := ranges[k%len(ranges)]
		c.attr.Random.Low, c.attr.Random.High = at[0], at[1]
	case kernels.Bernoulli, kernels.Dropout:
		c.attr.Alpha = []float64{0, 1, 0.5, 0.1, 0.999, 0x1p-32}[k%6]
	}
	if s.id == kernels.Dropout {
		s.withInput(c, s.dtype, dense, uniform(s.rand))
	}
	return c
}

// withInput gives a call an input, such as the probabilities of a Bernoulli.
func (s *suite) withInput(c *call, d kernels.DType, l layout, g generator) *call {
	v := &c.out[0].view
	c.in = []operand{place(s.rand, d, v.Dims[:v.Rank], l).fill(g)}
	return c
}

func (s *suite) randoms() {
	k := 0
	next := func() int { k++; return k }
	for _, dims := range everyShape() {
		for _, l := range writable {
			s.check(s.random(dims, l, next()))
		}
	}
	for range 12 {
		s.always(s.random([]int64{261}, dense, next()))
	}
	for _, dims := range [][]int64{{70001}, {3, 40009}} { // several threads
		s.check(s.random(dims, dense, next()))
		s.check(s.random(dims, s.pick(writable), next()))
	}
	if s.id == kernels.Dropout {
		s.dropouts()
	}
	if s.id != kernels.Bernoulli {
		return
	}
	for _, d := range kernels.Floats.List() {
		for _, dims := range everyShape() {
			s.check(s.withInput(s.random(dims, s.pick(writable), next()), d, s.pick(readable), between(s.rand, -0.2, 1.2)))
		}
		s.always(s.withInput(s.random([]int64{257}, dense, next()), d, dense, between(s.rand, 0, 1)))
		s.always(s.withInput(s.random([]int64{33, 5}, writable[2], next()), d, dense, extreme(s.rand)))
	}
}

func (s *suite) dropouts() {
	for i, dims := range everyShape() {
		s.check(s.withInput(s.random(dims, s.pick(writable), i), s.dtype, s.pick(readable), extreme(s.rand)))
	}
	s.always(s.withInput(s.random([]int64{257}, dense, 2), s.dtype, dense, extreme(s.rand)))
	c := s.random([]int64{9, 31}, writable[2], 2)
	c.out = c.in // in place
	s.always(c)
}

func (s *suite) sampleRandom(last bool) *call {
	c := s.random([]int64{4, 5}, dense, 30)
	if last && s.id == kernels.Bernoulli {
		s.withInput(c, kernels.Float32, dense, between(s.rand, 0, 1))
	}
	return c
}

func (s *suite) decodeRandom(src *source, values generator) *call {
	c := s.random(src.dims(), src.layout(true), src.below(60))
	if s.id == kernels.Bernoulli && src.below(2) == 1 {
		s.withInput(c, kernels.Floats.List()[src.below(4)], src.layout(false), values)
	}
	return c
}

func (s *suite) largeRandoms() []*call {
	calls := []*call{s.random([]int64{100_003}, dense, 1), s.random([]int64{257, 403}, writable[2], 2)}
	if s.id == kernels.Bernoulli {
		calls = append(calls, s.withInput(s.random([]int64{100_003}, dense, 3), s.dtype, dense, between(s.rand, 0, 1)))
	}
	return calls
}

// normalScales are those of RandomNormal, whose largest numbers are near 6, or 9
// in float64, deviations from the mean. The others need none.
func normalScales(c *call, want result) scales {
	if c.id != kernels.RandomNormal {
		return nil
	}
	all := c.values(want)
	for i := range all[0] {
		all[0][i] = math.Abs(c.attr.Alpha) + 6*c.attr.Beta
	}
	return all
}
