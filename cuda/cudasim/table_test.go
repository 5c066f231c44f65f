//go:build cgo && (linux || darwin)

package cudasim

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tarn/cuda/cudasim/ptx"
	"tarn/cuda/internal/shim"
)

// rig calls a machine by its table, for what package cuda does not call.
type rig struct {
	*testing.T
	machine *Machine
	table   *shim.Table
	context uintptr
}

func newRig(t *testing.T, config Config) *rig {
	t.Helper()
	m, err := Open(config)
	require.NoError(t, err)
	table, err := shim.Fill(m.symbol)
	require.NoError(t, err)
	r := &rig{T: t, machine: m, table: table}
	device := r.must(shim.DeviceGet, 0, 0, 0, 0)
	r.context = uintptr(r.must(shim.PrimaryRetain, device, 0, 0, 0))
	t.Cleanup(func() {
		r.must(shim.PrimaryRelease, device, 0, 0, 0)
		require.NoError(t, m.Close())
	})
	return r
}

func (r *rig) call(e shim.Entry, a, b, x, y uint64) shim.Out {
	return r.table.Call(e, r.context, a, b, x, y)
}

func (r *rig) must(e shim.Entry, a, b, x, y uint64) uint64 {
	r.Helper()
	out := r.call(e, a, b, x, y)
	require.True(r, out.OK(), "%s: %d", out.Entry.Op(), out.Code)
	return out.Value
}

const kernelText = `.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u32 a, .param .u64 b, .param .u16 c)
.maxntid 64, 1, 1
{
	.shared .align 4 .b8 s[1024];
	ret;
}
`

func TestFunctionAttributes(t *testing.T) {
	r := newRig(t, Config{Memory: 1 << 20, Major: 8, Minor: 6})
	module := r.table.ModuleLoad(r.context, []byte(kernelText+"\x00"), make([]byte, 1000))
	require.Zero(t, module.Code)
	f := r.table.ModuleGetFunction(r.context, uintptr(module.Value), "k")
	require.Zero(t, f.Code)
	for attribute, want := range map[uint64]uint64{0: 64, 1: 1024, 2: 0, 3: 0, 4: 0, 5: 75, 6: 86, 8: 47 << 10} {
		require.Equal(t, want, r.must(shim.FunctionGetAttribute, f.Value, attribute, 0, 0), "attribute %d", attribute)
	}
	require.EqualValues(t, 1, r.call(shim.FunctionGetAttribute, f.Value, 99, 0, 0).Code)

	launch := shim.Launch{Context: uint64(r.context), Function: f.Value, Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{65, 1, 1}, Size: 18}
	out := r.table.Launch(&launch)
	require.EqualValues(t, outOfResources, out.Code, "more threads than the kernel was compiled for")
	launch.Block[0] = 64
	out = r.table.Launch(&launch)
	require.Zero(t, out.Code)
	r.must(shim.ModuleUnload, module.Value, 0, 0, 0)
}

// Arguments come as pointers too.
func TestPacked(t *testing.T) {
	m, err := ptx.Compile(kernelText)
	require.NoError(t, err)
	k, err := m.Kernel("k")
	require.NoError(t, err)
	a, b, c := uint32(1), uint64(2), uint16(3)
	pointers := []unsafe.Pointer{unsafe.Pointer(&a), unsafe.Pointer(&b), unsafe.Pointer(&c)}
	args, ok := packed(k, &pointers[0], nil)
	require.True(t, ok)
	require.Equal(t, []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0}, args)
	_, ok = packed(k, &pointers[0], &pointers[0])
	require.False(t, ok, "both ways at once")
	args, ok = packed(k, nil, nil)
	require.True(t, ok)
	require.Empty(t, args)
}

// The time between two events is that between the ends of what is before them.
func TestElapsed(t *testing.T) {
	r := newRig(t, Config{Memory: 1 << 20})
	s := r.must(shim.StreamCreate, nonBlocking, 0, 0, 0)
	from, to := r.must(shim.EventCreate, 0, 0, 0, 0), r.must(shim.EventCreate, 0, 0, 0, 0)
	require.EqualValues(t, 400, r.call(shim.EventElapsed, from, to, 0, 0).Code, "not recorded")
	for _, e := range []uint64{from, to} {
		r.must(shim.EventRecord, e, s, 0, 0)
	}
	r.must(shim.EventSynchronize, to, 0, 0, 0)
	ms := math.Float32frombits(uint32(r.must(shim.EventElapsed, from, to, 0, 0)))
	require.GreaterOrEqual(t, ms, float32(0))
	r.must(shim.EventDestroy, from, 0, 0, 0)
	r.must(shim.EventDestroy, to, 0, 0, 0)
	r.must(shim.StreamDestroy, s, 0, 0, 0)
}

