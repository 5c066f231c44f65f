package ptx

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// exactly are the operations that can be rounded in a direction, on numbers of
// any precision.
var exactly = map[string]func(x, y, z *big.Float) *big.Float{
	"add": func(x, y, _ *big.Float) *big.Float { return x.Add(x, y) },
	"sub": func(x, y, _ *big.Float) *big.Float { return x.Sub(x, y) },
	"mul": func(x, y, _ *big.Float) *big.Float { return x.Mul(x, y) },
	"fma": func(x, y, z *big.Float) *big.Float { return x.Mul(x, y).Add(x, z) },
	"div": func(x, y, _ *big.Float) *big.Float { return x.Quo(x, y) },
	"rcp": func(x, y, _ *big.Float) *big.Float { return y.Quo(big.NewFloat(1), x) },
	"sqrt": func(x, _, _ *big.Float) *big.Float {
		return x.Sqrt(x)
	},
}

// isRounded says whether v is exact rounded in a direction: v does not pass it,
// and the next number does.
func isRounded(v float64, exact *big.Float, direction string, next func(v float64, up bool) float64) bool {
	up := direction == "rp" || direction == "rz" && exact.Sign() < 0
	beyond := func(v float64) bool { // strictly, in the direction
		if math.IsInf(v, 0) {
			return v > 0 != up
		}
		c := new(big.Float).SetFloat64(v).Cmp(exact)
		return up && c < 0 || !up && c > 0
	}
	return !beyond(v) && (new(big.Float).SetFloat64(v).Cmp(exact) == 0 || beyond(next(v, !up)))
}

func TestDirectedRoundings(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	big2 := func(v float64) *big.Float { return new(big.Float).SetPrec(5000).SetFloat64(v) }
	next64 := func(v float64, up bool) float64 {
		return math.Nextafter(v, math.Inf(map[bool]int{true: 1, false: -1}[up]))
	}
	next32 := func(v float64, up bool) float64 {
		return float64(math.Nextafter32(float32(v), float32(math.Inf(map[bool]int{true: 1, false: -1}[up]))))
	}
	pick32 := func() uint32 {
		switch r.IntN(4) {
		case 0: // few digits, near 1
			return uint32(r.IntN(2))<<31 | uint32(r.IntN(8)+123)<<23 | uint32(r.IntN(4))<<21 | uint32(r.IntN(3))
		case 1: // tiny or huge
			return uint32(r.IntN(2))<<31 | uint32(r.IntN(2)*220+r.IntN(30))<<23 | r.Uint32()>>9
		}
		return r.Uint32()
	}
	pick64 := func() uint64 {
		switch r.IntN(4) {
		case 0:
			return uint64(r.IntN(2))<<63 | uint64(r.IntN(8)+1019)<<52 | uint64(r.IntN(4))<<50 | uint64(r.IntN(3))
		case 1:
			return uint64(r.IntN(2))<<63 | uint64(r.IntN(2)*1800+r.IntN(200))<<52 | r.Uint64()>>12
		}
		return r.Uint64()
	}
	for name, do := range exactly {
		for _, direction := range []string{"rz", "rm", "rp"} {
			wrong := func(x, y, z, v float64, next func(v float64, up bool) float64) bool {
				if x-x != 0 || y-y != 0 || z-z != 0 || v != v || name == "div" && y == 0 || name == "rcp" && x == 0 || name == "sqrt" && x < 0 {
					return false
				}
				e := do(big2(x), big2(y), big2(z))
				return e.Sign() != 0 && !isRounded(v, e, direction, next)
			}
			for range 60 {
				var d, a, b, c lanes32
				for i := range a {
					a[i], b[i], c[i] = pick32(), pick32(), pick32()
				}
				table32[name+"."+direction+".f32"].f(&d, &a, &b, &c)
				for i := range a {
					x, y, z := float64(math.Float32frombits(a[i])), float64(math.Float32frombits(b[i])), float64(math.Float32frombits(c[i]))
					v := float64(math.Float32frombits(d[i]))
					require.False(t, wrong(x, y, z, v, next32), "%s.%s.f32 %x %x %x gives %x", name, direction, x, y, z, v)
				}
			}
			for range 8 {
				var d, a, b, c lanes64
				for i := range a {
					a[i], b[i], c[i] = pick64(), pick64(), pick64()
				}
				table64[name+"."+direction+".f64"].f(&d, &a, &b, &c)
				for i := range a {
					x, y, z := math.Float64frombits(a[i]), math.Float64frombits(b[i]), math.Float64frombits(c[i])
					v := math.Float64frombits(d[i])
					require.False(t, wrong(x, y, z, v, next64), "%s.%s.f64 %x %x %x gives %x", name, direction, x, y, z, v)
				}
			}
		}
	}
}

