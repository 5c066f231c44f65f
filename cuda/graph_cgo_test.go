//go:build cgo && (linux || darwin)

package cuda

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda/internal/shim"
)

// capture captures what work queues in a stream.
func capture(t testing.TB, c *Context, s Stream, work func() error) *Graph {
	t.Helper()
	require.NoError(t, c.BeginCapture(s))
	require.NoError(t, work())
	g, err := c.EndCapture(s)
	require.NoError(t, err)
	return g
}

func stream(t *testing.T, c *Context) Stream {
	t.Helper()
	s, err := c.NewStream(0)
	require.NoError(t, err)
	t.Cleanup(func() {
		if c.usable() == nil {
			require.NoError(t, c.DestroyStream(s))
		}
	})
	return s
}

func requireStatus(t *testing.T, c *Context, s Stream, want CaptureStatus) {
	t.Helper()
	got, err := c.Capturing(s)
	require.NoError(t, err)
	require.Equal(t, want.String(), got.String())
}

func word(t *testing.T, c *Context, p DevicePtr) byte {
	t.Helper()
	var b [1]byte
	require.NoError(t, c.Download(0, b[:], p))
	return b[0]
}

func TestGraph(t *testing.T) {
	c := openFake(t)
	s, p := stream(t, c), alloc(t, c, 8)
	scale := function(t, load(t, c), "scale")
	require.NoError(t, c.Fill32(0, p, 0x3f800000, 1)) // 1
	g := capture(t, c, s, func() error {
		requireStatus(t, c, s, Capturing)
		return errors.Join(scale.Prepare().Ptr(p).Int32(1).Float32(2).Run(s, one), c.Copy(s, p+4, p, 4))
	})
	requireStatus(t, c, s, NotCapturing)
	n, err := g.Nodes()
	require.NoError(t, err)
	require.Equal(t, 2, n)
	x, err := g.Instantiate()
	require.NoError(t, err)
	require.NoError(t, g.Close())
	for range 3 {
		require.NoError(t, x.Launch(0))
	}
	var b [8]byte
	require.NoError(t, c.Download(0, b[:], p))
	require.Equal(t, [8]byte{0, 0, 0, 0x41, 0, 0, 0, 0x41}, b, "1 was doubled three times, and not in the capture")

	var use *InUseError
	require.ErrorAs(t, c.Close(), &use)
	require.EqualValues(t, 1, use.Live["executable graphs"])
	require.NoError(t, x.Close())
}

func TestGraphIsClosedOnce(t *testing.T) {
	c := openFake(t)
	g := capture(t, c, 0, func() error { return nil })
	x, err := g.Instantiate()
	require.NoError(t, err)
	require.NoError(t, x.Launch(0), "of nothing")
	require.NoError(t, errors.Join(x.Close(), g.Close()))
	inject(t, shim.GraphDestroy, 1, 999) // which does not get there
	requireCode(t, g.Close(), "cuGraphDestroy", InvalidHandle)
	inject(t, shim.ExecDestroy, 1, 999)
	requireCode(t, x.Close(), "cuGraphExecDestroy", InvalidHandle)
	requireCode(t, x.Launch(0), "cuGraphLaunch", InvalidHandle)
	requireCode(t, x.Update(g), "cuGraphExecUpdate", InvalidHandle)
	_, err = g.Nodes()
	requireCode(t, err, "cuGraphGetNodes", InvalidHandle)
	_, err = g.Instantiate()
	requireCode(t, err, "cuGraphInstantiateWithFlags", InvalidHandle)
}

func TestGraphUpdate(t *testing.T) {
	c := openFake(t)
	s, p := stream(t, c), alloc(t, c, 8)
	fill := func(value byte) func() error { return func() error { return c.Fill8(s, p, value, 1) } }
	first, second := capture(t, c, s, fill(1)), capture(t, c, s, fill(2))
	longer := capture(t, c, s, func() error { return errors.Join(fill(3)(), fill(4)()) })
	other := capture(t, c, s, func() error { return c.Copy(s, p, p+4, 4) })
	x, err := first.Instantiate()
	require.NoError(t, err)
	require.NoError(t, x.Update(second))
	for g, reason := range map[*Graph]string{longer: "its topology is another", other: "a node is of another type"} {
		err := x.Update(g)
		var update *UpdateError
		require.ErrorAs(t, err, &update)
		requireCode(t, err, "cuGraphExecUpdate", UpdateFailure)
		require.EqualError(t, err, "cuda: cuGraphExecUpdate: CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE (910): "+
			"the graph cannot be updated in place: "+reason)
	}
	require.EqualError(t, &UpdateError{Reason: 99, Err: errMissing}, "missing: CUgraphExecUpdateResult(99)")
	require.NoError(t, x.Launch(s))
	require.Equal(t, byte(2), word(t, c, p))
	require.NoError(t, errors.Join(x.Close(), first.Close(), second.Close(), longer.Close(), other.Close()))
}

var errMissing = errors.New("missing")

