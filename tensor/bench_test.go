package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// scopeOps is how many ops a benchmark runs before it opens a new scope.
const scopeOps = 64

// BenchmarkTinyOp is the host side of one recorded op on 8 elements, released
// at once: everything but the arithmetic.
func BenchmarkTinyOp(b *testing.B) {
	d := newCPU(b)
	w := tensor.Ones(d, tensor.Float32, 8).RequireGrad()
	b.Run("scope", func(b *testing.B) {
		b.ReportAllocs()
		s := tensor.NewScope()
		x := w.In(s)
		for i := 0; b.Loop(); i++ {
			if i%scopeOps == 0 {
				require.NoError(b, s.Close())
				s = tensor.NewScope()
				x = w.In(s)
			}
			y := x.Mul(w)
			y.Release()
		}
		require.NoError(b, s.Close())
	})
	b.Run("no scope", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			y := w.Mul(w)
			y.Release()
		}
	})
	b.Run("NoGrad", func(b *testing.B) {
		b.ReportAllocs()
		x := w.NoGrad()
		for b.Loop() {
			y := x.Mul(w)
			y.Release()
		}
	})
}
