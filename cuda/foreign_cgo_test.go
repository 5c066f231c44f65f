//go:build cgo && (linux || darwin)

package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda/internal/shim"
)

func TestForeign(t *testing.T) {
	c := openFake(t)
	setCurrent, context, err := c.Foreign()
	require.NoError(t, err)
	require.NotZero(t, setCurrent)
	require.Equal(t, c.handle, context)
	require.NotEqual(t, c.table.Address(shim.Synchronize), setCurrent)
	require.NoError(t, c.Launched(0))
	require.NoError(t, c.Close())
	_, _, err = c.Foreign()
	require.ErrorIs(t, err, ErrClosed)
}

// With TARN_LAUNCH_BLOCKING=1 the fault of foreign work is found at once.
func TestLaunchedWaits(t *testing.T) {
	c := openFake(t)
	inject(t, shim.StreamSynchronize, 1, 700)
	require.NoError(t, c.Launched(0))
	nothingFails(t)
	t.Setenv("TARN_LAUNCH_BLOCKING", "1")
	c = openFake(t)
	inject(t, shim.StreamSynchronize, 1, 700)
	require.ErrorIs(t, c.Launched(0), ErrDeviceLost)
	nothingFails(t)
}
