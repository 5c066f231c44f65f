package ptx

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOverrun(t *testing.T) {
	k := kernelOf(t, "elementwise", "overrun")
	var d device
	po, got := alloc(t, &d, make([]float32, 64))
	err := k.Launch(flat(3), flat(32), 0, pack(t, k, po, int32(64)), &d)
	var e *AccessError
	require.ErrorAs(t, err, &e)
	require.Equal(t, AccessError{
		Place: Place{Kernel: "overrun", Line: lineOf(t, k, "st.global"), Text: e.Text, Block: Dim3{2, 0, 0}},
		Space: "global", Address: po + 256, Size: 4, Store: true, Reason: e.Reason,
	}, *e)
	require.Contains(t, e.Text, "st.global")
	require.Contains(t, e.Reason, "allocation at 0x700000000000 of 256 bytes, which ends 0 bytes below")
	require.ErrorContains(t, err, "store of 4 bytes at global address 0x700000000100")
	for _, v := range values[float32](t, got) {
		require.Equal(t, float32(1), v, "what came before the fault is done")
	}
}

func TestMisaligned(t *testing.T) {
	k := kernelOf(t, "elementwise", "misaligned")
	var d device
	pi, _ := alloc(t, &d, make([]byte, 200))
	po, _ := alloc(t, &d, make([]float32, 32))
	var e *AccessError
	require.ErrorAs(t, k.Launch(flat(1), flat(32), 0, pack(t, k, pi, po), &d), &e)
	require.Equal(t, lineOf(t, k, "ld.global"), e.Line)
	require.Equal(t, pi+2, e.Address)
	require.False(t, e.Store)
	require.Equal(t, "not aligned to 4 bytes", e.Reason)
}

func TestDeadMemory(t *testing.T) {
	k := kernelOf(t, "elementwise", "saxpy")
	var d device
	px, _ := alloc(t, &d, make([]float32, 8))
	py, _ := alloc(t, &d, make([]float32, 8))
	params := pack(t, k, float32(1), px, py, int32(8))
	launch := func(live Allocations) string {
		var e *AccessError
		require.ErrorAs(t, k.Launch(flat(1), flat(8), 0, params, live), &e)
		return e.Reason
	}
	require.Contains(t, launch(d.live[1:]), "begins 1049088 bytes above")
	require.Contains(t, launch(d.live[:1]), "ends 1049056 bytes below")
	require.Contains(t, launch(nil), "the nearest is", "the variables of the module")
	require.NoError(t, k.Launch(flat(1), flat(8), 0, params, &d))
}

func TestNoMemory(t *testing.T) {
	k := kernelOf(t, "integer", "philox")
	err := k.Launch(flat(1), flat(1), 0, pack(t, k, uint64(1<<20), uint64(0), uint64(0), int32(1)), Allocations(nil))
	require.ErrorContains(t, err, "store of 16 bytes at global address 0x100000: nothing is live at all: kernel philox, PTX line")
}

func TestBarrierMissed(t *testing.T) {
	k := kernelOf(t, "reduce", "half_barrier")
	var d device
	po, _ := alloc(t, &d, make([]int32, 32))
	params := pack(t, k, po)
	require.NoError(t, k.Launch(flat(1), flat(32), 0, params, &d))
	var e *SyncError
	require.ErrorAs(t, k.Launch(flat(1), flat(64), 0, params, &d), &e)
	require.Equal(t, lineOf(t, k, "bar.sync"), e.Line)
	require.Contains(t, e.Reason, "thread (32,0,0) of the block will not reach")
}

func TestShuffleMissed(t *testing.T) {
	k := kernelOf(t, "reduce", "half_shuffle")
	var d device
	po, _ := alloc(t, &d, make([]int32, 32))
	// The odd lanes have ended, and nobody waits for those.
	require.NoError(t, k.Launch(flat(1), flat(32), 0, pack(t, k, po), &d))

	k = snippet(t, `
	mov.u32 %r1, %tid.x;
	and.b32 %r2, %r1, 1;
	setp.eq.u32 %p1, %r2, 0;
	@%p1 bra EVEN;
	bar.sync 0;
	ret;
EVEN:
	shfl.sync.idx.b32 %r3, %r1, 0, 31, -1;
	bar.sync 0;
	ret;`)
	var e *SyncError
	require.ErrorAs(t, k.Launch(flat(1), flat(32), 0, pack(t, k, uint64(0)), &d), &e)
	require.Equal(t, lineOf(t, k, "shfl"), e.Line)
	require.Equal(t, uint32(0xaaaaaaaa), e.Missing)
}

