package ptx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Mistakes that were planted are found where they are.
func TestPlanted(t *testing.T) {
	const (
		threads = 64
		x       = 0x7000_0000_0000
		y       = x + 1<<20 + 512
	)
	one, two := Allocation{Ptr: x, Bytes: make([]byte, 4*threads)}, Allocation{Ptr: y, Bytes: make([]byte, 16*threads)}
	freed := two
	freed.Freed = []byte{0, 1}
	for _, c := range []struct {
		kernel string // with "races" if they are looked for
		live   Allocations
		args   []any
		fault  string // OTHER stands for the line of other
		line   string // text of the line where the fault is
		other  string // text of the line that it races with
		thread int
	}{{
		kernel: "wide", live: Allocations{one, two}, args: []any{uint64(x), uint64(y)},
		fault: fmt.Sprintf("load of 16 bytes at global address %#x: not aligned to 16 bytes", x+8),
		line:  "ld.global.v4.f32", thread: 1,
	}, {
		kernel: "difference", live: Allocations{one, two}, args: []any{uint64(x), uint64(y), int32(threads)},
		fault: fmt.Sprintf("load of 4 bytes at global address %#x: nothing is live there; the nearest is the allocation at %#x of 256 bytes, which ends 0 bytes below", x+256, x),
		line:  "[%rd2+4]", thread: 63,
	}, {
		kernel: "mirror", live: Allocations{one, freed}, args: []any{uint64(x), uint64(y + 384)},
		fault: fmt.Sprintf("store of 4 bytes at global address %#x: a freed block: bytes 512 to 1024 of the allocation at %#x were given back", y+512, y),
		line:  "st.global.u32", thread: 32,
	}, {
		kernel: "mirror races", live: Allocations{one, two}, args: []any{uint64(x), uint64(y)},
		fault: fmt.Sprintf("race in shared memory at address %#x: this store and the load of PTX line OTHER, thread (31,0,0) (warp 0, lane 31), have no barrier between them", uint64(sharedWindow+128)),
		line:  "st.shared.u32", other: "ld.shared.u32", thread: 32,
	}, {
		kernel: "reuse races", live: Allocations{one, two}, args: []any{uint64(x), uint64(y)},
		fault: fmt.Sprintf("race in shared memory at address %#x: this load and the store of PTX line OTHER, thread (31,0,0) (warp 0, lane 31), have no barrier between them", uint64(sharedWindow+124)),
		line:  "%r3, [%rd9+380]", other: "[%rd8], %r4", thread: 64,
	}, {
		kernel: "total races", live: Allocations{one, two}, args: []any{uint64(x), uint64(y)},
		fault: fmt.Sprintf("race in shared memory at address %#x: this store and the load of PTX line OTHER, thread (0,0,0) (warp 0, lane 0), have no barrier between them", uint64(sharedWindow)),
		line:  "atom.shared", other: "ld.shared.u32", thread: 32,
	}} {
		name, checks, _ := strings.Cut(c.kernel, " ")
		k := kernelOf(t, "planted", name)
		if checks == "races" {
			k = k.CheckRaces()
		}
		block := flat(threads)
		if name == "reuse" {
			block = flat(96)
		}
		line := lineOf(t, k, c.line)
		want := fmt.Sprintf("ptx: %s: kernel %s, PTX line %d (%s), block (0,0,0), thread (%d,0,0) (warp %d, lane %d)",
			c.fault, name, line, lineText(k.module.lines, line), c.thread, c.thread/32, c.thread%32)
		if c.other != "" {
			other := lineOf(t, k, c.other)
			want = strings.Replace(want, "OTHER", fmt.Sprintf("%d (%s)", other, lineText(k.module.lines, other)), 1)
		}
		live := c.live
		if name == "reuse" {
			live = Allocations{{Ptr: x, Bytes: make([]byte, 4*96)}, two}
		}
		require.EqualError(t, k.Launch(flat(1), block, 0, pack(t, k, c.args...), live), want)
	}
}

