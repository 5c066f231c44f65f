package kerneltest

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"tarn/kernels"
)

var lossFamily = family{name: "loss", ids: []kernels.ID{kernels.CrossEntropy, kernels.CrossEntropyGrad}, cases: (*suite).loss,
	sample: (*suite).sampleLoss, decode: (*suite).decodeLoss, large: (*suite).largeLoss, scales: lossScales}

func (s *suite) sampleLoss(bool) *call {
	c := s.lossCall(4, 5, dense, uniform(s.rand))
	if s.id == kernels.CrossEntropyGrad {
		c.out[0] = place(s.rand, s.dtype, []int64{4, 5}, dense)
	}
	return c
}

func (s *suite) decodeLoss(src *source, values generator) *call {
	return s.lossCall(src.size(), src.size()+1, src.layout(false), values)
}

func (s *suite) largeLoss() []*call {
	return []*call{s.lossCall(2003, 33, dense, uniform(s.rand)), s.lossCall(17, 4001, dense, uniform(s.rand))}
}

func lossScales(c *call, want result) scales {
	s := c.values(want)
	if c.id == kernels.CrossEntropy {
		s[0][0] = 1 + math.Abs(s[0][0]) // a mean of numbers >= 0: nothing cancels
		return s
	}
	dloss := c.in[0]
	x := math.Abs(toFloat(dloss.view.DType, get(dloss.mem.initial()[dloss.view.Ptr:], dloss.view.DType)))
	for i := range s[0] {
		s[0][i] = x / float64(c.out[0].view.Dims[0])
	}
	return s
}

// lossCall returns a call for logits of n rows and c classes.
func (s *suite) lossCall(n, c int64, l layout, g generator) *call {
	logits := place(s.rand, s.dtype, []int64{n, c}, l).fill(g)
	classes := place(s.rand, kernels.Int64, []int64{n}, s.pick(writable))
	if c > 0 {
		classes.fill(below(s.rand, c))
	}
	if s.id == kernels.CrossEntropy {
		return &call{id: s.id,
			out: []operand{place(s.rand, s.dtype, nil, layout{start: 1})},
			in:  []operand{logits, classes}}
	}
	dloss := place(s.rand, s.dtype, nil, layout{start: 2}).fill(uniform(s.rand))
	return &call{id: s.id,
		out: []operand{place(s.rand, s.dtype, []int64{n, c}, s.pick(writable))},
		in:  []operand{dloss, logits, classes}}
}

func (s *suite) loss() {
	values := between(s.rand, -8, 8)
	for _, n := range sizes {
		for _, l := range readable {
			s.check(s.lossCall(n, 10, l, values))
			s.check(s.lossCall(5, max(n, 1), l, values))
		}
	}
	s.check(s.lossCall(0, 0, dense, values))
	s.check(s.lossCall(2000, 33, dense, values)) // several threads
	s.check(s.lossCall(3, 20011, dense, values))

	for range 20 {
		l := s.pick(readable)
		s.check(s.lossCall(33, 10, l, between(s.rand, -1e4, 1e4)))
		s.check(s.lossCall(33, 7, l, between(s.rand, 1e4, 1e4+1)))
		s.check(s.lossCall(33, 7, l, unruly(s.rand)))
	}
	for _, row := range [][]float64{ // the same row often enough for every lane
		{0, math.Inf(-1)}, {math.Inf(-1), math.Inf(-1)}, {math.Inf(1), 0}, {math.Inf(1), math.Inf(1)},
		{math.Inf(1), math.Inf(-1)}, {math.NaN(), 0}, {0, math.NaN()}, {1e4, -1e4}, {0, 0}, {-0.0, 1e-40},
	} {
		for _, copies := range []int{1, 9, 20} {
			n := int64(len(row) * copies)
			s.check(s.lossCall(4, n, dense, func(d kernels.DType, i int) uint64 { return toBits(d, row[i%len(row)]) }))
		}
	}
	s.classOutOfRange()
}

// classOutOfRange: a class beyond the logits is refused naming row and class,
// with nothing written, however large it is.
func (s *suite) classOutOfRange() {
	for _, bad := range []int64{-1, 10, 11, 1 << 31, 1 << 32, 1<<32 + 3, math.MaxInt64, math.MinInt64} {
		c := s.lossCall(50, 10, dense, uniform(s.rand))
		classes := c.in[len(c.in)-1]
		offsets(&classes.view, func(i int, off int64) {
			if i == 37 {
				put(classes.mem.initial()[off:], kernels.Int64, uint64(bad))
			}
		})
		s.check(c)
		s.namesIndex(c, 37, bad)
	}
}

// namesIndex demands an ErrIndex whose text has the given numbers.
func (s *suite) namesIndex(c *call, numbers ...int64) {
	s.Helper()
	err := c.run(s.device).err
	var e *kernels.Error
	if !errors.As(err, &e) || !errors.Is(err, kernels.ErrIndex) || e.Op != s.id {
		s.Fatalf("%v: error %v, want ErrIndex", c, err)
	}
	for _, n := range numbers {
		if !strings.Contains(e.Detail, strconv.FormatInt(n, 10)) {
			s.Fatalf("%v: error %q does not name %d", c, e.Detail, n)
		}
	}
}
