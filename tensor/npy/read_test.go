package npy_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"tarn/memory"
	"tarn/tensor"
	"tarn/tensor/npy"
)

// onlyReader hides the length of b.
func onlyReader(b []byte) io.Reader { return struct{ io.Reader }{bytes.NewReader(b)} }

// bad is files that are refused: the byte that is named, and what is said.
var bad = []struct {
	name   string
	file   []byte
	offset int64
	says   string
}{
	{"empty", nil, 0, "magic"},
	{"cut in the magic", []byte("\x93NUM"), 4, "magic"},
	{"another file", []byte("PK\x03\x04aaaaaaaa"), 0, "0x50 where the magic has 0x93"},
	{"magic in the wrong case", []byte("\x93NUMPy\x01\x00\x00\x00"), 5, "0x79"},
	{"version 0", file(0, dict("<f4", "(1,)")), 6, "version 0.0"},
	{"version 4", file(4, dict("<f4", "(1,)")), 6, "version 4.0"},
	{"no length", []byte("\x93NUMPY\x01\x00\x01"), 9, "length of the header"},
	{"header longer than the file", []byte("\x93NUMPY\x01\x00\xff\xff{'descr'"), 18, "cannot read the header"},
	{"header of 4 GiB", []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{"), 8, "4294967295 bytes"},
	{"no dict", file(1, "hello"), 10, "where '{'"},
	{"header of nothing", file(1, ""), 10, "ends where '{'"},
	{"not UTF-8", file(3, "{'\xff': 1}"), 12, "UTF-8"},
	{"dict that does not end", file(1, "{'descr': '<f4'"), 25, "ends where '}'"},
	{"no shape", file(1, "{'descr': '<f4', 'fortran_order': True}"), 48, "want descr"},
	{"other key", file(1, "{'descr': '<f4', 'x': 1}"), 27, `key "x"`},
	{"key twice", file(1, "{'descr': '<f4', 'descr': '<f8'}"), 27, "twice"},
	{"key that is no string", file(1, "{1: 2}"), 11, "want a string"},
	{"string that does not end", file(1, "{'descr"), 11, "does not end"},
	{"escape", file(1, `{'de\x73cr': 1}`), 14, "backslash"},
	{"no colon", file(1, "{'descr' '<f4'}"), 19, "':'"},
	{"something behind the dict", file(1, dict("<f4", "(1,)")+"; import os"), 65, "after the dict"},
	{"truth of a number", file(1, "{'fortran_order': 1}"), 28, "True nor False"},
	{"code", file(1, "{'shape': __import__('os')}"), 20, "'(' should be"},
	{"shape of one number", file(1, "{'shape': (3)}"), 22, "','"},
	{"shape of a list", file(1, "{'shape': [3]}"), 20, "'('"},
	{"negative dim", file(1, "{'shape': (-3,)}"), 21, "no size"},
	{"float dim", file(1, "{'shape': (3.0,)}"), 22, "','"},
	{"dim that overflows", file(1, "{'shape': (2, 99999999999999999999)}"), 24, "dim 1 is no size"},
	{"product that overflows", file(1, "{'shape': (4294967296, 4294967296)}"), 20, "overflow"},
	{"product that overflows as bytes", file(1, "{'shape': (2305843009213693952,)}"), 20, "overflow"},
	{"overflow behind 0", file(1, "{'shape': (0, 4294967296, 4294967296)}"), 20, "overflow"},
	{"deep", file(1, "{'shape': "+strings.Repeat("(", 60000)), 21, "dim 0 is no size"},
	{"deep dicts", file(1, strings.Repeat("{", 60000)), 11, "want a string"},
	{"many dims", file(1, "{'shape': ("+strings.Repeat("1,", 9)+")}"), 37, "more than 8 dims"},
	{"long in version 3", file(3, "{'shape': (3L,)}"), 24, "','"},
	{"no byte order", file(1, dict("f4", "(1,)")), 20, `dtype "f4"`},
	{"native byte order", file(1, dict("=f4", "(1,)")), 20, "byte order '='"},
	{"no order of 4 bytes", file(1, dict("|f4", "(1,)")), 20, "byte order '|'"},
	{"empty type", file(1, dict("", "(1,)")), 20, "empty"},
	{"unknown type", file(1, dict("<x4", "(1,)")), 20, `dtype "<x4"`},
	{"one element too few", file(1, dict("<f4", "(2,)"), 1, 2, 3, 4, 5), 70, "cannot read the elements"},
	{"a terabyte", file(1, dict("<f8", "(137438953472,)"), 1), 77, "cannot read the elements"},
	{"bool of 2", file(1, dict("|b1", "(3,)"), 1, 0, 2), 67, "element 2 is 0x02"},
}

// TestBad reads each bad file. The error names the byte, nothing is left on the
// device and, a terabyte or not, little was allocated to find out.
func TestBad(t *testing.T) {
	d := newCPU(t)
	for _, c := range bad {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := npy.Read(onlyReader(c.file), d)
			runtime.ReadMemStats(&after)
			var e *npy.Error
			require.ErrorAs(t, err, &e)
			require.Contains(t, err.Error(), c.says)
			require.Equal(t, c.offset, e.Offset, err.Error())
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
			require.Zero(t, live(d))
		})
	}
}

