package gorgonia_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	gtensor "gorgonia.org/tensor"

	"tarn/kernels/cpu"
	"tarn/memory"
	"tarn/memory/hostmem"
	"tarn/tensor"
)

// newCPU returns a CPU device of the test's own, whose tensors all live in a
// scope that ends with the test.
func newCPU(t testing.TB) tensor.Place {
	t.Helper()
	up, err := hostmem.New(hostmem.Config{Capacity: 1 << 30})
	require.NoError(t, err)
	d, err := tensor.NewDevice(tensor.NewHostBackend(up, cpu.Table()), memory.Config{})
	require.NoError(t, err)
	s := tensor.NewScope()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, d.Memory().Check())
		require.Zero(t, d.Memory().Stats().AllocatedBytes.All.Current)
	})
	return d.In(s)
}

// dense makes a gorgonia tensor of the elements in row-major order.
func dense[T any](data []T, shape ...int) *gtensor.Dense {
	return gtensor.New(gtensor.WithShape(shape...), gtensor.WithBacking(data))
}

// count returns 0, 1, 2 and so on.
func count[T int | int64 | int32 | uint8 | float32 | float64](n int) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = T(i)
	}
	return s
}

// requireData demands the elements of x in row-major order.
func requireData[T tensor.Element](t testing.TB, want []T, x *tensor.Tensor, what ...any) {
	t.Helper()
	got, err := tensor.Data[T](x)
	require.NoError(t, err, what...)
	require.Equal(t, want, got, what...)
}
