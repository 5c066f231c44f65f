package ptx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What cannot be run is refused when the module is loaded, with its place.
func TestRefused(t *testing.T) {
	for body, reason := range map[string]string{
		"frob.u32 %r1, %r2;":                            "frob.u32 is not supported",
		"add.rzi.f32 %f1, %f2, %f3;":                    "add.rzi.f32 is not supported",
		"add.bf16 %h1, %h2, %h3;":                       "add.bf16 needs PTX 7.8 and sm_90",
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
		"mov.u32 %r1, %clock;":                          "%clock is PTX that this interpreter does not run",
		"mov.u64 %d1, %tid.x;":                          "%tid.x has 32 bits",
		"ld.u32 %r1, [%d1-8];":                          "\"]\" expected",
		"mov.u32 %r1, nothing;":                         "no variable or parameter is named nothing",
		"add.u32 7, %r1, %r2;":                          "must write to a register",
		"bra NOWHERE;":                                  "no label NOWHERE",
		"L: L: ret;":                                    "a second label L",
		"bar.sync 0, 63;":                               "a multiple of 32",
		"bar.sync 16;":                                  "numbers from 0 to 15",
		"bar.arrive 1;":                                 "bar.arrive needs the number of threads",
		"bar.red.popc.u32 %r1, 0;":                      "bar.red.popc.u32 with 2 operands",
		"ld.global.v4.f64 {%g1, %g2, %g3, %g4}, [%d1];": "ld.global.v4.f64 is not supported",
		"ld.global.v2.f32 {%f1, %f2, %f3}, [%d1];":      "needs 2 registers",
		"ld.global.f32 %f1, %d1;":                       "needs an address in brackets",
		"ld.global.f32 %f1, [%r1];":                     "cannot take its address from there",
		"st.param.f32 [out], %f1;":                      "st.param.f32 is not supported",
		"cp.async.ca.shared.global [%d1], [%d2], 16;":   "cp.async.ca.shared.global needs PTX 7.0 and sm_80",
		"mma.sync.aligned.m16n8k8 %f1;":                 "mma.sync.aligned.m16n8k8 is not supported",
		"cvt.s32.f32 %r1, %f1;":                         "a float becomes an integer by",
		"cvt.rn.f32.f32 %f1, %f2;":                      "nothing to round",
		"cvt.f32.s32 %f1, %r2;":                         "an integer becomes a float by",
		"setp.lo.s32 %p1, %r1, %r2;":                    "setp.lo.s32 is not supported",
		"atom.global.add.f16 %h1, [%d1], %h2;":          "atom.global.add.f16 is not supported",
		"red.global.add.noftz.bf16x2 [%d1], %r2;":       "red.global.add.noftz.bf16x2 needs PTX 7.8 and sm_90",
		"red.global.cas.b32 [%d1], %r1, %r2;":           "red.global.cas.b32 is not supported",
		"call.uni foo;":                                 "no function foo with a body",
		"shfl.bfly.b32 %r1, %r2, %r3, %r4;":             "shfl.bfly.b32 is not supported",
		".surfref x;":                                   ".surfref is PTX that this interpreter does not run",
		".frob x;":                                      "begins no statement",
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
		"":                   `".version" expected`,
		".version 6.0\n":     "PTX version outside of 6.4 to 8.x",
		".version 9.0\n":     "PTX version outside of 6.4 to 8.x",
		".version 7.0\nadd":  `".target" expected`,
		".version 7.0\n/* ":  "comment without an end",
		header + ".func f()": `"{" expected`,
		header + ".func f() { call.uni f; }\n.entry k() { call.uni f; }":                            "f calls itself",
		header + ".func f() { call.uni g; }\n.func g() { call.uni f; }\n.entry k() { call.uni f; }": "f calls itself",
		header + ".func f(.param .b32 x) { ret; }\n.entry k() { call.uni f; }":                      "f has 0 results and 1 parameters",
		header + ".func f(.param .b32 x) { ret; }\n.entry k() { .param .b64 y; call.uni f, (y); }":  "8 bytes are passed for x of f, which has 4",
		header + ".func f(.param .b32 x) { ret; }\n.entry k() { .reg .b32 y; call.uni f, (y); }":    "y is no .param of this body",
		header + ".extern .func f;\n.entry k() { call.uni f; }":                                     "no function f with a body",
		header + ".func f() { ret; }\n.func f() { ret; }":                                           "a second function named f",
		header + ".func f() { frob.u32; ret; }\n.entry k() { call.uni f; }":                         "frob.u32 is not supported",
		header + doubling(20) + ".entry k() { call.uni f0; }":                                       "131,072",
		header + ".tex .u64;":                                        ".tex is PTX that this interpreter does not run",
		header + ".visible .entry k() { ret;":                        "\"}\" expected",
		header + ".visible .entry k() { ret; }\n.entry k() { ret; }": "a second kernel named k",
		header + ".global .b8 a[2] = {1, 2, 3};":                     "more values than room",
		header + ".extern .global .b8 a[];":                          "a has no size",
		header + ".global .b8 a[67108865];":                          "larger than 64 MiB",
		header + ".shared .b8 a[49153];\n.entry k() { ret; }":        "49153 bytes of shared memory",
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

// doubling are functions that each call the next twice.
func doubling(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ".func f%d() { call.uni f%d; call.uni f%d; }\n", i, i+1, i+1)
	}
	fmt.Fprintf(&b, ".func f%d() { ret; }\n", n)
	return b.String()
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
	f.Add(strings.Replace(snippetText("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};\n"+
		"ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r1}, [%r2];\ncp.async.ca.shared.global.L2::128B [%r1], [%d1], 16, %r2;\ncp.async.wait_group 1;"), "7.0", "7.8", 1))
	f.Add(snippetText("bar.red.popc.u32 %r1, 0, 64, !%p1;\nbar.arrive 1, %r1;\nlop3.b32 %r1, %r2, %r3, %r4, 5;\nmad.lo.cc.u32 %r1, %r2, %r3, %r4;\n" +
		"setp.lt.and.f16x2 %p1|%p2, %r1, %r2, !%p3;\nset.lt.u32.f16 %r1, %h1, %h2;\ncvt.rp.relu.f16.f32 %h1, %f1;\nfma.rn.f16 %h1, %h2, %h3, %h4;\nprmt.b32.rc8 %r1, %r2, %r3, %r4;"))
	f.Add(header + ".func (.param .b32 r) f(.param .b32 x) { ret; }\n.entry k() { .reg .b32 %r; { .param .b32 a; .param .b32 b; call.uni (a), f, (b); } }")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Compile(text)
		if (m == nil) == (err == nil) {
			t.Fatalf("module %v, error %v", m, err)
		}
	})
}
