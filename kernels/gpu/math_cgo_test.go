//go:build cgo && (linux || darwin)

package gpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
)

// TestMath holds the polynomials to two units in the last place over numbers of
// all sizes, and denser where the functions bend. In float64 that is against
// package math, which is off by up to one itself.
func TestMath(t *testing.T) {
	k := simulated(t)
	r := rand.New(rand.NewPCG(1, 2))
	const n = 1 << 16
	for _, c := range []struct {
		id     kernels.ID
		f      func(float64) float64
		number func() float64
	}{
		{kernels.Exp, math.Exp, func() float64 { return 88 * (2*r.Float64() - 1) }},
		{kernels.Exp, math.Exp, func() float64 { return math.Ldexp(2*r.Float64()-1, -r.IntN(40)) }},
		{kernels.Log, math.Log, func() float64 { return math.Ldexp(1+r.Float64(), r.IntN(250)-125) }},
		{kernels.Log, math.Log, func() float64 { return 1 + math.Ldexp(2*r.Float64()-1, -1-r.IntN(24)) }},
	} {
		x32, x64 := make([]float32, n), make([]float64, n)
		for i := range x32 {
			x64[i] = c.number()
			x32[i] = float32(x64[i])
		}
		in, out := k.vector(t, x32), k.vector(t, make([]float32, n))
		require.NoError(t, k.do(c.id, 0, []kernels.View{out}, in))
		worst := 0.0
		for i, got := range k.values(t, out) {
			want := c.f(float64(x32[i]))
			unit := float64(math.Nextafter32(float32(math.Abs(want)), math.MaxFloat32) - float32(math.Abs(want)))
			worst = max(worst, math.Abs(float64(got)-want)/unit)
		}
		require.LessOrEqual(t, worst, 2.0, "%v of float32", c.id)
		t.Logf("%v of float32: %.2f units", c.id, worst)

		in, out = k.dense(t, kernels.Float64, bytesOf(x64), n), k.dense(t, kernels.Float64, make([]byte, n*8), n)
		require.NoError(t, k.do(c.id, 0, []kernels.View{out}, in))
		worst = 0
		for i, got := range k.values64(t, out) {
			want := c.f(x64[i])
			unit := math.Nextafter(math.Abs(want), math.MaxFloat64) - math.Abs(want)
			worst = max(worst, math.Abs(got-want)/unit)
		}
		require.LessOrEqual(t, worst, 3.0, "%v of float64", c.id)
		t.Logf("%v of float64: %.2f units", c.id, worst)
	}
}
