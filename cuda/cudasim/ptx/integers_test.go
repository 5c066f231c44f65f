package ptx

import (
	"fmt"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// compute runs an instruction in one warp for random and special operands, and
// checks each lane. %r2 to %r5 or %d2 to %d5 are the operands, %r0 or %d0 is the
// result.
func compute(t *testing.T, width int, body string, want func(a, b, c, e uint64) uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	special := []uint64{0, 1, 2, 31, 32, 63, 64, 0x7f, 0x80, 0xff, 1<<23 - 1, 1 << 23, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 63, 1<<64 - 1}
	var words [4 * warpSize]uint64
	for i := range words {
		switch words[i] = r.Uint64(); r.IntN(3) {
		case 0:
			words[i] = special[r.IntN(len(special))]
		case 1:
			words[i] = uint64(r.IntN(70))
		}
		if width < 64 {
			words[i] &= 1<<width - 1
		}
	}
	reg := map[int]string{16: "%h", 32: "%r", 64: "%d"}[width]
	k := snippet(t, fmt.Sprintf(`
	ld.param.u64 %%d8, [out];
	mov.u32 %%r1, %%laneid;
	mad.wide.u32 %%d8, %%r1, 32, %%d8;
	ld.global.b%[1]d %[2]s2, [%%d8];
	ld.global.b%[1]d %[2]s3, [%%d8+8];
	ld.global.b%[1]d %[2]s4, [%%d8+16];
	ld.global.b%[1]d %[2]s5, [%%d8+24];
	%[3]s
	st.global.b%[1]d [%%d8], %[2]s0;
	ret;`, width, reg, body))
	var d device
	out, got := alloc(t, &d, words[:])
	require.NoError(t, k.Launch(flat(1), flat(warpSize), 0, pack(t, k, out), &d))
	for lane := range warpSize {
		a, b, c, e := words[4*lane], words[4*lane+1], words[4*lane+2], words[4*lane+3]
		result := values[uint64](t, got)[4*lane]
		if width < 64 {
			result &= 1<<width - 1
		}
		w := want(a, b, c, e)
		if width < 64 {
			w &= 1<<width - 1
		}
		require.Equal(t, w, result, "%s: %#x %#x %#x %#x", body, a, b, c, e)
	}
}

func signed(v uint64, width int) int64 { return int64(v<<(64-width)) >> (64 - width) }

func clamp32(v int64) uint64 { return uint64(min(max(v, -1<<31), 1<<31-1)) }

func abs64(v int64) uint64 {
	if v < 0 {
		return uint64(-v)
	}
	return uint64(v)
}

func TestIntegerArithmetic(t *testing.T) {
	type f = func(a, b, c, e uint64) uint64
	s24 := func(v uint64) int64 { return signed(v, 24) }
	s32 := func(v uint64) int64 { return signed(v, 32) }
	u24 := func(v uint64) uint64 { return v & 0xffffff }
	for body, want := range map[string]f{
		"mul24.lo.u32 %r0, %r2, %r3;":          func(a, b, _, _ uint64) uint64 { return u24(a) * u24(b) },
		"mul24.hi.u32 %r0, %r2, %r3;":          func(a, b, _, _ uint64) uint64 { return u24(a) * u24(b) >> 16 },
		"mul24.lo.s32 %r0, %r2, %r3;":          func(a, b, _, _ uint64) uint64 { return uint64(s24(a) * s24(b)) },
		"mul24.hi.s32 %r0, %r2, %r3;":          func(a, b, _, _ uint64) uint64 { return uint64(s24(a) * s24(b) >> 16) },
		"mad24.lo.s32 %r0, %r2, %r3, %r4;":     func(a, b, c, _ uint64) uint64 { return uint64(s24(a)*s24(b)) + c },
		"mad24.hi.u32 %r0, %r2, %r3, %r4;":     func(a, b, c, _ uint64) uint64 { return u24(a)*u24(b)>>16 + c },
		"mad24.hi.sat.s32 %r0, %r2, %r3, %r4;": func(a, b, c, _ uint64) uint64 { return clamp32(s24(a)*s24(b)>>16 + s32(c)) },
		"mad.hi.sat.s32 %r0, %r2, %r3, %r4;":   func(a, b, c, _ uint64) uint64 { return clamp32(s32(a)*s32(b)>>32 + s32(c)) },
		"mad.hi.s32 %r0, %r2, %r3, %r4;":       func(a, b, c, _ uint64) uint64 { return uint64(s32(a)*s32(b)>>32 + s32(c)) },
		"mad.hi.u32 %r0, %r2, %r3, %r4;":       func(a, b, c, _ uint64) uint64 { return a*b>>32 + c },
		"add.sat.s32 %r0, %r2, %r3;":           func(a, b, _, _ uint64) uint64 { return clamp32(s32(a) + s32(b)) },
		"sub.sat.s32 %r0, %r2, %r3;":           func(a, b, _, _ uint64) uint64 { return clamp32(s32(a) - s32(b)) },
		"sad.u32 %r0, %r2, %r3, %r4;":          func(a, b, c, _ uint64) uint64 { return c + abs64(int64(a)-int64(b)) },
		"sad.s32 %r0, %r2, %r3, %r4;":          func(a, b, c, _ uint64) uint64 { return c + abs64(s32(a)-s32(b)) },
		"cnot.b32 %r0, %r2;":                   func(a, _, _, _ uint64) uint64 { return uint64(bit(a == 0)) },
		"lop3.b32 %r0, %r2, %r3, %r4, 0xe8;":   func(a, b, c, _ uint64) uint64 { return a&b | b&c | c&a },
		"lop3.b32 %r0, %r2, %r3, %r4, 0x96;":   func(a, b, c, _ uint64) uint64 { return a ^ b ^ c },
		"lop3.b32 %r0, %r2, %r3, %r4, 0x70;":   func(a, b, c, _ uint64) uint64 { return a &^ (b & c) },
		"lop3.b32 %r0, %r2, %r3, %r4, 0xca;":   func(a, b, c, _ uint64) uint64 { return a&b | ^a&c },
		"slct.u32.s32 %r0, %r2, %r3, %r4;": func(a, b, c, _ uint64) uint64 {
			if s32(c) >= 0 {
				return a
			}
			return b
		},
		"bfind.u32 %r0, %r2;": func(a, _, _, _ uint64) uint64 { return uint64(bits.Len32(uint32(a))) - 1 },
		"bfind.s32 %r0, %r2;": func(a, _, _, _ uint64) uint64 {
			if s32(a) < 0 {
				a = ^a
			}
			return uint64(bits.Len32(uint32(a))) - 1
		},
		"bfind.shiftamt.u32 %r0, %r2;": func(a, _, _, _ uint64) uint64 {
			if a == 0 {
				return full
			}
			return uint64(bits.LeadingZeros32(uint32(a)))
		},
		"and.b32 %r3, %r3, 31;\nfns.b32 %r0, %r2, %r3, 0;": func(a, b, _, _ uint64) uint64 {
			if a>>(b&31)&1 == 1 {
				return b & 31
			}
			return full
		},
		"and.b32 %r3, %r3, 31;\nfns.b32 %r0, %r2, %r3, 3;": func(a, b, _, _ uint64) uint64 {
			n := 0
			for i := b & 31; i < 32; i++ {
				if n += int(a >> i & 1); n == 3 {
					return i
				}
			}
			return full
		},
		"and.b32 %r3, %r3, 31;\nmov.b32 %r4, -2;\nfns.b32 %r0, %r2, %r3, %r4;": func(a, b, _, _ uint64) uint64 {
			n := 0
			for i := int(b & 31); i >= 0; i-- {
				if n += int(a >> i & 1); n == 2 {
					return uint64(i)
				}
			}
			return full
		},
	} {
		compute(t, 32, body, want)
	}
	for body, want := range map[string]f{
		"sad.u64 %d0, %d2, %d3, %d4;": func(a, b, c, _ uint64) uint64 { return c + max(a, b) - min(a, b) },
		"sad.s64 %d0, %d2, %d3, %d4;": func(a, b, c, _ uint64) uint64 {
			return c + uint64(max(int64(a), int64(b))) - uint64(min(int64(a), int64(b)))
		},
		"cnot.b64 %d0, %d2;": func(a, _, _, _ uint64) uint64 { return uint64(bit(a == 0)) },
		"cvt.u32.u64 %r3, %d3;\ncvt.u32.u64 %r4, %d4;\nand.b32 %r3, %r3, 63;\nand.b32 %r4, %r4, 63;\nbfi.b64 %d0, %d2, %d5, %r3, %r4;": func(a, b, c, e uint64) uint64 {
			mask := (uint64(1)<<(c&63) - 1) << (b & 63)
			return e&^mask | a<<(b&63)&mask
		},
		"bfind.s64 %r2, %d2;\ncvt.u64.u32 %d0, %r2;": func(a, _, _, _ uint64) uint64 {
			if int64(a) < 0 {
				a = ^a
			}
			return uint64(uint32(bits.Len64(a) - 1))
		},
		"bfind.shiftamt.s64 %r2, %d2;\ncvt.u64.u32 %d0, %r2;": func(a, _, _, _ uint64) uint64 {
			if int64(a) < 0 {
				a = ^a
			}
			if a == 0 {
				return full
			}
			return uint64(bits.LeadingZeros64(a))
		},
		"slct.b64.f32 %d0, %d2, %d3, %f1;":                               func(a, _, _, _ uint64) uint64 { return a },
		"mov.f32 %f2, 0fBF800000;\nslct.b64.f32 %d0, %d2, %d3, %f2;":     func(_, b, _, _ uint64) uint64 { return b },
		"mov.f32 %f2, 0f7FC00000;\nslct.b64.f32 %d0, %d2, %d3, %f2;":     func(_, b, _, _ uint64) uint64 { return b },
		"mov.f32 %f2, 0f80000001;\nslct.ftz.b64.f32 %d0, %d2, %d3, %f2;": func(a, _, _, _ uint64) uint64 { return a },
		"mad.hi.u64 %d0, %d2, %d3, %d4;": func(a, b, c, _ uint64) uint64 {
			high, _ := bits.Mul64(a, b)
			return high + c
		},
	} {
		compute(t, 64, body, want)
	}
	for body, want := range map[string]f{
		"mul.hi.u16 %h0, %h2, %h3;":      func(a, b, _, _ uint64) uint64 { return a * b >> 16 },
		"mul.hi.s16 %h0, %h2, %h3;":      func(a, b, _, _ uint64) uint64 { return uint64(signed(a, 16) * signed(b, 16) >> 16) },
		"mad.hi.u16 %h0, %h2, %h3, %h4;": func(a, b, c, _ uint64) uint64 { return a*b>>16 + c },
		"mad.hi.s16 %h0, %h2, %h3, %h4;": func(a, b, c, _ uint64) uint64 { return uint64(signed(a, 16)*signed(b, 16)>>16) + c },
		"sad.s16 %h0, %h2, %h3, %h4;":    func(a, b, c, _ uint64) uint64 { return c + abs64(signed(a, 16)-signed(b, 16)) },
		"cnot.b16 %h0, %h2;":             func(a, _, _, _ uint64) uint64 { return uint64(bit(a == 0)) },
	} {
		compute(t, 16, body, want)
	}
}

func TestByteProducts(t *testing.T) {
	part := func(v uint64, at, n int, typ string) int64 {
		v = v >> at & (1<<n - 1)
		if typ == "s32" {
			return signed(v, n)
		}
		return int64(v)
	}
	for _, x := range []string{"u32", "s32"} {
		for _, y := range []string{"u32", "s32"} {
			compute(t, 32, "dp4a."+x+"."+y+" %r0, %r2, %r3, %r4;", func(a, b, c, _ uint64) uint64 {
				for i := 0; i < 32; i += 8 {
					c += uint64(part(a, i, 8, x) * part(b, i, 8, y))
				}
				return c
			})
			for half, name := range []string{"lo", "hi"} {
				compute(t, 32, "dp2a."+name+"."+x+"."+y+" %r0, %r2, %r3, %r4;", func(a, b, c, _ uint64) uint64 {
					for i := range 2 {
						c += uint64(part(a, 16*i, 16, x) * part(b, 16*half+8*i, 8, y))
					}
					return c
				})
			}
		}
	}
}

func TestPermutations(t *testing.T) {
	// The manual's tables: for each value of c, bytes 3 to 0.
	for mode, rows := range map[string][4]string{
		"f4e": {"3210", "4321", "5432", "6543"}, "b4e": {"5670", "6701", "7012", "0123"},
		"rc8": {"0000", "1111", "2222", "3333"}, "ecl": {"3210", "3211", "3222", "3333"},
		"ecr": {"0000", "1110", "2210", "3210"}, "rc16": {"1010", "3232", "1010", "3232"},
	} {
		compute(t, 32, "prmt.b32."+mode+" %r0, %r2, %r3, %r4;", func(a, b, c, _ uint64) (r uint64) {
			for _, digit := range rows[c&3] {
				r = r<<8 | (b<<32|a)>>(8*(digit-'0'))&0xff
			}
			return r
		})
	}
}

// Sums, differences and products of 128 bits, of carries.
func TestCarries(t *testing.T) {
	join := func(high, low uint64, width uint) *big.Int {
		v := new(big.Int).SetUint64(high)
		return v.Or(v.Lsh(v, width), new(big.Int).SetUint64(low))
	}
	word := func(v *big.Int, i int, width uint) uint64 {
		v.And(v, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 2*width), big.NewInt(1)))
		v.Rsh(v, uint(i)*width)
		return new(big.Int).And(v, join(0, 1<<width-1, width)).Uint64()
	}
	for _, width := range []int{32, 64} {
		w := uint(width)
		for i := range 2 {
			into := func(low, high string) string {
				body := low + "\n" + high
				if i == 0 {
					body += "\nmov.b32 %r0, %r6;"
				} else {
					body += "\nmov.b32 %r0, %r7;"
				}
				if width == 64 {
					body = strings.NewReplacer("32", "64", "%r", "%d").Replace(body)
				}
				return body
			}
			compute(t, width, into("add.cc.u32 %r6, %r2, %r3;", "addc.u32 %r7, %r4, %r5;"), func(a, b, c, e uint64) uint64 {
				return word(new(big.Int).Add(join(c, a, w), join(e, b, w)), i, w)
			})
			compute(t, width, into("sub.cc.s32 %r6, %r2, %r3;", "subc.cc.s32 %r7, %r4, %r5;"), func(a, b, c, e uint64) uint64 {
				return word(new(big.Int).Sub(join(c, a, w), join(e, b, w)), i, w)
			})
			compute(t, width, into("mad.lo.cc.u32 %r6, %r2, %r3, %r4;", "madc.hi.u32 %r7, %r2, %r3, %r5;"), func(a, b, c, e uint64) uint64 {
				p := new(big.Int).Mul(join(0, a, w), join(0, b, w))
				return word(p.Add(p, join(e, c, w)), i, w)
			})
		}
	}
	// The flag is a thread's own, and lanes that do not run keep theirs.
	everyLane(t, `setp.lt.u32 %p1, %r1, 16;
	mov.b32 %r2, -1;
	add.cc.u32 %r3, %r2, %r1;
	@%p1 sub.cc.u32 %r3, %r1, 0;
	addc.u32 %r0, 0, 0;`, func(l uint32) uint32 {
		return bit(l >= 16)
	})
	everyLane(t, "sub.cc.u32 %r3, %r1, 5;\nsubc.u32 %r0, 9, 0;", func(l uint32) uint32 { return 9 - bit(l < 5) })
}

