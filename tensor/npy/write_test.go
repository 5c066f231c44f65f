package npy_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
	"tarn/tensor/npy"
)

// views are handles on x [4,6] that are not dense in row-major order, and some
// that are but begin or end within x.
var views = map[string]func(x *tensor.Tensor) *tensor.Tensor{
	"whole":      func(x *tensor.Tensor) *tensor.Tensor { return x.Slice(0, 0, 4, 1) },
	"transposed": func(x *tensor.Tensor) *tensor.Tensor { return x.T() },
	"rows":       func(x *tensor.Tensor) *tensor.Tensor { return x.Slice(0, 1, 3, 1) },
	"columns":    func(x *tensor.Tensor) *tensor.Tensor { return x.Slice(1, 1, 3, 1) },
	"steps":      func(x *tensor.Tensor) *tensor.Tensor { return x.Slice(1, 1, 6, 2) },
	"one column": func(x *tensor.Tensor) *tensor.Tensor { return x.Slice(1, 2, 3, 1) },
	"nothing":    func(x *tensor.Tensor) *tensor.Tensor { return x.Slice(1, 3, 3, 1) },
	"expanded": func(x *tensor.Tensor) *tensor.Tensor {
		row := x.Slice(0, 2, 3, 1)
		defer row.Release()
		return row.Expand(5, 6)
	},
}

// TestWritesViews writes views and dense copies of them: the files are the same,
// and read back they are the view.
func TestWritesViews(t *testing.T) {
	d := newCPU(t)
	for _, dt := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int64} {
		x := numbers(d, dt, 4, 6)
		for name, view := range views {
			v := view(x)
			dense := v.Clone()
			text := encoded(t, v)
			require.Equal(t, encoded(t, dense), text, "%s of %v", name, dt)
			got, err := npy.Read(bytes.NewReader(text), d)
			require.NoError(t, err)
			require.Equal(t, v.Shape(), got.Shape())
			require.Equal(t, text, encoded(t, got))
			for _, h := range []*tensor.Tensor{v, dense, got} {
				require.NoError(t, h.Release())
			}
		}
		require.NoError(t, x.Release())
	}
}

// numbers returns 0, 1, 2 and so on.
func numbers(d *tensor.Device, dt tensor.DType, shape ...int) *tensor.Tensor {
	n := make([]int64, tensor.Shape(shape).Len())
	for i := range n {
		n[i] = int64(i)
	}
	ints := tensor.FromSlice(d, n, shape...)
	defer ints.Release()
	return ints.To(dt)
}

// TestManyChunks goes there and back with more elements than are converted, or
// taken memory for, at a time.
func TestManyChunks(t *testing.T) {
	d := newCPU(t)
	x := numbers(d, tensor.Int64, 3, 33333)
	defer x.Release()
	y, err := npy.Read(onlyReader(encoded(t, x)), d)
	require.NoError(t, err)
	defer y.Release()
	want, err := tensor.Data[int64](x)
	require.NoError(t, err)
	got, err := tensor.Data[int64](y)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// full takes so many bytes.
type full int

var errFull = errors.New("full")

func (f *full) Write(b []byte) (int, error) {
	if *f -= full(len(b)); *f < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestWriteErrors: a tensor with an error is returned as that, before the file
// is touched; so are a writer's errors, wherever they come.
func TestWriteErrors(t *testing.T) {
	d := newCPU(t)
	name := filepath.Join(t.TempDir(), "x.npy")
	require.NoError(t, os.WriteFile(name, []byte("old"), 0o600))
	failed := tensor.Zeros(d, tensor.Float32, -1)
	for _, err := range []error{
		npy.Write(&bytes.Buffer{}, failed), npy.WriteFile(name, failed),
		npy.WriteZip(&bytes.Buffer{}, npy.Stored, npy.Named{Name: "x", Tensor: failed}),
	} {
		require.ErrorIs(t, err, tensor.ErrShape)
	}
	half := tensor.FromSlice(d, []tensor.BF16{1})
	defer half.Release()
	var written bytes.Buffer
	for _, err := range []error{
		npy.Write(&written, half), npy.WriteFile(name, half),
		npy.WriteZip(&written, npy.Stored, npy.Named{Name: "x", Tensor: half}),
	} {
		require.ErrorIs(t, err, tensor.ErrDType)
		require.ErrorContains(t, err, "NumPy has no bfloat16")
	}
	require.Zero(t, written.Len())
	old, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "old", string(old))

	x := numbers(d, tensor.Float64, 100, 100)
	defer x.Release()
	whole := len(encoded(t, x))
	for _, room := range []int{0, 127, 128, 5000, whole - 1} {
		f := full(room)
		require.ErrorIs(t, npy.Write(&f, x), errFull, "%d of %d bytes", room, whole)
		f = full(room)
		require.ErrorIs(t, npy.WriteZip(&f, npy.Stored, npy.Named{Name: "x", Tensor: x}), errFull)
	}
	require.Error(t, npy.WriteFile(filepath.Join(name, "below a file"), x))
}
