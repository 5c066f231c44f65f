package data

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// file makes an IDX file of unsigned bytes.
func file(elements []byte, dims ...uint32) []byte {
	b := []byte{0, 0, typeUint8, byte(len(dims))}
	for _, d := range dims {
		b = binary.BigEndian.AppendUint32(b, d)
	}
	return append(b, elements...)
}

func zipped(t testing.TB, plain []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(plain)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

func ramp(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}

func TestReadIDX(t *testing.T) {
	plain := file(ramp(24), 2, 3, 4)
	for name, b := range map[string][]byte{
		"plain":                 plain,
		"gzip":                  zipped(t, plain),
		"gzip in two members":   append(zipped(t, plain[:10]), zipped(t, plain[10:])...),
		"gzip of empty members": append(zipped(t, nil), zipped(t, plain)...),
	} {
		x, err := ReadIDX(iotest.OneByteReader(bytes.NewReader(b)), "some-file")
		require.NoError(t, err, name)
		require.Equal(t, &IDX{Name: "some-file", Dims: []int{2, 3, 4}, Data: ramp(24)}, x, name)
	}
}

func TestReadIDXLargerThanFirstRead(t *testing.T) {
	want := ramp(3*firstRead + 17)
	x, err := ReadIDX(bytes.NewReader(zipped(t, file(want, uint32(len(want))))), "large")
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, x.Data))
	require.Equal(t, len(want), cap(x.Data), "the final array has no slack")
}

func TestReadIDXOfNoElements(t *testing.T) {
	x, err := ReadIDX(bytes.NewReader(file(nil, 0, 28, 28)), "empty")
	require.NoError(t, err)
	require.Equal(t, []int{0, 28, 28}, x.Dims)
	require.Empty(t, x.Data)
}

func TestReadIDXRefuses(t *testing.T) {
	good := file(ramp(6), 2, 3)
	with := func(at int, b byte) []byte {
		c := bytes.Clone(good)
		c[at] = b
		return c
	}
	damaged := zipped(t, good)
	damaged[len(damaged)-5] ^= 1 // in the checksum

	for name, c := range map[string]struct {
		file   []byte
		offset int64
		msg    string
	}{
		"empty":                {nil, 0, "ends in its magic number"},
		"first byte":           {with(0, 1), 0, "not an IDX file"},
		"second byte":          {with(1, 0xff), 1, "not an IDX file"},
		"float elements":       {with(typeAt, 0x0d), 2, "element type 0x0d"},
		"rank 0":               {with(rankAt, 0), 3, "rank 0"},
		"rank too large":       {with(rankAt, maxRank+1), 3, "rank 6"},
		"half a dim":           {good[:10], 10, "dim 2 of 2"},
		"one element short":    {good[:17], 17, "after 5 of 6 elements"},
		"one element more":     {append(bytes.Clone(good), 0), 18, "bytes after the last element"},
		"a dim too large":      {file(nil, 1<<31, 1), 4, "dim 1 is 2147483648"},
		"a product too large":  {file(nil, 1<<15, 1<<15, 2), 12, "dim 3 is 2"},
		"a product beyond 64":  {file(nil, 1<<30, 1<<30, 1<<30, 1<<30), 8, "dim 2"},
		"large behind a zero":  {file(nil, 0, 1<<31), 8, "dim 2"},
		"gzip: only its magic": {[]byte{0x1f, 0x8b}, 0, "gzip header"},
		"gzip: checksum":       {damaged, 18, "after the last element"},
		"gzip: one more":       {zipped(t, append(bytes.Clone(good), 0)), 18, "bytes after"},
		"gzip: cut":            {zipped(t, good)[:20], 0, "unexpected EOF"},
		"gzip: garbage behind": {append(zipped(t, good), "garbage!!!"...), 18, "gzip: invalid header"},
	} {
		x, err := ReadIDX(bytes.NewReader(c.file), "train-images")
		require.Nil(t, x, name)
		var bad *FormatError
		require.ErrorAs(t, err, &bad, name)
		require.Equal(t, "train-images", bad.File, name)
		if name != "gzip: cut" { // how far it gets is gzip's affair
			require.Equal(t, c.offset, bad.Offset, "%s: %v", name, err)
		}
		require.ErrorContains(t, err, c.msg, name)
		require.ErrorContains(t, err, "train-images: byte ", name)
	}
}

// Every proper prefix is refused, at the byte where it ends.
func TestReadIDXRefusesEveryPrefix(t *testing.T) {
	whole := file(ramp(12), 3, 4)
	for n := range whole {
		_, err := ReadIDX(bytes.NewReader(whole[:n]), "f")
		var bad *FormatError
		require.ErrorAs(t, err, &bad)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.EqualValues(t, n, bad.Offset)
	}
	for z, n := zipped(t, whole), 0; n < len(z); n++ {
		_, err := ReadIDX(bytes.NewReader(z[:n]), "f.gz")
		require.Error(t, err, "%d of %d bytes", n, len(z))
		require.ErrorAs(t, err, new(*FormatError))
	}
}

func TestReadIDXHandsOnWhatReadingSaid(t *testing.T) {
	broken := errors.New("disk on fire")
	whole := file(ramp(12), 3, 4)
	for n := range len(whole) + 1 {
		_, err := ReadIDX(io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(broken)), "f")
		require.ErrorIs(t, err, broken, "after %d bytes", n)
	}
}

// A header that promises a gigabyte and brings nothing costs little.
func TestReadIDXAllocatesWhatArrives(t *testing.T) {
	hostile := file(ramp(100), 1<<20, 1<<10)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ReadIDX(bytes.NewReader(hostile), "hostile")
	runtime.ReadMemStats(&after)
	require.ErrorContains(t, err, "after 100 of 1073741824 elements")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2*firstRead))
}

// FuzzReadIDX: whatever comes in, the answer is an IDX that spells out the
// input again, or a FormatError inside of it.
func FuzzReadIDX(f *testing.F) {
	whole := file(ramp(12), 3, 4)
	for _, seed := range [][]byte{
		nil, whole, whole[:7], whole[:15], append(bytes.Clone(whole), 1), zipped(f, whole),
		file(nil, 1<<31, 1<<31), file(nil, 0, 28, 28), file(ramp(3), 3), zipped(f, whole)[:12],
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := ReadIDX(bytes.NewReader(b), "fuzzed")
		if err != nil {
			var bad *FormatError
			require.ErrorAs(t, err, &bad)
			require.True(t, strings.HasPrefix(err.Error(), "data: fuzzed: byte "), err)
			if !bytes.HasPrefix(b, []byte("\x1f\x8b")) {
				require.LessOrEqual(t, bad.Offset, int64(len(b)))
			}
			return
		}
		var dims []uint32
		for _, d := range x.Dims {
			dims = append(dims, uint32(d))
		}
		again := file(x.Data, dims...)
		if bytes.HasPrefix(b, []byte("\x1f\x8b")) {
			z, err := gzip.NewReader(bytes.NewReader(b))
			require.NoError(t, err)
			b, err = io.ReadAll(z)
			require.NoError(t, err)
		}
		require.True(t, bytes.Equal(b, again))
	})
}
