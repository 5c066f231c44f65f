package npy_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
	"tarn/tensor/npy"
)

func readZip(archive []byte, p tensor.Place) ([]npy.Named, error) {
	return npy.ReadZip(bytes.NewReader(archive), int64(len(archive)), p)
}

// TestZipThereAndBack writes tensors, a view among them, and reads them in the
// same order; the same tensors give the same bytes.
func TestZipThereAndBack(t *testing.T) {
	d := newCPU(t)
	x := numbers(d, tensor.Float32, 40, 60)
	in := []npy.Named{
		{"z", x}, {"layer.0/weight", x.T()}, {"a b", x.Slice(1, 3, 3, 1)}, {"日本:0", tensor.Scalar(d, tensor.Int64, 7)},
	}
	for _, packing := range []npy.Packing{npy.Stored, npy.Deflated} {
		var first, second bytes.Buffer
		require.NoError(t, npy.WriteZip(&first, packing, in...))
		require.NoError(t, npy.WriteZip(&second, packing, in...))
		require.Equal(t, first.Bytes(), second.Bytes())
		if packing == npy.Deflated {
			require.Less(t, first.Len(), 20000)
		}
		out, err := readZip(first.Bytes(), d)
		require.NoError(t, err)
		require.Len(t, out, len(in))
		for i := range in {
			require.Equal(t, in[i].Name, out[i].Name)
			require.Equal(t, encoded(t, in[i].Tensor), encoded(t, out[i].Tensor))
			require.NoError(t, out[i].Tensor.Release())
		}
	}
	for _, n := range in {
		require.NoError(t, n.Tensor.Release())
	}
	var empty bytes.Buffer
	require.NoError(t, npy.WriteZip(&empty, npy.Stored))
	out, err := readZip(empty.Bytes(), d)
	require.NoError(t, err)
	require.Empty(t, out)
}

// TestZipNames: what could lead out of a folder, or be read as something else,
// is neither written nor read.
func TestZipNames(t *testing.T) {
	d := newCPU(t)
	x := tensor.Zeros(d, tensor.Float32, 1)
	defer x.Release()
	one := encoded(t, x)
	for _, name := range []string{"", ".", "..", "../x", "a/../../x", "/x", "a//x", "./x", `a\x`, `..\x`, "a\x00", "a\x1b[2J", "a\n", "\xff"} {
		var b bytes.Buffer
		require.ErrorContains(t, npy.WriteZip(&b, npy.Stored, npy.Named{Name: name, Tensor: x}), fmt.Sprintf("%q", name))
		require.Zero(t, b.Len())
		_, err := readZip(archiveOf(t, zip.Store, name+".npy", one), d)
		requireRefused(t, err, name+".npy", "name")
		require.NotContains(t, err.Error(), "\x1b")
	}
	_, err := readZip(archiveOf(t, zip.Store, "x.txt", one), d)
	requireRefused(t, err, "x.txt", "no .npy file")
	_, err = readZip(archiveOf(t, zip.Store, "dir/", []byte{}), d)
	requireRefused(t, err, "dir/", "no .npy file")

	twice := []npy.Named{{"x", x}, {"y", x}, {"x", x}}
	require.ErrorContains(t, npy.WriteZip(&bytes.Buffer{}, npy.Stored, twice...), "twice")
	_, err = readZip(archiveOf(t, zip.Store, "x.npy", one, "y.npy", one, "x.npy", one), d)
	requireRefused(t, err, "x.npy", "before")
}

func requireRefused(t testing.TB, err error, name, says string) {
	t.Helper()
	var e *npy.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, name, e.Name)
	require.Contains(t, err.Error(), says)
}

// archiveOf writes names and contents in turn.
func archiveOf(t testing.TB, method uint16, entries ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: entries[i].(string), Method: method})
		require.NoError(t, err)
		_, err = w.Write(entries[i+1].([]byte))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

// The fields of an entry in the directory, by offset.
const (
	flagsAt    = 8
	methodAt   = 10
	crcAt      = 16
	packedAt   = 20
	unpackedAt = 24
	localAt    = 42
)

// patched returns the archive with a field of the n-th entry changed.
func patched(archive []byte, n, field int, value uint32) []byte {
	b := bytes.Clone(archive)
	at := 0
	for range n + 1 {
		at += 1 + bytes.Index(b[at:], []byte("PK\x01\x02"))
	}
	at += field - 1
	if field < crcAt {
		binary.LittleEndian.PutUint16(b[at:], uint16(value))
	} else {
		binary.LittleEndian.PutUint32(b[at:], value)
	}
	return b
}

// TestZipThatLies changes what the directory says of the second of two entries,
// or what is in it. All is refused, the first array is given back, and little
// memory is taken.
func TestZipThatLies(t *testing.T) {
	d := newCPU(t)
	x := numbers(d, tensor.Float32, 10, 10)
	one := encoded(t, x)
	require.NoError(t, x.Release())
	stored := archiveOf(t, zip.Store, "a.npy", one, "b.npy", one)
	packed := archiveOf(t, zip.Deflate, "a.npy", one, "b.npy", one)
	terabyte := file(1, dict("<f8", "(137438953472,)"))
	bomb := file(1, dict("|u1", "(1073741824,)"))
	damaged := bytes.Clone(stored)
	damaged[bytes.LastIndex(damaged, one)+len(one)-1] ^= 1
	for _, c := range []struct {
		name    string
		archive []byte
		says    string
	}{
		{"encrypted", patched(stored, 1, flagsAt, 1), "encrypted"},
		{"method", patched(stored, 1, methodAt, 12), "method 12"},
		{"checksum", damaged, "checksum"},
		{"stored longer", patched(stored, 1, packedAt, 1<<30), "the archive has"},
		{"stored as less", patched(stored, 1, unpackedAt, 8), "8 bytes stored as 528"},
		{"unpacks to more", patched(packed, 1, unpackedAt, 1<<29), "536870784 follow"},
		{"unpacks to less", patched(packed, 1, unpackedAt, 200), "72 follow"},
		{"over the first", patched(stored, 1, localAt, 0), "lies over"},
		{"outside", patched(stored, 1, localAt, 1<<30), "cannot find"},
		{"a terabyte", archiveOf(t, zip.Deflate, "a.npy", one, "b.npy", terabyte), "1099511627776 bytes, 0 follow"},
		{"bytes behind", archiveOf(t, zip.Deflate, "a.npy", one, "b.npy", append(bytes.Clone(one), 0)), "401 follow"},
		{"a bomb that is none", patched(archiveOf(t, zip.Deflate, "a.npy", one, "b.npy", bomb), 1, unpackedAt, 1<<30), "unpacks to more than"},
		{"cut", stored[:len(stored)-30], "no archive"},
		{"empty", nil, "no archive"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := readZip(c.archive, d)
			runtime.ReadMemStats(&after)
			var e *npy.Error
			require.ErrorAs(t, err, &e)
			require.Contains(t, err.Error(), c.says)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
			require.Zero(t, live(d))
		})
	}
}

// TestMisuse: a packing that is none is a fault of the program.
func TestMisuse(t *testing.T) {
	require.Panics(t, func() { _ = npy.WriteZip(&bytes.Buffer{}, 3) })
}
