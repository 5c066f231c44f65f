//go:build !cgo || !(linux || darwin)

package cuda

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda/internal/shim"
)

func TestOpenWithoutLoader(t *testing.T) {
	l, err := Open()
	require.Nil(t, l)
	require.ErrorIs(t, err, ErrNoLoader)
	var load *LoadError
	require.ErrorAs(t, err, &load)
	require.Equal(t, "libcuda.so.1", load.Library)
	if runtime.GOOS == "linux" || runtime.GOOS == "darwin" {
		require.Contains(t, err.Error(), "built without cgo")
	}
	_, err = NewLibrary("x", nil)
	require.ErrorIs(t, err, ErrNoLoader)
}

// The API is the same; what reaches for the driver finds nothing there.
func TestNothingToCall(t *testing.T) {
	l := &Library{table: new(shim.Table), devices: 1}
	_, err := l.Device(0)
	require.ErrorIs(t, err, ErrNotSupported)
	c := &Context{device: &Device{library: l}, table: l.table}
	_, err = c.device.Open()
	require.ErrorIs(t, err, ErrNotSupported)
	_, err = c.Load(".version 7.0")
	require.ErrorIs(t, err, ErrNotSupported)
	_, err = (&Module{context: c}).Function("f")
	require.ErrorIs(t, err, ErrNotSupported)
	require.ErrorIs(t, (&Function{context: c, module: new(Module)}).Prepare().Run(0, Grid{}), ErrNotSupported)
	require.ErrorIs(t, c.Upload(0, 0, []byte("x")), ErrNotSupported)
	require.ErrorIs(t, c.Synchronize(), ErrNotSupported)
}
