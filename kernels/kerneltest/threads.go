package kerneltest

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"tarn/kernels"
)

// Threads tests that the results of table have the same bits whatever the
// number of threads, which set sets. The calls are large enough to be shared
// out, and their sizes divide by nothing.
func Threads(t *testing.T, table *kernels.Table, set func(threads int)) {
	for id := range kernels.ID(kernels.NumOps) {
		for _, d := range []kernels.DType{kernels.Float32, kernels.Float64} {
			if table[id] == nil || !byDType(id).Has(d) || d == kernels.Float64 && thinned() {
				continue
			}
			t.Run(id.String()+"/"+d.String(), func(t *testing.T) {
				s := &suite{T: t, device: onHost(table), every: 1, rand: rand.New(rand.NewPCG(5, uint64(id))), id: id, dtype: d}
				for _, c := range s.largeCalls() {
					s.sameBits(c, set)
				}
			})
		}
	}
}

func (s *suite) sameBits(c *call, set func(threads int)) {
	s.Helper()
	var want result
	for _, n := range []int{1, 2, 5} {
		set(n)
		got := c.run(s.device)
		if got.err != nil {
			s.Fatal(got.err)
		}
		if n == 1 {
			want = got
			continue
		}
		for m := range want.bytes {
			if !bytes.Equal(want.bytes[m], got.bytes[m]) {
				s.Fatalf("%v: other bits with %d threads than with 1", c, n)
			}
		}
	}
}

// largeCalls returns calls of s.id that several threads share.
func (s *suite) largeCalls() []*call {
	values := uniform(s.rand)
	switch s.id {
	case kernels.Sum, kernels.Max:
		var all []*call
		for _, dims := range [][]int64{{100_003}, {257, 403}, {20_011, 5}, {13, 43, 201}} {
			for _, bits := range s.reduceSets(len(dims)) {
				all = append(all, s.reduceCall(dims, bits, dense, dense, values))
			}
			all = append(all, s.reduceCall(dims, 1<<len(dims)-1, dense, writable[2], values))
		}
		return all
	case kernels.MaxGrad:
		x := place(s.rand, s.dtype, []int64{257, 403}, dense).fill(ties(s.rand))
		m := place(s.rand, s.dtype, []int64{257, 1}, dense).fill(between(s.rand, 1, 1))
		dy := place(s.rand, s.dtype, []int64{257, 1}, dense).fill(values)
		return []*call{{id: s.id, out: []operand{place(s.rand, s.dtype, []int64{257, 403}, dense)}, in: []operand{dy, x, m}}}
	case kernels.ArgMax:
		return []*call{{id: s.id, attr: kernels.Attr{Axis: 1},
			out: []operand{place(s.rand, kernels.Int64, []int64{257, 1}, dense)},
			in:  []operand{place(s.rand, s.dtype, []int64{257, 403}, dense).fill(ties(s.rand))}}}
	case kernels.MatMul:
		var all []*call
		for _, dims := range [][3]int64{{64, 256, 784}, {130, 129, 300}, {5, 803, 290}, {803, 3, 515}} {
			for range 3 {
				all = append(all, s.productCall(dims[0], dims[1], dims[2], s.anyProduct(), values))
			}
		}
		return all
	case kernels.CrossEntropy, kernels.CrossEntropyGrad:
		return []*call{s.lossCall(2003, 33, dense, values), s.lossCall(17, 4001, dense, values)}
	case kernels.SGDStep, kernels.AdamWStep:
		attrs := s.hyperparameters()
		params := [][]int64{{70_001}, {3}, {257, 303}}
		return []*call{
			s.stepCall(attrs[0], params, func() layout { return dense }),
			s.stepCall(attrs[len(attrs)-1], params, func() layout { return s.pick(writable) }),
		}
	case kernels.Copy:
		c := s.elementwiseCall([]int64{257, 403}, [3]layout{dense, writable[2]}, values)
		return []*call{c, s.elementwiseCall([]int64{100_003}, [3]layout{}, values)}
	}
	return []*call{
		s.elementwiseCall([]int64{100_003}, [3]layout{}, values),
		s.elementwiseCall([]int64{257, 403}, [3]layout{writable[2], dense, expanded}, values),
	}
}
