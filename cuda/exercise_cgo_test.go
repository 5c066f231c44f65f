//go:build cgo && (linux || darwin)

package cuda

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExercise(t *testing.T) { exercise(t, openFake(t)) }

// exercise asks of a device only what every driver promises, so that a real
// one is held to the same as the fake.
func exercise(t *testing.T, c *Context) {
	least, most, err := c.Priorities()
	require.NoError(t, err)
	require.LessOrEqual(t, most, least)
	s, err := c.NewStream(most)
	require.NoError(t, err)
	e, err := c.NewEvent()
	require.NoError(t, err)
	done, err := c.QueryEvent(e)
	require.NoError(t, err)
	require.True(t, done, "an event that was never recorded")

	exerciseCopies(t, c, s, e)
	if c.Device().VirtualMemory {
		exerciseMapping(t, c, s)
	}
	exerciseGraph(t, c, s)
	exercisePool(t, c, s)
	exerciseRefusals(t, c, s)
	require.NoError(t, c.DestroyEvent(e))
	require.NoError(t, c.DestroyStream(s))
	require.NoError(t, c.Close())
}

// exerciseCopies takes numbers to the device in one stream, scales them in
// another, and brings them back.
func exerciseCopies(t *testing.T, c *Context, s Stream, e Event) {
	m, err := c.Load(ptx)
	require.NoError(t, err)
	f := function(t, m, "scale")
	h, err := c.AllocPinned(16)
	require.NoError(t, err)
	p, err := c.Alloc(32)
	require.NoError(t, err)
	free, total, err := c.MemInfo()
	require.NoError(t, err)
	require.Less(t, free, total)

	copy(h.Bytes(16), []byte{0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 128, 191, 0, 0, 0, 0}) // 1, 2, -1, 0
	require.NoError(t, c.CopyIn(s, p, h, 16))
	require.NoError(t, c.Record(e, s))
	require.NoError(t, c.WaitEvent(0, e))
	require.NoError(t, f.Prepare().Ptr(p).Int32(3).Float32(2).Run(0, one))
	require.NoError(t, c.Fill32(0, p+12, 0x04030201, 1))
	require.NoError(t, c.Fill8(0, p+12, 9, 1))
	require.NoError(t, c.Copy(0, p+16, p, 16))
	require.NoError(t, c.CopyOut(0, h, p+16, 16))
	require.NoError(t, c.Record(e, 0))
	require.NoError(t, c.SyncEvent(e))
	require.Equal(t, []byte{0, 0, 0, 64, 0, 0, 128, 64, 0, 0, 0, 192, 9, 2, 3, 4}, h.Bytes(16))

	require.NoError(t, c.Free(p))
	require.NoError(t, c.FreePinned(h))
	require.NoError(t, m.Unload())
}

// exerciseMapping moves a page to another address, with what is in it.
func exerciseMapping(t *testing.T, c *Context, s Stream) {
	size, _, err := c.Granularity()
	require.NoError(t, err)
	r, err := c.Reserve(2*size, 0)
	require.NoError(t, err)
	pg, err := c.Create(size)
	require.NoError(t, err)
	require.NoError(t, c.Map(r, size, pg))
	require.NoError(t, c.SetAccess(r, size))
	require.NoError(t, c.Upload(s, r, []byte("here")))
	require.NoError(t, c.Unmap(r, size))
	require.NoError(t, c.Map(r+DevicePtr(size), size, pg))
	require.NoError(t, c.SetAccess(r+DevicePtr(size), size))
	got := make([]byte, 4)
	require.NoError(t, c.Download(s, got, r+DevicePtr(size)))
	require.Equal(t, "here", string(got))
	require.NoError(t, c.Unmap(r+DevicePtr(size), size))
	require.NoError(t, c.Release(pg))
	require.NoError(t, c.ReleaseRange(r, 2*size))
}

// exerciseGraph captures a kernel and runs it twice, between two marks in time,
// and has the host told.
func exerciseGraph(t *testing.T, c *Context, s Stream) {
	m, err := c.Load(ptx)
	require.NoError(t, err)
	f := function(t, m, "scale")
	a, err := f.Attributes()
	require.NoError(t, err)
	require.Positive(t, a.Registers)
	require.Positive(t, a.PTX)
	require.Positive(t, a.MaxThreads)
	p, err := c.Alloc(4)
	require.NoError(t, err)
	require.NoError(t, c.Upload(s, p, []byte{0, 0, 128, 63})) // 1
	from, err := c.NewTimingEvent()
	require.NoError(t, err)
	to, err := c.NewTimingEvent()
	require.NoError(t, err)

	g := capture(t, c, s, func() error { return f.Prepare().Ptr(p).Int32(1).Float32(2).Run(s, one) })
	n, err := g.Nodes()
	require.NoError(t, err)
	require.Equal(t, 1, n)
	x, err := g.Instantiate()
	require.NoError(t, err)
	require.NoError(t, x.Update(g))
	told := false
	require.NoError(t, errors.Join(c.Record(from, s), x.Launch(s), x.Launch(s), c.Record(to, s),
		c.CallHost(s, func() { told = true }), c.SyncStream(s)))
	require.True(t, told)
	took, err := c.Elapsed(from, to)
	require.NoError(t, err)
	require.Positive(t, took)
	got := make([]byte, 4)
	require.NoError(t, c.Download(s, got, p))
	require.Equal(t, []byte{0, 0, 128, 64}, got)

	require.NoError(t, c.BeginCapture(s))
	requireCode(t, c.SyncStream(s), "cuStreamSynchronize", CaptureUnsupported)
	_, err = c.EndCapture(s)
	requireCode(t, err, "cuStreamEndCapture", CaptureInvalidated)
	require.NoError(t, errors.Join(c.SyncStream(s), x.Close(), g.Close(), c.Free(p),
		c.DestroyEvent(from), c.DestroyEvent(to), m.Unload()))
}

// exercisePool allocates in the order of a stream, where the device can.
func exercisePool(t *testing.T, c *Context, s Stream) {
	pool, err := c.Pool()
	if e := (*Error)(nil); errors.As(err, &e) && e.Code == NotSupported {
		t.Logf("no pool: %v", err)
		return
	}
	require.NoError(t, err)
	p, err := pool.Alloc(1<<20, s)
	require.NoError(t, err)
	require.NoError(t, c.Fill8(s, p, 1, 1<<20))
	used, _, err := pool.Used()
	require.NoError(t, err)
	require.GreaterOrEqual(t, used, int64(1<<20))
	require.NoError(t, errors.Join(pool.Free(p, s), c.SyncStream(s), pool.Trim(0)))
}

// exerciseRefusals makes mistakes that leave the device as it is.
func exerciseRefusals(t *testing.T, c *Context, s Stream) {
	_, err := c.Alloc(c.Device().Memory * 2)
	requireCode(t, err, "cuMemAlloc", OutOfMemory)
	_, err = c.Load("// no version\n")
	var compile *CompileError
	require.ErrorAs(t, err, &compile)
	m, err := c.Load(ptx)
	require.NoError(t, err)
	_, err = m.Function("none of these")
	requireCode(t, err, "cuModuleGetFunction", 500)
	requireCode(t, function(t, m, "nothing").Prepare().Run(s, Grid{}), "cuLaunchKernel", InvalidValue)
	require.NoError(t, m.Unload())
	require.NoError(t, c.Synchronize())
	require.NoError(t, c.Lost())
}
