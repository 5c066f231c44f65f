package kerneltest

import (
	"math"

	"tarn/kernels"
)

var (
	fills = family{name: "fill", ids: []kernels.ID{kernels.Fill}, cases: (*suite).fill,
		sample: func(s *suite, _ bool) *call { return s.fillCall([]int64{4, 5}, dense, 1) },
		decode: func(s *suite, src *source, _ generator) *call { return s.fillCall(src.dims(), src.layout(true), 1) },
		large:  func(s *suite) []*call { return []*call{s.fillCall([]int64{100_003}, dense, 1)} }}
	copyFamily = family{name: "copy", ids: []kernels.ID{kernels.Copy}, cases: (*suite).copies,
		sample: (*suite).sampleCopy, decode: (*suite).decodeCopy, large: (*suite).largeCopies}
)

func (s *suite) fillCall(dims []int64, l layout, v float64) *call {
	return &call{id: kernels.Fill, attr: kernels.Attr{Alpha: v}, out: []operand{place(s.rand, s.dtype, dims, l)}}
}

func (s *suite) fill() {
	values := []float64{0, 1, 2, 100}
	if s.dtype == kernels.Int64 || s.dtype == kernels.Int32 {
		values = append(values, -2, 1e6)
	}
	if s.dtype.IsFloat() {
		values = append(values, -2.5, 1e30, 1e-40, math.Inf(-1), math.NaN(), math.Copysign(0, -1))
	}
	for i, dims := range everyShape() {
		for _, l := range writable {
			s.check(s.fillCall(dims, l, values[i%len(values)]))
		}
	}
	for _, v := range values {
		s.check(s.fillCall([]int64{33}, dense, v))
	}
	for _, dims := range [][]int64{{70001}, {3, 40009}} { // several threads
		s.check(s.fillCall(dims, dense, 7))
		s.check(s.fillCall(dims, s.pick(writable), 7))
	}
}

func (s *suite) copyCall(dims []int64, from kernels.DType, out, in layout, g generator) *call {
	return &call{id: kernels.Copy,
		out: []operand{place(s.rand, s.dtype, dims, out)},
		in:  []operand{place(s.rand, from, dims, in).fill(g)}}
}

// copies tests Copy into s.dtype from every dtype.
func (s *suite) copies() {
	for _, from := range kernels.AnyDType.List() {
		every := s.every
		if !plainTypes.Has(from) {
			s.every *= 16
		}
		values := between(s.rand, -1e4, 1e4)
		if s.dtype == kernels.Uint8 && from.IsFloat() {
			values = between(s.rand, 0, 255)
		}
		s.copiesFrom(from, values)
		s.every = every
	}
}

func (s *suite) copiesFrom(from kernels.DType, values generator) {
	for _, dims := range everyShape() {
		for _, l := range writable {
			s.check(s.copyCall(dims, from, l, dense, values))
		}
		for _, l := range readable {
			s.check(s.copyCall(dims, from, dense, l, values))
		}
		s.check(s.copyCall(dims, from, s.pick(writable), s.pick(readable), values))
	}
	s.always(s.copyCall([]int64{257}, from, dense, dense, values))
	for _, dims := range [][]int64{{70001}, {257, 255}} { // several threads
		s.check(s.copyCall(dims, from, dense, dense, values))
		s.check(s.copyCall(dims, from, s.pick(writable), s.pick(readable), values))
	}
	if !s.dtype.IsInt() || !from.IsFloat() { // no integer is right for NaN or 1e300
		s.always(s.copyCall([]int64{1000}, from, dense, dense, extreme(s.rand)))
		s.check(s.copyCall([]int64{9, 31}, from, dense, writable[2], extreme(s.rand)))
	}
	if s.dtype.Size() == from.Size() {
		c := s.copyCall([]int64{33, 5}, from, dense, dense, values)
		c.out[0] = c.in[0]
		c.out[0].view.DType = s.dtype
		s.check(c)
	}
}

func (s *suite) sampleCopy(bool) *call {
	return s.copyCall([]int64{4, 5}, s.dtype, dense, dense, uniform(s.rand))
}

func (s *suite) decodeCopy(src *source, _ generator) *call {
	from := kernels.AnyDType.List()[src.below(8)]
	values := uniform(s.rand)
	if s.dtype == kernels.Uint8 && from.IsFloat() {
		values = between(s.rand, 0, 255)
	}
	return s.copyCall(src.dims(), from, src.layout(true), src.layout(false), values)
}

func (s *suite) largeCopies() []*call {
	return []*call{
		s.copyCall([]int64{257, 403}, s.dtype, dense, writable[2], uniform(s.rand)),
		s.copyCall([]int64{100_003}, s.dtype, dense, dense, uniform(s.rand)),
	}
}
