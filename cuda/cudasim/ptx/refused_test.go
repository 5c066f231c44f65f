package ptx

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What cannot be run is refused when the module is loaded, with its place.
func TestRefused(t *testing.T) {
	for body, reason := range map[string]string{
		"frob.u32 %r1, %r2;":                            "frob.u32 is not supported",
		"add.rz.f32 %f1, %f2, %f3;":                     "add.rz.f32 is not supported",
		"add.f16 %h1, %h2, %h3;":                        "add.f16 is not supported",
		"add.u32 %r1, %r2;":                             "add.u32 with 2 operands",
		"add.u32 %r1, %r2, %d3;":                        "a register of 64 bits where add.u32 needs 32",
		"add.u64 %r1, %d2, %d3;":                        "a register of 32 bits where add.u64 needs 64",
		"add.s32 %f1, %r2, %r3;":                        "cannot take an integer's register for a float's",
		"fma.f32 %f1, %f2, %f3, %f4;":                   "fma.f32 is not supported",
		"min.rn.f32 %f1, %f2, %f3;":                     "min.rn.f32 is not supported",
		"div.rn.sat.f32 %f1, %f2, %f3;":                 "div.rn.sat.f32 is not supported",
		"ld.shared.nc.f32 %f1, [%d1];":                  "ld.shared.nc.f32 is not supported",
		"ld.relaxed.global.f32 %f1, [%d1];":             "ld.relaxed.global.f32 is not supported",
		"cvta.to.param.u64 %d1, %d2;":                   "cvta.to.param.u64 needs PTX 7.7 and sm_70",
		"add.u32 %r1, %r2, %r10;":                       "%r10 is neither declared",
		"mov.u32 %r1, %clock;":                          "%clock is neither declared",
		"mov.u64 %d1, %tid.x;":                          "%tid.x has 32 bits",
		"ld.u32 %r1, [%d1-8];":                          "\"]\" expected",
		"mov.u32 %r1, nothing;":                         "no variable or parameter is named nothing",
		"add.u32 7, %r1, %r2;":                          "must write to a register",
		"bra NOWHERE;":                                  "no label NOWHERE",
		"L: L: ret;":                                    "a second label L",
		"bar.sync 0, 64;":                               "a barrier of the whole block",
		"bar.red.popc.u32 %r1, 0, %p1;":                 "bar.red.popc.u32 is not supported",
		"ld.global.v4.f64 {%g1, %g2, %g3, %g4}, [%d1];": "ld.global.v4.f64 is not supported",
		"ld.global.v2.f32 {%f1, %f2, %f3}, [%d1];":      "needs 2 registers",
		"ld.global.f32 %f1, %d1;":                       "needs an address in brackets",
		"ld.global.f32 %f1, [%r1];":                     "cannot take its address from there",
		"st.param.f32 [out], %f1;":                      "st.param.f32 is not supported",
		"cp.async.ca.shared.global [%d1], [%d2], 16;":   "cp.async.ca.shared.global is not supported",
		"mma.sync.aligned.m16n8k8 %f1;":                 "mma.sync.aligned.m16n8k8 is not supported",
		"cvt.s32.f32 %r1, %f1;":                         "a float becomes an integer by",
		"cvt.rn.f32.f32 %f1, %f2;":                      "nothing to round",
		"cvt.rz.f32.s32 %f1, %r2;":                      "cvt.rz.f32.s32 is not supported",
		"setp.lo.s32 %p1, %r1, %r2;":                    "setp.lo.s32 is not supported",
		"atom.global.add.f16 %h1, [%d1], %h2;":          "atom.global.add.f16 is not supported",
		"red.global.cas.b32 [%d1], %r1, %r2;":           "red.global.cas.b32 is not supported",
		"call.uni foo;":                                 "call.uni is not supported",
		"shfl.bfly.b32 %r1, %r2, %r3, %r4;":             "shfl.bfly.b32 is not supported",
		".surfref x;":                                   "begins no statement",
		"add.u32 %r1, %r2, 0x1g;":                       "bad number",
		"add.u32 %r1, %r2, %r3":                         "\",\" or \";\" expected",
		"mov.u32 %r1, \"text\";":                        "a name expected",
		"mov.b64 %d1, {%r1, %r2, %r3};":                 "mov.b64 is not supported",
		".reg .f128 %q;":                                "registers of type \".f128\"",
		".reg .b32 %r1;":                                "a second register %r1",
	} {
		_, err := Compile(snippetText(body))
		var e *ParseError
		require.ErrorAs(t, err, &e, body)
		require.Contains(t, e.Reason, reason, body)
		require.GreaterOrEqual(t, e.Line, 12, body)
	}
	_, err := Compile(snippetText("\tret;\n\tfrob.u32 %r1, %r2;"))
	require.EqualError(t, err, `ptx: module k, line 13, column 2: frob.u32 is not supported: "frob.u32 %r1, %r2;"`)
}

