//go:build cgo && (linux || darwin)

package tensor_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
	"tarn/memory"
	"tarn/tensor"
)

func init() {
	testDevices = append(testDevices, testDevice{"sim", func(t testing.TB) *tensor.Device {
		return newSim(t, cudasim.Config{})[0]
	}})
	// Where TARN_TEST_DEVICE names a device of the driver, by number or UUID, all
	// of it is asked of that one too.
	if name := os.Getenv("TARN_TEST_DEVICE"); name != "" {
		testDevices = append(testDevices, testDevice{"cuda", func(t testing.TB) *tensor.Device {
			library, err := cuda.Open()
			require.NoError(t, err)
			device, err := library.Find(name)
			require.NoError(t, err)
			_, d := openDevice(t, device)
			return d
		}})
	}
}

// newSim returns the devices of a simulated machine. What they leave behind
// fails the test.
func newSim(t testing.TB, config cudasim.Config) []*tensor.Device {
	m := newMachine(t, config)
	devices := make([]*tensor.Device, m.Library().Devices())
	for i := range devices {
		_, devices[i] = openSim(t, m, i)
		require.NoError(t, devices[i].SetGuard(m))
	}
	return devices
}

// newContext returns a machine's one device, and what it is made of.
func newContext(t testing.TB, config cudasim.Config) (*cudasim.Machine, *cuda.Context, *tensor.Device) {
	m := newMachine(t, config)
	c, d := openSim(t, m, 0)
	return m, c, d
}

func newMachine(t testing.TB, config cudasim.Config) *cudasim.Machine {
	t.Helper()
	m, err := cudasim.Open(config)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.Close()) })
	return m
}

func openSim(t testing.TB, m *cudasim.Machine, i int) (*cuda.Context, *tensor.Device) {
	t.Helper()
	device, err := m.Library().Device(i)
	require.NoError(t, err)
	return openDevice(t, device)
}

// openDevice opens a device for the test's life. Tensors may be left to the
// collector, all else is given back.
func openDevice(t testing.TB, device *cuda.Device) (*cuda.Context, *tensor.Device) {
	t.Helper()
	c, err := device.Open()
	require.NoError(t, err)
	d, err := tensor.NewCUDA(c, memory.Config{})
	require.NoError(t, err)
	t.Cleanup(func() {
		if c.Lost() != nil { // nothing of it can be given back
			_ = d.Close()
			assert.NoError(t, c.Close())
			return
		}
		assert.NoError(t, d.Memory().Check())
		if err := d.Close(); err != nil {
			var live *memory.LiveBlocksError
			assert.ErrorAs(t, err, &live)
		}
		assert.NoError(t, c.Close())
	})
	return c, d
}
