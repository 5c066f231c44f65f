//go:build cgo && (linux || darwin)

package tensor_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
	"tarn/kernels"
	"tarn/memory"
	"tarn/tensor"
)

// TestUploadsDoNotWait: while the stream is held up, what is copied to the
// device is queued, and the Go memory is the caller's again.
func TestUploadsDoNotWait(t *testing.T) {
	_, c, d := newContext(t, cudasim.Config{Memory: 128 << 20})
	opened := make(chan bool)
	require.NoError(t, c.CallHost(0, func() { <-opened }))
	data := make([]float32, 5<<20) // more than one piece of pinned memory
	for i := range data {
		data[i] = float32(i % 1000)
	}
	x := tensor.FromSlice(d, data)
	y := x.Slice(0, 0, len(data), 1<<20)
	require.NoError(t, y.Err())
	clear(data)
	close(opened)
	got := data32(t, y)
	require.Equal(t, []float32{0, 576, 152, 728, 304}, got)
	require.NoError(t, errors.Join(x.Release(), y.Release()))
}

// TestClassOutOfRange is found by the kernel, and told by whoever waits for it.
func TestClassOutOfRange(t *testing.T) {
	_, _, d := newContext(t, cudasim.Config{})
	loss := func() *tensor.Tensor {
		return tensor.Zeros(d, tensor.Float32, 2, 3).CrossEntropy(tensor.FromSlice(d, []int64{1, 7}))
	}
	for name, wait := range map[string]func() error{
		"Item":        func() error { _, err := loss().Item(); return err },
		"Data":        func() error { _, err := tensor.Data[float32](loss()); return err },
		"Synchronize": func() error { return errors.Join(loss().Err(), d.Synchronize()) },
	} {
		err := wait()
		require.ErrorIs(t, err, tensor.ErrIndex, name)
		var e *kernels.Error
		require.ErrorAs(t, err, &e, name)
		require.Contains(t, e.Detail, "class 7 in row 1")
		require.NoError(t, d.Synchronize(), "it is told once")
	}
}

// TestIndexOutOfRange is found likewise: what it names is 0, or left as it is, in
// backward too.
func TestIndexOutOfRange(t *testing.T) {
	_, _, d := newContext(t, cudasim.Config{})
	x := tensor.FromSlice(d, []float32{1, 2, 3, 4}, 2, 2).RequireGrad()
	y := tensor.Embedding(x, tensor.FromSlice(d, []int64{1, 2, -1}))
	require.NoError(t, y.Err())
	err := d.Synchronize()
	require.ErrorIs(t, err, tensor.ErrIndex)
	require.ErrorContains(t, err, "for a dim of 2")
	require.Equal(t, []float32{3, 4, 0, 0, 0, 0}, data32(t, y))
	require.NoError(t, y.Sum().Backward())
	require.ErrorIs(t, d.Synchronize(), tensor.ErrIndex)
	require.Equal(t, []float32{0, 0, 1, 1}, data32(t, x.Grad()))
}

// TestToDeviceBetweenTwo goes by way of the host, and no goroutine waits.
func TestToDeviceBetweenTwo(t *testing.T) {
	ds := newSim(t, cudasim.Config{Devices: 2})
	x := tensor.FromSlice(ds[0], []float32{1, 2, 3, 4, 5, 6}, 2, 3).RequireGrad()
	y := x.T().ToDevice(ds[1])
	require.Equal(t, []float32{1, 4, 2, 5, 3, 6}, data32(t, y))
	require.NoError(t, y.Mul(y).Sum().Backward())
	require.Same(t, ds[0], x.Grad().Device())
	require.Equal(t, []float32{2, 4, 6, 8, 10, 12}, data32(t, x.Grad()))
	require.ErrorIs(t, x.Add(y.T()).Err(), tensor.ErrDevice)
}

// TestToDeviceKeepsItsPinnedMemory until the other device has read it.
func TestToDeviceKeepsItsPinnedMemory(t *testing.T) {
	m := newMachine(t, cudasim.Config{Devices: 2})
	_, from := openSim(t, m, 0)
	c, to := openSim(t, m, 1)
	opened := make(chan bool)
	require.NoError(t, c.CallHost(0, func() { <-opened }))
	var got []*tensor.Tensor
	for i := range 3 {
		got = append(got, tensor.Full(from, tensor.Float32, float64(i), 100).ToDevice(to))
	}
	require.NoError(t, from.Synchronize())
	close(opened)
	for i, y := range got {
		require.Equal(t, float32(i), data32(t, y)[99])
	}
}

