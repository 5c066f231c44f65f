//go:build !cgo || !(linux || darwin)

package cuda

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
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
	_, err = connect("x", nil)
	require.ErrorIs(t, err, ErrNoLoader)
}