func TestTests(t *testing.T) {
	for class, yes := range map[string][]float32{
		"finite": {0, 1, tiny}, "infinite": {inf, -inf}, "number": {0, tiny, inf}, "notanumber": {nan}, "normal": {1, -2}, "subnormal": {tiny},
	} {
		for _, v := range []float32{0, minus0, 1, -2, tiny, inf, -inf, nan} {
			same := func(w float32) bool { return f(w) == f(v) || v == 0 && w == 0 }
			want := uint32(0)
			for _, w := range yes {
				want |= bit(same(w))
			}
			switch { // what is not listed but belongs
			case class == "finite" && v == -2, class == "number" && (v == 1 || v == -2 || v == -inf):
				want = 1
			}
			everyLane(t, fmt.Sprintf("mov.f32 %%f1, 0f%08X;\ntestp.%s.f32 %%p1, %%f1;\nselp.u32 %%r0, 1, 0, %%p1;", f(v), class),
				func(uint32) uint32 { return want })
			if class != "subnormal" && v != tiny {
				everyLane(t, fmt.Sprintf("mov.f32 %%f1, 0f%08X;\ncvt.f64.f32 %%g1, %%f1;\ntestp.%s.f64 %%p1, %%g1;\nselp.u32 %%r0, 1, 0, %%p1;", f(v), class),
					func(uint32) uint32 { return want })
			}
		}
	}
	everyLane(t, ".shared .b32 s;\n.local .b32 l;\nmov.u64 %d1, s;\nmov.u64 %d2, l;\nld.param.u64 %d3, [out];\n"+`
	isspacep.shared %p1, %d1;
	isspacep.shared %p2, %d2;
	isspacep.local %p3, %d2;
	isspacep.global %p4, %d3;
	isspacep.global %p5, %d1;
	selp.u32 %r0, 1, 0, %p1;
	@%p2 add.u32 %r0, %r0, 10;
	@%p3 add.u32 %r0, %r0, 100;
	@%p4 add.u32 %r0, %r0, 1000;
	@%p5 add.u32 %r0, %r0, 10000;`, func(uint32) uint32 { return 1101 })
	everyLane(t, "cvt.rn.f32.u32 %f1, %r1;\nset.lt.u32.f32 %r0, %f1, 0f40800000;", func(l uint32) uint32 { return -bit(l < 4) })
	everyLane(t, "setp.ge.u32 %p1, %r1, 2;\nset.lt.and.f32.s32 %f1, %r1, 4, %p1;\nmov.b32 %r0, %f1;", func(l uint32) uint32 {
		return bit(l == 2 || l == 3) * uint32(f(1))
	})
	everyLane(t, "setp.lt.u32 %p1|%p2, %r1, 4;\nselp.u32 %r0, 1, 0, %p1;\n@%p2 add.u32 %r0, %r0, 2;", func(l uint32) uint32 { return 2 - bit(l < 4) })
	everyLane(t, "setp.lt.u32 %p3, %r1, 8;\nsetp.lt.and.u32 %p3|%p2, %r1, 4, %p3;\nselp.u32 %r0, 1, 0, %p3;\n@%p2 add.u32 %r0, %r0, 2;", func(l uint32) uint32 {
		return bit(l < 4) + 2*bit(l >= 4 && l < 8)
	})
}