// TestStreamsComeAndGo: what crosses from stream to stream is right in any order
// of running, and nothing is left of streams that were closed.
func TestStreamsComeAndGo(t *testing.T) {
	for seed := range uint64(3) {
		_, _, d := newContext(t, cudasim.Config{Delays: seed})
		x := tensor.Zeros(d, tensor.Float32, 1000)
		for i := range 20 {
			least, most, err := d.Priorities()
			require.NoError(t, err)
			s, err := d.NewStreamWith([]int{least, most}[i%2])
			require.NoError(t, err)
			y := x.On(s).AddScalar(1)
			require.NoError(t, x.On(s).CopyInPlace(y))
			if i%3 == 0 {
				require.NoError(t, y.Release())
			}
			require.NoError(t, s.Close())
			if i%3 == 1 {
				require.NoError(t, y.Release())
			}
		}
		require.Equal(t, slices.Repeat([]float32{20}, 1000), data32(t, x))
		require.NoError(t, d.Memory().Check())
	}
}

// TestPingPong: each of two streams needs what the other has just done.
func TestPingPong(t *testing.T) {
	for seed := range uint64(4) {
		_, _, d := newContext(t, cudasim.Config{Delays: seed, Lazy: seed == 3})
		s1, err := d.NewStream()
		require.NoError(t, err)
		s2, err := d.NewStream()
		require.NoError(t, err)
		x := tensor.Ones(s1, tensor.Float32, 500)
		for range 10 {
			require.NoError(t, x.On(s2).MulInPlace(tensor.Full(s2, tensor.Float32, 2, 500)))
			y := x.AddScalar(-1)
			require.NoError(t, x.Fill(3), "after the read of y and the write of s2")
			require.NoError(t, x.On(s2).CopyInPlace(y))
			y.Release()
		}
		require.Equal(t, slices.Repeat([]float32{1}, 500), data32(t, x.On(s2)))
	}
}

func TestSimulatedCapture(t *testing.T) {
	_, _, d := newContext(t, cudasim.Config{Delays: 1})
	s1, err := d.NewStream()
	require.NoError(t, err)
	s2, err := d.NewStream()
	require.NoError(t, err)
	x := tensor.Ones(s1, tensor.Float32, 300)
	var y *tensor.Tensor
	g, err := tensor.Capture(s1, func() error {
		h := x.AddScalar(1)
		side := h.On(s2).Mul(h.On(s2))
		y = side.On(s1).Sum()
		return errors.Join(h.Release(), side.Release(), y.Err())
	})
	require.NoError(t, err)
	for i := range 4 {
		require.NoError(t, x.On(s2).Fill(float64(i)))
		require.NoError(t, g.Replay())
		got, err := y.Item()
		require.NoError(t, err)
		require.EqualValues(t, 300*(i+1)*(i+1), got)
		tensor.Full(s1, tensor.Float32, 7, 300).Release() // which must not get the graph's memory
	}
	require.NoError(t, g.Close())

	// A stream that has waited for what it has no use for has to come back too.
	g, err = tensor.Capture(s1, func() error {
		h := x.AddScalar(1)
		side := h.On(s2).Exp()
		z := h.Mul(side)
		err := s2.Wait(s1)
		return errors.Join(err, h.Release(), side.Release(), z.Release())
	})
	require.NoError(t, err)
	require.NoError(t, g.Close())

	_, err = tensor.Capture(s1, func() error {
		_, err := x.Sum().Item()
		return err
	})
	require.ErrorIs(t, err, tensor.ErrCapture)
	require.Equal(t, slices.Repeat([]float32{4}, 300), data32(t, x.AddScalar(1)), "the stream is good")
	require.NoError(t, d.Memory().Check())
}

