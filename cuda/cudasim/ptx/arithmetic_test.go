package ptx

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

func f(x float32) uint64 { return uint64(math.Float32bits(x)) }

func g(x float64) uint64 { return math.Float64bits(x) }

var (
	inf     = float32(math.Inf(1))
	nan     = float32(math.NaN())
	minus0  = float32(math.Copysign(0, -1))
	tiny    = math.Float32frombits(1) // the least subnormal
	minus1  = uint64(0xffffffff)
	minus64 = uint64(math.MaxUint64)
)

func TestArithmeticEdges(t *testing.T) {
	for _, c := range []struct {
		op   string
		want uint64
		args []uint64
	}{
		// Integers wrap; divisions go towards zero.
		{"add.u32", 1, []uint64{minus1, 2}},
		{"add.s64", 1, []uint64{minus64, 2}},
		{"sub.u32", minus1, []uint64{1, 2}},
		{"mul.lo.s32", 0x80000000, []uint64{0x80000000, minus1}},
		{"mad.lo.s32", 0xfffffffe + 5 - 1<<32, []uint64{0x7fffffff, 2, 5}},
		{"mad.lo.u64", 4, []uint64{minus64, 1, 5}},
		{"mul.hi.u32", 0xfffffffe, []uint64{minus1, minus1}},
		{"mul.hi.s32", minus1, []uint64{minus1, 1}},
		{"mul.hi.u64", minus64 - 1, []uint64{minus64, minus64}},
		{"mul.hi.s64", 0, []uint64{minus64, minus64}},
		{"mul.hi.s64", minus64, []uint64{minus64, 5}},
		{"mul.wide.s32", minus64 - 4, []uint64{minus1, 5}},
		{"mul.wide.u32", 0xfffffffe00000001, []uint64{minus1, minus1}},
		{"mad.wide.s32", 0, []uint64{minus1, 7, 7}},
		{"mul.wide.u16", 0xfffe0001, []uint64{0xffff, 0xffff}},
		{"mul.wide.s16", 1, []uint64{0xffff, 0xffff}},
		{"div.s32", minus1 - 2, []uint64{minus1 - 6, 2}},
		{"rem.s32", minus1, []uint64{minus1 - 6, 2}},
		{"div.s32", 0x80000000, []uint64{0x80000000, minus1}},
		{"div.u32", minus1, []uint64{7, 0}},
		{"rem.u64", 7, []uint64{7, 0}},
		{"div.u64", 1 << 63, []uint64{1 << 63, 1}},
		{"min.s32", minus1, []uint64{minus1, 1}},
		{"min.u32", 1, []uint64{minus1, 1}},
		{"max.s64", 1, []uint64{minus64, 1}},
		{"abs.s32", 0x80000000, []uint64{0x80000000}},
		{"neg.s64", 1, []uint64{minus64}},

		// 16 bits.
		{"add.s16", 1, []uint64{0xffff, 2}},
		{"sub.u16", 0xffff, []uint64{1, 2}},
		{"mul.lo.u16", 1, []uint64{0xffff, 0xffff}},
		{"div.s16", 0xfffd, []uint64{0xfff9, 2}},
		{"shr.s16", 0xffff, []uint64{0x8000, 99}},
		{"shr.u16", 0, []uint64{0x8000, 16}},
		{"not.b16", 0xfff0, []uint64{0xf}},
		{"min.s16", 0xffff, []uint64{0xffff, 1}},

		// Shifts by the width and more.
		{"shl.b32", 0, []uint64{1, 32}},
		{"shl.b32", 0, []uint64{1, minus1}},
		{"shl.b64", 1 << 33, []uint64{1, 33}},
		{"shl.b64", 0, []uint64{1, 64}},
		{"shr.u32", 0, []uint64{minus1, 32}},
		{"shr.s32", minus1, []uint64{0x80000000, 40}},
		{"shr.s64", minus64, []uint64{1 << 63, 200}},
		{"shf.l.wrap.b32", 0x22222221, []uint64{0x11111111, 0x22222222, 36}},
		{"shf.l.clamp.b32", 0x11111111, []uint64{0x11111111, 0x22222222, 40}},
		{"shf.r.wrap.b32", 0x21111111, []uint64{0x11111111, 0x22222222, 4}},
		{"shf.r.clamp.b32", 0x22222222, []uint64{0x11111111, 0x22222222, 40}},

		// Bits.
		{"bfe.u32", 0xb, []uint64{0xabcd, 8, 4}},
		{"bfe.s32", minus1 - 4, []uint64{0xabcd, 8, 4}},
		{"bfe.s32", minus1, []uint64{0x80000000, 31, 9}},
		{"bfe.s64", 0, []uint64{minus64, 3, 0}},
		{"bfe.u64", minus64, []uint64{minus64, 0, 64}},
		{"bfe.u32", 0, []uint64{minus1, 32, 8}},
		{"bfi.b32", 0xffff5fff, []uint64{5, minus1, 12, 4}},
		{"bfi.b32", 3, []uint64{5, 3, 0, 0}},
		{"bfi.b32", 5, []uint64{5, 3, 0, 32}},
		{"prmt.b32", 0x55ff8811, []uint64{0x44332211, 0x88776655, 0x4f70}},
		{"popc.b32", 32, []uint64{minus1}},
		{"popc.b64", 64, []uint64{minus64}},
		{"clz.b32", 32, []uint64{0}},
		{"clz.b64", 63, []uint64{1}},
		{"brev.b32", 0x80000000, []uint64{1}},
		{"brev.b64", 1 << 63, []uint64{1}},

		// Floats.
		{"add.f32", f(0.1 + float32(0.2)), []uint64{f(0.1), f(0.2)}},
		{"add.rn.f32", f(inf), []uint64{f(math.MaxFloat32), f(math.MaxFloat32)}},
		{"min.f32", f(1), []uint64{f(nan), f(1)}},
		{"max.f32", f(1), []uint64{f(1), f(nan)}},
		{"min.f32", 0x7fffffff, []uint64{f(nan), f(nan)}},
		{"min.f32", f(minus0), []uint64{f(0), f(minus0)}},
		{"max.f32", f(0), []uint64{f(minus0), f(0)}},
		{"max.f64", g(2), []uint64{g(math.NaN()), g(2)}},
		{"div.rn.f32", 0x3eaaaaab, []uint64{f(1), f(3)}},
		{"div.rn.f32", f(inf), []uint64{f(1), f(0)}},
		{"div.rn.f32", f(tiny), []uint64{f(math.Float32frombits(3)), f(2 * 2)}},
		{"rcp.rn.f32", 0x3eaaaaab, []uint64{f(3)}},
		{"sqrt.rn.f32", 0x3fb504f3, []uint64{f(2)}},
		{"sqrt.rn.f64", g(math.Sqrt2), []uint64{g(2)}},
		{"neg.f32", 0x80000000, []uint64{0}},
		{"abs.f32", f(inf), []uint64{f(-inf)}},
		{"fma.rn.f32", f(-0x1p-46), []uint64{f(1 + 0x1p-23), f(1 - 0x1p-23), f(-1)}},
		{"fma.rn.f64", g(-0x1p-104), []uint64{g(1 + 0x1p-52), g(1 - 0x1p-52), g(-1)}},
		{"mul.ftz.f32", 0, []uint64{f(0x1p-100), f(0x1p-40)}},
		{"mul.f32", f(0x1p-140), []uint64{f(0x1p-100), f(0x1p-40)}},
		{"add.ftz.f32", f(minus0), []uint64{0x80000001, f(minus0)}},
		{"add.sat.f32", f(1), []uint64{f(1), f(1)}},
		{"mul.sat.f32", 0, []uint64{f(nan), f(1)}},
		{"copysign.f32", f(-2), []uint64{f(-1), f(2)}},
		{"ex2.approx.f32", f(8), []uint64{f(3)}},
		{"ex2.approx.ftz.f32", 0, []uint64{f(-140)}},
		{"lg2.approx.f32", f(-inf), []uint64{f(0)}},
		{"rsqrt.approx.f32", f(0.5), []uint64{f(4)}},
		{"tanh.approx.f32", f(1), []uint64{f(40)}},
		{"cos.approx.f32", f(1), []uint64{f(0)}},
	} {
		require.Equal(t, c.want, eval(t, c.op, c.args...), "%s %#x", c.op, c.args)
	}
}

