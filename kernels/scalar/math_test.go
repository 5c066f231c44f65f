package scalar_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"tarn/kernels/scalar"
)

// The values are those of exact arithmetic.
func TestMathAtTheEnds(t *testing.T) {
	for x, want := range map[float64]float64{
		709.5: 1.3549863193146328e+308, 709.78: 1.7928227943945155e+308,
		0: 1, math.Inf(-1): 0, -745: 5e-324, 1: math.E,
	} {
		assert.InEpsilon(t, 1+want, 1+scalar.Exp(x), 1e-15, "exp %v", x)
	}
	assert.Equal(t, math.Inf(1), scalar.Exp(710))
	assert.Equal(t, math.Inf(1), scalar.Exp(math.Inf(1)))
	for x, want := range map[float64]float64{
		math.SmallestNonzeroFloat64: -744.4400719213812, 0x1p-1023: -709.0895657128241, 0x1p-1022: -708.3964185322641,
	} {
		assert.InEpsilon(t, want, scalar.Log(x), 1e-15, "log %v", x)
	}
	assert.Equal(t, math.Inf(-1), scalar.Log(0))
	assert.True(t, math.IsNaN(scalar.Log(-1)) && math.IsNaN(scalar.Exp(math.NaN())))
}
