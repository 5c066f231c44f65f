package cpu

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tarn/internal/fmapeak"
	"tarn/kernels"
)

// matrix returns a view of rows x cols random elements; transposed, of a matrix
// that lies as cols x rows.
func matrix(b *testing.B, rows, cols int64, transposed bool) kernels.View {
	data := make([]float32, rows*cols+16)
	for i := range data {
		data[i] = rand.Float32() - 0.5
	}
	v := kernels.View{DType: kernels.Float32, Rank: 2}
	v.Ptr = (uintptr(unsafe.Pointer(&data[0])) + 63) &^ 63
	v.Dims[0], v.Dims[1] = rows, cols
	v.Strides[0], v.Strides[1] = cols, 1
	if transposed {
		v.Strides[0], v.Strides[1] = 1, rows
	}
	b.Cleanup(func() { runtime.KeepAlive(data) })
	return v
}

// BenchmarkSGEMM reports the share of one core's FMA peak, measured beside it, at
// one thread and in its processor time. The shapes after the squares are those of an MLP
// 784-256-10 at batch 64: NN forward, TN a weight's gradient, NT an input's.
func BenchmarkSGEMM(b *testing.B) {
	SetThreads(1)
	defer SetThreads(0)
	for _, c := range []struct {
		form    string
		m, n, k int64
	}{
		{"NN", 256, 256, 256}, {"NN", 512, 512, 512}, {"NN", 1024, 1024, 1024}, {"NN", 2048, 2048, 2048},
		{"NT", 256, 256, 256}, {"TN", 512, 512, 512}, {"TT", 512, 512, 512},
		{"NN", 64, 256, 784}, {"TN", 784, 256, 64}, {"NT", 64, 784, 256}, {"NT", 64, 256, 784},
		{"NN", 64, 10, 256}, {"TN", 256, 10, 64}, {"NT", 64, 256, 10}, {"NN", 256, 256, 784}, {"TN", 784, 256, 256},
	} {
		b.Run(fmt.Sprintf("%s/%dx%dx%d", c.form, c.m, c.n, c.k), func(b *testing.B) {
			a := kernels.NewArgs()
			defer a.Put()
			a.Out = append(a.Out, matrix(b, c.m, c.n, false))
			a.In = append(a.In, matrix(b, c.m, c.k, c.form[0] == 'T'), matrix(b, c.k, c.n, c.form[1] == 'T'))
			op := Table()[kernels.MatMul]
			if n := op.Workspace(a); n > 0 {
				a.Work = matrix(b, 1, n/4+1024, false)
			}
			meter := fmapeak.NewMeter(2*float64(c.m*c.n*c.k), b.StopTimer, b.StartTimer)
			meter.CountThread()
			b.ReportAllocs()
			for b.Loop() {
				meter.Time(func() { require.NoError(b, op.Run(Queue(), a)) })
			}
			ratio, flops, peak := meter.Result()
			if peak == 0 {
				return // built without C
			}
			b.ReportMetric(flops/1e9, "GFLOP/s")
			b.ReportMetric(100/ratio, "%peak")
			if ratio < 1 {
				b.Fatalf("%.1f GFLOP/s is more than the peak, %.1f: the peak is measured wrong", flops/1e9, peak/1e9)
			}
		})
	}
}
