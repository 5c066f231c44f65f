package ptx

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// lanesOf runs a body in one warp, with the lane in %r1, and returns what it
// left in %r0.
func lanesOf(t testing.TB, body string) []uint32 {
	t.Helper()
	k := snippet(t, `
	ld.param.u64 %d8, [out];
	mov.u32 %r1, %laneid;
	mad.wide.u32 %d8, %r1, 4, %d8;
	mov.b32 %r0, 0;
`+body+`
	st.global.u32 [%d8], %r0;
	ret;`)
	var d device
	out, got := alloc(t, &d, make([]uint32, warpSize))
	require.NoError(t, k.Launch(flat(1), flat(warpSize), 0, pack(t, k, out), &d))
	return values[uint32](t, got)
}

// everyLane checks a body against what each lane should have.
func everyLane(t *testing.T, body string, want func(lane uint32) uint32) {
	t.Helper()
	for lane, v := range lanesOf(t, body) {
		require.Equal(t, want(uint32(lane)), v, "%s: lane %d", body, lane)
	}
}

func TestShuffles(t *testing.T) {
	everyLane(t, "shfl.sync.up.b32 %r0, %r1, 3, 0, -1;", func(l uint32) uint32 {
		if l < 3 {
			return l
		}
		return l - 3
	})
	everyLane(t, "shfl.sync.up.b32 %r0|%p1, %r1, 1, 0x1800, -1;\nselp.b32 %r0, %r0, 99, %p1;", func(l uint32) uint32 {
		if l%8 == 0 {
			return 99
		}
		return l - 1
	})
	everyLane(t, "shfl.sync.down.b32 %r0, %r1, 20, 31, -1;", func(l uint32) uint32 {
		if l > 11 {
			return l
		}
		return l + 20
	})
	everyLane(t, "shfl.sync.idx.b32 %r0, %r1, 5, 31, -1;", func(uint32) uint32 { return 5 })
	everyLane(t, "shfl.sync.idx.b32 %r0, %r1, 5, 0x181f, -1;", func(l uint32) uint32 { return l&^7 + 5 })
	everyLane(t, "shfl.sync.bfly.b32 %r0, %r1, 16, 31, -1;", func(l uint32) uint32 { return l ^ 16 })
}

func TestVotes(t *testing.T) {
	for body, want := range map[string]uint32{
		"setp.lt.u32 %p1, %r1, 4;\nvote.sync.ballot.b32 %r0, %p1, -1;":                          0xf,
		"setp.lt.u32 %p1, %r1, 4;\nvote.sync.any.pred %p2, %p1, -1;\nselp.u32 %r0, 1, 0, %p2;":  1,
		"setp.lt.u32 %p1, %r1, 4;\nvote.sync.all.pred %p2, %p1, -1;\nselp.u32 %r0, 1, 0, %p2;":  0,
		"setp.lt.u32 %p1, %r1, 4;\nvote.sync.uni.pred %p2, %p1, -1;\nselp.u32 %r0, 1, 0, %p2;":  0,
		"setp.lt.u32 %p1, %r1, 40;\nvote.sync.uni.pred %p2, %p1, -1;\nselp.u32 %r0, 1, 0, %p2;": 1,
		"activemask.b32 %r0;":                                   full,
		"mov.u32 %r0, %ntid.x;\nadd.u32 %r0, %r0, WARP_SZ;":     64,
		"membar.gl;\nfence.acq_rel.gpu;\n.pragma \"nounroll\";": 0,
		"mov.u32 %r0, %nctaid.z;\n":                             1,
		"cvt.u64.u32 %d1, %r1;\nmov.u32 %r2, %ctaid.x;\n":       0,
	} {
		everyLane(t, body, func(uint32) uint32 { return want })
	}
	everyLane(t, "rem.u32 %r2, %r1, 3;\nmatch.any.sync.b32 %r0, %r2, -1;", func(l uint32) uint32 {
		return 0x49249249 << (l % 3)
	})
	everyLane(t, "and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 1;\n@%p1 activemask.b32 %r0;", func(l uint32) uint32 {
		return 0xaaaaaaaa & -(l & 1)
	})
	for name, want := range map[string]func(l uint32) uint32{
		"eq": func(l uint32) uint32 { return 1 << l }, "lt": func(l uint32) uint32 { return 1<<l - 1 },
		"le": func(l uint32) uint32 { return 2<<l - 1 }, "gt": func(l uint32) uint32 { return full &^ (2<<l - 1) },
		"ge": func(l uint32) uint32 { return full &^ (1<<l - 1) },
	} {
		everyLane(t, "mov.u32 %r0, %lanemask_"+name+";", want)
	}
}