func TestRefusedModules(t *testing.T) {
	for text, reason := range map[string]string{
		"":                                    `".version" expected`,
		".version 6.0\n":                      "PTX version outside of 6.4 to 8.x",
		".version 9.0\n":                      "PTX version outside of 6.4 to 8.x",
		".version 7.0\nadd":                   `".target" expected`,
		".version 7.0\n/* ":                   "comment without an end",
		header + ".func f()":                  ".func: functions are not supported",
		header + ".tex .u64;":                 `".tex" is no directive`,
		header + ".visible .entry k() { ret;": "\"}\" expected",
		header + ".visible .entry k() { ret; }\n.entry k() { ret; }": "a second kernel named k",
		header + ".global .b8 a[2] = {1, 2, 3};":                     "more values than room",
		header + ".extern .global .b8 a[];":                          "a has no size",
		header + ".global .b8 a[67108865];":                          "larger than 64 MiB",
		header + ".shared .b8 a[98305];\n.entry k() { ret; }":        "98305 bytes of shared memory",
		header + ".entry k(.param .b8 a[4097]) { ret; }":             "more than 4,096 bytes of parameters",
		header + ".entry k() { .local .b8 a[600000]; ret; }":         "more than 512 KiB of local memory",
		header + "?": "has no place in PTX",
		".version 7.0\n.target sm_75\n.address_size 32":                                                       "addresses have 64 bits here",
		".version 6.5\n.target sm_75\n.address_size 64\n.entry k() { .reg .f32 %f; tanh.approx.f32 %f, %f; }": "tanh.approx.f32 needs PTX 7.0 and sm_75",
	} {
		_, err := Compile(text)
		var e *ParseError
		require.ErrorAs(t, err, &e, text)
		require.Contains(t, e.Reason, reason, text)
	}
}

func TestNoKernel(t *testing.T) {
	m := compileFile(t, "reduce")
	_, err := m.Kernel("average")
	require.EqualError(t, err, `ptx: the module has no kernel "average"; it has dynamic_reverse, half_barrier, half_shuffle, softmax, sum`)
}

// Any text is refused or compiled, without a panic.
func FuzzCompile(f *testing.F) {
	f.Add(snippetText("ret;"))
	f.Add(snippetText("L:\n@!%p1 bra L;\n{ .reg .b32 t; mov.b64 {t, %r1}, %d2; }\nshfl.sync.bfly.b32 %r1|%p2, %r2, 1, 31, -1;"))
	f.Add(snippetText("ld.global.v2.f32 {%f1, _}, [%d1+-8];\natom.global.cas.b64 %d1, [%d2], %d3, 7;"))
	f.Add(header + ".global .align 8 .f64 x[2][2] = {{0d3ff0000000000000, 1}, {2}};\n.extern .shared .b8 y[];")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Compile(text)
		if (m == nil) == (err == nil) {
			t.Fatalf("module %v, error %v", m, err)
		}
	})
}
