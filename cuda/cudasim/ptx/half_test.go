package ptx

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// nearest rounds an exact number to a format, ties to even, by way of the
// precision that its size leaves.
func nearest(x *big.Float, fraction, least int, most float64) float64 {
	if x.Sign() == 0 || x.IsInf() {
		v, _ := x.Float64()
		return v
	}
	e := x.MantExp(nil) - 1
	digits := fraction + 1 + min(e-least, 0)
	r := new(big.Float).Set(x)
	switch {
	case digits < 0:
		return math.Copysign(0, float64(x.Sign()))
	case digits == 0: // less than the least number; the half of it is even
		if unit := math.Ldexp(1, least-fraction); new(big.Float).Abs(x).Cmp(big.NewFloat(unit/2)) > 0 {
			return math.Copysign(unit, float64(x.Sign()))
		}
		return math.Copysign(0, float64(x.Sign()))
	}
	v, _ := r.SetMode(big.ToNearestEven).SetPrec(uint(digits)).Float64()
	if math.Abs(v) > most {
		return math.Copysign(math.Inf(1), v)
	}
	return v
}

// halfFormat is a 16-bit format of a test.
type halfFormat struct {
	name            string
	fraction, least int
	most            float64
}

var halfFormats = []halfFormat{{"f16", 10, -14, 65504}, {"bf16", 7, -126, 0x1.fep127}}

// value decodes by the definition.
func (f halfFormat) value(h uint16) float64 {
	sign, exponent, fraction := 1.0, int(h&0x7fff>>f.fraction), float64(h&(1<<f.fraction-1))
	if h>>15 != 0 {
		sign = -1
	}
	switch top := 1<<(15-f.fraction) - 1; {
	case exponent == top && fraction != 0:
		return math.NaN()
	case exponent == top:
		return math.Inf(int(sign))
	case exponent == 0:
		return sign * math.Ldexp(fraction, f.least-f.fraction)
	}
	return sign * math.Ldexp(fraction+math.Ldexp(1, f.fraction), exponent-1+f.least-f.fraction)
}

func (f halfFormat) nearest(x *big.Float) float64 { return nearest(x, f.fraction, f.least, f.most) }

// halfWarp runs a body on values of 16 bits of many lanes: a in %h1, b in %h2 and
// c in %h3, and returns what it leaves in %r0.
func halfWarp(t testing.TB, body string, a, b, c []uint16) []uint32 {
	t.Helper()
	text := strings.Replace(strings.Replace(snippetText(`
	ld.param.u64 %d8, [out];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.u32 %r1, %r1, %r2, %r3;
	mad.wide.u32 %d8, %r1, 12, %d8;
	ld.global.b16 %h1, [%d8];
	ld.global.b16 %h2, [%d8+2];
	ld.global.b16 %h3, [%d8+4];
`+body+`
	st.global.b32 [%d8+8], %r0;
	ret;`), "sm_75", "sm_90", 1), "7.0", "7.8", 1)
	m, err := Compile(text)
	require.NoError(t, err)
	k, err := m.Kernel("k")
	require.NoError(t, err)
	in := make([][6]uint16, len(a))
	for i := range in {
		in[i] = [6]uint16{a[i], b[i%len(b)], c[i%len(c)]}
	}
	var d device
	out, bytes := alloc(t, &d, in)
	require.NoError(t, k.Launch(flat(len(a)/256), flat(256), 0, pack(t, k, out), &d))
	results := make([]uint32, len(a))
	for i, v := range values[[6]uint16](t, bytes) {
		results[i] = uint32(v[4]) | uint32(v[5])<<16
	}
	return results
}

func everyHalf() []uint16 {
	all := make([]uint16, 1<<16)
	for i := range all {
		all[i] = uint16(i)
	}
	return all
}

