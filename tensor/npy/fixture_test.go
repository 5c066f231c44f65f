package npy_test

import (
	"bytes"
	"encoding/json"
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
	dt, ok := map[string]tensor.DType{
		"float16": tensor.Float16, "float32": tensor.Float32, "float64": tensor.Float64, "bool": tensor.Bool, "uint8": tensor.Uint8,
		"int8": tensor.Int32, "int16": tensor.Int32, "uint16": tensor.Int32, "int32": tensor.Int32, "uint32": tensor.Int64, "int64": tensor.Int64,
	}[want.DType]
	require.True(t, ok, want.DType)
	require.Equal(t, dt, x.DType())
	require.Equal(t, tensor.Shape(want.Shape), x.Shape())
	require.True(t, x.IsContiguous())
	got := map[tensor.DType]func() []string{
		tensor.Float32: func() []string { return texts(t, x, func(v float32) string { return floatText(float64(v)) }) },
		tensor.Float64: func() []string { return texts(t, x, floatText) },
		tensor.Float16: func() []string {
			return texts(t, x, func(v tensor.F16) string { return floatText(float64(v.Float32())) })
		},
		tensor.Int64: func() []string { return texts(t, x, func(v int64) string { return strconv.FormatInt(v, 10) }) },
		tensor.Int32: func() []string { return texts(t, x, func(v int32) string { return strconv.Itoa(int(v)) }) },
		tensor.Uint8: func() []string { return texts(t, x, func(v uint8) string { return strconv.Itoa(int(v)) }) },
		tensor.Bool: func() []string {
			return texts(t, x, func(v bool) string { return map[bool]string{true: "1", false: "0"}[v] })
		},
	}[dt]()
	values := want.Values
	if dt.IsFloat() {
		values = nil
		for _, s := range want.Values {
			v, err := strconv.ParseFloat(s, 64)
			require.NoError(t, err)
			values = append(values, floatText(v))
		}
	}
	require.Equal(t, append([]string{}, values...), got)
}

// texts reads x and writes each element.
func texts[T tensor.Element](t testing.TB, x *tensor.Tensor, write func(T) string) []string {
	t.Helper()
	data, err := tensor.Data[T](x)
	require.NoError(t, err)
	out := make([]string, len(data))
	for i, v := range data {
		out[i] = write(v)
	}
	return out
}

// floatText has every bit of v, but that any NaN is one.
func floatText(v float64) string { return strconv.FormatFloat(v, 'x', -1, 64) }

// TestWritesAsNumPy writes what was read of NumPy's files of version 1, row-major
// and little-endian, and gets the same file.
func TestWritesAsNumPy(t *testing.T) {
	d := newCPU(t)
	for _, name := range []string{
		"f4", "f8", "i8", "f4_scalar", "f8_scalar", "i8_scalar", "f4_empty", "f8_empty", "i8_empty",
		"vector", "column", "rank8", "f4_special", "f8_special", "i8_limits", "f2", "i4_limits", "u1_limits", "b1",
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

// TestRefusesByName: what no type of a tensor holds is refused,
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
