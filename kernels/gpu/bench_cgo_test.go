//go:build cgo && (linux || darwin)

package gpu

import (
	"testing"

	"tarn/cuda"
	"tarn/kernels"
)

// BenchmarkPrepare is what an op costs before the driver is called.
func BenchmarkPrepare(b *testing.B) {
	k := simulated(b)
	x := k.matrix(b, make([]float32, 64*256), 64, 256)
	bias := x
	bias.Strides[0] = 0
	for b.Loop() {
		w := walkOver(&x, &x, &bias)
		if !w.inVectors(4) {
			b.Fatal("a bias is not taken in vectors")
		}
		v := w.vectors(4)
		l, err := k.prepare(elementwise[kernels.Add].f32.vectors)
		if err != nil {
			b.Fatal(err)
		}
		for _, p := range w.ptrs[:w.operands] {
			l.Ptr(cuda.DevicePtr(p))
		}
		v.pass(l.Int64(w.count), false).Uint32(w.splat()).Discard()
	}
}

// BenchmarkPlan is what the cut of a reduction costs.
func BenchmarkPlan(b *testing.B) {
	x := view(kernels.Float32, []int64{64, 256}, []int64{256, 1})
	out := view(kernels.Float32, []int64{1, 256}, []int64{256, 1})
	for b.Loop() {
		if r := reduceDims(&out, &x, nil); !r.byCols {
			b.Fatal("columns are not taken as such")
		}
	}
}
