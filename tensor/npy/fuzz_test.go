package npy_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor/npy"
)

// FuzzRead reads anything: it is refused with the byte named, within the file,
// or read; what was read, written and read again is the same.
func FuzzRead(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.npy")
	require.NoError(f, err)
	for _, p := range paths {
		text, err := os.ReadFile(p)
		require.NoError(f, err)
		f.Add(text)
	}
	for _, c := range bad {
		f.Add(c.file)
	}
	d := newCPU(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		x, err := npy.Read(onlyReader(text), d)
		if err != nil {
			requireWithin(t, err, int64(len(text)))
			return
		}
		defer x.Release()
		first := encoded(t, x)
		y, err := npy.Read(bytes.NewReader(first), d)
		require.NoError(t, err)
		defer y.Release()
		require.Equal(t, first, encoded(t, y))
	})
}

func requireWithin(t testing.TB, err error, size int64) {
	t.Helper()
	var e *npy.Error
	require.True(t, errors.As(err, &e), "%v", err)
	require.GreaterOrEqual(t, e.Offset, int64(-1))
	require.LessOrEqual(t, e.Offset, size)
}

// FuzzReadZip reads anything as an archive: it is refused, or its tensors make
// an archive that reads the same.
func FuzzReadZip(f *testing.F) {
	for _, name := range []string{"stored.npz", "deflated.npz"} {
		text, err := os.ReadFile(path(name))
		require.NoError(f, err)
		f.Add(text)
	}
	one := file(1, dict("<f4", "(1,)"), 1, 2, 3, 4)
	f.Add(archiveOf(f, zip.Store, "a.npy", one, "b.npy", one))
	d := newCPU(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := readZip(text, d)
		if err != nil {
			requireWithin(t, err, math.MaxInt64)
			return
		}
		var first, second bytes.Buffer
		require.NoError(t, npy.WriteZip(&first, npy.Stored, all...))
		again, err := readZip(first.Bytes(), d)
		require.NoError(t, err)
		require.NoError(t, npy.WriteZip(&second, npy.Stored, again...))
		require.Equal(t, first.Bytes(), second.Bytes())
		for _, n := range append(all, again...) {
			require.NoError(t, n.Tensor.Release())
		}
	})
}
