package tensor_test

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
	"tarn/memory"
	"tarn/tensor"
)

func TestReleaseEndsTheHandle(t *testing.T) { onDevices(t, checkReleaseEndsTheHandle) }

func checkReleaseEndsTheHandle(t *testing.T, d *tensor.Device) {
	x := tensor.Ones(d, tensor.Float32, 8)
	borrowed := x.NoGrad()
	require.NoError(t, x.Release())
	require.NoError(t, x.Release(), "again is nothing")
	require.Zero(t, live(d))
	for what, err := range map[string]error{
		"op": x.Exp().Err(), "operand": tensor.Ones(d, tensor.Float32, 8).Add(x).Err(), "borrowed": borrowed.Exp().Err(),
		"view": x.Reshape(2, 4).Err(), "detach": x.Detach().Err(), "in place": x.Fill(1), "grad": x.RequireGrad().Err(),
		"backward": x.Backward(),
	} {
		require.ErrorIs(t, err, tensor.ErrReleased, what)
	}
	_, err := x.Item()
	require.ErrorIs(t, err, tensor.ErrReleased)
	_, err = tensor.Data[float32](x)
	require.ErrorIs(t, err, tensor.ErrReleased)
}

func TestBytesGoWithTheLastHolder(t *testing.T) { onDevices(t, checkBytesGoWithTheLastHolder) }

func checkBytesGoWithTheLastHolder(t *testing.T, d *tensor.Device) {
	x := tensor.Ones(d, tensor.Float32, 2, 3)
	view, detached := x.T(), x.Detach()
	require.NoError(t, x.NoGrad().Release())
	require.NoError(t, x.Release())
	require.NotZero(t, live(d), "the views hold it")
	got, err := tensor.Data[float32](view)
	require.NoError(t, err)
	require.Equal(t, []float32{1, 1, 1, 1, 1, 1}, got)
	require.NoError(t, view.Release())
	require.NotZero(t, live(d))
	require.NoError(t, detached.Release())
	require.Zero(t, live(d))
}

func TestGraphHoldsWhatBackwardNeeds(t *testing.T) { onDevices(t, checkGraphHoldsWhatBackwardNeeds) }

func checkGraphHoldsWhatBackwardNeeds(t *testing.T, d *tensor.Device) {
	w := tensor.FromSlice(d, []float64{1, 2}).RequireGrad()
	x := tensor.FromSlice(d, []float64{3, 4})
	y := x.Mul(w)
	loss := y.Sum()
	require.NoError(t, x.Release())
	require.NoError(t, y.Release())
	require.NoError(t, loss.Backward())
	g, err := tensor.Data[float64](w.Grad())
	require.NoError(t, err)
	require.Equal(t, []float64{3, 4}, g)
	require.NoError(t, loss.Release())
	require.NoError(t, w.ZeroGrad())
	require.NoError(t, w.Release())
	require.Zero(t, live(d))
}

// TestReleaseFreesAGraphThatNoBackwardSees: dropping a loss by Release frees
// what its graph saved, without the garbage collector.
func TestReleaseFreesAGraphThatNoBackwardSees(t *testing.T) {
	onDevices(t, checkReleaseFreesAGraphThatNoBackwardSees)
}

func checkReleaseFreesAGraphThatNoBackwardSees(t *testing.T, d *tensor.Device) {
	w := tensor.Ones(d, tensor.Float32, 64, 64).RequireGrad()
	base := live(d)
	for range 100 {
		h := w.MatMul(w)
		y := h.Exp()
		loss := y.Sum()
		for _, x := range []*tensor.Tensor{h, y, loss} {
			require.NoError(t, x.Release())
		}
		require.Equal(t, base, live(d))
	}
}

func TestScopeReleasesWhatIsLeft(t *testing.T) { onDevices(t, checkScopeReleasesWhatIsLeft) }

func checkScopeReleasesWhatIsLeft(t *testing.T, d *tensor.Device) {
	w := tensor.Ones(d, tensor.Float32, 4, 4).RequireGrad()
	base := live(d)
	s := tensor.NewScope()
	x := tensor.Ones(d.In(s), tensor.Float32, 4, 4)
	y := x.MatMul(w)
	early := y.Exp()
	require.NoError(t, early.Release())
	require.NoError(t, y.Sum().Backward())
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "again is nothing")
	require.Equal(t, base+512, live(d), "the gradient belongs to the parameter")
	require.ErrorIs(t, x.Exp().Err(), tensor.ErrReleased)
	require.ErrorContains(t, x.Exp().Err(), "lifetime_test.go", "it names the scope's birthplace")
	require.NoError(t, x.Release())
	require.ErrorIs(t, tensor.Ones(d.In(s), tensor.Float32, 4).Err(), tensor.ErrReleased)
	require.NoError(t, w.Grad().AddInPlace(tensor.Ones(d, tensor.Float32, 4, 4)))
}