// Right kernels have no races, on as many warps as they can run.
func TestNoRaces(t *testing.T) {
	var d device
	const n = 128
	a, b := numbers(n*n), numbers(2 * n * n)[n*n:]
	pa, _ := alloc(t, &d, a)
	pb, _ := alloc(t, &d, b)
	pc, got := alloc(t, &d, make([]float32, n*n))
	launch := func(file, name string, grid, block Dim3, args ...any) error {
		k := kernelOf(t, file, name).CheckRaces()
		return k.Launch(grid, block, 4*block.count(), pack(t, k, args...), &d)
	}
	require.NoError(t, launch("matmul", "matmul", Dim3{8, 8, 1}, Dim3{16, 16, 1}, pa, pb, pc, int32(n), int32(n), int32(n)))
	want := values[float32](t, got)
	require.NoError(t, launch("sgemm", "sgemm", Dim3{2, 2, 1}, flat(256), pa, pb, pc, int32(n)))
	require.InDeltaSlice(t, want, values[float32](t, got), 1e-4)
	require.NoError(t, launch("reduce", "sum", flat(4), flat(256), pa, pc, int32(n)))
	require.NoError(t, launch("reduce", "dynamic_reverse", flat(4), flat(1024), pa, pc))
	require.NoError(t, launch("planted", "bytes", flat(1), flat(64), pc))
	require.NoError(t, launch("planted", "total", flat(1), flat(32), pa, pc), "one warp")

	var e *RaceError
	require.ErrorAs(t, launch("sgemm", "sgemm_racy", Dim3{2, 2, 1}, flat(256), pa, pb, pc, int32(n)), &e)
	require.Equal(t, "sgemm_racy", e.Kernel)
	require.False(t, e.Store)
	require.True(t, e.OtherStore)
	require.Contains(t, e.Text, "ld.shared.v4")
	require.Contains(t, e.Other.Text, "st.shared")
	require.NotEqual(t, e.Warp, e.Other.Warp)
}

// Atomics do not race among themselves, nor do loads and stores with an order.
func TestOrderedShared(t *testing.T) {
	const body = `
	.shared .align 4 .b32 s;
	mov.u32 %r1, %tid.x;
	setp.eq.u32 %p1, %r1, 0;
	FIRST
	ld.relaxed.cta.shared.u32 %r3, [s];
	ret;`
	launch := func(first string) error {
		k := snippet(t, strings.Replace(body, "FIRST", first, 1)).CheckRaces()
		return k.Launch(flat(2), flat(64), 0, pack(t, k, uint64(0)), Allocations{})
	}
	require.NoError(t, launch("atom.shared.add.u32 %r2, [s], 1;"))
	require.NoError(t, launch("st.volatile.shared.u32 [s], %r1;"))
	require.NoError(t, launch("@%p1 st.shared.u32 [s], %r1;\nbar.sync 0;"))
	require.NoError(t, launch("@%p1 st.shared.u32 [s], %r1;\nbar.sync 1, 64;"))
	var e *RaceError
	require.ErrorAs(t, launch("ld.shared.u32 %r2, [s];\nsetp.eq.u32 %p1, %r1, 63;\n@%p1 st.shared.u32 [s], %r1;"), &e)
	require.Equal(t, 0, e.Other.Warp, "the second warp has read it too")
	require.True(t, e.Store)
	require.ErrorAs(t, launch("@%p1 st.shared.u32 [s], %r1;"), &e)
	require.False(t, e.Store)
	require.ErrorAs(t, launch("st.shared.u32 [s], %r1;"), &e)
	require.True(t, e.Store)
	require.True(t, e.OtherStore)
}

func TestFreedBlocks(t *testing.T) {
	k := kernelOf(t, "elementwise", "saxpy")
	const n = 1000 // 4000 bytes
	const x, y = 0x7000_0000_0000, 0x7100_0000_0000
	live := Allocations{{Ptr: x, Bytes: make([]byte, 4096)}, {Ptr: y, Bytes: make([]byte, 4096)}}
	launch := func() error {
		return k.Launch(flat(4), flat(256), 0, pack(t, k, float32(1), uint64(x), uint64(y), int32(n)), live)
	}
	live[0].Freed = make([]byte, 8)
	require.NoError(t, launch())
	live[0].Freed[7] = 1
	var e *AccessError
	require.ErrorAs(t, launch(), &e)
	require.EqualValues(t, x+7*FreedGranule, e.Address)
	require.Equal(t, "a freed block: bytes 3584 to 4096 of the allocation at 0x700000000000 were given back", e.Reason)
	require.Equal(t, Dim3{3, 0, 0}, e.Block)
	require.Equal(t, 128, e.Thread.X)
	live[0].Freed[2], live[0].Freed[3] = 1, 1
	require.ErrorAs(t, launch(), &e)
	require.Contains(t, e.Reason, "a freed block: bytes 1024 to 2048 of")
	live[0].Freed = nil
	live[1].Freed = []byte{0, 1}
	require.ErrorAs(t, launch(), &e)
	require.False(t, e.Store, "y is read first")
	require.EqualValues(t, y+512, e.Address)
}

func TestPassedBarrier(t *testing.T) {
	k := snippet(t, "mov.u32 %r1, %laneid;\nsetp.lt.u32 %p1, %r1, 8;\n@%p1 bar.sync 0;\nbar.sync 0;\nret;")
	var e *SyncError
	require.ErrorAs(t, k.Launch(flat(1), flat(64), 0, pack(t, k, uint64(0)), Allocations{}), &e)
	require.Equal(t, lineOf(t, k, "@%p1"), e.Line)
	require.Equal(t, uint32(0xffffff00), e.Missing)
	require.ErrorContains(t, e, "lanes 0xffffff00 of the warp pass by a barrier")
}
