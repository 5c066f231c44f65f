//go:build cgo && !race

package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"tarn/kernels"
	"tarn/kernels/scalar"
)

// TestVectorDivision holds FloorDivide and Remainder in C to the functions of
// single numbers, signs of 0 included: for each pair of special numbers, pairs of
// all sizes, and quotients that are whole or next to it.
func TestVectorDivision(t *testing.T) {
	special := []float32{0, float32(math.Copysign(0, -1)), 1, -1, 0.1, -0.1, 3, -3, 7, 0x1p24, 0x1p28, -0x1p28, 0x1p28 + 32, 1e30, -1e30, 1e-30,
		0x1p-149, -0x1p-149, 0x1p-126, math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	var xs, ys []float32
	for _, x := range special {
		for _, y := range special {
			xs, ys = append(xs, x), append(ys, y)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 50000 {
		x, y := math.Float32frombits(r.Uint32()), math.Float32frombits(r.Uint32())
		xs, ys = append(xs, x), append(ys, y)
		whole := y * float32(r.IntN(1<<(1+r.IntN(28)))-100)
		xs, ys = append(xs, whole, math.Nextafter32(whole, 0), math.Nextafter32(whole, x)), append(ys, y, y, y)
	}
	out := make([]float32, len(xs))
	eachISA(t, func(name string) {
		for id, want := range map[kernels.ID]func(x, y float64) float64{kernels.FloorDivide: scalar.FloorDivide, kernels.Remainder: scalar.Remainder} {
			r := rows{rows: 1, n: int64(len(xs)), at: [maxOperands]uintptr{addr(out), addr(xs), addr(ys)}, step: [maxOperands]int64{4, 4, 4}}
			bodiesInC().elementwise(id, r, 0, 0)
			for i, x := range xs {
				want := float32(want(float64(x), float64(ys[i])))
				if math.Float32bits(out[i]) != math.Float32bits(want) && (want == want || out[i] == out[i]) {
					t.Fatalf("%s: %v(%g, %g) = %g, want %g", name, id, x, ys[i], out[i], want)
				}
			}
		}
	})
}
