//go:build cgo && (linux || darwin)

package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda/internal/shim"
)

func TestDevice(t *testing.T) {
	l, err := open(fakeDriver(t))
	require.NoError(t, err)
	d, err := l.Device(1)
	require.NoError(t, err)
	require.Equal(t, "cuda:1", d.String())
	require.Equal(t, "Fake GPU 1", d.Name)
	require.Equal(t, "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f", d.UUID.String())
	require.Equal(t, []int{7, 5}, []int{d.Major, d.Minor})
	require.EqualValues(t, 64<<20, d.Memory)
	require.Equal(t, []int{4, 32, 1024, 2}, []int{d.Multiprocessors, d.WarpSize, d.MaxThreads, d.CopyEngines})
	require.Equal(t, []int64{48 << 10, 100 << 10, 1 << 20}, []int64{d.SharedMemory, d.SharedMemoryOptIn, d.L2Cache})
	require.Equal(t, []bool{true, true, false}, []bool{d.VirtualMemory, d.FileDescriptors, d.RDMA})
	for _, i := range []int{-1, 2} {
		_, err := l.Device(i)
		require.ErrorContains(t, err, "the driver shows 2")
	}
}

func TestFind(t *testing.T) {
	l, err := open(fakeDriver(t))
	require.NoError(t, err)
	for name, want := range map[string]int{
		"0": 0, "1": 1,
		"GPU-10111213-1415-1617-1819-1a1b1c1d1e1f": 1,
		"MIG-00010203-0405-0607-0809-0a0b0c0d0e0f": 0,
		"00010203-0405-0607-0809-0A0B0C0D0E0F":     0,
	} {
		d, err := l.Find(name)
		require.NoError(t, err, name)
		require.Equal(t, want, d.Index, name)
	}
	for _, name := range []string{"2", "", "GPU-", "00010203", "tesla"} {
		_, err := l.Find(name)
		require.Error(t, err, name)
	}
}

func TestDeviceErrors(t *testing.T) {
	l, err := open(fakeDriver(t))
	require.NoError(t, err)
	for _, e := range []shim.Entry{shim.DeviceGet, shim.DeviceGetName, shim.DeviceGetUUID,
		shim.DeviceTotalMem, shim.DeviceGetAttribute} {
		inject(t, e, 1, 999)
		d, err := l.Device(0)
		require.Nil(t, d)
		requireCode(t, err, e.Op(), 999)
	}
	inject(t, shim.DeviceTotalMem, 2, 999)
	_, err = l.Find("GPU-10111213-1415-1617-1819-1a1b1c1d1e1f")
	requireCode(t, err, "cuDeviceTotalMem", 999)
}

func TestWithoutUUIDs(t *testing.T) {
	l, err := open(fakeDriver(t, "cuDeviceGetUuid_v2=absent"))
	require.NoError(t, err)
	require.Equal(t, []string{"device UUIDs"}, l.Missing())
	d, err := l.Find("0")
	require.NoError(t, err)
	require.Zero(t, d.UUID)
	_, err = l.Find("GPU-00000000-0000-0000-0000-000000000000")
	require.Error(t, err, "no UUID is not a UUID")
}

// An older name with the same signature will do.
func TestOlderName(t *testing.T) {
	l, err := open(fakeDriver(t, "cuDeviceGetUuid_v2=cuDeviceGetUuid"))
	require.NoError(t, err)
	require.Empty(t, l.Missing())
	d, err := l.Device(1)
	require.NoError(t, err)
	require.Equal(t, byte(0x10), d.UUID[0])
}
