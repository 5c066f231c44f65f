//go:build cgo && (linux || darwin)

package cudasim_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
	"tarn/cuda/cudasim/ptx"
)

// text has kernels that add a number to each word of a buffer, that copy words,
// and that trap.
const text = `.version 7.0
.target sm_75
.address_size 64

.visible .entry add(.param .u64 p, .param .u32 n, .param .u32 by)
{
	.reg .pred %p<2>;
	.reg .b32 %r<7>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [n];
	ld.param.u32 %r2, [by];
	mov.u32 %r3, %ctaid.x;
	mov.u32 %r4, %ntid.x;
	mov.u32 %r5, %tid.x;
	mad.lo.s32 %r3, %r3, %r4, %r5;
	setp.ge.u32 %p1, %r3, %r1;
	@%p1 bra $end;
	cvta.to.global.u64 %rd2, %rd1;
	mul.wide.u32 %rd3, %r3, 4;
	add.s64 %rd4, %rd2, %rd3;
	ld.global.u32 %r6, [%rd4];
	add.s32 %r6, %r6, %r2;
	st.global.u32 [%rd4], %r6;
$end:
	ret;
}

.visible .entry stop()
{
	trap;
	ret;
}
`

func load(t testing.TB, c *cuda.Context) *cuda.Module {
	t.Helper()
	m, err := c.Load(text)
	require.NoError(t, err)
	t.Cleanup(func() {
		if c.Lost() == nil {
			require.NoError(t, m.Unload())
		}
	})
	return m
}

func function(t testing.TB, m *cuda.Module, name string) *cuda.Function {
	t.Helper()
	f, err := m.Function(name)
	require.NoError(t, err)
	return f
}

// add launches the kernel over n words.
func add(f *cuda.Function, s cuda.Stream, p cuda.DevicePtr, n int, by uint32) error {
	return f.Prepare().Ptr(p).Int32(int32(n)).Uint32(by).
		Run(s, cuda.Grid{Blocks: [3]uint32{uint32(n+127) / 128}, Threads: [3]uint32{128}})
}

func TestKernel(t *testing.T) {
	_, c := openDevice(t)
	f := function(t, load(t, c), "add")
	const n = 1000
	p := alloc(t, c, 4*n)
	require.NoError(t, c.Fill32(0, p, 40, n))
	require.NoError(t, add(f, 0, p, n, 2))
	out := make([]byte, 4*n)
	require.NoError(t, c.Download(0, out, p))
	for i := range n {
		require.EqualValues(t, 42, binary.LittleEndian.Uint32(out[4*i:]))
	}
}

// A kernel reaches pinned memory at the host's address.
func TestKernelReachesPinnedMemory(t *testing.T) {
	_, c := openDevice(t)
	f := function(t, load(t, c), "add")
	h, err := c.AllocPinned(64)
	require.NoError(t, err)
	require.NoError(t, add(f, 0, cuda.DevicePtr(h), 16, 7))
	require.NoError(t, c.SyncStream(0))
	require.Equal(t, bytes.Repeat([]byte{7, 0, 0, 0}, 16), h.Bytes(64))
	require.NoError(t, c.FreePinned(h))
}

func TestKernelOverTheEnd(t *testing.T) {
	m, c := openDevice(t)
	f := function(t, load(t, c), "add")
	p := alloc(t, c, 4*100)
	require.NoError(t, add(f, 0, p, 101, 1), "the launch itself is right")
	err := c.SyncStream(0)
	require.ErrorIs(t, err, cuda.ErrDeviceLost)
	requireCode(t, err, "cuStreamSynchronize", 700)
	_, _, err = c.MemInfo()
	requireCode(t, err, "cuStreamSynchronize", 700)

	require.Len(t, m.Reports(), 1)
	var access *ptx.AccessError
	require.ErrorAs(t, m.Reports()[0], &access)
	require.EqualValues(t, p+400, access.Address)
	require.ErrorContains(t, m.Reports()[0], "cudasim: cuda:0: cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS (700): ptx: load of 4 bytes")

	d := c.Device()
	_, err = d.Open()
	requireCode(t, err, "cuDevicePrimaryCtxRetain", 700)
}