// The driver's default stream and blocking ones wait for each other.
func TestLegacyStream(t *testing.T) {
	r := newRig(t, Config{Memory: 1 << 20, Lazy: true})
	blocking := r.must(shim.StreamCreate, 0, 0, 0, 0)
	p := r.must(shim.MemAlloc, 4, 0, 0, 0)
	sum := func(s uint64) (total int) {
		got := make([]byte, 4)
		out := r.table.CopyWait(shim.CopyOut, r.context, uintptr(p), got, uintptr(s))
		require.Zero(t, out.Code)
		for _, v := range got {
			total += int(v)
		}
		return total
	}
	r.must(shim.Fill8, p, 0, 4, blocking)
	r.must(shim.Fill8, p, 1, 1, legacyStream)
	r.must(shim.Fill8, p+1, 1, 1, blocking)
	require.Equal(t, 2, sum(blocking), "it waits for the default stream")
	r.must(shim.Fill8, p+2, 1, 1, blocking)
	r.must(shim.Fill8, p+3, 1, 1, legacyStream)
	require.Equal(t, 4, sum(legacyStream), "it waits for the blocking stream")
	r.must(shim.MemFree, p, 0, 0, 0)
	r.must(shim.StreamDestroy, blocking, 0, 0, 0)
}

// The driver's default stream cannot wait for a capture.
func TestLegacyStreamInCapture(t *testing.T) {
	const relaxed = 2
	r := newRig(t, Config{Memory: 1 << 20})
	r.must(shim.StreamSynchronize, legacyStream, 0, 0, 0)
	s := r.must(shim.StreamCreate, 0, 0, 0, 0)
	p := r.must(shim.MemAlloc, 4, 0, 0, 0)
	r.must(shim.BeginCapture, s, relaxed, 0, 0)
	require.EqualValues(t, captureImplicit, r.call(shim.IsCapturing, legacyStream, 0, 0, 0).Code)
	require.EqualValues(t, statusActive, r.must(shim.IsCapturing, s, 0, 0, 0), "to ask breaks nothing")
	require.EqualValues(t, captureImplicit, r.call(shim.Fill8, p, 1, 4, legacyStream).Code)
	require.EqualValues(t, statusInvalidated, r.must(shim.IsCapturing, s, 0, 0, 0))
	require.EqualValues(t, captureInvalidated, r.call(shim.EndCapture, s, 0, 0, 0).Code)
	r.must(shim.Fill8, p, 1, 4, legacyStream)
	r.must(shim.MemFree, p, 0, 0, 0)
	r.must(shim.StreamDestroy, s, 0, 0, 0)
}

// A context takes with it what is in it; ranges and pages outlive it.
func TestWhatOutlivesAContext(t *testing.T) {
	m, err := Open(Config{Memory: 8 << 20})
	require.NoError(t, err)
	table, err := shim.Fill(m.symbol)
	require.NoError(t, err)
	d := m.devices[0]
	r := &rig{T: t, machine: m, table: table}
	n := uint64(d.number())
	for range 2 { // it is one context, however often it is retained
		r.context = uintptr(r.must(shim.PrimaryRetain, n, 0, 0, 0))
	}
	p := r.must(shim.MemAlloc, 100, 0, 0, 0)
	s := r.must(shim.StreamCreate, nonBlocking, 0, 0, 0)
	pg := r.must(shim.Create, n, 2<<20, 0, 0)
	at := r.must(shim.Reserve, 2<<20, 0, 0, 0)
	r.must(shim.Map, at, 2<<20, pg, 0)
	r.must(shim.PrimaryRelease, n, 0, 0, 0)
	r.must(shim.Fill8, p, 1, 100, s)
	r.must(shim.PrimaryRelease, n, 0, 0, 0)
	require.EqualValues(t, invalidContext, r.call(shim.MemFree, p, 0, 0, 0).Code)

	r.context = 0
	r.context = uintptr(r.must(shim.PrimaryRetain, n, 0, 0, 0))
	require.EqualValues(t, 1, r.call(shim.MemFree, p, 0, 0, 0).Code)
	require.EqualValues(t, 400, r.call(shim.StreamSynchronize, s, 0, 0, 0).Code)
	r.must(shim.SetAccess, at, 2<<20, n, 0)
	r.must(shim.Fill8, at, 1, 100, legacyStream)
	r.must(shim.Synchronize, 0, 0, 0, 0)
	r.must(shim.Unmap, at, 2<<20, 0, 0)
	r.must(shim.ReleaseRange, at, 2<<20, 0, 0)
	r.must(shim.Release, pg, 0, 0, 0)
	r.must(shim.PrimaryRelease, n, 0, 0, 0)
	require.EqualError(t, m.Close(), "cudasim: left at the end: cuda:0: 1 allocation, cuda:0: 1 stream")
}
