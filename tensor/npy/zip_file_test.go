package npy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
	"tarn/tensor/npy"
)

// TestZipFile: an archive goes to a file and comes back, in the place of what was
// there; what is no archive, or not there, is an error.
func TestZipFile(t *testing.T) {
	dev, path := tensor.CPU(), filepath.Join(t.TempDir(), "a.npz")
	require.NoError(t, os.WriteFile(path, make([]byte, 5000), 0o600))
	_, err := npy.ReadZipFile(path, dev)
	var e *npy.Error
	require.ErrorAs(t, err, &e)

	x := tensor.FromSlice(dev, []int64{1, 2, 3})
	require.NoError(t, npy.WriteZipFile(path, npy.Stored, npy.Named{Name: "x", Tensor: x}))
	arrays, err := npy.ReadZipFile(path, dev)
	require.NoError(t, err)
	require.Len(t, arrays, 1)
	require.Equal(t, "x", arrays[0].Name)
	data, err := tensor.Data[int64](arrays[0].Tensor)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2, 3}, data)

	require.ErrorIs(t, npy.WriteZipFile(path, npy.Stored, npy.Named{Name: "x", Tensor: x.To(tensor.BFloat16)}), tensor.ErrDType)
	require.ErrorIs(t, npy.WriteZipFile(filepath.Join(t.TempDir(), "none", "b"), npy.Stored), os.ErrNotExist)
	arrays, err = npy.ReadZipFile(path, dev)
	require.NoError(t, err)
	require.Len(t, arrays, 1, "as it was")
	files, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, files, 1)
	_, err = npy.ReadZipFile(filepath.Join(t.TempDir(), "none"), dev)
	require.ErrorIs(t, err, os.ErrNotExist)
}
