//go:build !cgo || !(linux || darwin)

package nvml

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
)

func TestOpenWithoutLoader(t *testing.T) {
	l, err := Open()
	require.Nil(t, l)
	require.ErrorIs(t, err, cuda.ErrNoLoader)
	require.ErrorContains(t, err, "nvml: cannot use libnvidia-ml.so.1: ")
	_, err = find(nil)
	require.ErrorIs(t, err, cuda.ErrNoLoader)
}
