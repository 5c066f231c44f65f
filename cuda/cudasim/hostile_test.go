//go:build cgo && (linux || darwin)

package cudasim_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
)

// blocked holds a stream up until release is called, or the test is over.
func blocked(t testing.TB, c *cuda.Context, s cuda.Stream) (release func()) {
	t.Helper()
	hold := make(chan struct{})
	require.NoError(t, c.CallHost(s, func() { <-hold }))
	release = sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	return release
}

// A block of another shape than the kernel was compiled for is refused by the call.
func TestRequiredThreads(t *testing.T) {
	_, c := openDevice(t)
	m, err := c.Load(".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 a)\n.reqntid 64, 1, 1\n{\n\tret;\n}\n")
	require.NoError(t, err)
	f := function(t, m, "k")
	for _, threads := range [][3]uint32{{32}, {128}, {32, 2}, {1, 64}} {
		err := f.Prepare().Ptr(0).Run(0, cuda.Grid{Blocks: [3]uint32{1}, Threads: threads})
		requireCode(t, err, "cuLaunchKernel", cuda.InvalidValue)
	}
	for range 2 {
		require.NoError(t, f.Prepare().Ptr(0).Run(0, cuda.Grid{Blocks: [3]uint32{3}, Threads: [3]uint32{64}}))
	}
	require.NoError(t, c.Synchronize())
	require.NoError(t, m.Unload())
}

// What a stream has freed is there for its next allocation, before it gets there.
func TestPoolFollowsTheStream(t *testing.T) {
	for _, lazy := range []bool{false, true} {
		m := open(t, cudasim.Config{Memory: 64 << 20, Lazy: lazy})
		c := device(t, m, 0)
		p, err := c.Pool()
		require.NoError(t, err)
		s, other := newStream(t, c), newStream(t, c)
		release := blocked(t, c, s)
		const size = 40 << 20
		var last cuda.DevicePtr
		for range 3 {
			last, err = p.Alloc(size, s)
			require.NoError(t, err, "lazy: %v", lazy)
			require.NoError(t, c.Fill8(s, last, 1, size))
			require.NoError(t, p.Free(last, s))
		}
		// Another stream has it too, and waits for it.
		x, err := p.Alloc(size, other)
		require.NoError(t, err)
		done, err := c.QueryStream(other)
		require.NoError(t, err)
		require.False(t, done, "it has what the first stream has not given back yet")
		_, err = p.Alloc(size, s)
		requireCode(t, err, "cuMemAllocAsync", cuda.OutOfMemory)
		release()
		require.NoError(t, p.Free(x, other))
		require.NoError(t, c.Synchronize())
		used, _, err := p.Used()
		require.NoError(t, err)
		require.Zero(t, used)
		free, total, err := c.MemInfo()
		require.NoError(t, err)
		require.Equal(t, total, free)
	}
}

// Plain memory may be freed in the order of a stream.
func TestPoolFreesPlainMemory(t *testing.T) {
	_, c := openDevice(t)
	p, err := c.Pool()
	require.NoError(t, err)
	s := newStream(t, c)
	at, err := c.Alloc(4096)
	require.NoError(t, err)
	release := blocked(t, c, s)
	require.NoError(t, c.Fill8(s, at, 1, 4096))
	require.NoError(t, p.Free(at, s))
	requireCode(t, c.Fill8(s, at, 1, 4096), "cuMemsetD8Async", cuda.InvalidValue)
	requireCode(t, p.Free(at, s), "cuMemFreeAsync", cuda.InvalidValue)
	release()
	require.NoError(t, c.SyncStream(s))
	requireCode(t, c.Free(at), "cuMemFree", cuda.InvalidValue)
	free, total, err := c.MemInfo()
	require.NoError(t, err)
	require.Equal(t, total, free)
}

// Devices differ in what a block may have.
func TestSharedMemoryByCapability(t *testing.T) {
	for _, x := range []struct {
		major, minor int
		kib          int64
	}{{7, 5, 64}, {8, 0, 163}, {8, 6, 99}, {9, 0, 227}, {12, 0, 99}} {
		m := open(t, cudasim.Config{Memory: 1 << 20, Major: x.major, Minor: x.minor})
		c := device(t, m, 0)
		require.Equal(t, x.kib<<10, c.Device().SharedMemoryOptIn)
		f := function(t, load(t, c), "stop")
		require.NoError(t, f.SetMaxShared(int(x.kib<<10)))
		requireCode(t, f.SetMaxShared(int(x.kib<<10)+1), "cuFuncSetAttribute", cuda.InvalidValue)
	}
}

// A copy that begins in pinned memory ends there too.
func TestCopyOverTheEndOfPinnedMemory(t *testing.T) {
	_, c := openDevice(t)
	p := alloc(t, c, 1<<20)
	h, err := c.AllocPinned(100)
	require.NoError(t, err)
	for _, size := range []int64{101, 1 << 20} {
		requireCode(t, c.CopyIn(0, p, h, size), "cuMemcpyHtoDAsync", cuda.InvalidValue)
		requireCode(t, c.CopyOut(0, h, p, size), "cuMemcpyDtoHAsync", cuda.InvalidValue)
	}
	requireCode(t, c.CopyIn(0, p, h+1, 100), "cuMemcpyHtoDAsync", cuda.InvalidValue)
	require.NoError(t, c.CopyIn(0, p, h+1, 99))
	require.NoError(t, c.SyncStream(0))
	require.NoError(t, c.FreePinned(h))
}

