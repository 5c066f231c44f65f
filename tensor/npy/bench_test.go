package npy_test

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
	"tarn/tensor/npy"
)

// BenchmarkReadFile reads 16 MiB that are known to be there.
func BenchmarkReadFile(b *testing.B) {
	d := newCPU(b)
	x := tensor.Ones(d, tensor.Float32, 4<<20)
	name := filepath.Join(b.TempDir(), "x.npy")
	require.NoError(b, npy.WriteFile(name, x))
	require.NoError(b, x.Release())
	b.SetBytes(16 << 20)
	for b.Loop() {
		y, err := npy.ReadFile(name, d)
		require.NoError(b, err)
		require.NoError(b, y.Release())
	}
}

// BenchmarkRead reads 16 MiB of a length that is not known.
func BenchmarkRead(b *testing.B) {
	d := newCPU(b)
	x := tensor.Ones(d, tensor.Float32, 4<<20)
	text := encoded(b, x)
	require.NoError(b, x.Release())
	b.SetBytes(16 << 20)
	for b.Loop() {
		y, err := npy.Read(onlyReader(text), d)
		require.NoError(b, err)
		require.NoError(b, y.Release())
	}
}

// BenchmarkWrite writes 16 MiB of a transposed tensor.
func BenchmarkWrite(b *testing.B) {
	d := newCPU(b)
	x := tensor.Ones(d, tensor.Float32, 1<<10, 4<<10)
	y := x.T()
	b.SetBytes(16 << 20)
	for b.Loop() {
		require.NoError(b, npy.Write(io.Discard, y))
	}
	b.StopTimer()
	require.NoError(b, y.Release())
	require.NoError(b, x.Release())
}
