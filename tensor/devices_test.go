package tensor_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/tensor"
)

// testDevice is a kind of device that tests run on.
type testDevice struct {
	name string
	open func(t testing.TB) *tensor.Device
}

// testDevices are the kinds that this build has; sim_cgo_test.go adds one.
var testDevices = []testDevice{{"cpu", func(t testing.TB) *tensor.Device { return newCPU(t) }}}

// onDevices runs a test on each kind of device.
func onDevices(t *testing.T, test func(t *testing.T, d *tensor.Device)) {
	t.Helper()
	for _, kind := range testDevices {
		t.Run(kind.name, func(t *testing.T) { test(t, kind.open(t)) })
	}
}

func TestDevices(t *testing.T) {
	all := tensor.Devices()
	require.Equal(t, "cpu", all[0].Name)
	require.NoError(t, all[0].Err)
	require.Positive(t, all[0].Memory)
	require.Greater(t, len(all), 1, "CUDA is there, or why not")
	if err := cuda.Probe(); err != nil {
		require.Equal(t, []tensor.DeviceInfo{{Name: "cuda", Err: err}}, all[1:])
	}
}

func TestOpenDevice(t *testing.T) {
	d, why, err := tensor.OpenDevice("cpu")
	require.NoError(t, err)
	require.Same(t, tensor.CPU(), d)
	require.Empty(t, why)

	d, why, err = tensor.OpenDevice("auto")
	require.NoError(t, err)
	if probe := cuda.Probe(); probe != nil {
		require.Same(t, tensor.CPU(), d)
		require.Contains(t, why, probe.Error())
		for _, name := range []string{"cuda", "cuda:3", "GPU-00000000-0000-0000-0000-000000000000"} {
			_, _, err = tensor.OpenDevice(name)
			require.ErrorIs(t, err, probe, name)
			require.ErrorContains(t, err, "tensor: ")
		}
		require.ErrorIs(t, tensor.Zeros(tensor.CUDA(0), tensor.Float32, 2).Err(), probe, "each op reports why")
		require.NoError(t, tensor.CUDA(0).Close())
	}
	for _, name := range []string{"", "gpu", "cuda:", "cuda:-1", "cuda:x", "cpu:0"} {
		_, _, err = tensor.OpenDevice(name)
		require.Error(t, err, name)
	}
}

func TestNewCPUTakesALimit(t *testing.T) {
	d, err := tensor.NewCPU(memory.Config{Limit: 4 << 20})
	require.NoError(t, err)
	var oom *memory.OutOfMemoryError
	require.ErrorAs(t, tensor.Zeros(d, tensor.Float32, 4<<20).Err(), &oom)
	require.NoError(t, d.Close())
}

func TestToDeviceOnOneDevice(t *testing.T) {
	d := newCPU(t)
	x := tensor.FromSlice(d, []float32{1, 2}).RequireGrad()
	y := x.ToDevice(d)
	require.NoError(t, y.Mul(y).Sum().Backward())
	require.Equal(t, []float32{2, 4}, data32(t, x.Grad()))
	require.PanicsWithValue(t, "tensor: ToDevice to a nil Place", func() { x.ToDevice(nil) })
}

// TestToDeviceAcross: values and gradients cross, whoever is on the other side.
func TestToDeviceAcross(t *testing.T) {
	for _, kind := range testDevices {
		t.Run(kind.name, func(t *testing.T) {
			a, b := kind.open(t), newCPU(t)
			for _, way := range [][2]*tensor.Device{{a, b}, {b, a}} {
				from, to := way[0], way[1]
				s := tensor.NewScope()
				x := tensor.FromSlice(from, []float32{1, 2, 3, 4, 5, 6}, 2, 3).RequireGrad()
				y := x.T().ToDevice(to.In(s))
				require.NoError(t, y.Err())
				require.Same(t, to, y.Device())
				require.Same(t, s, y.Scope())
				require.Equal(t, []float32{1, 4, 2, 5, 3, 6}, data32(t, y))
				require.NoError(t, y.Mul(y).Sum().Backward())
				require.Same(t, from, x.Grad().Device())
				require.Equal(t, []float32{2, 4, 6, 8, 10, 12}, data32(t, x.Grad()))
				require.Zero(t, tensor.Zeros(from, tensor.Int64, 0, 2).ToDevice(to).Len())
				require.NoError(t, s.Close())
				require.NoError(t, errors.Join(x.Release(), y.Release()))
			}
		})
	}
}
