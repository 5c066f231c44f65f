//go:build cgo && (linux || darwin)

package cudasim_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
)

// word returns the first word at p, when the stream is done.
func word(t testing.TB, c *cuda.Context, s cuda.Stream, p cuda.DevicePtr) uint32 {
	t.Helper()
	out := make([]byte, 4)
	require.NoError(t, c.Download(s, out, p))
	return binary.LittleEndian.Uint32(out)
}

func capture(t testing.TB, c *cuda.Context, s cuda.Stream, record func()) *cuda.Graph {
	t.Helper()
	require.NoError(t, c.BeginCapture(s))
	record()
	g, err := c.EndCapture(s)
	require.NoError(t, err)
	t.Cleanup(func() {
		if c.Lost() == nil {
			require.NoError(t, g.Close())
		}
	})
	return g
}

func instantiate(t testing.TB, c *cuda.Context, g *cuda.Graph) *cuda.GraphExec {
	t.Helper()
	x, err := g.Instantiate()
	require.NoError(t, err)
	t.Cleanup(func() {
		if c.Lost() == nil {
			require.NoError(t, x.Close())
		}
	})
	return x
}

// A graph does what was captured, work of a forked stream too, each time that
// it is launched, with the arguments of then.
func TestGraph(t *testing.T) {
	m := open(t, cudasim.Config{Memory: 16 << 20, Delays: 3})
	c := device(t, m, 0)
	a, b := newStream(t, c), newStream(t, c)
	f := function(t, load(t, c), "add")
	p, q := alloc(t, c, 4), alloc(t, c, 4)
	fork, join := newEvent(t, c), newEvent(t, c)
	told := 0
	g := capture(t, c, a, func() {
		require.NoError(t, c.Fill32(a, p, 0, 1))
		require.NoError(t, c.Record(fork, a))
		require.NoError(t, c.WaitEvent(b, fork))
		require.NoError(t, add(f, b, p, 1, 5))
		require.NoError(t, c.Record(join, b))
		require.NoError(t, c.WaitEvent(a, join))
		require.NoError(t, c.Copy(a, q, p, 4))
		require.NoError(t, add(f, a, q, 1, 10))
	})
	n, err := g.Nodes()
	require.NoError(t, err)
	require.Equal(t, 4, n)
	x := instantiate(t, c, g)
	for range 3 {
		require.NoError(t, x.Launch(a))
		require.NoError(t, c.CallHost(a, func() { told++ }))
	}
	require.EqualValues(t, 15, word(t, c, a, q))
	require.Equal(t, 3, told)
}

func TestGraphUpdate(t *testing.T) {
	_, c := openDevice(t)
	s := newStream(t, c)
	f := function(t, load(t, c), "add")
	p, q := alloc(t, c, 4), alloc(t, c, 4)
	require.NoError(t, c.Fill32(s, p, 0, 1))
	adding := func(by uint32) *cuda.Graph {
		return capture(t, c, s, func() { require.NoError(t, add(f, s, p, 1, by)) })
	}
	x := instantiate(t, c, adding(1))
	require.NoError(t, x.Launch(s))
	require.NoError(t, x.Update(adding(100)))
	require.NoError(t, x.Launch(s))
	var refused *cuda.UpdateError
	two := capture(t, c, s, func() {
		require.NoError(t, add(f, s, p, 1, 1))
		require.NoError(t, add(f, s, p, 1, 1))
	})
	require.ErrorAs(t, x.Update(two), &refused)
	require.Equal(t, 2, refused.Reason)
	copying := capture(t, c, s, func() { require.NoError(t, c.Copy(s, q, p, 4)) })
	require.ErrorAs(t, x.Update(copying), &refused)
	require.Equal(t, 3, refused.Reason)
	require.NoError(t, x.Launch(s))
	require.EqualValues(t, 201, word(t, c, s, p))
}