// All 65,536 values, to f32 and back, and every middle between two of them.
func TestHalfConversions(t *testing.T) {
	all := everyHalf()
	for _, f := range halfFormats {
		wide := halfWarp(t, "cvt.f32."+f.name+" %f1, %h1;\nmov.b32 %r0, %f1;", all, all, all)
		back := halfWarp(t, "cvt.f32."+f.name+" %f1, %h1;\ncvt.rn."+f.name+".f32 %h4, %f1;\nmov.b32 %r0, {%h4, %h4};", all, all, all)
		for h := range all {
			want := f.value(uint16(h))
			got := math.Float32frombits(wide[h])
			if want != want {
				require.True(t, got != got, "%s %#x", f.name, h)
				require.Equal(t, uint32(0x7fff7fff), back[h], "%s %#x", f.name, h)
				continue
			}
			require.Equal(t, math.Float32bits(float32(want)), wide[h], "%s %#x", f.name, h)
			require.Equal(t, uint32(h)|uint32(h)<<16, back[h], "%s %#x", f.name, h)

			next := f.value(uint16(h + 1))
			if uint16(h+1)&0x7fff == 0 || next != next {
				continue
			}
			if math.IsInf(next, 0) {
				next = math.Copysign(math.Ldexp(1, 2-f.least), want) // the next power of two
			}
			middle := (want + next) / 2
			even := uint16(h)
			if h&1 == 1 {
				even++
			}
			convert := func(x float32) uint16 {
				if f.name == "bf16" {
					return float32ToBrain(x)
				}
				return float32ToHalf(x)
			}
			require.Equal(t, even, convert(float32(middle)), "%s: the middle above %#x", f.name, h)
			far := float32(math.Inf(int(math.Copysign(1, want))))
			require.Equal(t, uint16(h), convert(math.Nextafter32(float32(middle), 0)), "%s: below the middle above %#x", f.name, h)
			require.Equal(t, uint16(h+1), convert(math.Nextafter32(float32(middle), far)), "%s: above the middle above %#x", f.name, h)
		}
	}
}

// Arithmetic on values of all sizes, near each other so that sums cancel, and
// special ones, against exact numbers that are rounded once.
func TestHalfArithmetic(t *testing.T) {
	const n = 1 << 12
	r := rand.New(rand.NewPCG(1, 2))
	for _, f := range halfFormats {
		special := []uint16{0, 0x8000, 1, 0x8001, 0x7fff, 0x3c00, 0x3f80, 1<<15 - 1<<f.fraction, 0xffff &^ (1<<f.fraction - 1), 1<<f.fraction - 1, 1 << f.fraction}
		pick := func(near uint16) uint16 {
			switch r.IntN(8) {
			case 0:
				return special[r.IntN(len(special))]
			case 1, 2:
				return near ^ uint16(r.IntN(4)) ^ uint16(r.IntN(2))<<15
			case 3:
				return near + uint16(r.IntN(24))<<f.fraction
			}
			return uint16(r.Uint32())
		}
		a, b, c := make([]uint16, n), make([]uint16, n), make([]uint16, n)
		for i := range a {
			a[i] = uint16(r.Uint32())
			if i%2 == 0 {
				a[i] = uint16(r.IntN(1<<(f.fraction+6))) + (1<<14 - 1<<(f.fraction+5)) // about 1
			}
			b[i] = pick(a[i])
			c[i] = pick(b[i])
		}
		exact := func(v float64) *big.Float { return new(big.Float).SetPrec(2000).SetFloat64(v) }
		for op, do := range map[string]struct {
			near  func(x, y, z float64) float64 // for what is not finite, and signs of zeros
			exact func(x, y, z *big.Float) *big.Float
		}{
			"add %s1, %s2;":         {func(x, y, _ float64) float64 { return x + y }, func(x, y, _ *big.Float) *big.Float { return x.Add(x, y) }},
			"sub.rn %s1, %s2;":      {func(x, y, _ float64) float64 { return x - y }, func(x, y, _ *big.Float) *big.Float { return x.Sub(x, y) }},
			"mul %s1, %s2;":         {func(x, y, _ float64) float64 { return x * y }, func(x, y, _ *big.Float) *big.Float { return x.Mul(x, y) }},
			"fma.rn %s1, %s2, %s3;": {math.FMA, func(x, y, z *big.Float) *big.Float { return x.Mul(x, y).Add(x, z) }},
			"neg %s1;":              {func(x, _, _ float64) float64 { return -x }, func(x, _, _ *big.Float) *big.Float { return x.Neg(x) }},
			"abs %s1;":              {func(x, _, _ float64) float64 { return math.Abs(x) }, func(x, _, _ *big.Float) *big.Float { return x.Abs(x) }},
			"min %s1, %s2;":         {func(x, y, _ float64) float64 { return lesser(x, y) }, nil},
			"max %s1, %s2;":         {func(x, y, _ float64) float64 { return greater(x, y) }, nil},
		} {
			name, operands, _ := strings.Cut(op, " ")
			scalar := halfWarp(t, fmt.Sprintf("%s.%s %%h4, %s\nmov.b32 %%r0, {%%h4, %%h1};", name, f.name, strings.ReplaceAll(operands, "%s", "%h")), a, b, c)
			packed := halfWarp(t, fmt.Sprintf("mov.b32 %%r1, {%%h2, %%h1};\nmov.b32 %%r2, {%%h1, %%h2};\nmov.b32 %%r3, {%%h3, %%h3};\n%s.%sx2 %%r0, %s",
				name, f.name, strings.ReplaceAll(operands, "%s", "%r")), a, b, c)
			for i := range a {
				x, y, z := f.value(a[i]), f.value(b[i]), f.value(c[i])
				if name != "fma.rn" {
					z = 0
				}
				check := func(x, y float64, got uint16) {
					want := do.near(x, y, z)
					finite := x-x == 0 && y-y == 0 && z-z == 0
					if do.exact != nil && finite && want != 0 {
						want = f.nearest(do.exact(exact(x), exact(y), exact(z)))
					}
					v := f.value(got)
					if want != want {
						require.Equal(t, uint16(0x7fff), got, "%s.%s %x %x %x", name, f.name, x, y, z)
						return
					}
					require.Equal(t, math.Float64bits(want), math.Float64bits(v), "%s.%s %x %x %x: %x, not %x", name, f.name, x, y, z, v, want)
				}
				check(x, y, uint16(scalar[i]))
				check(y, x, uint16(packed[i]))
				check(x, y, uint16(packed[i]>>16))
			}
		}
	}
}