func TestConversions(t *testing.T) {
	for _, c := range []struct {
		op        string
		want, arg uint64
	}{
		// Floats to integers are clamped, and NaN is zero or the highest bit.
		{"cvt.rzi.s32.f32", 0x7fffffff, f(3e9)},
		{"cvt.rzi.s32.f32", 0x80000000, f(-inf)},
		{"cvt.rzi.s32.f32", 0, f(nan)},
		{"cvt.rzi.s32.f32", minus1, f(-1.9)},
		{"cvt.rzi.u32.f32", 0, f(-1.9)},
		{"cvt.rzi.u32.f32", minus1, f(inf)},
		{"cvt.rzi.u64.f32", minus64, f(0x1p64)},
		{"cvt.rzi.s64.f32", 1 << 63, f(nan)},
		{"cvt.rzi.s32.f64", 0x80000000, g(math.NaN())},
		{"cvt.rzi.s64.f64", math.MaxInt64, g(0x1p63)},
		{"cvt.rzi.u16.f32", 0xffff, f(70000)},
		{"cvt.rzi.s16.f32", 0x8000, f(-70000)},
		{"cvt.rni.s32.f32", 2, f(2.5)},
		{"cvt.rni.s32.f32", 4, f(3.5)},
		{"cvt.rmi.s32.f32", minus1 - 2, f(-2.5)},
		{"cvt.rpi.s32.f32", minus1 - 1, f(-2.5)},
		{"cvt.rni.f32.f32", f(-2), f(-2.5)},
		{"cvt.rpi.f32.f32", f(minus0), f(-0.5)},
		{"cvt.rzi.ftz.f32.f32", f(minus0), 0x80000001},

		// Integers to floats are rounded once.
		{"cvt.rn.f32.u32", f(0x1p32), minus1},
		{"cvt.rn.f32.s32", f(-1), minus1},
		{"cvt.rn.f32.s64", f(-1), minus64},
		{"cvt.rn.f32.u64", f(0x1p60 + 0x1p37), 1<<60 + 1<<36 + 1},
		{"cvt.rn.f32.s32", f(0x1p24), 1<<24 + 1},
		{"cvt.rn.f64.u64", g(0x1p64), minus64},

		// Between integers.
		{"cvt.s64.s32", minus64, minus1},
		{"cvt.u64.u32", minus1, minus1},
		{"cvt.u32.u64", 2, 1<<32 + 2},
		{"cvt.u32.u16", 0xffff, 0xffff},
		{"cvt.s32.s16", minus1, 0xffff},
		{"cvt.s32.s8", minus1 - 127, 0x180},
		{"cvt.u16.u32", 0x2345, 0x12345},
		{"cvt.s64.s16", minus64, 0xffff},
		{"cvt.sat.s16.s32", 0x7fff, 100000},
		{"cvt.sat.s16.s32", 0x8000, 1 << 31},
		{"cvt.sat.u32.s32", 0, minus1},
		{"cvt.sat.s32.u32", 0x7fffffff, minus1},
		{"cvt.sat.u32.u64", minus1, 1 << 40},

		// Between floats.
		{"cvt.f64.f32", g(0.5), f(0.5)},
		{"cvt.rn.f32.f64", f(0.1), g(0.1)},
		{"cvt.rn.f32.f64", f(inf), g(1e300)},
		{"cvt.rn.ftz.f32.f64", 0, g(1e-40)},
		{"cvt.sat.f32.f32", f(1), f(7)},
		{"cvt.sat.f32.f32", 0, f(nan)},
		{"cvt.f32.f16", f(1.5), 0x3e00},
		{"cvt.f32.f16", f(0x1p-24), 1},
		{"cvt.f32.f16", f(-inf), 0xfc00},
		{"cvt.rn.f16.f32", 0x3c00, f(1 + 0x1p-11)},
		{"cvt.rn.f16.f32", 0x3c02, f(1 + 3*0x1p-11)},
		{"cvt.rn.f16.f32", 0x7c00, f(65520)},
		{"cvt.rn.f16.f32", 0x7bff, f(65519)},
		{"cvt.rn.f16.f32", 0x8001, f(-0x1p-24)},
		{"cvt.rn.f16.f32", 0, f(0x1p-25)},
		{"cvt.rn.f16.f32", 0x0400, f(0x1p-14)},
		{"cvt.rn.f16.f32", 0x7fff, f(nan)},
	} {
		require.Equal(t, c.want, eval(t, c.op, c.arg), "%s %#x", c.op, c.arg)
	}
}

