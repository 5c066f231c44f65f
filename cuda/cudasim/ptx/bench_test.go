package ptx

import "testing"

// The kernels run on the benchmark's goroutine, every access checked.

// BenchmarkMatmul multiplies matrices as simply as can be: a tile of 16 by 16 a
// block, an element a thread.
func BenchmarkMatmul(b *testing.B) {
	const n = 256
	k := kernelOf(b, "matmul", "matmul")
	benchmarkProduct(b, k, Dim3{n / 16, n / 16, 1}, Dim3{16, 16, 1}, n, false, int32(n), int32(n), int32(n))
}

// BenchmarkSGEMM multiplies matrices as libraries do, 4 by 4 elements a thread,
// with and without the checks that are made on request.
func BenchmarkSGEMM(b *testing.B) {
	const n = 256
	k := kernelOf(b, "sgemm", "sgemm")
	for _, c := range []struct {
		name   string
		kernel *Kernel
		freed  bool
	}{{"plain", k, false}, {"freed", k, true}, {"races", k.CheckRaces(), false}} {
		b.Run(c.name, func(b *testing.B) {
			benchmarkProduct(b, c.kernel, Dim3{n / 64, n / 64, 1}, flat(256), n, c.freed, int32(n))
		})
	}
}

func benchmarkProduct(b *testing.B, k *Kernel, grid, block Dim3, n int, freed bool, sizes ...any) {
	var d device
	pa, _ := alloc(b, &d, numbers(n*n))
	pb, _ := alloc(b, &d, numbers(n*n))
	pc, _ := alloc(b, &d, make([]float32, n*n))
	if freed {
		d.markFreed()
	}
	params := pack(b, k, append([]any{pa, pb, pc}, sizes...)...)
	for b.Loop() {
		if err := k.Launch(grid, block, 0, params, &d); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(2*float64(n*n*n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// markFreed gives all allocations marks of which none is set.
func (d *device) markFreed() {
	for i := range d.live {
		d.live[i].Freed = make([]byte, len(d.live[i].Bytes)/FreedGranule)
	}
}

func BenchmarkSaxpy(b *testing.B) {
	b.Run("plain", func(b *testing.B) { benchmarkSaxpy(b, 1<<20, false) })
	b.Run("freed", func(b *testing.B) { benchmarkSaxpy(b, 1<<20, true) })
}

// BenchmarkSmallLaunch is about what a launch costs beside its work.
func BenchmarkSmallLaunch(b *testing.B) { benchmarkSaxpy(b, 256, false) }

func benchmarkSaxpy(b *testing.B, n int, freed bool) {
	k := kernelOf(b, "elementwise", "saxpy")
	var d device
	px, _ := alloc(b, &d, numbers(n))
	py, _ := alloc(b, &d, numbers(n))
	if freed {
		d.markFreed()
	}
	params := pack(b, k, float32(2), px, py, int32(n))
	b.ReportAllocs()
	for b.Loop() {
		if err := k.Launch(flat(n/256), flat(256), 0, params, &d); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melem/s")
}

func BenchmarkSoftmax(b *testing.B) {
	const rows, cols = 256, 1024
	k := kernelOf(b, "reduce", "softmax")
	var d device
	px, _ := alloc(b, &d, numbers(rows*cols))
	py, _ := alloc(b, &d, make([]float32, rows*cols))
	params := pack(b, k, px, py, int32(rows), int32(cols))
	for b.Loop() {
		if err := k.Launch(flat(rows/8), flat(256), 0, params, &d); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(rows*cols*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melem/s")
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		compileFile(b, "integer")
	}
}
