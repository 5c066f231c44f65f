package ptx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// copyKernel has 32 words in shared memory, each lane its own, of 11, and runs
// a body with the addresses %r2 there and %d8 in memory.
func copyKernel(t testing.TB, body string) *Kernel {
	return ampere(t, `.shared .align 16 .b8 s[512];
	ld.param.u64 %d8, [out];
	mov.u32 %r1, %laneid;
	mad.wide.u32 %d8, %r1, 16, %d8;
	shl.b32 %r2, %r1, 4;
	mov.u32 %r3, s;
	add.u32 %r2, %r2, %r3;
	st.shared.v4.u32 [%r2], {11, 11, 11, 11};
`+body+`
	st.global.v4.u32 [%d8], {%r4, %r5, %r6, %r7};
	ret;`)
}

const readCopied = "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r2];\n"

func TestAsyncCopy(t *testing.T) {
	const wait = "cp.async.wait_all;\n" + readCopied
	for body, want := range map[string][4]uint32{
		"cp.async.ca.shared.global [%r2], [%d8], 4;\n" + wait:                         {0x04030201, 11, 11, 11},
		"cp.async.ca.shared.global [%r2+8], [%d8+8], 8;\n" + wait:                     {11, 11, 0x0c0b0a09, 0x100f0e0d},
		"cp.async.ca.shared.global [%r2], [%d8], 16;\n" + wait:                        {0x04030201, 0x08070605, 0x0c0b0a09, 0x100f0e0d},
		"cp.async.cg.shared.global [%r2], [%d8], 16, 5;\n" + wait:                     {0x04030201, 5, 0, 0},
		"mov.u32 %r3, 16;\ncp.async.cg.shared.global [%r2], [%d8], 16, %r3;\n" + wait: {0x04030201, 0x08070605, 0x0c0b0a09, 0x100f0e0d},
		"cp.async.cg.shared.global [%r2], [0], 16, 0;\n" + wait:                       {},

		// What is not waited for is not there.
		"cp.async.ca.shared.global [%r2], [%d8], 4;\n" + readCopied:                                                 {11, 11, 11, 11},
		"cp.async.ca.shared.global [%r2], [%d8], 4;\ncp.async.commit_group;\n" + readCopied:                         {11, 11, 11, 11},
		"cp.async.ca.shared.global [%r2], [%d8], 4;\ncp.async.wait_group 0;\n" + readCopied:                         {11, 11, 11, 11},
		"cp.async.ca.shared.global [%r2], [%d8], 4;\ncp.async.commit_group;\ncp.async.wait_group 1;\n" + readCopied: {11, 11, 11, 11},
		"cp.async.ca.shared.global [%r2], [%d8], 4;\ncp.async.commit_group;\ncp.async.wait_group 0;\n" + readCopied: {0x04030201, 11, 11, 11},

		// Groups are waited for in their order, empty ones too.
		`cp.async.ca.shared.global [%r2], [%d8], 4;
		cp.async.commit_group;
		cp.async.ca.shared.global [%r2+4], [%d8], 4;
		cp.async.commit_group;
		cp.async.commit_group;
		cp.async.ca.shared.global [%r2+8], [%d8], 4;
		cp.async.wait_group 2;
		` + readCopied: {0x04030201, 11, 11, 11},
		`cp.async.ca.shared.global [%r2], [%d8], 4;
		cp.async.commit_group;
		cp.async.ca.shared.global [%r2+4], [%d8], 4;
		cp.async.commit_group;
		cp.async.commit_group;
		cp.async.ca.shared.global [%r2+8], [%d8], 4;
		cp.async.wait_group 1;
		` + readCopied: {0x04030201, 0x04030201, 11, 11},
	} {
		k := copyKernel(t, body)
		var d device
		in := make([]byte, 512)
		for i := range in {
			in[i] = byte(i%16 + 1)
		}
		if strings.Contains(body, "16, 5") {
			for i := range in {
				if i%16 == 4 {
					in[i] = 5
				}
			}
		}
		out, bytes := alloc(t, &d, in)
		require.NoError(t, k.Launch(flat(1), flat(warpSize), 0, pack(t, k, out), &d))
		for lane, got := range values[[4]uint32](t, bytes) {
			require.Equal(t, want, got, "%s: lane %d", body, lane)
		}
	}
}

