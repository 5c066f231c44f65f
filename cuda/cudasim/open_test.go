//go:build cgo && (linux || darwin)

package cudasim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
)

// open returns a machine, on which nothing may be left after the test.
func open(t testing.TB, config cudasim.Config) *cudasim.Machine {
	t.Helper()
	m, err := cudasim.Open(config)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.Close(), "what is left") })
	return m
}

// device opens a device of a machine; it is closed after the test.
func device(t testing.TB, m *cudasim.Machine, i int) *cuda.Context {
	t.Helper()
	d, err := m.Library().Device(i)
	require.NoError(t, err)
	c, err := d.Open()
	require.NoError(t, err)
	t.Cleanup(func() {
		if c.Lost() != nil {
			_ = c.Close() // it says that it is lost
			return
		}
		assert.NoError(t, c.Close())
	})
	return c
}

// openDevice opens a machine of one device.
func openDevice(t testing.TB) (*cudasim.Machine, *cuda.Context) {
	t.Helper()
	m := open(t, cudasim.Config{Memory: 256 << 20})
	return m, device(t, m, 0)
}

func newStream(t testing.TB, c *cuda.Context) cuda.Stream {
	t.Helper()
	s, err := c.NewStream(0)
	require.NoError(t, err)
	t.Cleanup(func() {
		if c.Lost() == nil {
			assert.NoError(t, c.DestroyStream(s))
		}
	})
	return s
}

func alloc(t testing.TB, c *cuda.Context, size int64) cuda.DevicePtr {
	t.Helper()
	p, err := c.Alloc(size)
	require.NoError(t, err)
	t.Cleanup(func() {
		if c.Lost() == nil {
			assert.NoError(t, c.Free(p))
		}
	})
	return p
}

func newEvent(t testing.TB, c *cuda.Context) cuda.Event {
	t.Helper()
	e, err := c.NewEvent()
	require.NoError(t, err)
	t.Cleanup(func() {
		if c.Lost() == nil {
			assert.NoError(t, c.DestroyEvent(e))
		}
	})
	return e
}

// requireCode demands that a call was refused by the driver with a code.
func requireCode(t testing.TB, err error, op string, code cuda.Code) {
	t.Helper()
	var call *cuda.Error
	require.ErrorAs(t, err, &call)
	require.Equal(t, op, call.Op)
	require.Equal(t, code, call.Code, "%v", err)
}
