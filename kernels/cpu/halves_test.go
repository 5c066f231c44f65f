//go:build cgo && !race

package cpu

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
)

// TestHalves holds the conversions in C to those in Go: of every half, and of
// floats of all exponents and of those between two halves.
func TestHalves(t *testing.T) {
	for d, f := range map[kernels.DType]struct {
		toFloat   func(uint16) float32
		fromFloat func(float32) uint16
	}{
		kernels.Float16:  {func(h uint16) float32 { return kernels.F16(h).Float32() }, func(x float32) uint16 { return uint16(kernels.ToF16(x)) }},
		kernels.BFloat16: {func(h uint16) float32 { return kernels.BF16(h).Float32() }, func(x float32) uint16 { return uint16(kernels.ToBF16(x)) }},
	} {
		var halves []uint16
		var floats []float32
		for h := range 1 << 16 {
			halves = append(halves, uint16(h))
			x, next := f.toFloat(uint16(h)), f.toFloat(uint16(h+1))
			middle := x + (next-x)/2
			floats = append(floats, x, middle, math.Nextafter32(middle, x), math.Nextafter32(middle, next), math.Float32frombits(uint32(h)*65521))
		}
		halves, floats = halves[:len(halves)-1], floats[:len(floats)-1] // no whole number of vectors
		eachISA(t, func(name string) {
			wide, narrow := make([]float32, len(halves)), make([]uint16, len(floats))
			copyInC(kernels.Float32, unsafe.Pointer(&wide[0]), d, unsafe.Pointer(&halves[0]), len(halves))
			for i, h := range halves {
				want := f.toFloat(h)
				require.True(t, wide[i] == want || wide[i] != wide[i] && want != want, "%s: %v %#x is %g, want %g", name, d, h, wide[i], want)
			}
			copyInC(d, unsafe.Pointer(&narrow[0]), kernels.Float32, unsafe.Pointer(&floats[0]), len(floats))
			for i, x := range floats {
				want, got := f.fromFloat(x), f.toFloat(narrow[i])
				require.True(t, narrow[i] == want || x != x && got != got, "%s: %g is %v %#x, want %#x", name, x, d, narrow[i], want)
			}
		})
	}
}

func copyInC(to kernels.DType, out unsafe.Pointer, from kernels.DType, in unsafe.Pointer, n int) {
	r := rows{rows: 1, n: int64(n), at: [maxOperands]uintptr{uintptr(out), uintptr(in)}, step: [maxOperands]int64{to.Size(), from.Size()},
		dtypes: [maxOperands]kernels.DType{to, from}}
	bodiesInC().elementwise(kernels.Copy, r, 0, 0)
}
