package ptx

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// threadsOf runs a body in blocks of n threads, with the thread in %r1, and
// returns what it left in %r0.
func threadsOf(t testing.TB, n int, body string) ([]uint32, *Kernel, error) {
	t.Helper()
	k := snippet(t, `.shared .align 4 .b8 s[4096];
	ld.param.u64 %d8, [out];
	mov.u32 %r1, %tid.x;
	mad.wide.u32 %d8, %r1, 4, %d8;
	mov.b32 %r0, 0;
	mov.u32 %r8, s;
	mad.lo.u32 %r7, %r1, 4, %r8;
`+body+`
	st.global.u32 [%d8], %r0;
	ret;`)
	var d device
	out, got := alloc(t, &d, make([]uint32, n))
	err := k.Launch(flat(2), flat(n), 0, pack(t, k, out), &d)
	return values[uint32](t, got), k, err
}

func TestReducingBarriers(t *testing.T) {
	for body, want := range map[string]uint32{
		"setp.lt.u32 %p1, %r1, 40;\nbar.red.popc.u32 %r0, 0, %p1;":                                                     40,
		"setp.lt.u32 %p1, %r1, 40;\nbar.red.popc.u32 %r0, 3, !%p1;":                                                    40,
		"setp.lt.u32 %p1, %r1, 40;\nbarrier.red.popc.aligned.u32 %r0, 0, 96, %p1;":                                     40,
		"setp.lt.u32 %p1, %r1, 40;\nbar.red.and.pred %p2, 0, %p1;\nselp.u32 %r0, 1, 0, %p2;":                           0,
		"setp.lt.u32 %p1, %r1, 80;\nbar.red.and.pred %p2, 0, %p1;\nselp.u32 %r0, 1, 0, %p2;":                           1,
		"setp.eq.u32 %p1, %r1, 79;\nbar.red.or.pred %p1, 0, %p1;\nselp.u32 %r0, 1, 0, %p1;":                            1,
		"setp.eq.u32 %p1, %r1, 80;\nbar.red.or.pred %p1, 0, %p1;\nselp.u32 %r0, 1, 0, %p1;":                            0,
		"mov.u32 %r2, 5;\nmov.u32 %r3, 96;\nbar.sync %r2, %r3;\nbar.sync %r2;\nmov.b32 %r0, 1;":                        1,
		"bar.sync 1, 32;\nsetp.lt.u32 %p1, %r1, 16;\nbar.red.popc.u32 %r0, 1, 32, %p1;\nbar.red.popc.u32 %r0, 2, %p1;": 16,
		"setp.lt.u32 %p1, %r1, 64;\n@%p1 bar.sync 1, 64;\n@!%p1 bar.sync 2, 32;\nbar.sync 0;\nmov.b32 %r0, 3;":         3,
	} {
		got, _, err := threadsOf(t, 80, body)
		require.NoError(t, err, body)
		for i, v := range got {
			require.Equal(t, want, v, "%s: thread %d", body, i)
		}
	}
}

// The last warp fills a buffer for the others, again and again. It is told by
// one barrier that the buffer is free, and tells by another that it is full.
func TestProducerAndConsumers(t *testing.T) {
	const n = 96
	got, _, err := threadsOf(t, n, `
	mov.u32 %r6, 0;
	setp.ge.u32 %p1, %r1, 64;
	@%p1 bra PRODUCE;
CONSUME:
	bar.sync 1, 96;
	ld.shared.u32 %r2, [s];
	add.u32 %r0, %r0, %r2;
	bar.arrive 2, 96;
	add.u32 %r6, %r6, 1;
	setp.lt.u32 %p2, %r6, 5;
	@%p2 bra CONSUME;
	bra DONE;
PRODUCE:
	add.u32 %r2, %r6, 10;
	st.shared.u32 [s], %r2;
	bar.arrive 1, 96;
	bar.sync 2, 96;
	add.u32 %r6, %r6, 1;
	setp.lt.u32 %p2, %r6, 5;
	@%p2 bra PRODUCE;
DONE:`)
	require.NoError(t, err)
	for i, v := range got {
		if want := uint32(10 + 11 + 12 + 13 + 14); i < 64 {
			require.Equal(t, want, v, "thread %d", i)
		}
	}
}

func TestBarrierMisuse(t *testing.T) {
	for body, reason := range map[string]string{
		"setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 1, 64;":                        "barrier 1, which needs 64; 32 have come",
		"setp.eq.u32 %p1, %r1, 3;\n@!%p1 barrier.sync 1, 32;":                    "barrier 1, which needs 32; 63 have come",
		"setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 1, 64;\n@!%p1 bar.sync 1, 96;": "barrier 1 is used in another way in line",
		"mov.u32 %r2, 99;\nbar.sync %r2;":                                        "barrier 99",
		"mov.u32 %r3, 40;\nbar.sync 1, %r3;":                                     "a barrier of 40 threads",
		"and.b32 %r2, %r1, 7;\nbar.sync %r2;":                                    "name different barriers",
		"setp.eq.u32 %p1, %r1, 70;\n@%p1 exit;\nbar.red.popc.u32 %r0, 0, %p1;":   "barrier 0, which needs 96; 95 have come",
	} {
		_, k, err := threadsOf(t, 96, body)
		var e *SyncError
		require.ErrorAs(t, err, &e, body)
		require.Contains(t, e.Reason, reason, body)
		require.Contains(t, e.Text, "bar", body)
		require.Equal(t, "k", k.Name)
	}
}

