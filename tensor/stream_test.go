package tensor_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

func TestReadAfterWriteWaits(t *testing.T) {
	r, _, s1, s2 := onStreams(t)
	x := tensor.Ones(s1, tensor.Float32, 4)
	require.Equal(t, []string{"fill s1"}, r.take())
	y := x.On(s2).Exp()
	require.Equal(t, []string{"s2 waits for s1", "exp s2"}, r.take())
	x.On(s2).Exp()
	require.Equal(t, []string{"exp s2"}, r.take(), "that write was waited for")
	y.Exp()
	require.Equal(t, []string{"exp s2"}, r.take(), "the result stays on its stream")
}

func TestWriteAfterReadWaits(t *testing.T) {
	r, _, s1, s2 := onStreams(t)
	x := tensor.Ones(s1, tensor.Float32, 4)
	x.On(s2).Exp()
	r.take()
	require.NoError(t, x.Fill(2))
	require.Equal(t, []string{"s1 waits for s2", "fill s1"}, r.take())
}

func TestWriteAfterWriteWaits(t *testing.T) {
	r, _, s1, s2 := onStreams(t)
	x := tensor.Ones(s1, tensor.Float32, 4)
	require.NoError(t, x.On(s2).Fill(2))
	require.Equal(t, []string{"fill s1", "s2 waits for s1", "fill s2"}, r.take())
	require.NoError(t, x.Fill(3))
	require.Equal(t, []string{"s1 waits for s2", "fill s1"}, r.take())
}

// TestHostCopiesWait: a copy to or from the host is a use as any other.
func TestHostCopiesWait(t *testing.T) {
	r, _, s1, s2 := onStreams(t)
	x := tensor.Ones(s1, tensor.Float32, 4)
	r.take()
	data32(t, x.On(s2))
	require.Equal(t, []string{"s2 waits for s1"}, r.take())
	require.NoError(t, tensor.CopyFrom(x, make([]float32, 4)))
	require.Equal(t, []string{"s1 waits for s2"}, r.take())
	data32(t, x.On(s2))
	require.Equal(t, []string{"s2 waits for s1"}, r.take())
}

func TestReadersDoNotWaitForEachOther(t *testing.T) {
	r, d, s1, s2 := onStreams(t)
	x := tensor.Ones(d, tensor.Float32, 4)
	x.On(s1).Exp()
	x.On(s2).Exp()
	x.Exp()
	require.Equal(t, []string{"fill s0", "s1 waits for s0", "exp s1", "s2 waits for s0", "exp s2", "exp s0"}, r.take())
}

// TestReuseWaits: a block that another stream still reads is not handed out.
func TestReuseWaits(t *testing.T) {
	for name, free := range map[string]func(x *tensor.Tensor, s *tensor.Scope) error{
		"Release": func(x *tensor.Tensor, _ *tensor.Scope) error { return x.Release() },
		"scope":   func(_ *tensor.Tensor, s *tensor.Scope) error { return s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			r, d, s1, s2 := onStreams(t)
			scope := tensor.NewScope()
			place := s1.In(scope)
			if name == "Release" {
				place = s1
			}
			x := tensor.Ones(place, tensor.Float32, 1<<16)
			require.NoError(t, x.On(s2).Sum().Err())
			require.NoError(t, free(x, scope))
			pending := d.Memory().Stats().PendingBytes
			require.EqualValues(t, 4<<16, pending, "s2 has not finished with it")
			again := tensor.Ones(s1, tensor.Float32, 1<<16)
			require.EqualValues(t, pending, d.Memory().Stats().PendingBytes, "it was not handed out again")
			r.done = true
			require.NoError(t, again.Release())
			tensor.Ones(s1, tensor.Float32, 1<<16)
			require.Zero(t, d.Memory().Stats().PendingBytes)
			require.NoError(t, d.Memory().Check())
		})
	}
}

func TestReleaseOnOneStreamIsAtOnce(t *testing.T) {
	r, d, s1, _ := onStreams(t)
	x := tensor.Ones(s1, tensor.Float32, 1<<16)
	x.Exp()
	require.NoError(t, x.Release())
	require.Zero(t, d.Memory().Stats().PendingBytes)
	require.Equal(t, []string{"fill s1", "exp s1"}, r.take(), "no event was recorded")
}

// TestBackwardRunsOnTheForwardStreams: each gradient runs where its op ran, the
// leaf's gradient on the leaf's stream, and the loss's stream waits for all.
func TestBackwardRunsOnTheForwardStreams(t *testing.T) {
	r, d, s1, s2 := onStreams(t)
	w := tensor.Ones(d, tensor.Float32, 4).RequireGrad()
	x := tensor.Ones(s1, tensor.Float32, 4)
	h := x.Mul(w)       // s1
	y := h.On(s2).Exp() // s2
	loss := y.Sum()     // s2
	require.Equal(t, []string{"fill s0", "fill s1", "s1 waits for s0", "mul s1", "s2 waits for s1", "exp s2", "sum s2"}, r.take())
	require.NoError(t, loss.Backward())
	log := r.take()
	require.Equal(t, []string{
		"fill s2",                   // 1
		"mul s2",                    // through Exp
		"s1 waits for s2", "mul s1", // through Mul
		"s0 waits for s1", "copy s0", // to the leaf
		"s2 waits for s0",
	}, log)
	g, err := tensor.Data[float32](w.Grad())
	require.NoError(t, err)
	require.InDelta(t, 2.718281828, g[0], 1e-6)
}

func TestStepRunsOnTheParametersStream(t *testing.T) {
	r, d, s1, _ := onStreams(t)
	w := tensor.Ones(d, tensor.Float32, 4).RequireGrad()
	require.NoError(t, tensor.Ones(s1, tensor.Float32, 4).Mul(w).Sum().Backward())
	require.NoError(t, w.NoGrad().On(s1).Exp().Err())
	r.take()
	require.NoError(t, tensor.StepSGD([]*tensor.Tensor{w}, nil, tensor.SGD{LR: 1}))
	require.Equal(t, []string{"s0 waits for s1", "sgd_step s0"}, r.take(), "s1 reads w")
}

// TestManyGoroutinesShareAReader runs under the race detector.
func TestManyGoroutinesShareAReader(t *testing.T) {
	r, d := newRecorder(t)
	r.done = true
	x := tensor.Ones(d, tensor.Float32, 64)
	var wg sync.WaitGroup
	for range 8 {
		s, err := d.NewStream()
		require.NoError(t, err)
		wg.Go(func() {
			for range 50 {
				y := x.On(s).Exp()
				if err := y.Err(); err != nil {
					t.Error(err)
				}
				y.Release()
			}
		})
	}
	wg.Wait()
	require.NoError(t, x.Release())
	require.Zero(t, live(d))
}
