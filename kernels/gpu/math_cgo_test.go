//go:build cgo && (linux || darwin)

package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/kernels"
	"tarn/kernels/scalar"
)

// numbers makes arguments of a function.
type numbers func(r *rand.Rand) float64

// evenly makes numbers of [-most, most].
func evenly(most float64) numbers {
	return func(r *rand.Rand) float64 { return most * (2*r.Float64() - 1) }
}

// small are numbers of [-1, 1] of all sizes, near1 what they are away from 1.
func small(r *rand.Rand) float64 { return math.Ldexp(2*r.Float64()-1, -r.IntN(40)) }
func near1(r *rand.Rand) float64 { return 1 + math.Ldexp(2*r.Float64()-1, -1-r.IntN(24)) }

// anySize are positive numbers of all sizes, large such of more than 2^20.
func anySize(r *rand.Rand) float64 { return math.Ldexp(1+r.Float64(), r.IntN(250)-125) }
func large(r *rand.Rand) float64   { return math.Ldexp(1+r.Float64(), 20+r.IntN(107)) }

func aroundOne(r *rand.Rand) float64 { return 0.5 + r.Float64() }

func timesSigmoid(x float64) float64 { return x * scalar.Sigmoid(x) }
func gelu(x float64) float64         { return x * math.Erfc(-x/math.Sqrt2) / 2 }
func geluTanh(x float64) float64 {
	return x * scalar.Sigmoid(2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))
}
func softplus(x float64) float64 { return math.Log1p(math.Exp(x)) }

func power(y float64) func(float64) float64 {
	return func(x float64) float64 { return scalar.Pow(x, y) }
}

// TestMath holds the functions to what package kernels says of them, less what
// the reference is off by, over numbers of all sizes and denser where they bend.
func TestMath(t *testing.T) {
	k := simulated(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		id    kernels.ID
		f     func(float64) float64
		most  float64 // units of the last place in float32; in float64 1 more
		alpha float64
		x     []numbers
	}{
		{kernels.Exp, math.Exp, 2, 0, []numbers{evenly(88), small}},
		{kernels.Log, math.Log, 2, 0, []numbers{anySize, near1}},
		{kernels.Rsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }, 2, 0, []numbers{anySize}},
		{kernels.Expm1, math.Expm1, 3, 0, []numbers{evenly(88), evenly(2), small}},
		{kernels.Log1p, math.Log1p, 3, 0, []numbers{evenly(1), small, large}},
		{kernels.Sin, math.Sin, 2, 0, []numbers{evenly(10), evenly(1 << 20), small, large}},
		{kernels.Cos, math.Cos, 2, 0, []numbers{evenly(10), evenly(1 << 20), small, large}},
		{kernels.Tanh, math.Tanh, 4, 0, []numbers{evenly(10), small}},
		{kernels.Sigmoid, scalar.Sigmoid, 4, 0, []numbers{evenly(87), small}},
		{kernels.Erf, math.Erf, 4, 0, []numbers{evenly(5), small}},
		{kernels.SiLU, timesSigmoid, 4, 0, []numbers{evenly(80), small}},
		{kernels.GELU, gelu, 8, 0, []numbers{evenly(1.5), small}},
		{kernels.GELUTanh, geluTanh, 8, 0, []numbers{evenly(2), small}},
		{kernels.Softplus, softplus, 4, 1, []numbers{evenly(19), small}},
		{kernels.PowScalar, power(0.75), 2, 0.75, []numbers{anySize, near1}},
		{kernels.PowScalar, power(-100), 2, -100, []numbers{aroundOne, near1}},
		{kernels.PowScalar, power(1e6), 2, 1e6, []numbers{func(r *rand.Rand) float64 { return 1 + 1e-5*(2*r.Float64()-1) }}},
	} {
		for i, x := range c.x {
			t.Run(fmt.Sprint(c.id, i), func(t *testing.T) {
				attr := kernels.Attr{Alpha: c.alpha, Beta: 20}
				checkMath32(t, k, c.id, attr, c.f, func() float64 { return x(r) }, c.most)
				checkMath64(t, k, c.id, attr, c.f, func() float64 { return x(r) }, c.most+1)
			})
		}
	}
}