// Each thread has groups of its own, and waits for no other's.
func TestAsyncCopyOfSomeLanes(t *testing.T) {
	k := copyKernel(t, `setp.lt.u32 %p1, %r1, 8;
	cp.async.ca.shared.global [%r2], [%d8], 4;
	@%p1 cp.async.commit_group;
	cp.async.wait_group 0;
	`+readCopied)
	var d device
	out, bytes := alloc(t, &d, make([]uint32, 128))
	require.NoError(t, k.Launch(flat(2), flat(warpSize), 0, pack(t, k, out), &d))
	for lane, got := range values[[4]uint32](t, bytes) {
		want := uint32(11)
		if lane < 8 {
			want = 0
		}
		require.Equal(t, want, got[0], "lane %d", lane)
	}
}

func TestAsyncCopyFaults(t *testing.T) {
	for body, reason := range map[string]string{
		"cp.async.ca.shared.global [%r2], [%d8+4], 8;":                       "not aligned to 8 bytes",
		"cp.async.ca.shared.global [%r2+4], [%d8], 8;":                       "not aligned to 8 bytes",
		"cp.async.ca.shared.global [%r2], [%d8+4], 8, 4;":                    "not aligned to 8 bytes",
		"cp.async.cg.shared.global [%r2+512], [%d8], 16;":                    "offset 512 of 512 bytes of shared memory",
		"cp.async.cg.shared.global [%r2], [%d8+512], 16;":                    "ends 0 bytes below",
		"cp.async.cg.shared.global [%r2], [%d8+512], 16, 1;":                 "ends 0 bytes below",
		"mov.u32 %r3, 17;\ncp.async.cg.shared.global [%r2], [%d8], 16, %r3;": "a copy uses 17 bytes of 16",
	} {
		k := copyKernel(t, body)
		var d device
		out, _ := alloc(t, &d, make([]uint32, 128))
		var e *AccessError
		require.ErrorAs(t, k.Launch(flat(1), flat(warpSize), 0, pack(t, k, out), &d), &e, body)
		require.Contains(t, e.Reason, reason, body)
		require.Equal(t, fmt.Sprint(lineOf(t, k, "cp.async")), fmt.Sprint(e.Line), body)
	}
}

// Who reads what another warp has copied needs a barrier behind that warp's
// wait; one before it does not help.
func TestAsyncCopyRaces(t *testing.T) {
	run := func(body string) error {
		k := ampere(t, `.shared .align 16 .b8 s[1024];
	ld.param.u64 %d8, [out];
	mov.u32 %r1, %tid.x;
	mad.wide.u32 %d8, %r1, 16, %d8;
	mov.u32 %r3, s;
	mad.lo.u32 %r2, %r1, 16, %r3;
	xor.b32 %r4, %r1, 32;
	mad.lo.u32 %r3, %r4, 16, %r3;
	cp.async.cg.shared.global [%r2], [%d8], 16;
	cp.async.commit_group;
`+body+`
	ld.shared.u32 %r5, [%r3];
	st.global.u32 [%d8], %r5;
	ret;`)
		var d device
		out, _ := alloc(t, &d, make([]uint32, 256))
		return k.CheckRaces().Launch(flat(1), flat(64), 0, pack(t, k, out), &d)
	}
	require.NoError(t, run("cp.async.wait_all;\nbar.sync 0;"))
	for _, body := range []string{"cp.async.wait_all;", "bar.sync 0;\ncp.async.wait_all;"} {
		var e *RaceError
		require.ErrorAs(t, run(body), &e, body)
	}

	var d device
	k := kernelOf(t, "tensor", "tensor_matmul").CheckRaces()
	pa, _ := alloc(t, &d, make([]uint16, 64*64))
	pc, _ := alloc(t, &d, make([]float32, 64*64))
	require.NoError(t, k.Launch(Dim3{2, 2, 1}, flat(128), 0, pack(t, k, pa, pa, pc, int32(64), int32(64), int32(64)), &d))
}