func TestDirectedEdges(t *testing.T) {
	big32, least := f(math.MaxFloat32), uint64(1)
	for _, c := range []struct {
		op   string
		want uint64
		args []uint64
	}{
		{"add.rm.f32", f(minus0), []uint64{f(1), f(-1)}},
		{"add.rm.f32", 0, []uint64{0, 0}},
		{"sub.rm.f32", f(minus0), []uint64{f(1), f(1)}},
		{"fma.rm.f32", f(minus0), []uint64{f(2), f(1), f(-2)}},
		{"add.rp.f32", 0, []uint64{f(1), f(-1)}},
		{"add.rm.f64", g(math.Copysign(0, -1)), []uint64{g(1), g(-1)}},
		{"add.rz.f32", big32, []uint64{big32, big32}},
		{"add.rm.f32", big32, []uint64{big32, big32}},
		{"add.rp.f32", f(inf), []uint64{big32, big32}},
		{"mul.rz.f64", g(-math.MaxFloat64), []uint64{g(-0x1p1000), g(0x1p1000)}},
		{"mul.rp.f32", least, []uint64{f(0x1p-100), f(0x1p-100)}},
		{"mul.rp.ftz.f32", 0, []uint64{f(0x1p-100), f(0x1p-100)}},
		{"mul.rm.f32", 0x80000001, []uint64{f(-0x1p-100), f(0x1p-100)}},
		{"mul.rp.f64", 1, []uint64{g(0x1p-700), g(0x1p-700)}},
		{"div.rz.f32", f(inf), []uint64{f(1), 0}},
		{"rcp.rz.f32", f(-inf), []uint64{f(minus0)}},
		{"rcp.rz.f64", g(math.MaxFloat64), []uint64{1}},
		{"div.rm.f32", 0x3eaaaaaa, []uint64{f(1), f(3)}},
		{"div.rp.f32", 0x3eaaaaab, []uint64{f(1), f(3)}},
		{"sqrt.rp.f32", 0x3fb504f4, []uint64{f(2)}},
		{"sqrt.rz.f64", g(math.Sqrt2) - 1, []uint64{g(2)}},
		{"add.rz.sat.f32", f(1), []uint64{f(1), f(1)}},

		// What a conversion loses goes in a direction too.
		{"cvt.rz.f32.f64", 0x3dcccccc, []uint64{g(0.1)}},
		{"cvt.rp.f32.f64", 0x3dcccccd, []uint64{g(0.1)}},
		{"cvt.rm.f32.f64", f(inf) - 1, []uint64{g(1e300)}},
		{"cvt.rp.f32.f64", 1, []uint64{1}},
		{"cvt.rz.f32.s32", f(0x1p24), []uint64{1<<24 + 1}},
		{"cvt.rp.f32.s32", f(0x1p24 + 2), []uint64{1<<24 + 1}},
		{"cvt.rm.f32.s32", f(-0x1p24 - 2), []uint64{minus1 - 1<<24}},
		{"cvt.rz.f32.u64", 0x5f7fffff, []uint64{minus64}},
		{"cvt.rz.f64.u64", g(0x1p64) - 1, []uint64{minus64}},
		{"cvt.rp.f64.s64", g(0x1p62), []uint64{1<<62 - 1}},
		{"cvt.rm.f64.s64", g(-0x1p62 - 1024), []uint64{minus64 - 1<<62}},
		{"cvt.rz.f16.f32", 0x7bff, []uint64{f(1e6)}},
		{"cvt.rp.f16.f32", 0x3c01, []uint64{f(1 + 0x1p-23)}},
		{"cvt.rm.f16.s32", 0xe801, []uint64{minus1 - 2048}},
		{"cvt.rn.f16.f64", 0x3c01, []uint64{g(1 + 0x1p-11 + 0x1p-50)}},
		{"cvt.rn.f16.u64", 0x7c00, []uint64{minus64}},
		{"cvt.rn.f16.s16", 0xbc00, []uint64{0xffff}},
		{"cvt.rzi.s16.f16", 0xfffe, []uint64{0xc100}},
		{"cvt.rni.f16.f16", 0x4000, []uint64{0x4100}},
		{"cvt.f64.f16", g(-2.5), []uint64{0xc100}},
		{"cvt.sat.f32.f16", f(1), []uint64{0x4100}},
	} {
		require.Equal(t, c.want, eval(t, c.op, c.args...), "%s %#x", c.op, c.args)
	}
}