func TestTrap(t *testing.T) {
	_, c := openDevice(t)
	f := function(t, load(t, c), "stop")
	require.NoError(t, f.Prepare().Run(0, cuda.Grid{Blocks: [3]uint32{1}, Threads: [3]uint32{1}}))
	requireCode(t, c.Synchronize(), "cuCtxSynchronize", 719)
}

func TestLaunchIsChecked(t *testing.T) {
	_, c := openDevice(t)
	m := load(t, c)
	f := function(t, m, "stop")
	one := [3]uint32{1}
	for name, g := range map[string]cuda.Grid{
		"no blocks":        {Threads: one},
		"no threads":       {Blocks: one},
		"many threads":     {Blocks: one, Threads: [3]uint32{1025}},
		"many in a volume": {Blocks: one, Threads: [3]uint32{32, 32, 2}},
		"a deep block":     {Blocks: one, Threads: [3]uint32{1, 1, 65}},
		"a high grid":      {Blocks: [3]uint32{1, 65536}, Threads: one},
		"shared memory":    {Blocks: one, Threads: one, Shared: 48<<10 + 1},
	} {
		t.Run(name, func(t *testing.T) { requireCode(t, f.Prepare().Run(0, g), "cuLaunchKernel", cuda.InvalidValue) })
	}
	require.NoError(t, f.SetMaxShared(64<<10))
	requireCode(t, f.SetMaxShared(1<<20), "cuFuncSetAttribute", cuda.InvalidValue)
	requireCode(t, function(t, m, "add").Prepare().Int32(1).Run(0, cuda.Grid{Blocks: one, Threads: one}), "cuLaunchKernel", cuda.InvalidValue)
	_, err := m.Function("none")
	requireCode(t, err, "cuModuleGetFunction", 500)
}

func TestModuleIsRefused(t *testing.T) {
	_, c := openDevice(t)
	_, err := c.Load(strings.Replace(text, "trap;", "frobnicate;", 1))
	var compile *cuda.CompileError
	require.ErrorAs(t, err, &compile)
	requireCode(t, err, "cuModuleLoadDataEx", 218)
	require.Regexp(t, `(?s)^ptxas application ptx input, line \d+; error   : .*frobnicate.*\nptxas fatal   : Ptx assembly aborted due to errors`, compile.Log)

	_, err = c.Load(".version 8.0\n.target sm_90\n.address_size 64\n")
	require.ErrorAs(t, err, &compile)
	requireCode(t, err, "cuModuleLoadDataEx", 209)
	require.Contains(t, compile.Log, "sm_90")
}

func TestCopies(t *testing.T) {
	_, c := openDevice(t)
	s := newStream(t, c)
	p, q := alloc(t, c, 100), alloc(t, c, 100)
	h, err := c.AllocPinned(100)
	require.NoError(t, err)
	host := h.Bytes(100)
	for i := range host {
		host[i] = byte(i)
	}
	require.NoError(t, c.CopyIn(s, p, h, 100))
	require.NoError(t, c.Copy(s, q, p+10, 50))
	require.NoError(t, c.Fill8(s, q+50, 7, 50))
	require.NoError(t, c.CopyOut(s, h, q, 100))
	require.NoError(t, c.SyncStream(s))
	for i := range 50 {
		require.Equal(t, byte(i+10), host[i])
	}
	require.Equal(t, bytes.Repeat([]byte{7}, 50), host[50:])
	require.NoError(t, c.Upload(s, p, []byte("here")))
	got := make([]byte, 4)
	require.NoError(t, c.Download(s, got, p))
	require.Equal(t, "here", string(got))

	requireCode(t, c.Copy(s, p, q, 101), "cuMemcpyDtoDAsync", cuda.InvalidValue)
	requireCode(t, c.CopyIn(s, p+1, h, 100), "cuMemcpyHtoDAsync", cuda.InvalidValue)
	requireCode(t, c.CopyOut(s, h, p+100, 1), "cuMemcpyDtoHAsync", cuda.InvalidValue)
	requireCode(t, c.Fill32(s, p+2, 0, 1), "cuMemsetD32Async", cuda.InvalidValue)
	requireCode(t, c.Fill8(s, 0, 0, 1), "cuMemsetD8Async", cuda.InvalidValue)
	require.NoError(t, c.Copy(s, p, q, 0))
	require.NoError(t, c.FreePinned(h))
	requireCode(t, c.FreePinned(h), "cuMemFreeHost", cuda.InvalidValue)
}

