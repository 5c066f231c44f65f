package tensor_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/internal/invariants"
	"tarn/tensor"
)

func data32(t *testing.T, x *tensor.Tensor) []float32 {
	t.Helper()
	got, err := tensor.Data[float32](x)
	require.NoError(t, err)
	return got
}

func TestCaptureReplays(t *testing.T) {
	r, d, _, _ := onStreams(t)
	x := tensor.FromSlice(d, []float32{1, 2, 3})
	var y *tensor.Tensor
	runs := 0
	g, err := tensor.Capture(d.DefaultStream(), func() error {
		runs++
		h := x.MulScalar(2)
		y = h.AddScalar(1)
		return errors.Join(h.Release(), y.Err())
	})
	require.NoError(t, err)
	require.Equal(t, 2, runs)
	require.Equal(t, []string{"affine s0", "affine s0", "captured affine s0", "captured affine s0"}, r.take())
	for i := range 3 {
		in := float32(10 * i)
		require.NoError(t, tensor.CopyFrom(x, []float32{in, in + 1, in + 2}))
		require.NoError(t, g.Replay())
		require.Equal(t, []float32{2*in + 1, 2*in + 3, 2*in + 5}, data32(t, y))
	}
	require.NoError(t, d.Memory().Check())
	r.take()
	require.NoError(t, g.Close())
	require.Equal(t, []string{"host waits for stream 0"}, r.take(), "for the last Replay")
	require.NoError(t, g.Close())
	require.ErrorIs(t, g.Replay(), tensor.ErrReleased)
	require.Equal(t, float32(41), data32(t, y)[0], "what was made is good")
	require.NoError(t, errors.Join(x.Release(), y.Release()))
}

// TestCaptureKeepsItsMemory: nobody gets memory that the graph writes.
func TestCaptureKeepsItsMemory(t *testing.T) {
	_, d, _, _ := onStreams(t)
	x := tensor.Ones(d, tensor.Float32, 1000)
	g, err := tensor.Capture(d.DefaultStream(), func() error {
		h := x.AddScalar(1)
		y := h.Mul(h)
		return errors.Join(y.Err(), h.Release(), y.Release())
	})
	require.NoError(t, err)
	require.NoError(t, x.Release(), "the graph holds it")
	others := make([]*tensor.Tensor, 50)
	for i := range others {
		others[i] = tensor.Full(d, tensor.Float32, 7, 1000)
	}
	require.NoError(t, g.Replay())
	for _, o := range others {
		require.Equal(t, float32(7), data32(t, o)[999])
	}
	require.NoError(t, g.Close())
}

// TestReplayIsOneLaunch: it waits for whoever uses what it writes, and writes
// what it reads, and others wait for it.
func TestReplayIsOneLaunch(t *testing.T) {
	r, d, s1, s2 := onStreams(t)
	x := tensor.Ones(s1, tensor.Float32, 4)
	w := tensor.Ones(d, tensor.Float32, 4)
	g, err := tensor.Capture(s1, func() error { return w.NoGrad().On(s1).AddInPlace(x) })
	require.NoError(t, err)
	require.NoError(t, w.On(s2).Exp().Err())
	require.NoError(t, x.On(s2).Fill(3))
	r.take()
	require.NoError(t, g.Replay())
	require.Equal(t, []string{"s1 waits for s2", "graph s1"}, r.take())
	require.NoError(t, w.On(s2).Exp().Err())
	require.Equal(t, []string{"s2 waits for s1", "exp s2"}, r.take(), "read after write")
	require.NoError(t, g.Replay())
	require.Equal(t, []string{"s1 waits for s2", "graph s1"}, r.take(), "write after read")
	require.NoError(t, x.On(s2).Fill(3))
	require.Equal(t, []string{"s2 waits for s1", "fill s2"}, r.take(), "write after read of the graph")
	require.Equal(t, []float32{1 + 1 + 3 + 3, 8, 8, 8}, data32(t, w))
}

