//go:build cgo && (linux || darwin)

package cuda

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda/internal/shim"
)

// world has one of each thing.
type world struct {
	c      *Context
	s      Stream
	e      Event
	p      DevicePtr
	h      HostPtr
	r      DevicePtr // the first page of it is mapped
	pg, p2 Page
	m      *Module
	f      *Function
	g      *Graph
	x      *GraphExec
	pool   *Pool
	q      DevicePtr // of the pool
}

const granule = 2 << 20 // of the fake driver

func newWorld(t *testing.T) *world {
	t.Helper()
	c := openFake(t)
	w := &world{c: c}
	var errs [13]error
	w.s, errs[0] = c.NewStream(-1)
	w.e, errs[1] = c.NewEvent()
	w.p, errs[2] = c.Alloc(64)
	w.h, errs[3] = c.AllocPinned(64)
	w.r, errs[4] = c.Reserve(2*granule, 0)
	w.pg, errs[5] = c.Create(granule)
	w.p2, errs[6] = c.Create(granule)
	errs[7] = c.Map(w.r, granule, w.pg)
	errs[8] = c.SetAccess(w.r, granule)
	w.m, errs[9] = c.Load(ptx)
	require.NoError(t, errors.Join(errs[:]...))
	w.f = function(t, w.m, "nothing")
	w.g = capture(t, c, w.s, func() error { return c.Fill8(w.s, w.p, 1, 1) })
	w.x, errs[0] = w.g.Instantiate()
	w.pool, errs[1] = c.Pool()
	require.NoError(t, errors.Join(errs[:]...))
	w.q, errs[0] = w.pool.Alloc(64, w.s)
	require.NoError(t, errs[0])
	return w
}

// free takes everything away.
func (w *world) free(t *testing.T) {
	t.Helper()
	c := w.c
	require.NoError(t, errors.Join(w.x.Close(), w.g.Close(), w.pool.Free(w.q, w.s), w.m.Unload(), c.Unmap(w.r, granule), c.Release(w.pg), c.Release(w.p2),
		c.ReleaseRange(w.r, 2*granule), c.FreePinned(w.h), c.Free(w.p), c.DestroyEvent(w.e), c.DestroyStream(w.s)))
}

// second drops a call's first result.
func second[T any](_ T, err error) error { return err }