func TestReductionsOfWarps(t *testing.T) {
	value := func(l uint32) uint32 { return l - 10 }
	for op, join := range map[string]func(a, b uint32) uint32{
		"add.u32": func(a, b uint32) uint32 { return a + b }, "add.s32": func(a, b uint32) uint32 { return a + b },
		"min.u32": func(a, b uint32) uint32 { return min(a, b) }, "max.u32": func(a, b uint32) uint32 { return max(a, b) },
		"min.s32": func(a, b uint32) uint32 { return uint32(min(int32(a), int32(b))) },
		"max.s32": func(a, b uint32) uint32 { return uint32(max(int32(a), int32(b))) },
		"and.b32": func(a, b uint32) uint32 { return a & b }, "or.b32": func(a, b uint32) uint32 { return a | b },
		"xor.b32": func(a, b uint32) uint32 { return a ^ b },
	} {
		// Odd lanes and even ones each have a mask of their own.
		body := "sub.u32 %r2, %r1, 10;\nand.b32 %r3, %r1, 1;\nmov.u32 %r4, 0x55555555;\nshl.b32 %r4, %r4, %r3;\nredux.sync." + op + " %r0, %r2, %r4;\nst.global.u32 [%d8], %r0;"
		for lane, got := range warpTable(t, body, [warpSize][12]uint32{}) {
			want := value(uint32(lane % 2))
			for l := lane%2 + 2; l < warpSize; l += 2 {
				want = join(want, value(uint32(l)))
			}
			require.Equal(t, want, got[0], "%s: lane %d", op, lane)
		}
	}
	everyLane(t, "shr.u32 %r2, %r1, 4;\nmatch.all.sync.b32 %r0|%p1, %r2, -1;\n@%p1 add.u32 %r0, %r0, 1;", func(uint32) uint32 { return 0 })
	everyLane(t, "mov.b64 %d1, 7;\nmatch.all.sync.b64 %r0|%p1, %d1, -1;\n@%p1 and.b32 %r0, %r0, 0xffff;", func(uint32) uint32 { return 0xffff })
	everyLane(t, "shr.u32 %r2, %r1, 4;\nsetp.eq.u32 %p1, %r2, 1;\nselp.b32 %r3, 0xffff0000, 0xffff, %p1;\nmatch.all.sync.b32 %r0, %r2, %r3;", func(l uint32) uint32 {
		return 0xffff << (l / 16 * 16)
	})
}

// Each adds its lane: what memory holds at the end is the sum, and what a lane
// gets is the sum before it.
func TestAtomicHalves(t *testing.T) {
	for _, c := range []struct {
		typ, body string
		want      uint32
	}{
		{"f16", "cvt.rn.f16.u32 %h1, %r1;\nADD %h2, [%d8], %h1;\ncvt.f32.f16 %f1, %h2;", uint32(float32ToHalf(496))},
		{"bf16", "cvt.rn.bf16.u32 %h1, %r1;\nADD %h2, [%d8], %h1;\ncvt.f32.bf16 %f1, %h2;", 0},
		{"f16x2", "cvt.rn.f16.u32 %h1, %r1;\nneg.f16 %h2, %h1;\nmov.b32 %r2, {%h1, %h2};\nADD %r3, [%d8], %r2;\nmov.b32 {%h3, %h4}, %r3;\ncvt.f32.f16 %f1, %h3;",
			uint32(float32ToHalf(496)) | uint32(float32ToHalf(-496))<<16},
	} {
		body := `ld.param.u64 %d8, [out];
	mov.u32 %r1, %laneid;
	` + strings.ReplaceAll(c.body, "ADD", "atom.global.add.noftz."+c.typ) + `
	mad.wide.u32 %d7, %r1, 4, %d8;
	st.global.f32 [%d7+4], %f1;
	ret;`
		m, err := Compile(strings.NewReplacer("sm_75", "sm_90", "7.0", "7.8").Replace(snippetText(body)))
		require.NoError(t, err)
		k, err := m.Kernel("k")
		require.NoError(t, err)
		var d device
		out, bytes := alloc(t, &d, make([]uint32, 33))
		require.NoError(t, k.Launch(flat(1), flat(32), 0, pack(t, k, out), &d))
		got := values[uint32](t, bytes)
		h := halfOp{f: halfTable["add"].f, sources: 2, brain: c.typ == "bf16"}
		sum := uint16(0)
		for lane := range uint32(32) {
			require.Equal(t, math.Float32bits(h.value(sum)), got[1+lane], "%s: lane %d", c.typ, lane)
			add := float32ToHalf(float32(lane))
			if h.brain {
				add = float32ToBrain(float32(lane))
			}
			sum = h.one(sum, add, 0)
		}
		if c.want == 0 {
			c.want = uint32(sum)
		}
		require.Equal(t, c.want, got[0], c.typ)
	}
	everyLane(t, `.shared .align 4 .b16 s[2];
	st.shared.b16 [s+2], 7;
	atom.shared.cas.b16 %h1, [s+2], 7, 9;
	atom.shared.cas.b16 %h1, [s+2], 7, 10;
	cvt.u32.u16 %r0, %h1;`, func(uint32) uint32 { return 9 })
}
