package cpu

import (
	"fmt"
	"testing"

	"tarn/kernels"
)

// BenchmarkGoMatMul is the plain Go product in the forms of a training step of
// an MLP 784-256-10 with batches of 64, and of a square.
func BenchmarkGoMatMul(b *testing.B) {
	op := goTable()[kernels.MatMul]
	for _, c := range []struct {
		name string
		x, y kernels.View
	}{
		{"forward", operand(64, 784), operand(784, 256)},
		{"dW", transpose(operand(64, 784)), operand(64, 256)},
		{"dX", operand(64, 256), transpose(operand(784, 256))},
		{"head", operand(64, 256), operand(256, 10)},
		{"square", operand(512, 512), operand(512, 512)},
	} {
		m, k, n := c.x.Dims[0], c.x.Dims[1], c.y.Dims[1]
		a := newCall(op, operand(m, n), c.x, c.y)
		b.Run(fmt.Sprintf("%s/%dx%dx%d", c.name, m, n, k), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := op.Run(Queue(), a); err != nil {
					b.Fatal(err)
				}
			}
			flop := 2 * float64(m*n*k) * float64(b.N)
			b.ReportMetric(flop/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

// BenchmarkGoTiny is the cost of an op that has next to nothing to do.
func BenchmarkGoTiny(b *testing.B) {
	t := goTable()
	for id, a := range smallCalls(t) {
		b.Run(id.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := t[id].Run(Queue(), a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