// calls has a way to make each call of a context. None of them changes what
// the world has when it fails.
var calls = map[shim.Entry]func(w *world) error{
	shim.Synchronize:       func(w *world) error { return w.c.Synchronize() },
	shim.PriorityRange:     func(w *world) error { _, _, err := w.c.Priorities(); return err },
	shim.StreamCreate:      func(w *world) error { return second(w.c.NewStream(0)) },
	shim.StreamDestroy:     func(w *world) error { return w.c.DestroyStream(w.s) },
	shim.StreamSynchronize: func(w *world) error { return w.c.SyncStream(w.s) },
	shim.StreamQuery:       func(w *world) error { return second(w.c.QueryStream(w.s)) },
	shim.StreamWaitEvent:   func(w *world) error { return w.c.WaitEvent(w.s, w.e) },
	shim.EventCreate:       func(w *world) error { return second(w.c.NewEvent()) },
	shim.EventRecord:       func(w *world) error { return w.c.Record(w.e, w.s) },
	shim.EventQuery:        func(w *world) error { return second(w.c.QueryEvent(w.e)) },
	shim.EventSynchronize:  func(w *world) error { return w.c.SyncEvent(w.e) },
	shim.EventDestroy:      func(w *world) error { return w.c.DestroyEvent(w.e) },
	shim.MemGetInfo:        func(w *world) error { _, _, err := w.c.MemInfo(); return err },
	shim.MemAlloc:          func(w *world) error { return second(w.c.Alloc(64)) },
	shim.MemFree:           func(w *world) error { return w.c.Free(w.p) },
	shim.CopyIn:            func(w *world) error { return w.c.CopyIn(w.s, w.p, w.h, 64) },
	shim.CopyOut:           func(w *world) error { return w.c.CopyOut(w.s, w.h, w.p, 64) },
	shim.Copy:              func(w *world) error { return w.c.Copy(w.s, w.p, w.r, 64) },
	shim.Fill8:             func(w *world) error { return w.c.Fill8(w.s, w.p, 1, 64) },
	shim.Fill32:            func(w *world) error { return w.c.Fill32(w.s, w.p, 1, 16) },
	shim.HostAlloc:         func(w *world) error { return second(w.c.AllocPinned(64)) },
	shim.HostFree:          func(w *world) error { return w.c.FreePinned(w.h) },
	shim.Granularity:       func(w *world) error { _, _, err := w.c.Granularity(); return err },
	shim.Reserve:           func(w *world) error { return second(w.c.Reserve(granule, 0)) },
	shim.ReleaseRange:      func(w *world) error { return w.c.ReleaseRange(w.r, 2*granule) },
	shim.Create:            func(w *world) error { return second(w.c.Create(granule)) },
	shim.Release:           func(w *world) error { return w.c.Release(w.pg) },
	shim.Map:               func(w *world) error { return w.c.Map(w.r+granule, granule, w.p2) },
	shim.Unmap:             func(w *world) error { return w.c.Unmap(w.r, granule) },
	shim.SetAccess:         func(w *world) error { return w.c.SetAccess(w.r, granule) },
	shim.ModuleLoad:        func(w *world) error { return second(w.c.Load(ptx)) },
	shim.ModuleUnload:      func(w *world) error { return w.m.Unload() },
	shim.ModuleGetFunction: func(w *world) error { return second(w.m.Function("nothing")) },
	shim.FunctionSetAttribute: func(w *world) error {
		return w.f.SetMaxShared(64 << 10)
	},
	shim.FunctionGetAttribute: func(w *world) error { return second(w.f.Attributes()) },
	shim.EventElapsed:         func(w *world) error { return second(w.c.Elapsed(w.e, w.e)) },
	shim.HostFunction:         func(w *world) error { return w.c.CallHost(w.s, func() {}) },
	shim.BeginCapture:         func(w *world) error { return w.c.BeginCapture(w.s) },
	shim.EndCapture:           func(w *world) error { return second(w.c.EndCapture(w.s)) },
	shim.IsCapturing:          func(w *world) error { return second(w.c.Capturing(w.s)) },
	shim.GraphNodes:           func(w *world) error { return second(w.g.Nodes()) },
	shim.GraphDestroy:         func(w *world) error { return w.g.Close() },
	shim.GraphInstantiate:     func(w *world) error { return second(w.g.Instantiate()) },
	shim.GraphLaunch:          func(w *world) error { return w.x.Launch(w.s) },
	shim.ExecDestroy:          func(w *world) error { return w.x.Close() },
	shim.ExecUpdate:           func(w *world) error { return w.x.Update(w.g) },
	shim.EnablePeer:           func(w *world) error { return w.c.EnablePeer(w.c) },
	shim.DisablePeer:          func(w *world) error { return w.c.DisablePeer(w.c) },
	shim.CopyPeer:             func(w *world) error { return w.c.CopyPeer(w.s, w.p, w.c, w.p+32, w.c, 32) },
	shim.DefaultPool:          func(w *world) error { return second(w.c.Pool()) },
	shim.PoolSetAttribute:     func(w *world) error { return w.pool.SetThreshold(0) },
	shim.PoolGetAttribute:     func(w *world) error { _, _, err := w.pool.Used(); return err },
	shim.PoolTrim:             func(w *world) error { return w.pool.Trim(0) },
	shim.AllocAsync:           func(w *world) error { return second(w.pool.Alloc(64, w.s)) },
	shim.FreeAsync:            func(w *world) error { return w.pool.Free(w.q, w.s) },
	shim.LaunchKernel:         func(w *world) error { return w.f.Prepare().Run(w.s, one) },
}

// elsewhere are the entries that no context's method is about.
var elsewhere = []shim.Entry{shim.Init, shim.DriverGetVersion, shim.GetErrorName, shim.DeviceGetCount,
	shim.DeviceGet, shim.DeviceGetName, shim.DeviceGetUUID, shim.DeviceTotalMem, shim.DeviceGetAttribute,
	shim.PrimaryRetain, shim.PrimaryRelease, shim.SetCurrent, shim.CanAccessPeer}

