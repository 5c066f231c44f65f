//go:build cgo && (linux || darwin)

package cudasim_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
	"tarn/cuda/cudasim/ptx"
)

// A call that is told to fail as if the device had faulted loses it, and what a
// lost device had is nobody's to give back.
func TestStickyFaultLosesTheDevice(t *testing.T) {
	m := open(t, cudasim.Config{Memory: 1 << 20, Devices: 2}) // where nothing of the lost one is a leak
	c, other := device(t, m, 0), device(t, m, 1)
	p := alloc(t, c, 4096)
	f := function(t, load(t, c), "add")
	m.Fail(cudasim.Fault{Function: "cuLaunchKernel", Code: 700})
	require.ErrorIs(t, add(f, 0, p, 1, 1), cuda.ErrDeviceLost)
	var fault *cudasim.FaultError
	require.ErrorAs(t, m.Reports()[0], &fault)
	require.EqualError(t, fault, "cudasim: cuda:0: cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS (700): a fault that was asked for")

	again, err := m.Library().Device(0)
	require.NoError(t, err)
	_, err = again.Open()
	requireCode(t, err, "cuDevicePrimaryCtxRetain", 700)
	require.NoError(t, other.Synchronize(), "the other device is well")
}

func TestAttributes(t *testing.T) {
	_, c := openDevice(t)
	m, err := c.Load(".version 7.1\n.target sm_75\n.address_size 64\n.const .align 4 .b8 table[12];\n.visible .entry k() .maxntid 64\n" +
		"{\n\t.reg .b64 %d<3>;\n\t.reg .f32 %f<5>;\n\t.local .align 8 .b8 l[16];\n\t.shared .align 4 .b8 s[32];\n\tret;\n}\n")
	require.NoError(t, err)
	a, err := function(t, m, "k").Attributes()
	require.NoError(t, err)
	require.Equal(t, cuda.Attributes{MaxThreads: 64, Registers: 11, Local: 16, Shared: 32, Constant: 12, MaxShared: 48<<10 - 32, PTX: 75, Binary: 80}, a)
	require.NoError(t, m.Unload())
}

// A kernel that does not end is ended, and takes the device with it.
func TestSteps(t *testing.T) {
	m := open(t, cudasim.Config{Memory: 1 << 20, Steps: 10_000})
	c := device(t, m, 0)
	mod, err := c.Load(".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry spin()\n{\nL:\n\tbra L;\n}\n")
	require.NoError(t, err)
	require.NoError(t, function(t, mod, "spin").Prepare().Run(0, cuda.Grid{Blocks: [3]uint32{1}, Threads: [3]uint32{1}}))
	requireCode(t, c.SyncStream(0), "cuStreamSynchronize", 702)
	var steps *ptx.StepsError
	require.ErrorAs(t, m.Reports()[0], &steps)
	require.Equal(t, 7, steps.Line)
	require.ErrorContains(t, m.Reports()[0], "CUDA_ERROR_LAUNCH_TIMEOUT (702): ptx: a warp did not end within 10000 instructions: kernel spin, PTX line 7 (bra L;)")
}

// Memory that was never written holds no zeros, whichever way it came.
func TestFreshMemoryIsFilled(t *testing.T) {
	m, c := openDevice(t)
	const size = 2 << 20
	want := bytes.Repeat([]byte{0xff}, size)
	got := make([]byte, size)
	check := func(p cuda.DevicePtr) {
		t.Helper()
		require.NoError(t, c.Download(0, got, p))
		require.True(t, bytes.Equal(want, got))
		require.NoError(t, c.Fill8(0, p, 1, size)) // for who gets it next
		require.NoError(t, c.SyncStream(0))
	}
	pool, err := c.Pool()
	require.NoError(t, err)
	for range 2 {
		p, err := c.Alloc(size)
		require.NoError(t, err)
		check(p)
		require.NoError(t, c.Free(p))

		p, err = pool.Alloc(size, 0)
		require.NoError(t, err)
		check(p)
		require.NoError(t, pool.Free(p, 0))

		page, err := c.Create(size)
		require.NoError(t, err)
		r, err := c.Reserve(size, 0)
		require.NoError(t, err)
		require.NoError(t, c.Map(r, size, page))
		require.NoError(t, c.SetAccess(r, size))
		check(r)
		require.NoError(t, c.Unmap(r, size))
		require.NoError(t, c.Release(page))
		require.NoError(t, c.ReleaseRange(r, size))
	}
	require.Empty(t, m.Reports())
}

// The error of a launch says what was asked for, and the log what was wanted.
func TestRefusedLaunch(t *testing.T) {
	_, c := openDevice(t)
	f := function(t, load(t, c), "add")
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	grid := cuda.Grid{Blocks: [3]uint32{2}, Threads: [3]uint32{32, 4}}
	err := f.Prepare().Ptr(0).Run(0, grid)
	requireCode(t, err, "cuLaunchKernel", cuda.InvalidValue)
	require.EqualError(t, err, `kernel "add": cuda: cuLaunchKernel: CUDA_ERROR_INVALID_VALUE (1): an argument is out of its range: `+
		"a grid of [2 1 1] blocks of [32 4 1] threads with 0 bytes of dynamic shared memory, and 8 bytes of arguments")
	require.Contains(t, log.String(), "launch of add: the kernel takes 16 bytes of arguments, the launch has 8")

	grid.Shared = 64 << 10
	require.ErrorContains(t, f.Prepare().Ptr(0).Int32(1).Uint32(1).Run(0, grid), "65536 bytes of dynamic shared memory, and 16 bytes of arguments")
	require.Contains(t, log.String(), "65536 bytes of dynamic shared memory; the kernel may have 49152")
}

// PTX that the simulator lacks is not called wrong.
func TestWhatIsNotRun(t *testing.T) {
	_, c := openDevice(t)
	var refused *cuda.CompileError
	_, err := c.Load(".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n\t.reg .b32 %r;\n\tmbarrier.init.shared.b64 [%r], 1;\n\tret;\n}\n")
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "cudasim does not run this, which a driver may, line 7: mbarrier.init.shared.b64 is PTX that this interpreter does not run: \"mbarrier.init.shared.b64 [%r], 1;\"\n", refused.Log)
}