// TestSizeOfFile compares what the header says with the file's size before it
// takes memory for it.
func TestSizeOfFile(t *testing.T) {
	d := newCPU(t)
	name := filepath.Join(t.TempDir(), "x.npy")
	for _, c := range []struct {
		file   []byte
		offset int64
		says   string
	}{
		{file(1, dict("<f8", "(137438953472,)"), 1), 76, "is 1099511627776 bytes, 1 follow"},
		{file(1, dict("<f4", "(1,)"), 1, 2, 3, 4, 5), 65, "is 4 bytes, 5 follow"},
		{[]byte("\x93NUMPY\x01\x00\xff\xff{'descr'"), 8, "65535 bytes where 8 follow"},
	} {
		require.NoError(t, os.WriteFile(name, c.file, 0o600))
		_, err := npy.ReadFile(name, d)
		var e *npy.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, c.offset, e.Offset)
		require.Contains(t, err.Error(), c.says)
		require.Contains(t, err.Error(), name)
	}
	_, err := npy.ReadFile(name+"x", d)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestHeaderForms: other writers put the same dict otherwise.
func TestHeaderForms(t *testing.T) {
	d := newCPU(t)
	for _, h := range []string{
		`{"shape": (2, 1), "descr": "<i2", "fortran_order": False}`,
		"{'shape':(2,1,),'descr':'<i2','fortran_order':True,}\n",
		" { 'descr' : '<i2' ,\n'fortran_order' : False , 'shape' : ( 2L , 1L ) , } \t\r\n",
	} {
		x, err := npy.Read(bytes.NewReader(file(1, h, 1, 0, 0xff, 0xff)), d)
		require.NoError(t, err)
		require.Equal(t, tensor.Shape{2, 1}, x.Shape())
		got, err := tensor.Data[int32](x)
		require.NoError(t, err)
		require.Equal(t, []int32{1, -1}, got)
		require.NoError(t, x.Release())
	}
}

// TestAllHalves reads every float16, in both orders, and writes the same bits.
func TestAllHalves(t *testing.T) {
	d := newCPU(t)
	var little, big []byte
	for i := range 1 << 16 {
		little, big = append(little, byte(i), byte(i>>8)), append(big, byte(i>>8), byte(i))
	}
	for descr, elements := range map[string][]byte{"<f2": little, ">f2": big} {
		x, err := npy.Read(onlyReader(file(2, dict(descr, "(65536,)"), elements...)), d)
		require.NoError(t, err)
		got, err := tensor.Data[tensor.F16](x)
		require.NoError(t, err)
		for i, h := range got {
			require.EqualValues(t, i, h, descr)
		}
		require.Equal(t, little, encoded(t, x)[128:])
		require.NoError(t, x.Release())
	}
}

// TestReadsNoFurther reads two arrays that follow each other, in small pieces.
func TestReadsNoFurther(t *testing.T) {
	d := newCPU(t)
	a := tensor.FromSlice(d, []float64{1, 2, 3})
	b := tensor.FromSlice(d, []int64{4}, 1, 1)
	r := iotest.OneByteReader(io.MultiReader(bytes.NewReader(encoded(t, a)), bytes.NewReader(encoded(t, b))))
	for _, want := range []*tensor.Tensor{a, b} {
		got, err := npy.Read(r, d)
		require.NoError(t, err)
		require.Equal(t, encoded(t, want), encoded(t, got))
		require.NoError(t, got.Release())
		require.NoError(t, want.Release())
	}
	_, err := npy.Read(r, d)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// TestErrorsOfOthers: a reader's and a device's errors can be found.
func TestErrorsOfOthers(t *testing.T) {
	d := newCPU(t)
	broken := errors.New("broken")
	whole := file(1, dict("<f4", "(2,)"), 1, 2, 3, 4, 5, 6, 7, 8)
	_, err := npy.Read(io.MultiReader(bytes.NewReader(whole[:72]), iotest.ErrReader(broken)), d)
	require.ErrorIs(t, err, broken)
	var e *npy.Error
	require.ErrorAs(t, err, &e)
	require.EqualValues(t, 72, e.Offset)

	big := tensor.Zeros(d, tensor.Float32, 1<<20)
	text := encoded(t, big)
	require.NoError(t, big.Release())
	_, err = npy.Read(bytes.NewReader(text), newSized(t, 2<<20))
	var oom *memory.OutOfMemoryError
	require.ErrorAs(t, err, &oom)
}
