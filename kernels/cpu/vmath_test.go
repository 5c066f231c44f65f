//go:build cgo && !race

package cpu

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
	"tarn/kernels/scalar"
)

// vectorMath are the functions in C: what float64 gives, how many units in the
// last place a result may be off by, and the scale of those, nil for the result
// itself.
var vectorMath = []struct {
	id          kernels.ID
	alpha, beta float32
	want        func(x float64) float64
	ulps        float64
	scale       func(x, want float64) float64
}{
	{id: kernels.Exp, want: math.Exp, ulps: 2},
	{id: kernels.Log, want: math.Log, ulps: 2},
	{id: kernels.Sqrt, want: math.Sqrt, ulps: 0.5},
	{id: kernels.Neg, want: func(x float64) float64 { return -x }},
	{id: kernels.Abs, want: math.Abs},
	{id: kernels.Floor, want: math.Floor},
	{id: kernels.Ceil, want: math.Ceil},
	{id: kernels.Trunc, want: math.Trunc},
	{id: kernels.Round, want: math.RoundToEven},
	{id: kernels.Reciprocal, want: func(x float64) float64 { return 1 / x }, ulps: 0.5},
	{id: kernels.Rsqrt, want: func(x float64) float64 { return 1 / math.Sqrt(x) }, ulps: 1.5},
	{id: kernels.Expm1, want: math.Expm1, ulps: 2},
	{id: kernels.Log1p, want: math.Log1p, ulps: 2},
	{id: kernels.Sin, want: math.Sin, ulps: 2},
	{id: kernels.Cos, want: math.Cos, ulps: 2},
	{id: kernels.Tanh, want: math.Tanh, ulps: 3},
	{id: kernels.Sigmoid, want: scalar.Sigmoid, ulps: 3},
	{id: kernels.Erf, want: math.Erf, ulps: 2},
	{id: kernels.SiLU, want: func(x float64) float64 { return x * scalar.Sigmoid(x) }, ulps: 4},
	{id: kernels.GELU, want: func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }, ulps: 6, scale: input(0.01)},
	{id: kernels.ELU, alpha: 0.75, want: func(x float64) float64 {
		if x > 0 {
			return x
		}
		return 0.75 * math.Expm1(x)
	}, ulps: 3},
	{id: kernels.Softplus, alpha: 1.25, beta: 20, want: func(x float64) float64 {
		if 1.25*x > 20 {
			return x
		}
		return math.Log1p(math.Exp(1.25*x)) / 1.25
	}, ulps: 4},
	{id: kernels.PowScalar, alpha: 2, want: func(x float64) float64 { return x * x }, ulps: 0.5},
	{id: kernels.PowScalar, alpha: 3, want: func(x float64) float64 { return x * x * x }, ulps: 2},
	{id: kernels.PowScalar, alpha: -1.5, want: func(x float64) float64 { return math.Pow(x, -1.5) }, ulps: 2},
	{id: kernels.PowScalar, alpha: 7, want: func(x float64) float64 { return math.Pow(x, 7) }, ulps: 2},
}

// input is the scale of an op whose result may cancel: part of x.
func input(part float64) func(x, want float64) float64 {
	return func(x, want float64) float64 { return max(math.Abs(want), part*math.Abs(x)) }
}

// TestVectorMath sweeps the functions over all exponents and signs and compares
// with float64.
func TestVectorMath(t *testing.T) {
	xs := []float32{1, -1, 0.5, 1.5, 2.5, -0.5, -2.5, 0x1p23, 0x1p23 - 0.5, 0x1p22 + 0.5, 0x1p20, 1e30, -1e30,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 0, float32(math.Copysign(0, -1))}
	for bits := uint64(0); bits < 1<<32; bits += 49999 {
		xs = append(xs, math.Float32frombits(uint32(bits)))
	}
	for i := range 4000 { // where exp is neither 0 nor Inf
		xs = append(xs, float32(i-2100)/20)
	}
	out := make([]float32, len(xs))
	eachISA(t, func(name string) {
		for _, c := range vectorMath {
			r := rows{rows: 1, n: int64(len(xs)), at: [maxOperands]uintptr{addr(out), addr(xs)}, step: [maxOperands]int64{4, 4}}
			bodiesInC().elementwise(c.id, r, c.alpha, c.beta)
			for i, x := range xs {
				want := c.want(float64(x))
				scale := want
				if c.scale != nil {
					scale = c.scale(float64(x), want)
				}
				if !near(out[i], want, c.ulps*ulp(scale)) {
					t.Fatalf("%s: %v(%g; %g) = %g, want %g", name, c.id, x, c.alpha, out[i], want)
				}
			}
		}
	})
}

// TestVectorPow holds Pow to C's rules for each pair of special numbers, and to
// math.Pow for numbers of all sizes.
func TestVectorPow(t *testing.T) {
	special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 2, -2, 3, -3, 2.5, 1 + 0x1p-23, 1 - 0x1p-24, -1 - 0x1p-23, 0x1p24, 0x1p24 + 2,
		-0x1p24, 0x1p31, 0x1p23 + 1, -0x1p23 - 1, 1e30, 1e-30, 0x1p-149, -0x1p-149, math.MaxFloat32, math.Inf(1), math.Inf(-1), math.NaN()}
	var xs, ys []float32
	for _, x := range special {
		for _, y := range special {
			xs, ys = append(xs, float32(x)), append(ys, float32(y))
		}
	}
	for i := range 100000 { // the size of the result runs from 2^-150 to 2^128
		x := math.Exp2(float64(i*7919%30000)/100 - 149)
		xs, ys = append(xs, float32(x)), append(ys, float32((float64(i)*278/100000-150)/math.Log2(x)))
	}
	out := make([]float32, len(xs))
	eachISA(t, func(name string) {
		r := rows{rows: 1, n: int64(len(xs)), at: [maxOperands]uintptr{addr(out), addr(xs), addr(ys)}, step: [maxOperands]int64{4, 4, 4}}
		bodiesInC().elementwise(kernels.Pow, r, 0, 0)
		for i, x := range xs {
			want := math.Pow(float64(x), float64(ys[i]))
			if !near(out[i], want, 2*ulp(want)) || math.Signbit(want) != math.Signbit(float64(out[i])) && want == want {
				t.Fatalf("%s: %g^%g = %g, want %g", name, x, ys[i], out[i], want)
			}
		}
	})
}

// eachISA calls f with each instance that this processor can run in use.
func eachISA(t *testing.T, f func(name string)) {
	best := ISA()
	defer func() { require.NoError(t, useISA(best)) }()
	for _, name := range isaNames {
		if useISA(name) == nil {
			f(name)
		}
	}
}

// near reports whether got is within off of want, or the float32 nearest to it;
// NaN is near NaN alone.
func near(got float32, want, off float64) bool {
	if got != got || want != want {
		return got != got && want != want
	}
	return math.Abs(float64(got)-want) <= off || float32(want) == got
}

// ulp is the distance of float32 values near x.
func ulp(x float64) float64 {
	_, e := math.Frexp(x)
	return math.Ldexp(1, max(e-24, -149))
}

func addr(x []float32) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(x))) }