// The sum of an exact product is rounded once: against arithmetic without any
// rounding, on operands chosen to lie at the middle between two floats.
func TestFMARoundsOnce(t *testing.T) {
	state := uint64(1)
	next := func(n uint64) uint64 {
		state = state*6364136223846793005 + 1442695040888963407
		return state >> 33 % n
	}
	pick := func() float32 {
		sign, exponent := uint32(next(2)), uint32(next(6)+next(2)*60+60)
		fraction := uint32(next(4)) | uint32(next(4))<<21 | uint32(next(2)*next(1<<23))
		return math.Float32frombits(sign<<31 | exponent<<23 | fraction&(1<<23-1))
	}
	var a, b, c, d lanes32
	double := 0
	for range 20000 {
		for i := range a {
			a[i], b[i], c[i] = math.Float32bits(pick()), math.Float32bits(pick()), math.Float32bits(pick())
		}
		fmaF32(&d, &a, &b, &c)
		for i := range a {
			x, y, z := math.Float32frombits(a[i]), math.Float32frombits(b[i]), math.Float32frombits(c[i])
			if twice := float32(float64(x)*float64(y) + float64(z)); math.Float32bits(twice) != d[i] {
				double++
				want := exactFMA(x, y, z)
				require.Equal(t, want, math.Float32frombits(d[i]), "fma(%x, %x, %x)", x, y, z)
			} else if i == 0 {
				require.Equal(t, exactFMA(x, y, z), twice, "fma(%x, %x, %x)", x, y, z)
			}
		}
	}
	require.NotZero(t, double, "no operands for which rounding twice is wrong")
}

func exactFMA(x, y, z float32) float32 {
	p := func(v float32) *big.Float { return new(big.Float).SetPrec(2000).SetFloat64(float64(v)) }
	s := p(x)
	s.Mul(s, p(y)).Add(s, p(z))
	r, _ := s.Float32()
	return r
}