func TestCallsAreAll(t *testing.T) {
	require.Equal(t, int(shim.LaunchKernel)+1, len(calls)+len(elsewhere))
	for _, e := range elsewhere {
		require.NotContains(t, calls, e)
	}
}

// Every code is looked at, its own or that of making the context current, and
// a call that failed has made and taken away nothing.
func TestEachCallCanFail(t *testing.T) {
	w := newWorld(t)
	before := left(w.c.device.library, 0)
	for e, call := range calls {
		inject(t, e, 1, 999)
		requireCode(t, call(w), e.Op(), 999)
		require.NotErrorIs(t, w.c.Synchronize(), ErrDeviceLost)
		inject(t, shim.SetCurrent, 1, 201)
		requireCode(t, call(w), "cuCtxSetCurrent", 201)
		nothingFails(t)
		require.Equal(t, before, left(w.c.device.library, 0), e.Op())
	}
	w.free(t)
}

func TestUploadCanFailTwice(t *testing.T) {
	w := newWorld(t)
	b := make([]byte, 64)
	for op, call := range map[shim.Entry]func() error{
		shim.CopyIn:  func() error { return w.c.Upload(w.s, w.p, b) },
		shim.CopyOut: func() error { return w.c.Download(w.s, b, w.p) },
	} {
		for _, e := range []shim.Entry{op, shim.StreamSynchronize} {
			inject(t, e, 1, 999)
			requireCode(t, call(), e.Op(), 999)
		}
	}
	nothingFails(t)
	w.free(t)
}

// The first sticky code ends everything, and is what everything tells.
func TestLostDevice(t *testing.T) {
	for e, call := range calls {
		w := newWorld(t)
		require.NoError(t, errors.Join(w.c.Unmap(w.r, granule), w.c.Release(w.pg), w.c.Release(w.p2)))
		inject(t, e, 1, 719)
		err := call(w)
		require.ErrorIs(t, err, ErrDeviceLost, e.Op())
		requireCode(t, err, e.Op(), 719)
		nothingFails(t)
		for later, call := range calls {
			err := call(w)
			require.ErrorIs(t, err, ErrDeviceLost, later.Op())
			requireCode(t, err, e.Op(), 719)
		}
		require.ErrorIs(t, w.c.Lost(), ErrDeviceLost)
		require.NoError(t, w.c.Close())
		require.Equal(t, ErrClosed, w.c.Synchronize())
	}
}

func TestLostErrorText(t *testing.T) {
	c := openFake(t)
	require.NoError(t, function(t, load(t, c), "fault").Prepare().Run(0, one))
	require.NoError(t, c.Lost(), "nobody has noticed")
	require.EqualError(t, c.SyncStream(0), "cuda: device cuda:0 is lost; first seen, with the fault in it or in "+
		"earlier work: cuda: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700): a kernel touched memory that is not mapped")
	require.NoError(t, c.Close())

	// The device is there again for who opens it.
	again, err := c.Device().Open()
	require.NoError(t, err)
	require.NoError(t, again.Synchronize())
	require.NoError(t, again.Close())
}

// A kernel's fault is noticed by Close too, which goes through with it.
func TestCloseNoticesLoss(t *testing.T) {
	c := openFake(t)
	m, err := c.Load(ptx)
	require.NoError(t, err)
	require.NoError(t, function(t, m, "fault").Prepare().Run(0, one))
	require.ErrorIs(t, m.Unload(), ErrDeviceLost)
	require.NoError(t, c.Close())
}

func TestStickyCodesHaveNames(t *testing.T) {
	for c := range Code(1000) {
		if c.Sticky() {
			require.NotEmpty(t, c.Text(), int32(c))
		}
	}
	require.False(t, OutOfMemory.Sticky() || NotReady.Sticky() || InvalidValue.Sticky())
}

// Two calls that find the loss at the same time agree on its cause.
func TestFirstCauseStays(t *testing.T) {
	c := openFake(t)
	first := c.check(shim.Out{Code: 700, Entry: shim.EventQuery})
	second := c.check(shim.Out{Code: 719, Entry: shim.MemFree})
	require.Same(t, first, second)
	requireCode(t, second, "cuEventQuery", 700)
	require.NoError(t, c.Close())
}
