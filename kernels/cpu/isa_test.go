//go:build cgo && !race

// Not under the race detector, which does not see into C.

package cpu

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
	"tarn/kernels/kerneltest"
)

// TestEveryISA holds each instance that this processor can run to the suite.
func TestEveryISA(t *testing.T) {
	best := ISA()
	defer func() { require.NoError(t, useISA(best)) }()
	for _, name := range isaNames {
		if name == best {
			continue // TestConformance runs it
		}
		if err := useISA(name); err != nil {
			t.Log(err)
			continue
		}
		kerneltest.Run(t, name, Table(), kernels.Float32)
		t.Run(name+"/threads", func(t *testing.T) {
			defer SetThreads(0)
			kerneltest.Threads(t, Table(), SetThreads)
		})
	}
}

func TestUnknownISA(t *testing.T) {
	best := ISA()
	require.ErrorContains(t, useISA("avx1024"), "avx1024")
	require.Equal(t, best, ISA(), "nothing has changed")
}

// TestVectorMath sweeps exp, log and sqrt over all exponents and signs and
// compares with float64: at most 4 units in the last place.
func TestVectorMath(t *testing.T) {
	best := ISA()
	defer func() { require.NoError(t, useISA(best)) }()
	var xs []float32
	for bits := uint64(0); bits < 1<<32; bits += 9973 {
		xs = append(xs, math.Float32frombits(uint32(bits)))
	}
	for i := range 4000 { // where exp is neither 0 nor Inf
		xs = append(xs, float32(i-2100)/20)
	}
	out := make([]float32, len(xs))
	for _, name := range isaNames {
		if useISA(name) != nil {
			continue
		}
		for id, f := range map[kernels.ID]func(float64) float64{kernels.Exp: math.Exp, kernels.Log: math.Log, kernels.Sqrt: math.Sqrt} {
			r := rows{rows: 1, n: int64(len(xs)), at: [maxOperands]uintptr{addr(out), addr(xs)}, step: [maxOperands]int64{1, 1}}
			bodiesInC().elementwise(id, r, 0, 0)
			for i, x := range xs {
				want := f(float64(x))
				if math.IsNaN(want) {
					require.True(t, math.IsNaN(float64(out[i])), "%s %v(%g) = %g", name, id, x, out[i])
					continue
				}
				if got := float64(out[i]); got != want && !(math.Abs(got-want) <= 4*ulp(want)) && float32(want) != out[i] {
					t.Fatalf("%s: %v(%g) = %g, want %g", name, id, x, got, want)
				}
			}
		}
	}
}

// ulp is the distance of float32 values near x.
func ulp(x float64) float64 {
	_, e := math.Frexp(x)
	return math.Ldexp(1, max(e-24, -149))
}

func addr(x []float32) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(x))) }
