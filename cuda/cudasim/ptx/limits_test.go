package ptx

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A warp that jumps back for ever is stopped, whether all its lanes jump, some
// of them, or only one that waits for another.
func TestLimit(t *testing.T) {
	for name, body := range map[string]string{
		"all":  "L:\n\tadd.u32 %r1, %r1, 1;\n\tbra L;",
		"one":  "L:\n\tbra L;",
		"some": "mov.u32 %r1, %tid.x;\n\tsetp.lt.u32 %p1, %r1, 3;\nL:\n\tadd.u32 %r2, %r2, 1;\n\t@%p1 bra L;\n\tret;",
		"wait": "mov.u32 %r1, 0;\nL:\n\tbar.sync 0;\n\tbra.uni L;",
	} {
		k := snippet(t, body).Limit(1000)
		var e *StepsError
		require.ErrorAs(t, k.Launch(flat(2), flat(64), 0, pack(t, k, uint64(0)), &device{}), &e, name)
		require.EqualValues(t, 1000, e.Limit, name)
		require.Equal(t, lineOf(t, k, "bra"), e.Line, name)
		require.ErrorContains(t, e, "ptx: a warp did not end within 1000 instructions: kernel k, PTX line ", name)
	}
	k := snippet(t, "mov.u32 %r1, 0;\nL:\n\tadd.u32 %r1, %r1, 1;\n\tsetp.lt.u32 %p1, %r1, 333;\n\t@%p1 bra L;\n\tret;")
	launch := func(k *Kernel) error {
		return k.Launch(flat(50), flat(64), 0, pack(t, k, uint64(0)), &device{})
	}
	require.NoError(t, launch(k.Limit(1000)), "each warp has its own")
	require.Error(t, launch(k.Limit(990)))
	require.NoError(t, launch(k), "no limit is left behind in what a launch leaves")
}

func TestWhatAKernelDeclares(t *testing.T) {
	text := ".version 7.0\n.target sm_75\n.address_size 64\n.const .align 4 .f32 a[3] = {1, 2, 3};\n.const .align 8 .f64 b;\n.global .b8 c[100];\n" +
		".entry few() { .reg .b16 %h<2>; .reg .f32 %f<3>; .reg .pred %p<9>; .reg .b64 %d<4>; ret; }\n.entry many() { .reg .f64 %d<500>; ret; }"
	m, err := Compile(text)
	require.NoError(t, err)
	require.Equal(t, 24, m.ConstantBytes())
	for name, want := range map[string]int{"few": 2 + 3 + 2*4, "many": 255} {
		k, err := m.Kernel(name)
		require.NoError(t, err)
		require.Equal(t, want, k.Registers(), name)
	}
}

// What the interpreter does not run is told from what is no PTX.
func TestLacks(t *testing.T) {
	for body, want := range map[string]struct {
		reason string
		lacks  bool
	}{
		"mbarrier.init.shared.b64 [%r1], 1;":                        {"mbarrier.init.shared.b64 is PTX that this interpreter does not run", true},
		"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [texture, {%r1}];": {"tex.1d.v4.f32.s32 is PTX that this interpreter does not run", true},
		"cp.async.bulk.commit_group;":                               {"cp.async.bulk.commit_group is PTX that this interpreter does not run", true},
		"mov.u32 %r1, %clock;":                                      {"%clock is PTX that this interpreter does not run", true},
		"mov.u32 %r1, %cluster_ctaid.x;":                            {"%cluster_ctaid.x is PTX that this interpreter does not run", true},
		"L: .branchtargets A, B;":                                   {".branchtargets is PTX that this interpreter does not run", true},
		"fma.rn.satfinite.f32 %f1, %f2, %f3, %f4;":                  {"fma.rn.satfinite.f32 is PTX that this interpreter does not run", true},
		"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1, %r2}, {%r3}, {%r4}, {%r1, %r2};": {"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 is PTX that this interpreter does not run", true},
		"ret;\n}\n.entry other() .reqnctapercluster 2, 1, 1 {":                                 {".reqnctapercluster is PTX that this interpreter does not run", true},
		"texas.f32 %f1;":        {"texas.f32 is not supported", false},
		"mov.u32 %r1, %clocks;": {"%clocks is neither declared nor a special register that this package has", false},
	} {
		_, err := Compile(snippetText(body))
		var e *ParseError
		require.ErrorAs(t, err, &e, body)
		require.Equal(t, want.reason, e.Reason)
		require.Equal(t, want.lacks, e.Lacks, body)
	}
	for _, name := range absent {
		require.Nil(t, families[name], name)
	}
}
