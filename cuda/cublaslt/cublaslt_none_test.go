//go:build !cgo || !(linux || darwin)

package cublaslt

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
)

func TestOpenWithoutLoader(t *testing.T) {
	l, err := Open(new(cuda.Context))
	require.Nil(t, l)
	require.ErrorIs(t, err, cuda.ErrNoLoader)
	require.ErrorContains(t, err, "cublaslt: ")
	_, err = find(nil)
	require.ErrorIs(t, err, cuda.ErrNoLoader)
}
