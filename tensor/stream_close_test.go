package tensor_test

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// TestClosedStream: what was made on it is good, and nothing more can be queued.
func TestClosedStream(t *testing.T) {
	_, d, s1, _ := onStreams(t)
	x := tensor.Ones(s1, tensor.Float32, 4)
	require.NoError(t, s1.Close())
	require.ErrorIs(t, s1.Close(), tensor.ErrStreamClosed)
	require.ErrorIs(t, s1.Synchronize(), tensor.ErrStreamClosed)
	require.ErrorIs(t, tensor.Zeros(s1, tensor.Float32, 4).Err(), tensor.ErrStreamClosed)
	require.ErrorIs(t, x.Exp().Err(), tensor.ErrStreamClosed)
	require.ErrorIs(t, x.Fill(2), tensor.ErrStreamClosed)
	_, err := x.Sum().Item()
	require.ErrorIs(t, err, tensor.ErrStreamClosed)
	require.ErrorIs(t, s1.Wait(d.DefaultStream()), tensor.ErrStreamClosed)

	got, err := tensor.Data[float32](x.On(nil).AddScalar(1))
	require.NoError(t, err)
	require.Equal(t, []float32{2, 2, 2, 2}, got)
	require.NoError(t, x.Release())
	require.NoError(t, d.Memory().Check())
}

func TestDefaultStreamIsNotClosed(t *testing.T) {
	require.ErrorContains(t, newCPU(t).DefaultStream().Close(), "default stream")
}

// TestFreeAfterClose: a block is not freed with the name of a stream that is
// gone, by hand or by the garbage collector.
func TestFreeAfterClose(t *testing.T) {
	for name, free := range map[string]func(t *testing.T, x *tensor.Tensor){
		"Release":   func(t *testing.T, x *tensor.Tensor) { require.NoError(t, x.Release()) },
		"collector": func(*testing.T, *tensor.Tensor) {},
	} {
		t.Run(name, func(t *testing.T) {
			r, d, s1, s2 := onStreams(t)
			x := tensor.Ones(s1, tensor.Float32, 1<<16)
			x.On(s2).Sum().Release()
			require.NoError(t, x.On(s2).NoGrad().Fill(3))
			require.NoError(t, s2.Close())
			marks := len(r.marks)
			free(t, x)
			x = nil
			for range 100 {
				if live(d) == 0 {
					break
				}
				runtime.GC()
			}
			require.Zero(t, live(d))
			require.Zero(t, d.Memory().Stats().PendingBytes)
			require.Len(t, r.marks, marks, "no event was recorded on the stream that is gone")
			require.NoError(t, d.Close())
		})
	}
}

// TestCloseAfterTheCollector: what the garbage collector queued with the name of
// the stream is freed before the stream is gone.
func TestCloseAfterTheCollector(t *testing.T) {
	r, d, s1, s2 := onStreams(t)
	func() { tensor.Ones(s1, tensor.Float32, 1<<16).On(s2).Sum().Release() }()
	executed := []metrics.Sample{{Name: "/gc/cleanups/executed:cleanups"}}
	metrics.Read(executed)
	for before := executed[0].Value.Uint64(); executed[0].Value.Uint64() == before; metrics.Read(executed) {
		runtime.GC()
	}
	require.NoError(t, s2.Close())
	marks := len(r.marks)
	for range 100 {
		if live(d) == 0 {
			break
		}
		runtime.GC()
	}
	require.Zero(t, live(d))
	require.Len(t, r.marks, marks, "no event is recorded on the stream that is gone")
}

// TestUseAfterClose: nobody waits for a stream that is gone, whose work is done.
func TestUseAfterClose(t *testing.T) {
	r, d, s1, s2 := onStreams(t)
	x := tensor.Ones(s2, tensor.Float32, 4)
	x.On(s1).Exp()
	require.NoError(t, s2.Close())
	r.take()
	require.NoError(t, x.On(s1).Fill(2))
	require.NoError(t, x.On(d.DefaultStream()).Exp().Err())
	require.Equal(t, []string{"fill s1", "s0 waits for s1", "exp s0"}, r.take())
}

// TestParameterOfAClosedStream: gradients and steps move to the default stream.
func TestParameterOfAClosedStream(t *testing.T) {
	r, d, s1, _ := onStreams(t)
	w := tensor.Ones(s1, tensor.Float32, 4).RequireGrad()
	require.NoError(t, s1.Close())
	r.take()
	require.NoError(t, tensor.Ones(d, tensor.Float32, 4).Mul(w.On(nil)).Sum().Backward())
	require.NoError(t, tensor.StepSGD([]*tensor.Tensor{w}, nil, tensor.SGD{LR: 1}))
	require.Equal(t, []string{"fill s0", "mul s0", "sum s0", "fill s0", "mul s0", "sgd_step s0"}, r.take())
}

func TestWaitOfAStream(t *testing.T) {
	r, _, s1, s2 := onStreams(t)
	tensor.Ones(s1, tensor.Float32, 4)
	r.take()
	require.NoError(t, s2.Wait(s1))
	require.Equal(t, []string{"s2 waits for s1"}, r.take())
	require.NoError(t, s2.Wait(s1))
	require.Empty(t, r.take(), "nothing is new")
}

func TestDeviceClosesItsStreams(t *testing.T) {
	r, d, _, _ := onStreams(t)
	r.take()
	require.NoError(t, d.Close())
	require.ElementsMatch(t, []string{"host waits for stream 1", "s1 is closed", "host waits for stream 2", "s2 is closed"}, r.take())
}

func TestPriorities(t *testing.T) {
	d := newCPU(t)
	least, most, err := d.Priorities()
	require.NoError(t, err)
	require.GreaterOrEqual(t, least, most)
	s, err := d.NewStreamWith(most)
	require.NoError(t, err)
	require.NoError(t, s.Close())
}
