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
				for _, c := range familyOf(id).large(s) {
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