// Copies and fills go over the borders of pages.
func TestCopyOverPages(t *testing.T) {
	const granule = 64 << 10
	m := open(t, cudasim.Config{Memory: 16 << 20, Granularity: granule})
	c := device(t, m, 0)
	r, err := c.Reserve(4*granule, 0)
	require.NoError(t, err)
	for i := range cuda.DevicePtr(3) {
		pg, err := c.Create(granule)
		require.NoError(t, err)
		require.NoError(t, c.Map(r+i*granule, granule, pg))
		require.NoError(t, c.Release(pg))
	}
	requireCode(t, c.Fill8(0, r, 1, 1), "cuMemsetD8Async", cuda.InvalidValue)
	require.NoError(t, c.SetAccess(r, 3*granule))
	require.NoError(t, c.Fill8(0, r+100, 5, 3*granule-100))
	out := make([]byte, 3*granule)
	require.NoError(t, c.Download(0, out, r))
	require.Equal(t, append(bytes.Repeat([]byte{0xff}, 100), bytes.Repeat([]byte{5}, 3*granule-100)...), out)
	requireCode(t, c.Fill8(0, r+1, 5, 3*granule), "cuMemsetD8Async", cuda.InvalidValue)
	require.NoError(t, c.Unmap(r, 3*granule))
	require.NoError(t, c.ReleaseRange(r, 4*granule))
}

// Work that is queued when its memory is unmapped faults.
func TestUnmapUnderWork(t *testing.T) {
	m := open(t, cudasim.Config{Memory: 16 << 20, Lazy: true})
	c := device(t, m, 0)
	const granule = 2 << 20
	r, err := c.Reserve(granule, 0)
	require.NoError(t, err)
	pg, err := c.Create(granule)
	require.NoError(t, err)
	require.NoError(t, c.Map(r, granule, pg))
	require.NoError(t, c.SetAccess(r, granule))
	require.NoError(t, c.Fill8(0, r, 1, 10))
	require.NoError(t, c.Unmap(r, granule))
	requireCode(t, c.SyncStream(0), "cuStreamSynchronize", 700)
	require.Len(t, m.Reports(), 2)
	require.EqualError(t, m.Reports()[0], fmt.Sprintf("cudasim: cuMemUnmap: work uses the memory at %#x yet: cuMemsetD8Async", uintptr(r)))
	require.ErrorContains(t, m.Reports()[1], "unmapped or freed after the call")
}

// untouched looks at memory that a copy is queued for, which is a race.
//
//go:norace
func untouched(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}

// Lazy streams do nothing before somebody waits.
func TestLazy(t *testing.T) {
	m := open(t, cudasim.Config{Memory: 16 << 20, Lazy: true})
	c := device(t, m, 0)
	p := alloc(t, c, 8)
	h, err := c.AllocPinned(8)
	require.NoError(t, err)
	require.NoError(t, c.Fill8(0, p, 9, 8))
	require.NoError(t, c.CopyOut(0, h, p, 8))
	for range 1000 {
		runtime.Gosched()
	}
	require.True(t, untouched(h.Bytes(8)))
	e := newEvent(t, c)
	require.NoError(t, c.Record(e, 0))
	require.NoError(t, c.SyncEvent(e))
	require.Equal(t, bytes.Repeat([]byte{9}, 8), h.Bytes(8))
	require.NoError(t, c.FreePinned(h))
}