// Conversions that need a newer target than 7.5.
func TestNarrowConversions(t *testing.T) {
	for body, want := range map[string]uint32{
		"mov.f32 %f1, 0f3F808000;\ncvt.rn.bf16.f32 %h1, %f1;\nmov.b32 %r0, {%h1, %h1};":            0x3f803f80,
		"mov.f32 %f1, 0f3F818000;\ncvt.rn.bf16.f32 %h1, %f1;\nmov.b32 %r0, {%h1, %h1};":            0x3f823f82,
		"mov.f32 %f1, 0f3F80FFFF;\ncvt.rz.bf16.f32 %h1, %f1;\nmov.b32 %r0, {%h1, %h1};":            0x3f803f80,
		"mov.f32 %f1, 0fBF800000;\ncvt.rn.relu.bf16.f32 %h1, %f1;\nmov.b32 %r0, {%h1, %h1};":       0,
		"mov.f32 %f1, 0f3F800000;\nmov.f32 %f2, 0fC0400000;\ncvt.rn.bf16x2.f32 %r0, %f1, %f2;":     0x3f80c040,
		"mov.f32 %f1, 0f3F800000;\nmov.f32 %f2, 0fC0400000;\ncvt.rn.relu.f16x2.f32 %r0, %f1, %f2;": 0x3c000000,
		"mov.f32 %f1, 0f3F801000;\ncvt.rna.tf32.f32 %r0, %f1;":                                     0x3f802000,
		"mov.f32 %f1, 0f3F800FFF;\ncvt.rna.tf32.f32 %r0, %f1;":                                     0x3f800000,
		"mov.f32 %f1, 0f7F7FFFFF;\ncvt.rna.tf32.f32 %r0, %f1;":                                     0x7f800000,
		"mov.f32 %f1, 0f7FC00000;\ncvt.rna.tf32.f32 %r0, %f1;":                                     0x7fffffff,
	} {
		got := warpTable(t, body+"\nst.global.u32 [%d8], %r0;", [warpSize][12]uint32{})
		require.Equal(t, want, got[3][0], body)
	}
	require.Equal(t, uint32(0x3c00), halfWarp(t, "cvt.rn.bf16.s32 %h4, %r5;\ncvt.f16.bf16 %h4, %h1;\ncvt.u32.u16 %r0, %h4;",
		make256(0x3f80), []uint16{0}, []uint16{0})[0])
	require.Equal(t, uint32(3), halfWarp(t, "cvt.rpi.s32.bf16 %r0, %h1;", make256(0x4020), []uint16{0}, []uint16{0})[0])
	require.Equal(t, uint32(0x4040), halfWarp(t, "mov.b32 %r5, 3;\ncvt.rn.bf16.s32 %h4, %r5;\ncvt.u32.u16 %r0, %h4;",
		make256(0), []uint16{0}, []uint16{0})[0])
}

func make256(v uint16) []uint16 {
	all := make([]uint16, 256)
	for i := range all {
		all[i] = v
	}
	return all
}

// The short ways of conversions give what the long one gives.
func TestQuickConversions(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for key, quick := range quickConversions {
		name := key.rounding
		c := conversion{to: key.to, from: key.from, rounding: name}
		if name != "" && name[len(name)-1] == 'i' {
			c.whole, name = true, name[:len(name)-1]
		}
		c.round = directions[name]
		require.Empty(t, c.check())
		check := func(v uint32) {
			if key.from.bits() == 16 {
				v &= 0xffff
			}
			want := c.apply(uint64(v), max(key.to.bits(), 16))
			if got := uint64(quick(v)); got != want && !(key.to == f32 && math.Float32frombits(uint32(got)) != math.Float32frombits(uint32(got)) &&
				math.Float32frombits(uint32(want)) != math.Float32frombits(uint32(want))) {
				require.Equal(t, want, got, "%v of %#x", key, v)
			}
		}
		for _, v := range []uint32{0, 1 << 31, 1, f32bits(0.5), f32bits(1.5), f32bits(2.5), f32bits(-0.5), f32bits(0x1p31), f32bits(-0x1p31), f32bits(3e9),
			f32bits(inf), f32bits(-inf), f32bits(nan), 0xff800001, 1<<31 - 1, full, 1 << 30, 0x7f7fffff, 0x3f801000, 0x3f803000, 0x00001000, 0x7f800000 - 1<<12} {
			check(v)
			check(v + 1)
			check(v - 1)
		}
		for range 1000 {
			check(r.Uint32())
			check(f32bits(float32(r.NormFloat64() * 100)))
		}
	}
}

func f32bits(x float32) uint32 { return math.Float32bits(x) }