func TestHalfModifiers(t *testing.T) {
	one := []uint16{0x3c00}
	many := make256
	for body, want := range map[string]uint16{
		// %h1 is what varies: 3, -3, subnormal, NaN, infinite.
		"add.sat.f16 %h4, %h1, %h2;":                       0x3c00,
		"mul.ftz.f16 %h4, %h1, %h2;":                       0x4200,
		"fma.rn.relu.f16 %h4, %h1, %h2, %h3;":              0x4400,
		"max.NaN.f16 %h4, %h1, %h2;":                       0x4200,
		"ex2.approx.f16 %h4, %h1;":                         0x4800,
		"set.gt.f16.f16 %h4, %h1, %h2;":                    0x3c00,
		"set.gt.u16.f16 %h4, %h1, %h2;":                    0xffff,
		"cvt.rzi.s32.f16 %r5, %h1;\ncvt.u16.u32 %h4, %r5;": 3,
		"cvt.rn.f16.s16 %h4, %h1;":                         float32ToHalf(0x4200),
		"cvt.sat.f16.f16 %h4, %h1;":                        0x3c00,
	} {
		got := halfWarp(t, body+"\nmov.b32 %r0, {%h4, %h4};", many(0x4200), one, one)
		require.Equal(t, want, uint16(got[5]), body)
	}
	for body, want := range map[string]uint16{
		"add.sat.f16 %h4, %h1, %h2;":                                     0, // -3 + 1
		"fma.rn.relu.f16 %h4, %h1, %h2, %h2;":                            0, // -2
		"fma.rn.relu.bf16 %h4, %h1, %h2, %h2;":                           0,
		"setp.lt.f16 %p1, %h1, %h2;\nselp.b16 %h4, 7, 8, %p1;":           7,
		"setp.gt.and.f16 %p1, %h1, %h2, !%p1;\nselp.b16 %h4, 7, 8, %p1;": 8,
		"mov.b32 %r2, {%h1, %h2};\nmov.b32 %r3, {%h2, %h2};\nsetp.lt.f16x2 %p1|%p2, %r2, %r3;\nselp.b16 %h4, 16, 0, %p1;\nselp.b16 %h5, 1, 2, %p2;\nor.b16 %h4, %h4, %h5;": 18,
		"mov.b32 %r2, {%h1, %h2};\nmov.b32 %r3, {%h2, %h2};\nset.eq.u32.f16x2 %r2, %r2, %r3;\nmov.b32 {%h5, %h4}, %r2;":                                                    0xffff,
		"mov.b32 %r2, {%h1, %h2};\nmov.b32 %r3, {%h2, %h2};\nset.eq.u32.f16x2 %r2, %r2, %r3;\nmov.b32 {%h4, %h5}, %r2;":                                                    0,
	} {
		got := halfWarp(t, body+"\nmov.b32 %r0, {%h4, %h4};", many(0xc200), one, one)
		require.Equal(t, want, uint16(got[5]), body)
	}
	for body, want := range map[string]uint16{ // the least subnormal
		"add.ftz.f16 %h4, %h1, %h1;":                               0,
		"add.f16 %h4, %h1, %h1;":                                   2,
		"neg.ftz.f16 %h4, %h1;":                                    0x8000,
		"setp.gt.ftz.f16 %p1, %h1, %h3;\nselp.b16 %h4, 7, 8, %p1;": 8,
		"setp.gt.f16 %p1, %h1, %h3;\nselp.b16 %h4, 7, 8, %p1;":     7,
		"ex2.approx.ftz.bf16 %h4, %h1;":                            0x3f80,
	} {
		got := halfWarp(t, body+"\nmov.b32 %r0, {%h4, %h4};", many(1), one, []uint16{0})
		require.Equal(t, want, uint16(got[5]), body)
	}
	product := halfWarp(t, "mul.ftz.f16 %h4, %h1, %h2;\nmul.f16 %h5, %h1, %h2;\nmov.b32 %r0, {%h4, %h5};", many(0x8400), []uint16{0x3800}, one)
	require.Equal(t, uint32(0x82008000), product[0], "half of the least normal number")
	for body, want := range map[string]uint16{ // NaN
		"add.sat.f16 %h4, %h1, %h2;":                       0,
		"fma.rn.relu.f16 %h4, %h1, %h2, %h2;":              0x7fff,
		"max.f16 %h4, %h1, %h2;":                           0x3c00,
		"max.NaN.f16 %h4, %h1, %h2;":                       0x7fff,
		"min.NaN.bf16 %h4, %h1, %h2;":                      0x7fff,
		"set.neu.bf16.bf16 %h4, %h1, %h2;":                 0x3f80,
		"set.ne.bf16.bf16 %h4, %h1, %h2;":                  0,
		"cvt.rzi.s32.f16 %r5, %h1;\ncvt.u16.u32 %h4, %r5;": 0,
	} {
		got := halfWarp(t, body+"\nmov.b32 %r0, {%h4, %h4};", many(0x7e00|0x7fc0), one, one)
		require.Equal(t, want, uint16(got[5]), body)
	}
}

