//go:build cgo && linux

package cudamem_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda/cudamem"
	"tarn/cuda/nvml"
	"tarn/memory"
)

// The fake management library has two programs on device 0: this one with 1 GiB,
// and the next one with it does not know what.
func TestProcesses(t *testing.T) {
	_, u := open(t)
	list, err := u.Processes()
	require.NoError(t, err)
	self := os.Getpid()
	assert.Equal(t, []memory.Process{{PID: self, Bytes: 1 << 30}, {PID: self + 1, Bytes: -1}}, list)

	a, err := memory.New(u, memory.Config{NoBackgroundGC: true})
	require.NoError(t, err)
	b, err := a.Alloc(24<<20, 0, memory.Untagged)
	require.NoError(t, err)
	assert.Contains(t, a.Summary(), "|  this one, besides: 1000.00 MiB     |")
	require.NoError(t, a.Free(b.Handle))
	require.NoError(t, a.Close())
}

// TestProcessesOfStranger asks about a device that the management library does
// not know.
func TestProcessesOfStranger(t *testing.T) {
	d := device(t, 0)
	d.UUID[0]++
	c, err := d.Open()
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close()) }()
	u, err := cudamem.New(c)
	require.NoError(t, err)
	_, err = u.Processes()
	var refused *nvml.Error
	require.ErrorAs(t, err, &refused)
	assert.EqualError(t, err, "cudamem: cuda:0: processes: nvml: nvmlDeviceGetHandleByUUID: Not Found (6)")

	d.UUID = [16]byte{}
	_, err = u.Processes()
	assert.ErrorIs(t, err, memory.ErrNotSupported)
}

// TestNoManagementLibrary runs this test again where there is none, or another
// machine's: who uses the device is not known then, and nobody minds.
func TestNoManagementLibrary(t *testing.T) {
	const alone = "TARN_TEST_NO_MANAGEMENT"
	if os.Getenv(alone) == "" {
		again := exec.Command(os.Args[0], "-test.run=^TestNoManagementLibrary$")
		again.Env = append(os.Environ(), alone+"=1", "LD_LIBRARY_PATH="+os.Getenv(withFake))
		out, err := again.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	_, u := open(t)
	_, err := u.Processes()
	require.Error(t, err)
	a, err := memory.New(u, memory.Config{NoBackgroundGC: true})
	require.NoError(t, err)
	_, err = a.Alloc(1<<40, 0, memory.Untagged)
	var oom *memory.OutOfMemoryError
	require.ErrorAs(t, err, &oom)
	assert.Empty(t, oom.Others)
	assert.EqualValues(t, -1, oom.Besides)
	require.NoError(t, a.Close())
}
