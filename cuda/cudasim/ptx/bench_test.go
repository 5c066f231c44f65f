package ptx

import "testing"

// BenchmarkMatmul multiplies 256 by 256 matrices, a tile a block, with every
// access checked.
func BenchmarkMatmul(b *testing.B) {
	const n = 256
	k := kernelOf(b, "matmul", "matmul")
	var d device
	pa, _ := alloc(b, &d, numbers(n*n))
	pb, _ := alloc(b, &d, numbers(n*n))
	pc, _ := alloc(b, &d, make([]float32, n*n))
	params := pack(b, k, pa, pb, pc, int32(n), int32(n), int32(n))
	for b.Loop() {
		if err := k.Launch(Dim3{n / 16, n / 16, 1}, Dim3{16, 16, 1}, 0, params, &d); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(2*n*n*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func BenchmarkSaxpy(b *testing.B) {
	const n = 1 << 20
	k := kernelOf(b, "elementwise", "saxpy")
	var d device
	px, _ := alloc(b, &d, numbers(n))
	py, _ := alloc(b, &d, numbers(n))
	params := pack(b, k, float32(2), px, py, int32(n))
	for b.Loop() {
		if err := k.Launch(flat(n/256), flat(256), 0, params, &d); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melem/s")
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		compileFile(b, "integer")
	}
}
