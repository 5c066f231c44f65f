//go:build cgo && (linux || darwin)

package cuda

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda/internal/shim"
)

func TestAlloc(t *testing.T) {
	c := openFake(t, "CAPACITY=1000")
	p, err := c.Alloc(600)
	require.NoError(t, err)
	require.NotZero(t, p)
	free, total, err := c.MemInfo()
	require.NoError(t, err)
	require.Equal(t, []int64{400, 1000}, []int64{free, total})

	_, err = c.Alloc(401)
	requireCode(t, err, "cuMemAlloc", OutOfMemory)
	for _, size := range []int64{0, -1} {
		_, err = c.Alloc(size)
		requireCode(t, err, "cuMemAlloc", InvalidValue)
	}
	requireCode(t, c.Free(p+1), "cuMemFree", InvalidValue)
	requireCode(t, c.Free(0), "cuMemFree", InvalidValue)
	require.NoError(t, c.Free(p))
	requireCode(t, c.Free(p), "cuMemFree", InvalidValue)
}

func TestCopies(t *testing.T) {
	c := openFake(t)
	s, err := c.NewStream(0)
	require.NoError(t, err)
	p, q := alloc(t, c, 100), alloc(t, c, 100)
	h, err := c.AllocPinned(100)
	require.NoError(t, err)
	host := h.Bytes(100)
	for i := range host {
		host[i] = byte(i)
	}
	require.NoError(t, c.CopyIn(s, p, h, 100))
	require.NoError(t, c.Copy(0, q, p+10, 50))
	require.NoError(t, c.Fill8(s, q+50, 7, 50))
	require.NoError(t, c.CopyOut(s, h, q, 100))
	require.NoError(t, c.SyncStream(s))
	for i := range 50 {
		require.Equal(t, byte(i+10), host[i])
	}
	require.Equal(t, bytes.Repeat([]byte{7}, 50), host[50:])

	got := make([]byte, 12)
	require.NoError(t, c.Fill32(0, p+4, 0x04030201, 2))
	require.NoError(t, c.Download(0, got, p))
	require.Equal(t, []byte{0, 1, 2, 3, 1, 2, 3, 4, 1, 2, 3, 4}, got)
	require.NoError(t, c.Upload(s, p, nil))
	require.NoError(t, c.Copy(s, p, q, 0))

	requireCode(t, c.Copy(s, p, q, 101), "cuMemcpyDtoDAsync", InvalidValue)
	requireCode(t, c.CopyIn(s, p+1, h, 100), "cuMemcpyHtoDAsync", InvalidValue)
	requireCode(t, c.CopyOut(s, h, p, -1), "cuMemcpyDtoHAsync", InvalidValue)
	requireCode(t, c.Upload(s, p, make([]byte, 101)), "cuMemcpyHtoDAsync", InvalidValue)
	requireCode(t, c.Fill8(s, p, 0, -1), "cuMemsetD8Async", InvalidValue)
	requireCode(t, c.Fill32(s, p, 0, -1), "cuMemsetD32Async", InvalidValue)
	requireCode(t, c.Fill32(s, p+2, 0, 1), "cuMemsetD32Async", InvalidValue)

	require.NoError(t, c.FreePinned(h))
	requireCode(t, c.FreePinned(h), "cuMemFreeHost", InvalidValue)
	requireCode(t, c.FreePinned(0), "cuMemFreeHost", InvalidValue)
	_, err = c.AllocPinned(0)
	requireCode(t, err, "cuMemHostAlloc", InvalidValue)
	require.NoError(t, c.DestroyStream(s))
}