// All comparisons of all types, on sources that tell them apart.
func TestComparisons(t *testing.T) {
	compared := func(typ, cmp string, a, b uint64) bool {
		r := map[string]string{"16": "%h", "32": "%r", "64": "%d"}[typ[1:]]
		load := "mov.b" + typ[1:] + " " + r + "2, " + strconv.FormatUint(a, 10) + ";\nmov.b" + typ[1:] + " " + r + "3, " +
			strconv.FormatUint(b, 10) + ";\n"
		got := lanesOf(t, load+"setp."+cmp+"."+typ+" %p1, "+r+"2, "+r+"3;\nselp.u32 %r0, 1, 0, %p1;")
		return got[7] == 1
	}
	holds := map[string]func(order int) bool{
		"eq": func(o int) bool { return o == 0 }, "ne": func(o int) bool { return o != 0 },
		"lt": func(o int) bool { return o < 0 }, "le": func(o int) bool { return o <= 0 },
		"gt": func(o int) bool { return o > 0 }, "ge": func(o int) bool { return o >= 0 },
	}
	pairs := func(low, high uint64) map[[2]uint64]int {
		return map[[2]uint64]int{{low, high}: -1, {low, low}: 0, {high, low}: 1}
	}
	for cmp, hold := range holds {
		for typ, cases := range map[string]map[[2]uint64]int{
			"u32": pairs(1, minus1), "s32": pairs(minus1, 1), "u64": pairs(1, minus64), "s64": pairs(minus64, 1),
			"u16": pairs(1, 0xffff), "s16": pairs(0xffff, 1), "f32": pairs(f(-2), f(1)), "f64": pairs(g(-2), g(1)),
		} {
			for p, order := range cases {
				require.Equal(t, hold(order), compared(typ, cmp, p[0], p[1]), "%s.%s %#x", cmp, typ, p)
				if typ[0] == 'f' {
					require.Equal(t, hold(order), compared(typ, cmp+"u", p[0], p[1]), "%su.%s %#x", cmp, typ, p)
				}
			}
		}
		require.False(t, compared("f32", cmp, f(nan), f(1)), cmp)
		require.True(t, compared("f32", cmp+"u", f(1), f(nan)), cmp)
		require.False(t, compared("f64", cmp, g(math.NaN()), g(math.NaN())), cmp)
	}
	require.True(t, compared("f32", "nan", f(nan), f(1)))
	require.False(t, compared("f32", "num", f(nan), f(1)))
	require.True(t, compared("f32", "eq", 0, f(minus0)))
	require.True(t, compared("f32", "eq.ftz", 0, f(tiny)))
	require.True(t, compared("u32", "lo", 1, minus1))
	require.False(t, compared("u32", "hs", 1, minus1))
}

func TestPredicates(t *testing.T) {
	const ab = "and.b32 %r2, %r1, 1;\nsetp.ne.u32 %p1, %r2, 0;\nand.b32 %r2, %r1, 2;\nsetp.ne.u32 %p2, %r2, 0;\n"
	for op, want := range map[string]func(a, b bool) bool{
		"and.pred %p3, %p1, %p2;":                 func(a, b bool) bool { return a && b },
		"or.pred %p3, %p1, %p2;":                  func(a, b bool) bool { return a || b },
		"xor.pred %p3, %p1, %p2;":                 func(a, b bool) bool { return a != b },
		"not.pred %p3, %p1;":                      func(a, _ bool) bool { return !a },
		"mov.pred %p3, %p2;":                      func(_, b bool) bool { return b },
		"mov.pred %p3, -1;":                       func(_, _ bool) bool { return true },
		"setp.eq.and.u32 %p3, %r2, 2, %p1;":       func(a, b bool) bool { return a && b },
		"setp.eq.or.u32 %p3, %r2, 2, %p1;":        func(a, b bool) bool { return a || b },
		"setp.eq.xor.u32 %p3, %r2, 2, %p1;":       func(a, b bool) bool { return a != b },
		"mov.pred %p3, 0;\n@%p1 mov.pred %p3, 1;": func(a, _ bool) bool { return a },
	} {
		everyLane(t, ab+op+"\nselp.u32 %r0, 1, 0, %p3;", func(l uint32) uint32 {
			return bit(want(l&1 != 0, l&2 != 0))
		})
	}
	everyLane(t, ab+"selp.b64 %d1, 7, 9, %p1;\ncvt.u32.u64 %r0, %d1;", func(l uint32) uint32 { return 9 - l&1*2 })
}

