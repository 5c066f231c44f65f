//go:build cgo && (linux || darwin)

package cuda

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// openTwo opens both devices of a fake driver.
func openTwo(t *testing.T) (*Context, *Context) {
	t.Helper()
	l, err := open(fakeDriver(t))
	require.NoError(t, err)
	t.Cleanup(func() { requireNothingLeft(t, l) })
	return openDevice(t, l, 0), openDevice(t, l, 1)
}

func TestCanAccess(t *testing.T) {
	a, b := openTwo(t)
	for _, pair := range [][2]*Device{{a.Device(), b.Device()}, {b.Device(), a.Device()}, {a.Device(), a.Device()}} {
		can, err := pair[0].CanAccess(pair[1])
		require.NoError(t, err)
		require.Equal(t, pair[0] != pair[1], can)
	}
}

func TestPeerAccess(t *testing.T) {
	a, b := openTwo(t)
	p, q := alloc(t, a, 4), alloc(t, b, 4)
	require.NoError(t, b.Fill8(0, q, 7, 4))
	requireCode(t, a.Copy(0, p, q, 4), "cuMemcpyDtoDAsync", InvalidValue)
	requireCode(t, a.DisablePeer(b), "cuCtxDisablePeerAccess", 705)
	require.NoError(t, a.EnablePeer(b))
	require.NoError(t, a.EnablePeer(b), "it is on already")
	require.NoError(t, a.Copy(0, p, q, 4))
	require.Equal(t, byte(7), word(t, a, p))
	requireCode(t, b.Copy(0, q, p, 4), "cuMemcpyDtoDAsync", InvalidValue) // the other way is another call
	require.NoError(t, a.DisablePeer(b))
	requireCode(t, a.Copy(0, p, q, 4), "cuMemcpyDtoDAsync", InvalidValue)
	requireCode(t, a.EnablePeer(a), "cuCtxEnablePeerAccess", 101)
}

func TestCopyPeer(t *testing.T) {
	a, b := openTwo(t)
	p, q := alloc(t, a, 4), alloc(t, b, 4)
	require.NoError(t, b.Fill8(0, q, 9, 4))
	require.NoError(t, a.CopyPeer(0, p, a, q, b, 4))
	require.Equal(t, byte(9), word(t, a, p))
	requireCode(t, a.CopyPeer(0, p, b, q, a, 4), "cuMemcpyPeerAsync", InvalidValue)
	requireCode(t, a.CopyPeer(0, p, a, q, b, -1), "cuMemcpyPeerAsync", InvalidValue)
}

func TestPeerIsClosed(t *testing.T) {
	a, b := openTwo(t)
	p := alloc(t, a, 4)
	require.NoError(t, b.Close())
	require.Equal(t, ErrClosed, a.EnablePeer(b))
	require.Equal(t, ErrClosed, a.DisablePeer(b))
	require.Equal(t, ErrClosed, a.CopyPeer(0, p, a, p, b, 4))
}

// Pages can be used by the devices that were given access, from any context.
func TestSetAccessFrom(t *testing.T) {
	a, b := openTwo(t)
	r, err := a.Reserve(granule, 0)
	require.NoError(t, err)
	pg, err := a.Create(granule)
	require.NoError(t, err)
	require.NoError(t, errors.Join(a.Map(r, granule, pg), a.SetAccess(r, granule)))
	require.NoError(t, a.Fill8(0, r, 3, 1))
	requireCode(t, b.Fill8(0, r+1, 4, 1), "cuMemsetD8Async", InvalidValue)
	require.NoError(t, a.SetAccessFrom(r, granule, b.Device()))
	require.NoError(t, b.Fill8(0, r+1, 4, 1))
	require.Equal(t, []byte{3, 4}, []byte{word(t, b, r), word(t, a, r+1)}, "the first keeps its access")
	require.NoError(t, errors.Join(a.Unmap(r, granule), a.Release(pg), a.ReleaseRange(r, granule)))
}
