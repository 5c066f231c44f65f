package npy_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels/cpu"
	"tarn/memory"
	"tarn/memory/hostmem"
	"tarn/tensor"
	"tarn/tensor/npy"
)

// newCPU returns a CPU device of the test's own, on which nothing may be left.
func newCPU(t testing.TB) *tensor.Device { return newSized(t, 1<<30) }

// newSized is newCPU with so many bytes.
func newSized(t testing.TB, capacity int64) *tensor.Device {
	t.Helper()
	up, err := hostmem.New(hostmem.Config{Capacity: capacity})
	require.NoError(t, err)
	d, err := tensor.NewDevice(tensor.NewHostBackend(up, cpu.Table()), memory.Config{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, d.Memory().Check())
		require.Zero(t, live(d), "bytes left on the device")
	})
	return d
}

// live returns the bytes that tensors hold on d.
func live(d *tensor.Device) int64 { return d.Memory().Stats().AllocatedBytes.All.Current }

// file is an .npy file made by hand: the header's text as it is.
func file(version byte, header string, elements ...byte) []byte {
	b := []byte("\x93NUMPY")
	b = append(b, version, 0, byte(len(header)), byte(len(header)>>8))
	if version > 1 {
		b = append(b, 0, 0)
	}
	return append(append(b, header...), elements...)
}

// dict is the header's text for a type and a shape.
func dict(descr, shape string) string {
	return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}"
}

// encoded is what Write writes.
func encoded(t testing.TB, x *tensor.Tensor) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, npy.Write(&b, x))
	return b.Bytes()
}
