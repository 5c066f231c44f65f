package tensor_test

import (
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// TestKeptStorageRemembersItsReaders: what read a tensor while it was in a
// scope is waited for when the garbage collector frees it afterwards.
func TestKeptStorageRemembersItsReaders(t *testing.T) {
	_, d, s1, s2 := onStreams(t)
	s := tensor.NewScope()
	func() {
		x := tensor.Ones(s1.In(s), tensor.Float32, 1<<16)
		require.NoError(t, x.On(s2).Sum().Err())
		require.NoError(t, s.Keep(x))
	}()
	require.NoError(t, s.Close())
	require.Eventually(t, func() bool {
		runtime.GC()
		return d.Memory().Stats().PendingBytes > 1<<17
	}, 10*time.Second, time.Millisecond)
}

// TestReadersOfManyStreams runs under the race detector: the readers share no
// lock but the storage's.
func TestReadersOfManyStreams(t *testing.T) {
	_, d, s1, s2 := onStreams(t)
	for range 200 {
		x := tensor.Ones(d, tensor.Float32, 64)
		z := tensor.Ones(d, tensor.Float32, 64)
		z.On(s1).Exp()
		z.On(s2).Exp() // both have waited for x too
		var wg sync.WaitGroup
		start := make(chan bool)
		for _, s := range []*tensor.Stream{s1, s2} {
			y := tensor.Ones(s, tensor.Float32, 64)
			wg.Go(func() {
				<-start
				if err := y.AddInPlace(x); err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		wg.Wait()
	}
}

// TestAccumulationIsAnInPlaceChange: adding to a gradient that a graph has saved.
func TestAccumulationIsAnInPlaceChange(t *testing.T) {
	onDevices(t, checkAccumulationIsAnInPlaceChange)
}

func checkAccumulationIsAnInPlaceChange(t *testing.T, d *tensor.Device) {
	w := tensor.Ones(d, tensor.Float32, 3).RequireGrad()
	x := tensor.Ones(d, tensor.Float32, 3).RequireGrad()
	require.NoError(t, w.Sum().Backward())
	y := x.Mul(w.Grad()).Sum()
	require.NoError(t, w.Sum().Backward())
	require.ErrorIs(t, y.Backward(), tensor.ErrInPlace)
}

func TestDevicesDoNotMix(t *testing.T) {
	_, d := newRecorder(t)
	host := tensor.Scalar(tensor.CPU(), tensor.Float32, 1)
	require.ErrorIs(t, host.AddInPlace(tensor.Scalar(d, tensor.Float32, 2)), tensor.ErrDevice)
	x := tensor.Ones(d, tensor.Float32, 2, 3).RequireGrad()
	require.ErrorIs(t, x.T().BackwardWith(tensor.Ones(tensor.CPU(), tensor.Float32, 3, 2)), tensor.ErrDevice)
	leaf := tensor.Scalar(tensor.CPU(), tensor.Float32, 3).RequireGrad()
	require.ErrorIs(t, x.Mul(leaf).Err(), tensor.ErrDevice, "its gradient would be lost")
	require.NoError(t, x.Mul(leaf.NoGrad()).Err())

	exact := tensor.FromSlice(tensor.CPU(), []int64{1<<53 + 1}).Squeeze(0)
	got, err := tensor.Data[int64](tensor.Zeros(d, tensor.Int64, 1).Add(exact))
	require.NoError(t, err)
	require.Equal(t, []int64{1<<53 + 1}, got)
}

// TestGradientStaysOnTheHomeStream at the second backward too, and the loss's
// stream waits for it.
func TestGradientStaysOnTheHomeStream(t *testing.T) {
	r, _, s1, s2 := onStreams(t)
	w := tensor.Ones(s1, tensor.Float32, 4).RequireGrad()
	for range 2 {
		r.take()
		require.NoError(t, w.On(s2).Exp().Sum().Backward())
	}
	log := r.take()
	require.Contains(t, log, "add s1")
	require.Equal(t, "s2 waits for s1", log[len(log)-1])
}

func TestOddShapes(t *testing.T) { onDevices(t, checkOddShapes) }

func checkOddShapes(t *testing.T, d *tensor.Device) {
	empty := tensor.Zeros(d, tensor.Float32, 3, 0, 2).Transpose(0, 2)
	require.NoError(t, empty.Reshape(5, 0).Err())
	x := tensor.Ones(d, tensor.Float32, 3)
	require.Equal(t, tensor.Shape{1}, x.Slice(0, 0, 3, math.MaxInt).Shape())
	_, err := tensor.Data[float32](tensor.Ones(d, tensor.Float32, 1).Expand(1 << 60))
	require.ErrorIs(t, err, tensor.ErrShape)
	closed := tensor.NewScope()
	require.NoError(t, closed.Close())
	require.ErrorIs(t, tensor.Ones(d.In(closed.Child()), tensor.Float32, 4).Err(), tensor.ErrReleased)
}

// TestDivGradientStaysFinite where its factors over- and underflow.
func TestDivGradientStaysFinite(t *testing.T) { onDevices(t, checkDivGradientStaysFinite) }

func checkDivGradientStaysFinite(t *testing.T, d *tensor.Device) {
	a := tensor.Zeros(d, tensor.Float32, 1)
	b := tensor.Full(d, tensor.Float32, 1e-30, 1).RequireGrad()
	require.NoError(t, a.Div(b).BackwardWith(tensor.Full(d, tensor.Float32, 1e10, 1)))
	g, err := tensor.Data[float32](b.Grad())
	require.NoError(t, err)
	require.Zero(t, g[0])
}

// TestFailedStepChangedNothing: the second launch is refused before the first.
func TestFailedStepChangedNothing(t *testing.T) { onDevices(t, checkFailedStepChangedNothing) }

func checkFailedStepChangedNothing(t *testing.T, d *tensor.Device) {
	p := tensor.Ones(d, tensor.Float32, 2).RequireGrad()
	q := tensor.Ones(d, tensor.Float64, 2).RequireGrad()
	require.NoError(t, p.Sum().Backward())
	require.NoError(t, q.Sum().Backward())
	a, b, m := tensor.Zeros(d, tensor.Float32, 2), tensor.Zeros(d, tensor.Float32, 2), tensor.Zeros(d, tensor.Float64, 2)
	h := tensor.AdamW{LR: .1, Beta1: .9, Beta2: .99, Eps: 1e-8, Step: 1}
	require.Error(t, tensor.StepAdamW([]*tensor.Tensor{p, q}, []*tensor.Tensor{a, m}, []*tensor.Tensor{b, m}, h))
	v, err := tensor.Data[float32](p)
	require.NoError(t, err)
	require.Equal(t, []float32{1, 1}, v)

	failed := p.NoGrad().Add(tensor.Ones(d, tensor.Float32, 3))
	require.Same(t, failed.Err(), tensor.StepSGD([]*tensor.Tensor{failed}, nil, tensor.SGD{LR: 1}), "the first cause")
}

func TestReleaseOfALeafReleasesItsGradient(t *testing.T) {
	onDevices(t, checkReleaseOfALeafReleasesItsGradient)
}

func checkReleaseOfALeafReleasesItsGradient(t *testing.T, d *tensor.Device) {
	w := tensor.Ones(d, tensor.Float32, 1024).RequireGrad()
	s := tensor.NewScope()
	require.NoError(t, w.In(s).Sum().Backward())
	require.NoError(t, s.Close())
	require.NoError(t, w.Release())
	require.Zero(t, live(d))
}

func TestRepeatInAClosedScope(t *testing.T) { onDevices(t, checkRepeatInAClosedScope) }

func checkRepeatInAClosedScope(t *testing.T, d *tensor.Device) {
	closed := tensor.NewScope()
	require.NoError(t, closed.Close())
	x := tensor.Ones(d, tensor.Float32, 2, 3)
	for what, y := range map[string]*tensor.Tensor{
		"repeat": x.In(closed).Repeat(2, 2, 2), "once": x.In(closed).Repeat(1, 1), "tile": x.In(closed).Tile(3), "interleave": x.In(closed).RepeatInterleave(2, 0),
	} {
		require.ErrorIs(t, y.Err(), tensor.ErrReleased, what)
	}
	require.NoError(t, x.Release())
	require.Zero(t, live(d))
}