const mathNumbers = 1 << 13

func checkMath32(t *testing.T, k *Kernels, id kernels.ID, attr kernels.Attr, f func(float64) float64, x func() float64, most float64) {
	list := make([]float32, mathNumbers)
	for i := range list {
		list[i] = float32(x())
	}
	in, out := k.vector(t, list), k.vector(t, make([]float32, len(list)))
	k.doWith(t, id, attr, out, in)
	worst, at := 0.0, float32(0)
	for i, got := range k.values(t, out) {
		want := math.Abs(f(float64(list[i])))
		size := float32(want)
		unit := float64(math.Nextafter32(size, math.MaxFloat32) - size)
		if off := math.Abs(math.Abs(float64(got))-want) / unit; !(off <= worst) {
			worst, at = off, list[i]
		}
	}
	require.LessOrEqual(t, worst, most, "%v of float32 %v", id, at)
	t.Logf("%v of float32: %.2f units at %v", id, worst, at)
}

func checkMath64(t *testing.T, k *Kernels, id kernels.ID, attr kernels.Attr, f func(float64) float64, x func() float64, most float64) {
	list := make([]float64, mathNumbers)
	for i := range list {
		list[i] = x()
	}
	n := int64(len(list))
	in, out := k.dense(t, kernels.Float64, bytesOf(list), n), k.dense(t, kernels.Float64, make([]byte, n*8), n)
	k.doWith(t, id, attr, out, in)
	worst, at := 0.0, 0.0
	for i, got := range k.values64(t, out) {
		want := math.Abs(f(list[i]))
		unit := math.Nextafter(want, math.MaxFloat64) - want
		if math.Abs(list[i]) > 1<<20 && (id == kernels.Sin || id == kernels.Cos) {
			unit = max(unit, 0x1p-53) // what package math leaves of a large angle
		}
		if off := math.Abs(math.Abs(got)-want) / unit; !(off <= worst) {
			worst, at = off, list[i]
		}
	}
	require.LessOrEqual(t, worst, most, "%v of float64 %v", id, at)
	t.Logf("%v of float64: %.2f units at %v", id, worst, at)
}

// doWith runs an elementwise op of one input with scalars.
func (k *Kernels) doWith(t *testing.T, id kernels.ID, attr kernels.Attr, out, in kernels.View) {
	a := kernels.NewArgs()
	defer a.Put()
	a.Out, a.In, a.Attr = append(a.Out, out), append(a.In, in), attr
	require.NoError(t, k.table[id].Run(k.Queue(0), a))
}

// TestLargeAngles: the sine and cosine of angles of which package math leaves
// few digits; the first is the number that is nearest to a multiple of pi/2. What is
// wanted was computed with 1,400 bits.
func TestLargeAngles(t *testing.T) {
	k := simulated(t)
	angles := []float64{5.319372648326541e+255, 1e22, -0x1p1000, math.MaxFloat64, 1048577}
	sines := []float64{1, -0.8522008497671888, 0.15920170308624243, 0.004961954789184062, 0.9727535843134413}
	cosines := []float64{-4.687165924254628e-19, 0.523214785395139, 0.9872460775989135, -0.9999876894265599, 0.23184146351624124}
	n := int64(len(angles))
	in, out := k.dense(t, kernels.Float64, bytesOf(angles), n), k.dense(t, kernels.Float64, make([]byte, n*8), n)
	for id, want := range map[kernels.ID][]float64{kernels.Sin: sines, kernels.Cos: cosines} {
		require.NoError(t, k.do(id, 0, []kernels.View{out}, in))
		require.InEpsilonSlice(t, want, k.values64(t, out), 0x1p-50, "%v", id)
	}
}

func (k *Kernels) values64(t testing.TB, v kernels.View) []float64 {
	x := make([]float64, v.Len())
	require.NoError(t, k.context.Download(0, bytesOf(x), cuda.DevicePtr(v.Ptr)))
	return x
}