// What the host cannot lend is an error of the call.
func TestMoreThanTheHostHas(t *testing.T) {
	const size = 120 << 30
	m := open(t, cudasim.Config{Memory: size})
	c := device(t, m, 0)
	for _, size := range []int64{1<<63 - 1, 1<<63 - 512, 1 << 62, 1 << 45, 1 << 40, 1<<40 - 1} {
		_, err := c.AllocPinned(size)
		requireCode(t, err, "cuMemHostAlloc", cuda.OutOfMemory)
		_, err = c.Alloc(size)
		requireCode(t, err, "cuMemAlloc", cuda.OutOfMemory)
	}
	_, err := c.Reserve(1<<62, 0)
	requireCode(t, err, "cuMemAddressReserve", cuda.OutOfMemory)
	_, err = c.Create(1 << 62)
	requireCode(t, err, "cuMemCreate", cuda.OutOfMemory)
	// The device has that much; the host may or may not.
	if p, err := c.Alloc(size - 1<<30); err == nil {
		require.NoError(t, c.Free(p))
	} else {
		requireCode(t, err, "cuMemAlloc", cuda.OutOfMemory)
	}
	free, _, err := c.MemInfo()
	require.NoError(t, err)
	require.EqualValues(t, size, free)
}

// A wait for the device spoils all captures there, not one of them.
func TestSynchronizeSpoilsAllCaptures(t *testing.T) {
	_, c := openDevice(t)
	a, b := newStream(t, c), newStream(t, c)
	require.NoError(t, c.BeginCapture(a))
	require.NoError(t, c.BeginCapture(b))
	requireCode(t, c.Synchronize(), "cuCtxSynchronize", cuda.CaptureUnsupported)
	for _, s := range []cuda.Stream{a, b} {
		_, err := c.EndCapture(s)
		requireCode(t, err, "cuStreamEndCapture", cuda.CaptureInvalidated)
	}
}

// A device of a machine that is closed is none of the next machine's.
func TestDeviceOfAClosedMachine(t *testing.T) {
	m, err := cudasim.Open(cudasim.Config{Memory: 1 << 20})
	require.NoError(t, err)
	d, err := m.Library().Device(0)
	require.NoError(t, err)
	require.NoError(t, m.Close())
	_, err = d.Open()
	requireCode(t, err, "cuDevicePrimaryCtxRetain", 101)
	open(t, cudasim.Config{Memory: 1 << 20})
	_, err = d.Open()
	requireCode(t, err, "cuDevicePrimaryCtxRetain", 101)
}

// A device that is lost takes no other with it, by way of what was its.
func TestMemoryOfALostDevice(t *testing.T) {
	m := open(t, cudasim.Config{Devices: 2, Memory: 64 << 20})
	a, b := device(t, m, 0), device(t, m, 1)
	h, err := a.AllocPinned(100)
	require.NoError(t, err)
	p, err := a.Alloc(100)
	require.NoError(t, err)
	e, err := a.NewEvent()
	require.NoError(t, err)
	f := function(t, load(t, a), "stop")
	require.NoError(t, f.Prepare().Run(0, cuda.Grid{Blocks: [3]uint32{1}, Threads: [3]uint32{1}}))
	require.NoError(t, a.Record(e, 0))
	require.ErrorIs(t, a.Synchronize(), cuda.ErrDeviceLost)
	require.NoError(t, b.FreePinned(h))
	require.NoError(t, b.Free(p))

	// Nor by way of an event: what it says is of its own device.
	for _, err := range []error{b.SyncEvent(e), b.WaitEvent(0, e)} {
		if err != nil {
			require.ErrorContains(t, err, "device cuda:0 is lost")
		}
	}
	_, err = b.QueryEvent(e)
	require.ErrorContains(t, err, "device cuda:0 is lost")
	require.NoError(t, b.Lost())
	require.NoError(t, b.Synchronize())
}

// A pool's memory is for its device: peer access is about plain memory.
func TestPoolMemoryIsNotForPeers(t *testing.T) {
	m := open(t, cudasim.Config{Devices: 2, Memory: 64 << 20})
	a, b := device(t, m, 0), device(t, m, 1)
	require.NoError(t, a.EnablePeer(b))
	pool, err := b.Pool()
	require.NoError(t, err)
	p, err := pool.Alloc(4096, 0)
	require.NoError(t, err)
	plain := alloc(t, b, 4096)
	require.NoError(t, b.Synchronize())
	require.NoError(t, a.Fill8(0, plain, 1, 4096))
	requireCode(t, a.Fill8(0, p, 1, 4096), "cuMemsetD8Async", cuda.InvalidValue)
	require.NoError(t, a.CopyPeer(0, plain, b, p, b, 4096), "by the peer's own rights")
	require.NoError(t, a.Synchronize())
	require.NoError(t, pool.Free(p, 0))
}

// A graph whose kernels were unloaded is not run.
func TestGraphOfAnUnloadedModule(t *testing.T) {
	machine, c := openDevice(t)
	m, err := c.Load(text)
	require.NoError(t, err)
	p := alloc(t, c, 4)
	s := newStream(t, c)
	f := function(t, m, "add")
	x := instantiate(t, c, capture(t, c, s, func() { require.NoError(t, add(f, s, p, 1, 1)) }))
	require.NoError(t, x.Launch(s))
	require.NoError(t, c.SyncStream(s))
	require.NoError(t, m.Unload())
	requireCode(t, x.Launch(s), "cuGraphLaunch", cuda.InvalidHandle)
	require.Len(t, machine.Reports(), 1)
	require.ErrorContains(t, machine.Reports()[0], "cudasim: cuGraphLaunch: the module of a kernel in it was unloaded")
}
