//go:build race

package ptx

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// raceCase names the case that a child runs.
const raceCase = "TARN_PTX_RACE"

// Two launches that nothing orders, on the same memory: the race detector
// reports what a device leaves undefined, and nothing else. It can only be
// asked by a program that it ends, so each case is a process of its own.
func TestRaceDetector(t *testing.T) {
	// All lanes have their own word at %d1, and one in common at %d2.
	const prologue = `
	ld.param.u64 %d2, [out];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %d1, %r1, 16;
	add.u64 %d1, %d1, %d2;
	add.u64 %d1, %d1, 256;
	`
	for name, c := range map[string]struct {
		a, b  string
		races bool
	}{
		"loads":                        {"ld.global.u32 %r2, [%d1];", "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d1];", false},
		"load and store":               {"ld.global.u32 %r2, [%d1];", "st.global.u32 [%d1], %r1;", true},
		"bytes":                        {"ld.global.u8 %r2, [%d1];", "st.global.u8 [%d1], %r1;", true},
		"neighbouring bytes":           {"ld.global.u8 %r2, [%d1];", "st.global.u8 [%d1+1], %r1;", false},
		"halves":                       {"st.global.u16 [%d1+2], %h1;", "st.global.u32 [%d1], %r1;", true},
		"words of 64 bits":             {"st.global.u64 [%d1+8], %d1;", "ld.global.u32 %r2, [%d1+12];", true},
		"vectors":                      {"st.global.v4.u32 [%d1], {%r1, %r1, %r1, %r1};", "ld.global.u32 %r2, [%d1+12];", true},
		"a run":                        {"mad.wide.u32 %d3, %r1, 4, %d2;\nst.global.u32 [%d3], %r1;", "ld.global.u32 %r2, [%d2+124];", true},
		"beside a run":                 {"mad.wide.u32 %d3, %r1, 4, %d2;\nst.global.u32 [%d3], %r1;", "ld.global.u32 %r2, [%d2+128];", false},
		"some lanes":                   {"setp.eq.u32 %p1, %r1, 9;\n@%p1 st.global.u32 [%d1], %r1;", "ld.global.u32 %r2, [%d1];", true},
		"other lanes":                  {"setp.eq.u32 %p1, %r1, 9;\n@%p1 st.global.u32 [%d1], %r1;", "setp.ne.u32 %p1, %r1, 9;\n@%p1 ld.global.u32 %r2, [%d1];", false},
		"sign-extended":                {"st.global.u16 [%d1], %h1;", "ld.global.s16 %r2, [%d1];", true},
		"atomics":                      {"atom.global.add.u32 %r2, [%d2], 1;", "red.global.max.u32 [%d2], 7;", false},
		"atomics of 64 bits":           {"atom.global.add.u64 %d3, [%d2], 1;", "atom.global.cas.b64 %d3, [%d2], 7, 8;", false},
		"atomics of 16 bits":           {"atom.global.cas.b16 %h2, [%d2], %h1, %h1;", "atom.global.cas.b16 %h2, [%d2], %h1, %h1;", false},
		"halves of a word":             {"atom.global.cas.b16 %h2, [%d2], %h1, %h1;", "st.global.u16 [%d2+2], %h1;", false},
		"half and store":               {"atom.global.cas.b16 %h2, [%d2], %h1, %h1;", "st.global.u16 [%d2], %h1;", true},
		"atomic and load":              {"atom.global.add.u32 %r2, [%d2], 1;", "ld.global.u32 %r2, [%d2];", true},
		"atomic and store":             {"atom.global.add.f32 %f2, [%d2], 0f3F800000;", "st.global.u32 [%d2], %r1;", true},
		"atomics and loads of 64 bits": {"atom.global.add.u64 %d3, [%d2], 1;", "ld.global.u64 %d3, [%d2];", true},
		"atomics order nothing": {"st.global.u32 [%d1], %r1;\natom.global.add.u32 %r2, [%d2], 1;",
			"atom.global.add.u32 %r2, [%d2], 1;\nld.global.u32 %r2, [%d1];", true},
	} {
		if only, child := os.LookupEnv(raceCase); child {
			if only == name {
				var d device
				out, _ := alloc(t, &d, make([]byte, 1024))
				done := make(chan error)
				for _, body := range []string{c.a, c.b} {
					k := snippet(t, prologue+body+"\nret;")
					params := pack(t, k, out)
					go func() { done <- k.Launch(flat(2), flat(32), 0, params, &d) }()
				}
				require.NoError(t, <-done)
				require.NoError(t, <-done)
			}
			continue
		}
		child := exec.Command(os.Args[0], "-test.run=^TestRaceDetector$")
		child.Env = append(os.Environ(), raceCase+"="+name, "GORACE=atexit_sleep_ms=0")
		text, err := child.CombinedOutput()
		require.Equal(t, c.races, strings.Contains(string(text), "DATA RACE"), "%s: %s", name, text)
		require.Equal(t, c.races, err != nil, "%s: %s", name, text)
	}
}

// Blocks of one launch may hand each other what they wrote through atomics.
func TestRaceDetectorInLaunch(t *testing.T) {
	k := snippet(t, `
	.shared .align 4 .b32 s;
	ld.param.u64 %d1, [out];
	mov.u32 %r1, %ctaid.x;
	mul.wide.u32 %d2, %r1, 4;
	add.u64 %d2, %d1, %d2;
	st.shared.u32 [s], %r1;
	st.global.u32 [%d2+8], %r1;
	membar.gl;
	atom.global.inc.u32 %r2, [%d1], 100;
	setp.ne.u32 %p1, %r2, 15;
	@%p1 ret;
	ld.global.u32 %r3, [%d1+8];
	ld.global.u32 %r4, [%d1+12];
	ld.global.u32 %r5, [%d1+68];
	add.u32 %r3, %r3, %r4;
	add.u32 %r3, %r3, %r5;
	st.global.u32 [%d1+4], %r3;
	ret;`)
	var d device
	out, got := alloc(t, &d, make([]uint32, 32))
	require.NoError(t, k.Spread(4).Launch(flat(16), flat(1), 0, pack(t, k, out), &d))
	require.Equal(t, []uint32{16, 0 + 1 + 15}, values[uint32](t, got)[:2])
}