func TestKeepMovesToTheParent(t *testing.T) { onDevices(t, checkKeepMovesToTheParent) }

func checkKeepMovesToTheParent(t *testing.T, d *tensor.Device) {
	outer := tensor.NewScope()
	inner := outer.Child()
	w := tensor.Ones(d, tensor.Float32, 4).RequireGrad()
	y := w.In(inner).MulScalar(2)
	require.True(t, y.RequiresGrad())
	require.NoError(t, inner.Keep(y))
	require.False(t, y.RequiresGrad(), "detached")
	require.NoError(t, inner.Close())
	got, err := tensor.Data[float32](y)
	require.NoError(t, err)
	require.Equal(t, []float32{2, 2, 2, 2}, got)
	require.Same(t, outer, y.Scope())
	require.ErrorIs(t, inner.Keep(y), tensor.ErrScope)
	require.NoError(t, outer.Keep(y))
	require.NoError(t, outer.Close())
	require.NoError(t, y.Err())
	_, err = tensor.Data[float32](y)
	require.NoError(t, err, "out of all scopes")
	require.Nil(t, y.Scope())
}

func TestClosingAScopeClosesTheScopesInIt(t *testing.T) {
	onDevices(t, checkClosingAScopeClosesTheScopesInIt)
}

func checkClosingAScopeClosesTheScopesInIt(t *testing.T, d *tensor.Device) {
	outer := tensor.NewScope()
	x := tensor.Ones(d.In(outer.Child().Child()), tensor.Float32, 4)
	require.NoError(t, outer.Close())
	require.ErrorIs(t, x.Exp().Err(), tensor.ErrReleased)
	require.Zero(t, live(d))
}

// TestDroppedScopeIsGarbage: a scope that nobody closed does not keep its
// tensors, not even under a limit, and a tensor that outlives it stays valid.
func TestDroppedScopeIsGarbage(t *testing.T) {
	d := newDevice(t, func(c *memory.Config) { c.Limit = 256 << 20 })
	kept := tensor.NewScope()
	var survivor *tensor.Tensor
	for range 300 {
		s := kept.Child()
		x := tensor.Ones(d.In(s), tensor.Float32, 1<<20)
		require.NoError(t, x.Err())
		if survivor == nil {
			survivor = x.Detach().In(kept)
		}
	}
	got, err := survivor.Sum().Item()
	require.NoError(t, err)
	require.EqualValues(t, 1<<20, got)
	require.NotZero(t, d.Memory().Stats().GCReleased.Count)
	require.NoError(t, kept.Close())
}

// TestBackwardSeesAClosedScope: z was put into the outer scope, but what its
// backward needs lies in the inner one.
func TestBackwardSeesAClosedScope(t *testing.T) { onDevices(t, checkBackwardSeesAClosedScope) }

func checkBackwardSeesAClosedScope(t *testing.T, d *tensor.Device) {
	outer := tensor.NewScope()
	inner := outer.Child()
	w := tensor.Ones(d, tensor.Float32, 4).RequireGrad()
	h := tensor.Ones(d.In(inner), tensor.Float32, 4).Mul(w)
	z := h.In(outer).Exp().Sum()
	require.NoError(t, inner.Close())
	err := z.Backward()
	require.ErrorIs(t, err, tensor.ErrReleased)
	require.ErrorContains(t, err, "Mul backward")
	require.Nil(t, w.Grad())
	require.NoError(t, outer.Close())
}

// hardBudget is what a device may hold above its live bytes where live bytes
// are few: see package memory.
const hardBudget = 128 << 20

// noGC switches the garbage collector's own pacing off, so that only the
// allocator's bound can keep memory in check.
func noGC(t *testing.T) {
	before := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(before) })
}

func TestDroppedTensorsStayBounded(t *testing.T) {
	noGC(t)
	d := newDevice(t, func(c *memory.Config) { c.NoBackgroundGC = true })
	const size = 8 << 20
	for range 200 {
		x := tensor.Zeros(d, tensor.Float32, size/4)
		require.NoError(t, x.Exp().Err())
	}
	stats := d.Memory().Stats()
	require.LessOrEqual(t, stats.ReservedBytes.All.Peak, int64(2*size+hardBudget+20<<20))
	require.NotZero(t, stats.GCReleased.Count)
}

func TestLoopWithoutScopeStaysBounded(t *testing.T) {
	noGC(t)
	d := newDevice(t, func(c *memory.Config) { c.NoBackgroundGC = true })
	w := tensor.Ones(d, tensor.Float32, 512, 512).RequireGrad()
	x := tensor.Ones(d, tensor.Float32, 512, 512)
	d.Memory().ResetPeak()
	step := func() {
		require.NoError(t, x.Mul(w).ReLU().Exp().Mul(x).Sum().Backward())
		require.NoError(t, w.ZeroGrad())
	}
	step()
	peakLive := d.Memory().Stats().AllocatedBytes.All.Peak
	for range 150 {
		step()
	}
	require.LessOrEqual(t, d.Memory().Stats().ReservedBytes.All.Peak, peakLive+hardBudget+20<<20)
}

