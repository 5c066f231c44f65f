package scalar

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPowFloat compares whole powers with products of 2,000 bits.
func TestPow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	worst := 0.0
	for range 2000 {
		x := math.Ldexp(0.5+r.Float64(), r.IntN(9)-4)
		n := 1 + r.IntN(int(min(700/math.Abs(math.Log(x))+1, 1000)))
		exact := new(big.Float).SetPrec(2000).SetInt64(1)
		for range n {
			exact.Mul(exact, big.NewFloat(x))
		}
		want, _ := exact.Float64()
		if want < 0x1p-1000 || want > 0x1p1000 {
			continue
		}
		for _, y := range []float64{float64(n), -float64(n)} {
			if y < 0 {
				want, _ = exact.Quo(big.NewFloat(1), exact).Float64()
			}
			unit := math.Nextafter(want, math.Inf(1)) - want
			worst = max(worst, math.Abs(Pow(x, y)-want)/unit)
		}
	}
	require.LessOrEqual(t, worst, 2.0)
	t.Logf("%.2f units", worst)
}

// TestPowFloatSpecial: what is no number, and the signs, are math.Pow's.
func TestPowFloatSpecial(t *testing.T) {
	list := []float64{0, math.Copysign(0, -1), 1, -1, 2, -2, 3, 0.5, -0.5, 5e-324, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, x := range list {
		for _, y := range list {
			want, got := math.Pow(x, y), Pow(x, y)
			if math.IsNaN(want) {
				require.True(t, math.IsNaN(got), "%v^%v", x, y)
				continue
			}
			require.Equal(t, math.Signbit(want), math.Signbit(got), "%v^%v", x, y)
			require.True(t, got == want || math.Abs(got/want-1) < 1e-13, "%v^%v is %v, want %v", x, y, got, want)
		}
	}
}
