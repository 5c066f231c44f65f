package kerneltest

import (
	"math"

	"tarn/kernels"
)

var softmaxFamily = family{name: "softmax",
	ids:   []kernels.ID{kernels.Softmax, kernels.LogSoftmax, kernels.SoftmaxGrad, kernels.LogSoftmaxGrad},
	cases: (*suite).softmax, sample: (*suite).sampleSoftmax, decode: (*suite).decodeSoftmax, large: (*suite).largeSoftmax,
	scales: (*call).softmaxScales}

func (s *suite) sampleSoftmax(bool) *call {
	return s.softmaxCall([]int64{4, 5}, 1, [3]layout{}, uniform(s.rand))
}

func (s *suite) decodeSoftmax(src *source, values generator) *call {
	dims := append(src.dims(), 3)
	return s.softmaxCall(dims, src.below(len(dims)), [3]layout{src.layout(true), src.layout(false), src.layout(true)}, values)
}

func (s *suite) largeSoftmax() []*call {
	values := uniform(s.rand)
	return []*call{
		s.softmaxCall([]int64{2003, 33}, 1, [3]layout{}, values), s.softmaxCall([]int64{17, 4001}, 1, [3]layout{}, values),
		s.softmaxCall([]int64{7, 403, 67}, 1, [3]layout{}, values),
	}
}

// softmaxCall returns a call along an axis; layouts has the output's first. y of
// a gradient is what the forward op makes of values.
func (s *suite) softmaxCall(dims []int64, axis int, layouts [3]layout, g generator) *call {
	c := &call{id: s.id, attr: kernels.Attr{Axis: axis}, out: []operand{place(s.rand, s.dtype, dims, layouts[0])}}
	x := place(s.rand, s.dtype, dims, layouts[1]).fill(g)
	if s.id == kernels.Softmax || s.id == kernels.LogSoftmax {
		c.in = []operand{x}
		return c
	}
	y := place(s.rand, s.dtype, dims, layouts[2])
	forward := &call{id: kernels.Softmax, attr: c.attr, out: []operand{y}, in: []operand{x}}
	if s.id == kernels.LogSoftmaxGrad {
		forward.id = kernels.LogSoftmax
	}
	if r := forward.run(reference); r.err == nil { // else y's layout repeats elements, and poison will do
		copy(y.mem.initial(), r.bytes[y.mem])
	}
	c.in = []operand{place(s.rand, s.dtype, dims, layouts[1]).fill(uniform(s.rand)), y}
	return c
}

func (s *suite) softmax() {
	values := between(s.rand, -8, 8)
	for _, dims := range append(everyShape(), []int64{65, 130}, []int64{3, 67, 33}) {
		for axis := range dims {
			for _, l := range readable {
				s.check(s.softmaxCall(dims, axis, [3]layout{dense, l, dense}, values))
			}
			s.check(s.softmaxCall(dims, axis, [3]layout{s.pick(writable), s.pick(readable), s.pick(writable)}, values))
			s.check(s.softmaxCall(dims, axis, [3]layout{dense, dense, dense}, unruly(s.rand)))
			s.check(s.softmaxCall(dims, axis, [3]layout{s.pick(writable), s.pick(readable), dense}, between(s.rand, -1e4, 1e4)))
			s.softmaxInPlace(dims, axis, values)
		}
	}
	for _, dims := range [][]int64{{2003, 33}, {3, 20011}, {40, 5, 301}} { // several threads
		for axis := range dims {
			s.check(s.softmaxCall(dims, axis, [3]layout{}, values))
		}
	}
	for _, row := range [][]float64{ // the same row often enough for every lane
		{0, math.Inf(-1)}, {math.Inf(-1), math.Inf(-1)}, {math.Inf(1), 0}, {math.Inf(1), math.Inf(1)},
		{math.Inf(1), math.Inf(-1)}, {math.NaN(), 0}, {0, math.NaN()}, {1e4, -1e4}, {0, 0}, {-0.0, 1e-40},
	} {
		for _, copies := range []int{1, 9, 20} {
			n := int64(len(row) * copies)
			s.check(s.softmaxCall([]int64{4, n}, 1, [3]layout{}, func(d kernels.DType, i int) uint64 { return toBits(d, row[i%len(row)]) }))
		}
	}
}

// softmaxInPlace has the output lie over each of the inputs.
func (s *suite) softmaxInPlace(dims []int64, axis int, g generator) {
	l := s.pick(writable)
	for i := range s.softmaxCall(dims, axis, [3]layout{l, l, l}, g).in {
		c := s.softmaxCall(dims, axis, [3]layout{l, l, l}, g)
		c.out[0] = c.in[i]
		s.check(c)
	}
}

// alongAxis calls f with the indices, counted over all elements of c's output,
// of each line of its axis.
func (c *call) alongAxis(f func(line []int)) {
	v := &c.out[0].view
	inner := 1
	for _, n := range v.Dims[c.attr.Axis+1 : v.Rank] {
		inner *= int(n)
	}
	n := int(v.Dims[c.attr.Axis])
	line := make([]int, n)
	for i := range int(v.Len()) {
		if i/inner%max(n, 1) != 0 {
			continue
		}
		for j := range line {
			line[j] = i + j*inner
		}
		f(line)
	}
}

// softmaxScales: an exponential's relative error grows with its argument, which
// has a rounding error of its own; a gradient subtracts a sum.
func (c *call) softmaxScales(want result) scales {
	s := c.values(want)
	switch c.id {
	case kernels.Softmax:
		for i, y := range s[0] {
			if y > 0 {
				s[0][i] = y * (1 - math.Log(y))
			}
		}
		return s
	case kernels.LogSoftmax:
		for i, y := range s[0] {
			s[0][i] = 1 + math.Abs(y)
		}
		return s
	}
	dy, y := c.in[0].numbers(), c.in[1].numbers()
	c.alongAxis(func(line []int) {
		total := 0.0
		for _, i := range line {
			total += math.Abs(dy[i] * c.factor(y[i]))
		}
		for _, i := range line {
			if c.id == kernels.SoftmaxGrad {
				s[0][i] = math.Abs(y[i]) * (math.Abs(dy[i]) + total)
			} else {
				s[0][i] = math.Abs(dy[i]) + math.Exp(y[i])*(1+math.Abs(y[i]))*total
			}
		}
	})
	return s
}

// factor is what dy is multiplied by where a softmax's gradient adds it up.
func (c *call) factor(y float64) float64 {
	if c.id == kernels.SoftmaxGrad {
		return y
	}
	return 1
}