// What cannot be captured breaks the capture, and leaves the stream usable.
func TestCaptureIsBroken(t *testing.T) {
	_, c := openDevice(t)
	a, b := newStream(t, c), newStream(t, c)
	p, q := alloc(t, c, 4), alloc(t, c, 4)
	e := newEvent(t, c)
	pool, err := c.Pool()
	require.NoError(t, err)
	for name, call := range map[string]func() error{
		"cuStreamSynchronize 900": func() error { return c.SyncStream(a) },
		"cuCtxSynchronize 900":    func() error { return c.Synchronize() },
		"cuMemcpyHtoDAsync 900":   func() error { return c.Upload(a, p, make([]byte, 4)) },
		"cuMemcpyDtoHAsync 900":   func() error { return c.Download(a, make([]byte, 4), p) },
		"cuEventQuery 907": func() error {
			require.NoError(t, c.Record(e, a))
			_, err := c.QueryEvent(e)
			return err
		},
		"cuStreamWaitEvent 905": func() error {
			require.NoError(t, c.Fill8(b, q, 1, 1))
			require.NoError(t, c.Record(e, b))
			return c.WaitEvent(a, e)
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, c.BeginCapture(a))
			err := call()
			var refused *cuda.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, name, fmt.Sprint(refused.Op, " ", int(refused.Code)))
			requireCode(t, c.Fill8(a, p, 1, 1), "cuMemsetD8Async", 901)
			_, err = c.EndCapture(a)
			requireCode(t, err, "cuStreamEndCapture", 901)
			require.NoError(t, c.Fill32(a, p, 1, 1))
			require.EqualValues(t, 1, word(t, c, a, p))
		})
	}
	require.NoError(t, c.BeginCapture(a))
	_, err = pool.Alloc(4, a)
	require.Error(t, err)
	g, err := c.EndCapture(a)
	require.NoError(t, err, "package cuda did not ask")
	require.NoError(t, g.Close())
}

// A launch in another stream waits for the one before it.
func TestGraphInTwoStreams(t *testing.T) {
	m := open(t, cudasim.Config{Memory: 8 << 20, Lazy: true})
	c := device(t, m, 0)
	a, b := newStream(t, c), newStream(t, c)
	f := function(t, load(t, c), "add")
	p := alloc(t, c, 4)
	require.NoError(t, c.Fill32(a, p, 0, 1))
	require.NoError(t, c.SyncStream(a))
	x := instantiate(t, c, capture(t, c, a, func() { require.NoError(t, add(f, a, p, 1, 1)) }))
	require.NoError(t, x.Launch(a))
	require.NoError(t, x.Launch(b))
	require.EqualValues(t, 2, word(t, c, b, p), "nobody has asked for the first one")
}

func TestPool(t *testing.T) {
	m := open(t, cudasim.Config{Memory: 8 << 20, Lazy: true})
	c := device(t, m, 0)
	pool, err := c.Pool()
	require.NoError(t, err)
	require.NoError(t, pool.SetThreshold(4<<20))
	used := func() int64 {
		n, _, err := pool.Used()
		require.NoError(t, err)
		return n
	}
	p, err := pool.Alloc(3<<20, 0)
	require.NoError(t, err)
	require.EqualValues(t, 3<<20, used())
	require.NoError(t, c.Fill8(0, p, 1, 3<<20))
	require.NoError(t, pool.Free(p, 0))
	require.EqualValues(t, 3<<20, used(), "its stream has not got there")
	require.NoError(t, c.SyncStream(0))
	require.Zero(t, used())
	reserved, high, err := pool.Reserved()
	require.NoError(t, err)
	require.Equal(t, []int64{3 << 20, 3 << 20}, []int64{reserved, high}, "the pool keeps it")
	free, _, err := c.MemInfo()
	require.NoError(t, err)
	require.EqualValues(t, 5<<20, free)
	q, err := pool.Alloc(6<<20, 0)
	require.NoError(t, err, "with what the pool kept")
	_, err = pool.Alloc(3<<20, 0)
	requireCode(t, err, "cuMemAllocAsync", cuda.OutOfMemory)
	require.NoError(t, pool.Free(q, 0))
	require.NoError(t, c.SyncStream(0))
	p, err = pool.Alloc(1, 0)
	require.NoError(t, err)
	require.NoError(t, c.Free(p), "which waits, as for any memory")
	require.NoError(t, pool.Trim(0))
	free, _, err = c.MemInfo()
	require.NoError(t, err)
	require.EqualValues(t, 8<<20, free)
}

