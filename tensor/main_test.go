package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels/cpu"
	"tarn/memory"
	"tarn/memory/hostmem"
	"tarn/tensor"
)

// newCPU returns a CPU device of the test's own, so that its memory can be
// counted. Its allocator's books are checked at the end.
func newCPU(t testing.TB) *tensor.Device {
	return newDevice(t, func(*memory.Config) {})
}

func newDevice(t testing.TB, configure func(*memory.Config)) *tensor.Device {
	t.Helper()
	up, err := hostmem.New(hostmem.Config{Capacity: 4 << 30})
	require.NoError(t, err)
	var cfg memory.Config
	configure(&cfg)
	d, err := tensor.NewDevice(tensor.NewHostBackend(up, cpu.Table()), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Memory().Check()) })
	return d
}

// live returns the bytes that tensors hold on d.
func live(d *tensor.Device) int64 { return d.Memory().Stats().AllocatedBytes.All.Current }