// Registers may be wider than what is loaded, stored or moved.
func TestWidths(t *testing.T) {
	const place = "mov.u64 %d1, here;\n"
	for body, want := range map[string]uint64{
		"st.shared.u32 [here], -2;\nld.shared.s8 %r0, [here];":                                                0xfffffffe,
		"st.shared.u32 [here], -2;\nld.shared.u8 %r0, [here+3];":                                              0xff,
		"st.shared.u32 [here], -2;\nld.shared.s16 %d2, [here];\nshr.u64 %d2, %d2, 32;\ncvt.u32.u64 %r0, %d2;": 0xffffffff,
		place + "st.shared.u32 [%d1], %d1;\nld.shared.u32 %r0, [%d1];":                                        0,
		place + "mov.b64 %d2, 0x1122334455667788;\nst.shared.u16 [%d1+8], %d2;\nld.shared.u16 %r0, [%d1+8];":  0x7788,
		place + "add.u64 %d1, %d1, 8;\nst.shared.v2.b32 [%d1+-8], {5, 6};\nld.v2.b32 {_, %r0}, [%d1+-8];":     6,
		place + "cvt.u32.u64 %r3, %d1;\nst.shared.b32 [%r3], 9;\nld.shared.b32 %r0, [%r3];":                   9,
		"mov.b64 %d2, {1, 2};\nmov.b64 {%r2, %r3}, %d2;\nshl.b32 %r3, %r3, 4;\nor.b32 %r0, %r2, %r3;":         0x21,
		"mov.b32 {%h1, %h2}, 0x56781234;\nmov.b32 %r0, {%h2, %h1};":                                           0x12345678,
		"mov.b64 {%h1, %h2, %h3, %h4}, 0x1111222233334444;\ncvt.u32.u16 %r0, %h3;":                            0x2222,
		"{ .reg .b32 %r1; mov.b32 %r1, 5; mov.b32 %r0, %r1; }":                                                5,
		"mov.b64 %d2, out;\nld.param.u32 %r0, [%d2+4];\nshr.u32 %r0, %r0, 8;":                                 0x70,
		"mad.hi.u32 %r0, -1, 2, 5;":                                                     6,
		"mad.hi.s32 %r0, -1, 2, 5;":                                                     4,
		"mad.hi.s64 %d2, -1, 2, 5;\ncvt.u32.u64 %r0, %d2;":                              4,
		"mad.hi.u64 %d2, -1, 2, 5;\ncvt.u32.u64 %r0, %d2;":                              6,
		"mov.f32 %f1, 0f3F800000;\nmov.b32 %r0, %f1;":                                   0x3f800000,
		"mov.f64 %g1, 0d3FF0000000000000;\ncvt.rn.f32.f64 %f1, %g1;\nmov.b32 %r0, %f1;": 0x3f800000,
	} {
		body = strings.Replace(".shared .align 8 .b8 here[16];\n"+body, "\n", "\n\t", -1)
		everyLane(t, body, func(uint32) uint32 { return uint32(want) })
	}
}

func TestAtomics(t *testing.T) {
	// Each lane applies its number to a word, in order; the last sees what the
	// others left.
	for op, want := range map[string][2]uint32{ // of the word, and what lane 31 got
		"add.u32": {496 + 7, 465 + 7}, "min.u32": {0, 0}, "max.s32": {31, 30}, "exch.b32": {31, 30},
		"and.b32": {0, 0}, "or.b32": {31, 31}, "xor.b32": {7, 7 ^ 31}, "inc.u32": {0, 0}, "dec.u32": {0, 0},
	} {
		run := func(form string) []uint32 {
			k := snippet(t, "ld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\n"+form+
				"\nsetp.eq.u32 %p1, %r1, 31;\n@%p1 st.global.u32 [%d1+4], %r0;\nret;")
			var d device
			out, got := alloc(t, &d, []uint32{7, 0})
			require.NoError(t, k.Launch(flat(1), flat(32), 0, pack(t, k, out), &d))
			return values[uint32](t, got)
		}
		got := run("atom.global." + op + " %r0, [%d1], %r1;")
		if strings.HasPrefix(op, "inc") || strings.HasPrefix(op, "dec") {
			word := uint32(7)
			var old uint32
			for l := range uint32(32) {
				old = word
				switch {
				case op == "inc.u32" && old >= l:
					word = 0
				case op == "inc.u32":
					word++
				case old == 0 || old > l:
					word = l
				default:
					word--
				}
			}
			want = [2]uint32{word, old}
		}
		require.Equal(t, want[:], got, op)
		if op != "exch.b32" {
			require.Equal(t, want[0], run("red.global." + op + " [%d1], %r1;")[0], op)
		}
	}
	everyLane(t, `.shared .align 8 .b8 w[8];
	st.shared.u64 [w], -1;
	atom.shared.max.s64 %d1, [w], 5;
	atom.shared.min.u64 %d1, [w], 4;
	atom.shared.cas.b64 %d1, [w], 4, 77;
	atom.shared.cas.b64 %d1, [w], 4, 78;
	cvt.u32.u64 %r0, %d1;`, func(uint32) uint32 { return 77 })
	sum := lanesOf(t, `.shared .f32 s;
	.shared .f64 x;
	st.shared.f32 [s], 0f3F000000;
	st.shared.f64 [x], 0d0000000000000000;
	red.shared.add.f32 [s], 0f3F800000;
	red.shared.add.f64 [x], 0d3FF0000000000000;
	ld.shared.f32 %f1, [s];
	ld.shared.f64 %g1, [x];
	cvt.rn.f32.f64 %f2, %g1;
	add.f32 %f1, %f1, %f2;
	mov.b32 %r0, %f1;`)[0]
	require.Equal(t, float32(64.5), math.Float32frombits(sum))
}
