package nn_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/internal/fmapeak"
	"tarn/nn"
	"tarn/tensor"
)

// gemmFlops is what the matrix products of a training step of an MLP come to:
// forward, the weights' gradients, and the inputs' but for the first layer.
func gemmFlops(sizes []int, batch int) float64 {
	sum := 0
	for i := 1; i < len(sizes); i++ {
		products := 3
		if i == 1 {
			products = 2
		}
		sum += products * 2 * batch * sizes[i-1] * sizes[i]
	}
	return float64(sum)
}

// BenchmarkMLPStep is a whole training step, scope and all, on data that lies
// on the device. xgemm is its time over that of its matrix products at the peak
// of one core, measured beside it; with more threads it can be below 1.
func BenchmarkMLPStep(b *testing.B) {
	sizes := []int{784, 256, 10}
	for _, threads := range []int{1, 2} {
		for _, batch := range []int{64, 256} {
			for _, name := range []string{"sgd", "adamw"} {
				b.Run(fmt.Sprintf("batch=%d/%s/threads=%d", batch, name, threads), func(b *testing.B) {
					tensor.SetThreads(threads)
					defer tensor.SetThreads(0)
					d := newDevice(b)
					m := mlp(b, d, sizes)
					opt := optimizerNamed(b, name, m.Parameters())
					x, y := examples(d, batch, sizes[0], sizes[2])
					b.ReportAllocs()
					meter := fmapeak.NewMeter(gemmFlops(sizes, batch), b.StopTimer, b.StartTimer)
					for b.Loop() {
						meter.Time(func() { require.NoError(b, step(m, opt, x, y)) })
					}
					if ratio, _, peak := meter.Result(); peak > 0 {
						b.ReportMetric(ratio, "xgemm")
						b.ReportMetric(peak/1e9, "peak-GFLOP/s")
					}
				})
			}
		}
	}
}

func examples(d *tensor.Device, batch, features, classes int) (x, y *tensor.Tensor) {
	r := rand.New(rand.NewPCG(1, 2))
	pixels, labels := make([]float32, batch*features), make([]int64, batch)
	for i := range pixels {
		pixels[i] = r.Float32()
	}
	for i := range labels {
		labels[i] = r.Int64N(int64(classes))
	}
	return tensor.FromSlice(d, pixels, batch, features), tensor.FromSlice(d, labels)
}

func step(m nn.Module, opt nn.Optimizer, x, y *tensor.Tensor) error {
	s := tensor.NewScope()
	if err := opt.ZeroGrad(); err != nil {
		return err
	}
	if err := nn.CrossEntropy(m.Forward(x.In(s)), y).Backward(); err != nil {
		return err
	}
	if err := opt.Step(); err != nil {
		return err
	}
	return s.Close()
}
