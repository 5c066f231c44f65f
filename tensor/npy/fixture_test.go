package npy_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
	"tarn/tensor/npy"
)

// contents is what NumPy says of an array: all numbers as text.
type contents struct {
	Name   string
	DType  string
	Shape  []int
	Values []string
}

type fixtures struct {
	Read     map[string]contents
	Refused  map[string]string
	Archives map[string][]contents
}

func load(t testing.TB) fixtures {
	t.Helper()
	text, err := os.ReadFile("testdata/expected.json")
	require.NoError(t, err)
	var f fixtures
	require.NoError(t, json.Unmarshal(text, &f))
	return f
}

func path(name string) string { return filepath.Join("testdata", name) }

// TestReadsNumPy reads what NumPy wrote and finds the same bits.
func TestReadsNumPy(t *testing.T) {
	d := newCPU(t)
	fixed := load(t).Read
	require.Len(t, fixed, 40)
	for name, want := range fixed {
		t.Run(name, func(t *testing.T) {
			x, err := npy.ReadFile(path(name+".npy"), d)
			require.NoError(t, err)
			defer x.Release()
			requireContents(t, want, x)

			bytes, err := os.ReadFile(path(name + ".npy"))
			require.NoError(t, err)
			y, err := npy.Read(onlyReader(bytes), d)
			require.NoError(t, err)
			defer y.Release()
			requireContents(t, want, y)
		})
	}
}

func requireContents(t testing.TB, want contents, x *tensor.Tensor) {
	t.Helper()
	dt := map[string]tensor.DType{"float16": tensor.Float32, "float32": tensor.Float32, "float64": tensor.Float64}[want.DType]
	if dt == 0 {
		dt = tensor.Int64
	}
	require.Equal(t, dt, x.DType())
	require.Equal(t, tensor.Shape(want.Shape), x.Shape())
	require.True(t, x.IsContiguous())
	if dt == tensor.Int64 {
		got, err := tensor.Data[int64](x)
		require.NoError(t, err)
		require.Len(t, want.Values, len(got))
		for i, v := range got {
			require.Equal(t, want.Values[i], strconv.FormatInt(v, 10), "element %d", i)
		}
		return
	}
	y := x.To(tensor.Float64)
	defer y.Release()
	got, err := tensor.Data[float64](y)
	require.NoError(t, err)
	require.Len(t, want.Values, len(got))
	for i, v := range got {
		w, err := strconv.ParseFloat(want.Values[i], 64)
		require.NoError(t, err)
		same := math.Float64bits(w) == math.Float64bits(v) || math.IsNaN(w) && math.IsNaN(v)
		require.True(t, same, "element %d is %v, want %v", i, v, w)
	}
}

// TestWritesAsNumPy writes what was read of NumPy's files of version 1, row-major
// and little-endian, and gets the same file.
func TestWritesAsNumPy(t *testing.T) {
	d := newCPU(t)
	for _, name := range []string{
		"f4", "f8", "i8", "f4_scalar", "f8_scalar", "i8_scalar", "f4_empty", "f8_empty", "i8_empty",
		"vector", "column", "rank8", "f4_special", "f8_special", "i8_limits",
	} {
		x, err := npy.ReadFile(path(name+".npy"), d)
		require.NoError(t, err)
		want, err := os.ReadFile(path(name + ".npy"))
		require.NoError(t, err)
		require.Equal(t, want, encoded(t, x), name)

		out := filepath.Join(t.TempDir(), "x.npy")
		require.NoError(t, npy.WriteFile(out, x))
		got, err := os.ReadFile(out)
		require.NoError(t, err)
		require.Equal(t, want, got, name)
		require.NoError(t, x.Release())
	}
}

// TestRefusesByName: what int64, float32 and float64 do not hold is refused,
// and the error says what it is and where the file says so.
func TestRefusesByName(t *testing.T) {
	d := newCPU(t)
	fixed := load(t).Refused
	require.Len(t, fixed, 14)
	for name, says := range fixed {
		_, err := npy.ReadFile(path(name+".npy"), d)
		var e *npy.Error
		require.ErrorAs(t, err, &e, name)
		require.Contains(t, e.What, says, name)
		require.Equal(t, path(name+".npy"), e.Name)
		text, err := os.ReadFile(path(name + ".npy"))
		require.NoError(t, err)
		require.Contains(t, []byte("'[1"), text[e.Offset], "%s: byte %d", name, e.Offset)
	}
}

// TestReadsArchives reads NumPy's archives in their order.
func TestReadsArchives(t *testing.T) {
	d := newCPU(t)
	for name, want := range load(t).Archives {
		archive, err := os.ReadFile(path(name + ".npz"))
		require.NoError(t, err)
		got, err := npy.ReadZip(bytes.NewReader(archive), int64(len(archive)), d)
		require.NoError(t, err)
		require.Len(t, got, len(want)+1)
		for i, w := range want {
			require.Equal(t, w.Name, got[i].Name)
			requireContents(t, w, got[i].Tensor)
		}
		require.Equal(t, "zeros", got[len(want)].Name)
		require.Equal(t, tensor.Shape{999}, got[len(want)].Tensor.Shape())
		for _, n := range got {
			require.NoError(t, n.Tensor.Release())
		}
	}
}
