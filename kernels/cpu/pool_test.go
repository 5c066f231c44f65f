package cpu

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
)

func vector(x []float32) kernels.View {
	v := kernels.View{Ptr: uintptr(unsafe.Pointer(&x[0])), DType: kernels.Float32, Rank: 1}
	v.Dims[0], v.Strides[0] = int64(len(x)), 1
	return v
}

// TestOpsFromManyGoroutines has goroutines ask for the threads at once: one
// gets them, and the others' ops come out right all the same.
func TestOpsFromManyGoroutines(t *testing.T) {
	const goroutines, rounds, n = 8, 50, 1 << 17
	SetThreads(4)
	defer SetThreads(0)
	var done sync.WaitGroup
	for g := range goroutines {
		done.Go(func() {
			x, out := make([]float32, n), make([]float32, n)
			for i := range x {
				x[i] = float32(i % 1000)
			}
			for range rounds {
				a := kernels.NewArgs()
				a.Out = append(a.Out, vector(out))
				a.In = append(a.In, vector(x))
				a.Attr.Alpha, a.Attr.Beta = 2, float64(g)
				require.NoError(t, Table()[kernels.Affine].Run(Queue(), a))
				a.Put()
				for i := range out {
					if out[i] != 2*x[i]+float32(g) {
						t.Errorf("goroutine %d: element %d is %g", g, i, out[i])
						return
					}
				}
				clear(out)
			}
		})
	}
	done.Wait()
}