// A page moves to another address with what is in it.
func TestVirtualMemory(t *testing.T) {
	c := openFake(t)
	least, recommended, err := c.Granularity()
	require.NoError(t, err)
	require.Equal(t, []int64{granule, 2 * granule}, []int64{least, recommended})
	r, err := c.Reserve(4*granule, 8*granule)
	require.NoError(t, err)
	require.Zero(t, r%(8*granule))
	pg, err := c.Create(granule)
	require.NoError(t, err)
	free, _, err := c.MemInfo()
	require.NoError(t, err)
	require.EqualValues(t, 64<<20-granule, free)

	require.NoError(t, c.Map(r, granule, pg))
	requireCode(t, c.Upload(0, r, []byte("here")), "cuMemcpyHtoDAsync", InvalidValue)
	require.NoError(t, c.SetAccess(r, granule))
	require.NoError(t, c.Upload(0, r, []byte("here")))
	require.NoError(t, c.Unmap(r, granule))
	require.NoError(t, c.Map(r+2*granule, granule, pg))
	require.NoError(t, c.SetAccess(r+2*granule, granule))
	require.NoError(t, c.Release(pg), "it lives on while it is mapped")
	got := make([]byte, 4)
	require.NoError(t, c.Download(0, got, r+2*granule))
	require.Equal(t, "here", string(got))

	require.NoError(t, c.Unmap(r+2*granule, granule))
	free, _, err = c.MemInfo()
	require.NoError(t, err)
	require.EqualValues(t, 64<<20, free)
	require.NoError(t, c.ReleaseRange(r, 4*granule))
}

func TestVirtualMemoryMisuse(t *testing.T) {
	w := newWorld(t)
	c, r := w.c, w.r
	for name, call := range map[string]func() error{
		"cuMemMap over a mapping":         func() error { return c.Map(r, granule, w.p2) },
		"cuMemMap out of the range":       func() error { return c.Map(r+2*granule, granule, w.p2) },
		"cuMemMap of half a page":         func() error { return c.Map(r+granule, granule/2, w.p2) },
		"cuMemMap of nothing":             func() error { return c.Map(r+granule, granule, 0) },
		"cuMemUnmap of a part":            func() error { return c.Unmap(r, granule/2) },
		"cuMemUnmap beyond the mapping":   func() error { return c.Unmap(r, 2*granule) },
		"cuMemUnmap of a hole":            func() error { return c.Unmap(r+granule, granule) },
		"cuMemSetAccess over a hole":      func() error { return c.SetAccess(r, 2*granule) },
		"cuMemAddressFree while mapped":   func() error { return c.ReleaseRange(r, 2*granule) },
		"cuMemAddressFree of a part":      func() error { return c.ReleaseRange(r, granule) },
		"cuMemRelease of nothing":         func() error { return c.Release(0) },
		"cuMemCreate of half a granule":   func() error { return second(c.Create(granule / 2)) },
		"cuMemCreate of no bytes":         func() error { return second(c.Create(0)) },
		"cuMemAddressReserve of no bytes": func() error { return second(c.Reserve(0, 0)) },
		"cuMemAddressReserve oddly":       func() error { return second(c.Reserve(granule, 3*granule)) },
	} {
		op, _, _ := bytes.Cut([]byte(name), []byte(" "))
		requireCode(t, call(), string(op), InvalidValue)
	}
	_, err := c.Create(64 << 20)
	requireCode(t, err, "cuMemCreate", OutOfMemory)
	w.free(t)
	requireCode(t, c.Release(w.pg), "cuMemRelease", InvalidValue)
}

// One missing function switches all of virtual memory off, and nothing else.
func TestWithoutVirtualMemory(t *testing.T) {
	c := openFake(t, "cuMemUnmap=absent")
	require.Equal(t, []string{"virtual memory"}, c.device.library.Missing())
	require.False(t, c.Device().VirtualMemory)
	w := &world{c: c}
	for e := shim.Granularity; e <= shim.SetAccess; e++ {
		err := calls[e](w)
		require.ErrorIs(t, err, ErrNotSupported)
		require.EqualError(t, err, "cuda: "+e.Op()+": virtual memory is off: the driver lacks a function of it")
	}
	require.NoError(t, c.Free(must(t)(c.Alloc(1))))
}

func must(t *testing.T) func(DevicePtr, error) DevicePtr {
	return func(p DevicePtr, err error) DevicePtr {
		t.Helper()
		require.NoError(t, err)
		return p
	}
}