// TestReplayWaitsForReadersOfReleasedResults: the graph writes their memory all
// the same.
func TestReplayWaitsForReadersOfReleasedResults(t *testing.T) {
	r, _, s1, s2 := onStreams(t)
	x := tensor.Ones(s1, tensor.Float32, 4)
	var y *tensor.Tensor
	g, err := tensor.Capture(s1, func() error {
		y = x.AddScalar(1)
		return y.Err()
	})
	require.NoError(t, err)
	require.NoError(t, g.Replay())
	require.NoError(t, errors.Join(y.On(s2).Exp().Err(), y.Release()))
	r.take()
	require.NoError(t, g.Replay())
	require.Equal(t, []string{"s1 waits for s2", "graph s1"}, r.take())
	require.NoError(t, g.Close())
}

// afterMarks returns the log of a capture on s1 that drew s2 in: with checks on it
// comes after the marks that s2 has made on what it allocated.
func afterMarks(log []string) []string {
	if invariants.Enabled {
		return append(log, "s1 waits for s2")
	}
	return log
}

// TestCaptureForksAndJoins: a stream that needs what is recorded comes into the
// graph, and the graph ends after it.
func TestCaptureForksAndJoins(t *testing.T) {
	r, d, s1, s2 := onStreams(t)
	x := tensor.Ones(s1, tensor.Float32, 4)
	var y *tensor.Tensor
	g, err := tensor.Capture(s1, func() error {
		h := x.AddScalar(1)           // s1
		side := h.On(s2).AddScalar(1) // s2
		y = h.Mul(side)               // s1
		last := side.MulScalar(2)     // s2
		return errors.Join(h.Release(), side.Release(), y.Err(), last.Release())
	})
	require.NoError(t, err)
	log := r.take()
	require.Equal(t, afterMarks([]string{
		"s1 waits for s2",                        // for what the first run left
		"host waits for s2", "host waits for s1", // to empty the cache
		"captured affine s1", "s2 waits for s1", "captured affine s2", "s1 waits for s2", "captured mul s1", "captured affine s2",
		"s1 waits for s2",
	}), log[7:])
	require.NoError(t, g.Replay())
	require.Equal(t, []float32{6, 6, 6, 6}, data32(t, y))
	require.NoError(t, x.On(s2).Fill(5), "s2 does its work again")
	require.NoError(t, g.Replay())
	require.Equal(t, []float32{42, 42, 42, 42}, data32(t, y))
	require.NoError(t, d.Memory().Check())
	require.NoError(t, g.Close())
}

