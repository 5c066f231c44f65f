package cpu

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
)

// BenchmarkElementwise reports what an element of each float32 op costs beside
// one of Add, which is bound by memory: the best of each in turns on one thread,
// over operands that fit the second-level cache.
func BenchmarkElementwise(b *testing.B) {
	SetThreads(1)
	defer SetThreads(0)
	const n = 1 << 15
	t := Table()
	call := func(id kernels.ID) *kernels.Args {
		a := &kernels.Args{Out: []kernels.View{operand(n)}, Attr: kernels.Attr{Alpha: 1.25, Beta: 1.5}}
		if !id.DTypes().Has(kernels.Float32) {
			a.Out[0].DType = kernels.Bool
		}
		for range id.Inputs() {
			a.In = append(a.In, operand(n))
		}
		if id == kernels.Where {
			a.In[0] = kernels.View{Ptr: a.In[0].Ptr, DType: kernels.Bool, Rank: 1, Dims: a.In[0].Dims, Strides: a.In[0].Strides}
		}
		return a
	}
	add := call(kernels.Add)
	for id := kernels.Add; id <= kernels.Where; id++ {
		if t[id] == nil || id >= kernels.And && id <= kernels.Xor {
			continue
		}
		a := call(id)
		b.Run(id.String(), func(b *testing.B) {
			best := func(least time.Duration, op *kernels.Op, a *kernels.Args) time.Duration {
				start := time.Now()
				require.NoError(b, op.Run(Queue(), a))
				return min(least, time.Since(start))
			}
			own, adds := time.Hour, time.Hour
			for b.Loop() {
				own, adds = best(own, t[id], a), best(adds, t[kernels.Add], add)
			}
			b.ReportMetric(n/own.Seconds()/1e9, "Gelement/s")
			b.ReportMetric(float64(own)/float64(adds), "xAdd")
		})
	}
}