// Halves of a warp that name themselves do not wait for each other, whether
// they come together or not.
func TestHalfWarps(t *testing.T) {
	const half = `
	ld.param.u64 %d1, [out];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %d2, %r1, 4;
	add.u64 %d1, %d1, %d2;
	setp.lt.u32 %p1, %r1, 16;
	selp.b32 %r2, 0xffff, 0xffff0000, %p1;
	LATER
	shfl.sync.down.b32 %r3|%p2, %r1, 1, 0x1f, %r2;
	vote.sync.ballot.b32 %r4, %p2, %r2;
	xor.b32 %r3, %r3, %r4;
	st.global.u32 [%d1], %r3;
	ret;`
	want := make([]uint32, 32)
	for i := range want {
		low, next := uint32(0xffff), uint32(i+1)
		if i > 15 {
			low = 0x7fff0000
		}
		if i == 15 {
			next = undefined
		} else if i == 31 {
			next = 31
		}
		want[i] = next ^ low
	}
	for _, later := range []string{"", "@%p1 bra L;\n\tbar.warp.sync %r2;\nL:", "@!%p1 bra L;\n\tbar.warp.sync %r2;\nL:"} {
		k := snippet(t, strings.Replace(half, "LATER", later, 1))
		var d device
		out, got := alloc(t, &d, make([]uint32, 32))
		require.NoError(t, k.Launch(flat(1), flat(32), 0, pack(t, k, out), &d))
		require.Equal(t, want, values[uint32](t, got), later)
	}
	k := snippet(t, "bar.warp.sync 3;\nret;")
	var e *SyncError
	require.ErrorAs(t, k.Launch(flat(1), flat(3), 0, pack(t, k, uint64(0)), &device{}), &e)
	require.Equal(t, 2, e.Lane)
	require.Contains(t, e.Reason, "its own mask 0x3 does not name")
}

func TestTwoBarriers(t *testing.T) {
	k := snippet(t, `
	mov.u32 %r1, %tid.x;
	setp.lt.u32 %p1, %r1, 32;
	@%p1 bra LOW;
	bar.sync 1;
	ret;
LOW:
	bar.sync 0;
	ret;`)
	var e *SyncError
	require.ErrorAs(t, k.Launch(flat(1), flat(64), 0, pack(t, k, uint64(0)), &device{}), &e)
	require.Equal(t, lineOf(t, k, "bar.sync 0"), e.Line)
	require.Contains(t, e.Reason, "another in line")
}

func TestTrap(t *testing.T) {
	k := snippet(t, "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 37;\n@%p1 trap;\nret;")
	var first *TrapError
	for range 3 {
		var e *TrapError
		require.ErrorAs(t, k.Spread(4).Launch(flat(50), flat(64), 0, pack(t, k, uint64(0)), &device{}), &e)
		if first == nil {
			first = e
		}
		require.Equal(t, first, e)
	}
	require.Equal(t, Dim3{0, 0, 0}, first.Block)
	require.Equal(t, 1, first.Warp)
	require.Equal(t, 5, first.Lane)
	require.Equal(t, lineOf(t, k, "trap"), first.Line)
}

func TestLaunchRefused(t *testing.T) {
	k := kernelOf(t, "matmul", "matmul")
	good := make([]byte, k.ParamBytes())
	for name, launch := range map[string]func() error{
		"threads":    func() error { return k.Launch(flat(1), flat(257), 0, good, &device{}) },
		"no grid":    func() error { return k.Launch(Dim3{}, flat(1), 0, good, &device{}) },
		"parameters": func() error { return k.Launch(flat(1), flat(1), 0, good[1:], &device{}) },
		"shared":     func() error { return k.Launch(flat(1), flat(1), maxSharedBytes, good, &device{}) },
		"the shape":  func() error { return k.Check(flat(1), flat(257), 0) },
	} {
		var e *LaunchError
		require.ErrorAs(t, launch(), &e, name)
	}
}
