//go:build !cgo || !(linux || darwin)

package dl

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEverythingIsRefused(t *testing.T) {
	l, err := Open("libm.so.6")
	require.Nil(t, l)
	require.ErrorIs(t, err, ErrNoLoader)
	_, err = new(Library).Symbol("cos")
	require.ErrorIs(t, err, ErrNoLoader)
	require.NoError(t, new(Library).Close())
}