// TestCaptureOnASmallDevice: the graph can have what its first run had. One that
// needs more is out of memory, and the device is good after that.
func TestCaptureOnASmallDevice(t *testing.T) {
	_, _, d := newContext(t, cudasim.Config{Memory: 16 << 20})
	x := tensor.Ones(d, tensor.Float32, 1<<19)
	runs := 0
	f := func(most int) func() error {
		runs = 0
		return func() error {
			runs++
			var made []*tensor.Tensor
			var errs []error
			for range most * runs {
				y := x.AddScalar(1)
				made, errs = append(made, y), append(errs, y.Err())
			}
			for _, y := range made {
				errs = append(errs, y.Release())
			}
			return errors.Join(errs...)
		}
	}
	_, err := tensor.Capture(d.DefaultStream(), f(5)) // 10 the second time
	var oom *memory.OutOfMemoryError
	require.ErrorAs(t, err, &oom)
	require.Equal(t, float32(2), data32(t, x.AddScalar(1))[1<<18])
	g, err := tensor.Capture(d.DefaultStream(), f(3))
	require.NoError(t, err, "6 the second time")
	require.NoError(t, g.Replay())
	require.NoError(t, g.Close())
	require.NoError(t, d.Memory().Check())
}

// TestCaptureFailsAtEachCall: whatever call of the driver fails, the error is
// told, nothing is left, and the stream goes on.
func TestCaptureFailsAtEachCall(t *testing.T) {
	for _, function := range []string{"cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuLaunchKernel", "cuMemCreate", "cuGraphLaunch"} {
		t.Run(function, func(t *testing.T) {
			m, _, d := newContext(t, cudasim.Config{})
			x := tensor.Ones(d, tensor.Float32, 100)
			runs := 0
			failing := func() error {
				if runs++; runs == 2 || function == "cuStreamBeginCapture" {
					m.Fail(cudasim.Fault{Function: function, Code: int(cuda.NotSupported)})
				}
				return x.AddScalar(1).Err()
			}
			g, err := tensor.Capture(d.DefaultStream(), failing)
			if err == nil {
				require.Equal(t, "cuGraphLaunch", function)
				err = g.Replay()
				require.NoError(t, g.Close())
			}
			var call *cuda.Error
			require.ErrorAs(t, err, &call)
			require.Equal(t, cuda.NotSupported, call.Code)
			require.Equal(t, float32(3), data32(t, x.AddScalar(2))[99])
			require.NoError(t, d.Memory().Check())
		})
	}
}

// TestFaultNamesItsOp where each launch is waited for; else the error says that
// it may be about earlier work.
func TestFaultNamesItsOp(t *testing.T) {
	for _, blocking := range []string{"", "1"} {
		t.Run(fmt.Sprintf("%q", blocking), func(t *testing.T) {
			t.Setenv("TARN_LAUNCH_BLOCKING", blocking)
			_, _, d := newContext(t, cudasim.Config{})
			x := tensor.Elsewhere(tensor.Ones(d, tensor.Float32, 1024), 1<<40)
			y := x.Exp()
			if blocking == "1" {
				require.ErrorIs(t, y.Err(), tensor.ErrDeviceLost)
				require.ErrorContains(t, y.Err(), "tensor: Exp [1024]")
				return
			}
			require.NoError(t, y.Err(), "the launch itself")
			_, err := tensor.Data[float32](y)
			require.ErrorIs(t, err, tensor.ErrDeviceLost)
			require.ErrorContains(t, err, "in it or in earlier work")
			require.ErrorIs(t, x.Exp().Err(), tensor.ErrDeviceLost, "for good")
		})
	}
}

func TestGuardSeesAUseAfterFree(t *testing.T) {
	m, _, d := newContext(t, cudasim.Config{})
	require.NoError(t, d.SetGuard(m))
	x := tensor.Ones(d, tensor.Float32, 1024)
	dangling := tensor.Dangling(x)
	require.NoError(t, x.Release())
	y := tensor.Ones(d, tensor.Float32, 1024)
	require.Equal(t, float32(1), data32(t, y)[0], "the same block, in use again")
	require.NoError(t, y.Release())
	_, err := tensor.Data[float32](dangling)
	require.ErrorIs(t, err, tensor.ErrDeviceLost)
	require.ErrorContains(t, m.Reports()[0], "freed block")
	require.ErrorIs(t, newCPU(t).SetGuard(m), tensor.ErrDevice)
}

// TestDeviceIsShort: an out-of-memory error is the allocator's, and explains.
func TestDeviceIsShort(t *testing.T) {
	_, _, d := newContext(t, cudasim.Config{Memory: 16 << 20})
	var oom *memory.OutOfMemoryError
	require.ErrorAs(t, tensor.Zeros(d, tensor.Float32, 8<<20).Err(), &oom)
	require.NoError(t, tensor.Zeros(d, tensor.Float32, 1<<20).Err())
}