// TestCaptureRefuses names the op, and the streams go on afterwards.
func TestCaptureRefuses(t *testing.T) {
	unused := map[*tensor.Device]*tensor.Stream{}
	for name, c := range map[string]struct {
		say string
		f   func(d *tensor.Device, s1, s2 *tensor.Stream, x, y *tensor.Tensor) error
	}{
		"Item": {"Item", func(_ *tensor.Device, _, _ *tensor.Stream, _, y *tensor.Tensor) error {
			_, err := y.Sum().Item()
			return err
		}},
		"ignored": {"a copy between the host", func(_ *tensor.Device, _, _ *tensor.Stream, _, y *tensor.Tensor) error {
			_, _ = y.Sum().Item()
			return nil
		}},
		"Data": {"Data", func(_ *tensor.Device, _, _ *tensor.Stream, _, y *tensor.Tensor) error {
			_, err := tensor.Data[float32](y)
			return err
		}},
		"CopyFrom": {"CopyFrom", func(_ *tensor.Device, _, _ *tensor.Stream, _, y *tensor.Tensor) error {
			return tensor.CopyFrom(y, []float32{1, 2})
		}},
		"FromSlice": {"FromSlice", func(_ *tensor.Device, s1, _ *tensor.Stream, _, y *tensor.Tensor) error {
			return tensor.FromSlice(s1, []float32{1, 2}).Add(y).Err()
		}},
		"random numbers": {"RandUniform", func(_ *tensor.Device, s1, _ *tensor.Stream, _, y *tensor.Tensor) error {
			return tensor.Rand(s1, tensor.NewGenerator(1), tensor.Float32, 2).Add(y).Err()
		}},
		"dropout": {"Dropout", func(_ *tensor.Device, _, _ *tensor.Stream, _, y *tensor.Tensor) error {
			return y.Dropout(tensor.NewGenerator(1), 0.5, true).Err()
		}},
		"Synchronize": {"synchronize", func(_ *tensor.Device, s1, _ *tensor.Stream, _, _ *tensor.Tensor) error {
			return s1.Synchronize()
		}},
		"Close": {"close", func(_ *tensor.Device, s1, _ *tensor.Stream, _, _ *tensor.Tensor) error {
			return s1.Close()
		}},
		"another capture": {"Capture", func(_ *tensor.Device, _, s2 *tensor.Stream, _, _ *tensor.Tensor) error {
			_, err := tensor.Capture(s2, func() error { return nil })
			return err
		}},
		"a stream that was not used": {"Exp", func(_ *tensor.Device, _, s2 *tensor.Stream, _, y *tensor.Tensor) error {
			return y.On(unused[s2.Device()]).Exp().Err()
		}},
		"a new stream": {"Exp", func(d *tensor.Device, _, _ *tensor.Stream, _, y *tensor.Tensor) error {
			s, err := d.NewStream()
			if err != nil {
				return err
			}
			return y.On(s).Exp().Err()
		}},
		"host outside": {"Data", func(_ *tensor.Device, _, s2 *tensor.Stream, _, y *tensor.Tensor) error {
			_, err := tensor.Data[float32](y.On(s2))
			return err
		}},
		"written outside": {"Add", func(_ *tensor.Device, _, s2 *tensor.Stream, x, y *tensor.Tensor) error {
			return y.Add(x.On(s2).Exp().On(nil)).Err()
		}},
		"joined too late": {"AddInPlace", func(_ *tensor.Device, _, s2 *tensor.Stream, x, y *tensor.Tensor) error {
			return errors.Join(x.On(s2).Exp().Err(), y.On(s2).AddInPlace(x))
		}},
		"error": {"of f", func(*tensor.Device, *tensor.Stream, *tensor.Stream, *tensor.Tensor, *tensor.Tensor) error {
			return errors.New("of f")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, d, s1, s2 := onStreams(t)
			x := tensor.Ones(s1, tensor.Float32, 2)
			s3, err := d.NewStream()
			require.NoError(t, err)
			unused[d] = s3
			first := true
			g, err := tensor.Capture(s1, func() error {
				y := x.AddScalar(1)
				defer y.Release()
				if first {
					first = false
					side := y.On(s2).AddScalar(1)
					return errors.Join(y.Err(), side.Err(), side.Release())
				}
				return c.f(d, s1, s2, x, y)
			})
			require.Nil(t, g)
			require.ErrorContains(t, err, c.say)
			if name != "error" {
				require.ErrorIs(t, err, tensor.ErrCapture)
				require.Equal(t, 1, strings.Count(err.Error(), tensor.ErrCapture.Error()), "told once: %v", err)
			}
			require.Equal(t, []float32{3, 3}, data32(t, x.AddScalar(2)), "s1 does its work")
			require.Equal(t, []float32{3, 3}, data32(t, x.On(s2).AddScalar(2)))
			require.NoError(t, s1.Synchronize())
			require.NoError(t, d.Memory().Check())
			g, err = tensor.Capture(s1, func() error { return x.AddScalar(1).Err() })
			require.NoError(t, err, "the next capture is good")
			require.NoError(t, g.Close())
		})
	}
}

