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
			if table[id] == nil || !byDType(id).Has(d) {
				continue
			}
			t.Run(id.String()+"/"+d.String(), func(t *testing.T) {
				s := &suite{T: t, table: table, rand: rand.New(rand.NewPCG(5, uint64(id))), id: id, dtype: d}
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
		got := c.run(s.table)
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
		for _, dims := range [][]int64{{300_007}, {401, 1003}, {70_001, 5}, {13, 129, 301}} {
			for _, bits := range s.reduceSets(len(dims)) {
				all = append(all, s.reduceCall(dims, bits, dense, dense, values))
			}
			all = append(all, s.reduceCall(dims, 1<<len(dims)-1, dense, writable[2], values))
		}
		return all
	case kernels.MaxGrad:
		x := place(s.rand, s.dtype, []int64{401, 503}, dense).fill(ties(s.rand))
		m := place(s.rand, s.dtype, []int64{401, 1}, dense).fill(ties(s.rand))
		m.fill(func(d kernels.DType, _ int) uint64 { return toBits(d, 1) })
		dy := place(s.rand, s.dtype, []int64{401, 1}, dense).fill(values)
		return []*call{{id: s.id, out: []operand{place(s.rand, s.dtype, []int64{401, 503}, dense)}, in: []operand{dy, x, m}}}
	case kernels.ArgMax:
		return []*call{{id: s.id, attr: kernels.Attr{Axis: 1},
			out: []operand{place(s.rand, kernels.Int64, []int64{401, 1}, dense)},
			in:  []operand{place(s.rand, s.dtype, []int64{401, 503}, dense).fill(ties(s.rand))}}}
	case kernels.MatMul:
		var all []*call
		for _, dims := range [][3]int64{{64, 256, 784}, {257, 129, 300}, {5, 2003, 290}, {2003, 3, 515}} {
			for range 4 {
				all = append(all, s.productCall(dims[0], dims[1], dims[2], s.anyProduct(), values))
			}
		}
		return all
	case kernels.CrossEntropy, kernels.CrossEntropyGrad:
		return []*call{s.lossCall(5003, 33, dense, values), s.lossCall(37, 4001, dense, values)}
	case kernels.SGDStep, kernels.AdamWStep:
		attrs := s.hyperparameters()
		params := [][]int64{{150_001}, {3}, {301, 401}}
		return []*call{
			s.stepCall(attrs[0], params, func() layout { return dense }),
			s.stepCall(attrs[len(attrs)-1], params, func() layout { return s.pick(writable) }),
		}
	case kernels.Copy:
		c := s.elementwiseCall([]int64{401, 1003}, [3]layout{dense, writable[2]}, values)
		return []*call{c, s.elementwiseCall([]int64{300_007}, [3]layout{}, values)}
	}
	return []*call{
		s.elementwiseCall([]int64{300_007}, [3]layout{}, values),
		s.elementwiseCall([]int64{401, 1003}, [3]layout{writable[2], dense, expanded}, values),
	}
}