// Work that comes after a free in the stream may not use the memory.
func TestPoolUseAfterFree(t *testing.T) {
	m := open(t, cudasim.Config{Memory: 8 << 20, Lazy: true})
	c := device(t, m, 0)
	f := function(t, load(t, c), "add")
	s := newStream(t, c)
	pool, err := c.Pool()
	require.NoError(t, err)
	p, err := pool.Alloc(1024, s)
	require.NoError(t, err)
	require.NoError(t, add(f, s, p, 256, 1))
	require.NoError(t, pool.Free(p, s))
	require.NoError(t, add(f, s, p, 1, 1))
	requireCode(t, c.SyncStream(s), "cuStreamSynchronize", 700)
	require.ErrorContains(t, m.Reports()[0], "freed block")
}

func TestPeers(t *testing.T) {
	m := open(t, cudasim.Config{Devices: 2, Memory: 8 << 20})
	a, b := device(t, m, 0), device(t, m, 1)
	can, err := a.Device().CanAccess(b.Device())
	require.NoError(t, err)
	require.True(t, can)
	p, q := alloc(t, a, 4), alloc(t, b, 4)
	require.NoError(t, b.Fill32(0, q, 77, 1))
	require.NoError(t, b.SyncStream(0))
	require.NoError(t, a.CopyPeer(0, p, a, q, b, 4))
	require.EqualValues(t, 77, word(t, a, 0, p))

	requireCode(t, a.Copy(0, p, q, 4), "cuMemcpyDtoDAsync", cuda.InvalidValue)
	require.NoError(t, a.EnablePeer(b))
	require.NoError(t, a.EnablePeer(b))
	f := function(t, load(t, a), "add")
	require.NoError(t, add(f, 0, q, 1, 1))
	require.EqualValues(t, 78, word(t, a, 0, q))
	require.NoError(t, a.DisablePeer(b))
	requireCode(t, a.DisablePeer(b), "cuCtxDisablePeerAccess", 705)
	require.NoError(t, add(f, 0, q, 1, 1))
	requireCode(t, a.SyncStream(0), "cuStreamSynchronize", 700)
	require.NoError(t, b.SyncStream(0), "the other device goes on")
}

// A host function may not call the driver.
func TestHostFunctionCallsDriver(t *testing.T) {
	m, c := openDevice(t)
	var err error
	require.NoError(t, c.CallHost(0, func() { _, _, err = c.MemInfo() }))
	require.NoError(t, c.SyncStream(0))
	requireCode(t, err, "cuMemGetInfo", 800)
	var misuse *cudasim.MisuseError
	require.ErrorAs(t, m.Reports()[0], &misuse)
	require.EqualError(t, misuse, "cudasim: cuMemGetInfo: a host function may not call the driver")
}

// A module may not go while a kernel of it is queued.
func TestUnloadUnderKernel(t *testing.T) {
	m := open(t, cudasim.Config{Memory: 8 << 20, Lazy: true})
	c := device(t, m, 0)
	p := alloc(t, c, 4)
	mod, err := c.Load(text)
	require.NoError(t, err)
	require.NoError(t, add(function(t, mod, "add"), 0, p, 1, 1))
	require.NoError(t, mod.Unload())
	require.EqualError(t, m.Reports()[0], "cudasim: cuModuleUnload: a kernel of the module is not done")
}

// Pinned memory that is freed under a copy is reported, though the driver waits.
func TestFreePinnedUnderCopy(t *testing.T) {
	m := open(t, cudasim.Config{Memory: 8 << 20, Lazy: true})
	c := device(t, m, 0)
	p := alloc(t, c, 8)
	h, err := c.AllocPinned(8)
	require.NoError(t, err)
	require.NoError(t, c.CopyIn(0, p, h, 8))
	require.NoError(t, c.FreePinned(h))
	require.Len(t, m.Reports(), 1)
	require.ErrorContains(t, m.Reports()[0], "cudasim: cuMemFreeHost: work uses the memory at ")
}