// TestCaptureOrdersItsStreams: inside a graph too, a write waits for a read, and
// memory that a stream still reads is not handed out.
func TestCaptureOrdersItsStreams(t *testing.T) {
	r, d, s1, s2 := onStreams(t)
	x := tensor.Ones(s1, tensor.Float32, 1<<16)
	f := func() error {
		h := x.AddScalar(1)
		side := h.On(s2).Exp()
		err := h.MulInPlace(h)
		was := tensor.Pointer(h)
		h2 := h.On(s2).Exp()
		h.Release()
		z := tensor.Full(s1, tensor.Float32, 9, 1<<16)
		require.NotEqual(t, was, tensor.Pointer(z), "s2 reads it")
		return errors.Join(err, side.Release(), h2.Release(), z.Release())
	}
	g, err := tensor.Capture(s1, f)
	require.NoError(t, err)
	log := r.take()
	want := []string{
		"captured affine s1", "s2 waits for s1", "captured exp s2", "s1 waits for s2", "captured mul s1",
		"s2 waits for s1", "captured exp s2", "captured fill s1", "s1 waits for s2",
	}
	want = afterMarks(want)
	require.Equal(t, want, log[max(0, len(log)-len(want)):])
	require.NoError(t, g.Close())
	require.NoError(t, d.Memory().Check())
}

func TestCaptureOnTheCPU(t *testing.T) {
	_, err := tensor.Capture(newCPU(t).DefaultStream(), func() error { return nil })
	require.ErrorIs(t, err, tensor.ErrCapture)
	require.ErrorContains(t, err, "no graphs")
}

func TestCaptureSurvivesAPanic(t *testing.T) {
	_, d, s1, _ := onStreams(t)
	x := tensor.Ones(s1, tensor.Float32, 2)
	runs := 0
	require.PanicsWithValue(t, "oh", func() {
		_, _ = tensor.Capture(s1, func() error {
			if runs++; runs == 2 {
				panic("oh")
			}
			return nil
		})
	})
	require.Equal(t, []float32{3, 3}, data32(t, x.AddScalar(2)))
	require.NoError(t, d.Memory().Check())
}

// TestCaptureFailsInTheDriver: the driver's error is told, and all is as before.
func TestCaptureFailsInTheDriver(t *testing.T) {
	r, d, s1, _ := onStreams(t)
	broken := errors.New("broken")
	r.refuse = broken
	x := tensor.Ones(s1, tensor.Float32, 2)
	_, err := tensor.Capture(s1, func() error { return x.AddScalar(1).Err() })
	require.ErrorIs(t, err, broken)
	require.Equal(t, []float32{3, 3}, data32(t, x.AddScalar(2)))
	require.NoError(t, d.Memory().Check())
}

// TestReplayOfAClosedScope: the graph does not write to memory that its scope
// gave away.
func TestReplayOfAClosedScope(t *testing.T) {
	_, d, _, _ := onStreams(t)
	s := tensor.NewScope()
	x := tensor.Ones(d.In(s), tensor.Float32, 2)
	g, err := tensor.Capture(d.DefaultStream(), func() error { return x.AddScalar(1).Err() })
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.ErrorIs(t, g.Replay(), tensor.ErrReleased)
	require.NoError(t, g.Close())
}

// TestBackwardSeesAReplay: what a graph has written over is not what backward
// saved.
func TestBackwardSeesAReplay(t *testing.T) {
	_, d, _, _ := onStreams(t)
	x := tensor.Ones(d, tensor.Float32, 2)
	g, err := tensor.Capture(d.DefaultStream(), func() error { return x.Fill(4) })
	require.NoError(t, err)
	w := tensor.Ones(d, tensor.Float32, 2).RequireGrad()
	loss := w.Mul(x).Sum()
	require.NoError(t, g.Replay())
	require.ErrorIs(t, loss.Backward(), tensor.ErrInPlace)
	require.NoError(t, g.Close())
}