// A stream waits for the mark as it was when it was told to.
func TestWaitEvent(t *testing.T) {
	m := open(t, cudasim.Config{Memory: 16 << 20, Delays: 7})
	c := device(t, m, 0)
	a, b := newStream(t, c), newStream(t, c)
	p := alloc(t, c, 4)
	e := newEvent(t, c)
	done, err := c.QueryEvent(e)
	require.NoError(t, err)
	require.True(t, done, "an event that was never recorded is done")
	f := function(t, load(t, c), "add")
	require.NoError(t, c.Fill32(a, p, 0, 1))
	for range 200 {
		require.NoError(t, add(f, a, p, 1, 1))
		require.NoError(t, c.Record(e, a))
		require.NoError(t, c.WaitEvent(b, e))
		require.NoError(t, add(f, b, p, 1, 1))
		require.NoError(t, c.Record(e, b))
		require.NoError(t, c.WaitEvent(a, e))
	}
	out := make([]byte, 4)
	require.NoError(t, c.Download(a, out, p))
	require.EqualValues(t, 400, binary.LittleEndian.Uint32(out))
}

// A page's memory is taken until it has neither a name nor a mapping.
func TestPageOutlivesItsName(t *testing.T) {
	m := open(t, cudasim.Config{Memory: 8 << 20})
	c := device(t, m, 0)
	const granule = 2 << 20
	free := func() int64 {
		n, _, err := c.MemInfo()
		require.NoError(t, err)
		return n
	}
	r, err := c.Reserve(2*granule, 0)
	require.NoError(t, err)
	pg, err := c.Create(granule)
	require.NoError(t, err)
	require.NoError(t, c.Map(r, granule, pg))
	require.NoError(t, c.Map(r+granule, granule, pg))
	require.NoError(t, c.Release(pg))
	require.EqualValues(t, 6<<20, free())
	require.NoError(t, c.Unmap(r, granule))
	require.EqualValues(t, 6<<20, free())
	require.NoError(t, c.Unmap(r+granule, granule))
	require.EqualValues(t, 8<<20, free())
	require.NoError(t, c.ReleaseRange(r, 2*granule))
}

func TestOverlap(t *testing.T) {
	m, c := openDevice(t)
	p := alloc(t, c, 100)
	require.NoError(t, c.Copy(0, p, p+50, 50))
	require.Empty(t, m.Reports())
	require.NoError(t, c.Copy(0, p, p+49, 50))
	require.EqualError(t, m.Reports()[0], "cudasim: cuMemcpyDtoDAsync: the two ranges overlap")
}

func TestFaults(t *testing.T) {
	m, c := openDevice(t)
	m.Fail(cudasim.Fault{Function: "cuMemAlloc_v2", N: 2, Code: 2})
	p, err := c.Alloc(1)
	require.NoError(t, err)
	_, err = c.Alloc(1)
	requireCode(t, err, "cuMemAlloc", cuda.OutOfMemory)
	require.NoError(t, c.Free(p))
	m.Fail(cudasim.Fault{Code: 999})
	_, _, err = c.MemInfo()
	require.Error(t, err)
	_, _, err = c.MemInfo()
	require.NoError(t, err)
}

func TestPoison(t *testing.T) {
	m, c := openDevice(t)
	p := alloc(t, c, 4096)
	require.NoError(t, m.Poison(p+512, 1024, c.Default()))
	require.NoError(t, c.Fill8(0, p, 1, 512))
	require.NoError(t, m.Unpoison(p+512, 512, c.Default()))
	require.NoError(t, c.Fill8(0, p, 1, 1024))
	require.NoError(t, c.SyncStream(0))
	require.NoError(t, c.Fill8(0, p, 1, 1025))
	requireCode(t, c.SyncStream(0), "cuStreamSynchronize", 700)
	require.ErrorContains(t, m.Reports()[0], "freed block")
}
