//go:build cgo && (linux || darwin)

package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda/internal/shim"
)

func TestContext(t *testing.T) {
	c := openFake(t)
	require.Equal(t, "cuda:0", c.Device().String())
	require.NotZero(t, c.Default())
	require.NoError(t, c.Synchronize())
	require.NoError(t, c.Lost())
	require.Equal(t, map[string]int64{"contexts": 1, "streams": 1}, left(c.device.library, 0))

	// The context is the device's, and stays for its other users.
	other, err := c.Device().Open()
	require.NoError(t, err)
	require.Equal(t, c.handle, other.handle)
	require.NotEqual(t, c.Default(), other.Default())
	require.NoError(t, other.Close())
	require.NoError(t, c.SyncStream(0))
}

func TestOpenUndoesWhatItDid(t *testing.T) {
	l, err := open(fakeDriver(t))
	require.NoError(t, err)
	d, err := l.Device(0)
	require.NoError(t, err)
	for _, e := range []shim.Entry{shim.PrimaryRetain, shim.SetCurrent, shim.StreamCreate} {
		inject(t, e, 1, OutOfMemory)
		c, err := d.Open()
		require.Nil(t, c)
		requireCode(t, err, e.Op(), OutOfMemory)
		requireNothingLeft(t, l)
	}
}

func TestCloseRefusesWhileInUse(t *testing.T) {
	c := openFake(t)
	s, err := c.NewStream(0)
	require.NoError(t, err)
	p, err := c.Alloc(1)
	require.NoError(t, err)
	e, err := c.NewEvent()
	require.NoError(t, err)
	e2, err := c.NewEvent()
	require.NoError(t, err)

	err = c.Close()
	require.EqualError(t, err, "cuda: cuda:0 cannot be closed: live are 1 streams, 2 events, 1 allocations")
	var use *InUseError
	require.ErrorAs(t, err, &use)
	require.Equal(t, map[string]int64{"streams": 1, "events": 2, "allocations": 1}, use.Live)

	require.NoError(t, c.SyncStream(s), "it did nothing")
	require.NoError(t, c.Free(p))
	require.NoError(t, c.DestroyEvent(e))
	require.NoError(t, c.DestroyEvent(e2))
	require.NoError(t, c.DestroyStream(s))
	require.NoError(t, c.Close())
}

func TestCloseErrors(t *testing.T) {
	for _, e := range []shim.Entry{shim.StreamDestroy, shim.PrimaryRelease} {
		l, err := open(fakeDriver(t))
		require.NoError(t, err)
		c := openDevice(t, l, 0)
		inject(t, e, 1, 999)
		requireCode(t, c.Close(), e.Op(), 999)
		require.Equal(t, ErrClosed, c.Close())
	}
	// Work that cannot be waited for is not taken away.
	c := openFake(t)
	inject(t, shim.StreamSynchronize, 1, 999)
	requireCode(t, c.Close(), "cuStreamSynchronize", 999)
	require.NoError(t, c.Synchronize())
}

// What outlives Close is refused, and does not reach the driver.
func TestAfterClose(t *testing.T) {
	w := newWorld(t)
	w.free(t)
	require.NoError(t, w.c.Close())
	for e, call := range calls {
		require.ErrorIs(t, call(w), ErrClosed, e.Op())
	}
	require.Equal(t, ErrClosed, w.c.Close())
	done, err := w.c.QueryStream(0)
	require.False(t, done)
	require.Equal(t, ErrClosed, err)
}