// What clang makes of 16-bit floats, for a target that has few instructions for
// bf16 and one that has none.
func TestHalfKernels(t *testing.T) {
	const n = 3000
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		file, name string
		f          halfFormat
	}{{"half", "half", halfFormats[0]}, {"brain", "half", halfFormats[0]}, {"half", "brain", halfFormats[1]}, {"brain", "brain", halfFormats[1]}} {
		var d device
		a, b := make([]uint16, n), make([]uint16, n)
		for i := range a {
			a[i], b[i] = uint16(r.Uint32()), uint16(r.Uint32())
			if i%8 == 0 {
				b[i] = a[i]
			}
			if i%8 == 1 {
				a[i], b[i] = uint16(r.IntN(4000))+0x3000, uint16(r.IntN(4000))+0x3000
			}
		}
		pa, _ := alloc(t, &d, a)
		pb, _ := alloc(t, &d, b)
		po, bytes := alloc(t, &d, make([]uint16, 10*n))
		k := kernelOf(t, c.file, c.name+"_ops")
		require.NoError(t, k.Launch(flat(24), flat(128), 0, pack(t, k, pa, pb, po, int32(n)), &d))
		got := values[uint16](t, bytes)
		for i := range n {
			x, y := c.f.value(a[i]), c.f.value(b[i])
			once := func(v float64) float64 { // v is exact, or what has far more digits
				if v-v != 0 || v == 0 {
					return v
				}
				return c.f.nearest(big.NewFloat(v))
			}
			less, same := y, 0.0
			if x < y {
				less = x
			}
			if x == y {
				same = 1
			}
			for op, want := range []float64{
				once(float64(float32(x + y))), once(float64(float32(x - y))), once(float64(float32(x * y))), once(float64(float32(x / y))), -x, less, same,
				once(float64(float32(math.FMA(x, 3, y)))), once(float64(i - 1000)), once(float64(float32(x * 0.1))),
			} {
				v := c.f.value(got[op*n+i])
				if want != want {
					require.True(t, v != v, "%v: operation %d of %x and %x", c, op, x, y)
					continue
				}
				if op == 9 && c.name == "half" {
					want = once(x * 0.1) // of f64 at once
				}
				require.Equal(t, math.Float64bits(want), math.Float64bits(v), "%v: operation %d of %x and %x: %x, not %x", c, op, x, y, v, want)
			}
		}
		po, bytes = alloc(t, &d, make([]int32, n))
		k = kernelOf(t, c.file, c.name+"_to_int")
		require.NoError(t, k.Launch(flat(24), flat(128), 0, pack(t, k, pa, po, int32(n)), &d))
		for i, v := range values[int32](t, bytes) {
			if x := c.f.value(a[i]); math.Abs(x) < 1<<31 {
				require.Equal(t, int32(x), v, "%v: %x", c, x)
			}
		}
		po, bytes = alloc(t, &d, make([]uint16, n))
		k = kernelOf(t, c.file, c.name+"_pairs")
		require.NoError(t, k.Launch(flat(12), flat(128), 0, pack(t, k, pa, pb, po, int32(n/2)), &d))
		for i, v := range values[uint16](t, bytes) {
			if c.f.value(v) == c.f.value(v) {
				require.Equal(t, got[i], v, "%v: %d", c, i)
			}
		}
	}
}
