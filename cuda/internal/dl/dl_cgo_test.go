//go:build cgo && (linux || darwin)

package dl

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// mathLibrary is one that every machine has.
func mathLibrary(t *testing.T) *Library {
	t.Helper()
	name := "libm.so.6"
	if runtime.GOOS == "darwin" {
		name = "libm.dylib"
	}
	l, err := Open(name)
	if err != nil {
		t.Skipf("this system has no %s: %v", name, err)
	}
	return l
}

func TestSymbol(t *testing.T) {
	l := mathLibrary(t)
	cos, err := l.Symbol("cos")
	require.NoError(t, err)
	sin, err := l.Symbol("sin")
	require.NoError(t, err)
	require.NotZero(t, cos)
	require.NotEqual(t, cos, sin)

	none, err := l.Symbol("cuInit")
	require.Zero(t, none)
	require.ErrorContains(t, err, "cuInit")
	require.NoError(t, l.Close())
}

func TestOpenFails(t *testing.T) {
	for _, name := range []string{"libtarn-no-such-library.so.1", "/", t.TempDir()} {
		l, err := Open(name)
		require.Nil(t, l, name)
		require.Error(t, err, name)
		require.NotErrorIs(t, err, ErrNoLoader, name)
	}
}