// A stream forks from the captured one by an event, and comes back by another.
func TestCaptureForks(t *testing.T) {
	c := openFake(t)
	s, side, p := stream(t, c), stream(t, c), alloc(t, c, 8)
	e, err := c.NewEvent()
	require.NoError(t, err)
	fork := func() error {
		return errors.Join(c.Record(e, s), c.WaitEvent(side, e), c.Fill8(side, p, 5, 1))
	}
	g := capture(t, c, s, func() error { return errors.Join(fork(), c.Record(e, side), c.WaitEvent(s, e)) })
	requireStatus(t, c, side, NotCapturing)
	n, err := g.Nodes()
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, g.Close())

	require.NoError(t, c.BeginCapture(s))
	require.NoError(t, fork())
	_, err = c.QueryEvent(e)
	requireCode(t, err, "cuEventQuery", 907)
	_, err = c.EndCapture(side)
	requireCode(t, err, "cuStreamEndCapture", 903)
	_, err = c.EndCapture(s)
	requireCode(t, err, "cuStreamEndCapture", 904)
	requireStatus(t, c, side, NotCapturing)
	require.NoError(t, c.SyncStream(s), "a failed capture leaves the stream usable")
	require.NoError(t, c.Record(e, s))

	// What is outside cannot be waited for, and spoils the capture.
	require.NoError(t, c.BeginCapture(s))
	requireCode(t, c.WaitEvent(s, e), "cuStreamWaitEvent", 905)
	requireInvalid(t, c, s)

	require.NoError(t, errors.Join(c.BeginCapture(s), c.BeginCapture(side), c.Record(e, s)))
	requireCode(t, c.WaitEvent(side, e), "cuStreamWaitEvent", 902)
	requireInvalid(t, c, side)
	g, err = c.EndCapture(s)
	require.NoError(t, err)
	require.NoError(t, errors.Join(g.Close(), c.DestroyEvent(e)))
}

// requireInvalid requires that the capture of s is spoilt, and ends it.
func requireInvalid(t *testing.T, c *Context, s Stream) {
	t.Helper()
	requireStatus(t, c, s, Invalidated)
	requireCode(t, c.Record(0, s), "cuEventRecord", InvalidHandle)
	g, err := c.EndCapture(s)
	require.Nil(t, g)
	requireCode(t, err, "cuStreamEndCapture", CaptureInvalidated)
	requireStatus(t, c, s, NotCapturing)
}

func TestCaptureIsInvalidated(t *testing.T) {
	c := openFake(t)
	s, p := stream(t, c), alloc(t, c, 8)
	_, err := c.EndCapture(s)
	requireCode(t, err, "cuStreamEndCapture", 401)
	for name, call := range map[string]func() error{
		"wait":        func() error { return c.SyncStream(s) },
		"query":       func() error { return second(c.QueryStream(s)) },
		"upload":      func() error { return c.Upload(s, p, []byte("x")) },
		"synchronize": c.Synchronize,
	} {
		require.NoError(t, c.BeginCapture(s))
		requireCode(t, c.BeginCapture(s), "cuStreamBeginCapture", 401)
		var e *Error
		require.ErrorAs(t, call(), &e, name)
		require.Equal(t, CaptureUnsupported, e.Code)
		requireCode(t, c.Fill8(s, p, 1, 1), "cuMemsetD8Async", CaptureInvalidated)
		requireInvalid(t, c, s)
	}
	require.NoError(t, c.Fill8(s, p, 1, 1))
}

// What has no place in a capture is refused, and spoils nothing.
func TestRefusedInCapture(t *testing.T) {
	c := openFake(t)
	s := stream(t, c)
	pool, err := c.Pool()
	require.NoError(t, err)
	p, err := pool.Alloc(64, s)
	require.NoError(t, err)
	g := capture(t, c, s, func() error {
		requireCode(t, c.CallHost(s, func() { t.Error("called") }), "cuLaunchHostFunc", CaptureUnsupported)
		_, err := pool.Alloc(64, s)
		requireCode(t, err, "cuMemAllocAsync", CaptureUnsupported)
		requireCode(t, pool.Free(p, s), "cuMemFreeAsync", CaptureUnsupported)
		requireStatus(t, c, s, Capturing)
		return pool.Free(p, 0)
	})
	require.NoError(t, g.Close())
}

// TARN_LAUNCH_BLOCKING=1 does not wait in a capture, and does for a graph.
func TestLaunchBlockingInCapture(t *testing.T) {
	t.Setenv("TARN_LAUNCH_BLOCKING", "1")
	c := openFake(t)
	s := stream(t, c)
	m := load(t, c)
	fault := function(t, m, "fault")
	g := capture(t, c, s, func() error { return fault.Prepare().Run(s, one) })
	x, err := g.Instantiate()
	require.NoError(t, err)
	around := capture(t, c, s, func() error { return x.Launch(s) })
	n, err := around.Nodes()
	require.NoError(t, err)
	require.Equal(t, 1, n)
	inject(t, shim.StreamSynchronize, 1, 999)
	requireCode(t, function(t, m, "nothing").Prepare().Run(s, one), "cuStreamSynchronize", 999)
	inject(t, shim.IsCapturing, 1, 999)
	requireCode(t, function(t, m, "nothing").Prepare().Run(s, one), "cuStreamIsCapturing", 999)
	nothingFails(t)
	require.ErrorIs(t, x.Launch(s), ErrDeviceLost, "the launch that caused it")
	require.NoError(t, c.Close())
}

// A fault of a graph shows at a later call, and is told as the loss that it is.
func TestGraphFault(t *testing.T) {
	c := openFake(t)
	m := load(t, c)
	g := capture(t, c, 0, func() error { return function(t, m, "fault").Prepare().Run(0, one) })
	x, err := g.Instantiate()
	require.NoError(t, err)
	require.NoError(t, x.Launch(0))
	err = c.CallHost(0, func() { t.Error("called after the loss") })
	require.ErrorIs(t, err, ErrDeviceLost)
	require.ErrorContains(t, err, "with the fault in it or in earlier work")
	require.ErrorIs(t, x.Close(), ErrDeviceLost)
	require.NoError(t, c.Close())
}

func TestCaptureStatusText(t *testing.T) {
	require.Equal(t, "none active invalidated CaptureStatus(3)", NotCapturing.String()+" "+Capturing.String()+" "+
		Invalidated.String()+" "+CaptureStatus(3).String())
}