// TestMillionDroppedTensors: nobody releases any of them, and they fill the
// device 30 times over. All their bytes come back before it is called full.
func TestMillionDroppedTensors(t *testing.T) {
	noGC(t)
	const limit = 16 << 20
	d := newDevice(t, func(c *memory.Config) { c.NoBackgroundGC, c.Limit = true, limit })
	tensors := 1_000_000
	if testing.Short() {
		tensors /= 10
	}
	for range tensors {
		require.NoError(t, tensor.Zeros(d, tensor.Float32, 100).Err())
	}
	const most = limit - 4<<20
	x := tensor.Zeros(d, tensor.Float32, most/4)
	require.NoError(t, x.Err())
	stats := d.Memory().Stats()
	require.Zero(t, stats.NumOOMs)
	require.GreaterOrEqual(t, stats.GCReleased.Count, int64(tensors-limit/512))
}

// TestCleanupWaitsForOtherStreams: the net under a dropped tensor knows the
// streams that read it.
func TestCleanupWaitsForOtherStreams(t *testing.T) {
	r, d, s1, s2 := onStreams(t)
	func() {
		x := tensor.Ones(s1, tensor.Float32, 1<<16)
		require.NoError(t, x.On(s2).Sum().Err())
	}()
	require.Eventually(t, func() bool {
		runtime.GC()
		return d.Memory().Stats().PendingBytes == 4<<16
	}, 10*time.Second, time.Millisecond)
	r.done = true
	require.NoError(t, d.Memory().EmptyCache())
	require.Zero(t, d.Memory().Stats().PendingBytes)
}

// TestFailedOpsLeakNothing runs ops that fail at every stage.
func TestFailedOpsLeakNothing(t *testing.T) {
	d := newDevice(t, func(c *memory.Config) { c.Limit = 64 << 20 })
	w := tensor.Ones(d, tensor.Float32, 1024, 1024).RequireGrad()
	logits := tensor.Ones(d, tensor.Float32, 2, 3).RequireGrad()
	base := live(d)
	for range 20 {
		s := tensor.NewScope()
		h := w.In(s)
		for range 20 { // 20 x 4 MiB do not fit
			h = h.MulScalar(2).Add(w)
		}
		err := h.Sum().Backward()
		var oom *memory.OutOfMemoryError
		require.ErrorAs(t, err, &oom)
		require.NoError(t, s.Close())

		bad := tensor.FromSlice(d, []int64{0, 7})
		require.ErrorIs(t, logits.CrossEntropy(bad).Err(), tensor.ErrIndex)
		require.NoError(t, bad.Release())
		require.Nil(t, w.Grad())
		require.Equal(t, base, live(d))
	}
}

// TestFailedBackwardLeaksNothing lets backward run out of memory.
func TestFailedBackwardLeaksNothing(t *testing.T) {
	_, d := newRecorder(t)
	w := tensor.Ones(d, tensor.Float32, 256, 256).RequireGrad()
	base := live(d)
	for fail := 0; ; fail++ {
		y := w.MatMul(w)
		z := y.Exp()
		loss := z.Sum()
		n := 0
		restore := d.ReplaceKernels(func(id kernels.ID, run func() error) error {
			if n++; n > fail {
				return &kernels.Error{Op: id, Err: kernels.ErrNoOp, Detail: "made to fail"}
			}
			return run()
		})
		err := loss.Backward()
		restore()
		if err == nil {
			require.Greater(t, fail, 3, "every launch of a backward has failed once")
			return
		}
		require.ErrorIs(t, err, kernels.ErrNoOp)
		for _, x := range []*tensor.Tensor{y, z, loss} {
			require.NoError(t, x.Release())
		}
		require.NoError(t, w.ZeroGrad())
		require.Equal(t, base, live(d), "fails at launch %d", fail)
	}
}

func TestAReleasedLeafTakesNoGradient(t *testing.T) { onDevices(t, checkAReleasedLeafTakesNoGradient) }

func checkAReleasedLeafTakesNoGradient(t *testing.T, d *tensor.Device) {
	x := tensor.Ones(d, tensor.Float32, 3).RequireGrad()
	calls := 0
	_, err := x.AfterGrad(func(*tensor.Tensor) error { calls++; return nil })
	require.NoError(t, err)
	y := x.Exp()
	require.NoError(t, x.Release())
	up := y.Detach()
	require.NoError(t, y.BackwardWith(up))
	require.Nil(t, x.Grad())
	require.Zero(t, calls)
	require.NoError(t, up.Release())
	require.NoError(t, y.Release())
	require.Zero(t, live(d), "the gradient that nobody can ask for")
}
