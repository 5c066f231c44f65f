package tensor_test

import (
	"errors"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// note returns a hook that appends name and changes nothing.
func note(log *[]string, name string) func(*tensor.Tensor) *tensor.Tensor {
	return func(*tensor.Tensor) *tensor.Tensor { *log = append(*log, name); return nil }
}

func TestHooksRunInOrder(t *testing.T) { onDevices(t, checkHooksRunInOrder) }

func checkHooksRunInOrder(t *testing.T, d *tensor.Device) {
	w := tensor.Ones(d, tensor.Float64, 2).RequireGrad()
	h := w.Exp()
	var log []string
	var removers []func()
	for _, x := range (tensors{w, h, h.In(nil), w.On(nil)}) { // borrowed handles are the same tensor
		for range 2 {
			remove, err := x.OnGrad(note(&log, string(rune('a'+len(removers)))))
			require.NoError(t, err)
			removers = append(removers, remove)
		}
	}
	loss := h.Mul(h).Sum()
	require.NoError(t, loss.Backward(tensor.Retain))
	require.Equal(t, []string{"c", "d", "e", "f", "a", "b", "g", "h"}, log)
	log = nil
	for _, i := range []int{0, 2, 2, 5} { // a second time does nothing
		removers[i]()
	}
	require.NoError(t, loss.Backward())
	require.Equal(t, []string{"d", "e", "b", "g", "h"}, log)
	removers[3]() // the graph is gone
	_, err := h.OnGrad(note(&log, "late"))
	require.ErrorIs(t, err, tensor.ErrGraphFreed)
}

func TestHookMayRemoveHooks(t *testing.T) { onDevices(t, checkHookMayRemoveHooks) }

func checkHookMayRemoveHooks(t *testing.T, d *tensor.Device) {
	w := tensor.Ones(d, tensor.Float64, 2).RequireGrad()
	var log []string
	var first, second func()
	first, err := w.OnGrad(func(*tensor.Tensor) *tensor.Tensor {
		log = append(log, "first")
		first()
		second()
		return nil
	})
	require.NoError(t, err)
	second, err = w.OnGrad(note(&log, "second"))
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, w.Sum().Backward())
	}
	require.Equal(t, []string{"first"}, log)
}

// TestLeafHooksComeEarly: a leaf's hook runs when the last op that uses the
// leaf has had its turn, not at the end of the walk.
func TestLeafHooksComeEarly(t *testing.T) { onDevices(t, checkLeafHooksComeEarly) }

func checkLeafHooksComeEarly(t *testing.T, d *tensor.Device) {
	early := tensor.Ones(d, tensor.Float64, 2).RequireGrad()
	late := tensor.Ones(d, tensor.Float64, 2).RequireGrad()
	h := late.Exp()
	loss := h.Mul(early).Mul(early).Sum()
	var log []string
	for name, x := range map[string]*tensor.Tensor{"early": early, "h": h, "late": late} {
		_, err := x.OnGrad(note(&log, name))
		require.NoError(t, err)
	}
	// The gradient is used up at once.
	_, err := early.AfterGrad(func(g *tensor.Tensor) error {
		log = append(log, "step")
		return errors.Join(early.NoGrad().SubInPlace(g), early.ZeroGrad())
	})
	require.NoError(t, err)
	require.NoError(t, loss.Backward())
	require.Equal(t, []string{"early", "step", "h", "late"}, log)
	require.Nil(t, early.Grad())
	require.NotEqual(t, []float64{1, 1}, data64(t, early))
}

func TestHooksLiveInTheScopeOfTheLoss(t *testing.T) { onDevices(t, checkHooksScope) }

func checkHooksScope(t *testing.T, d *tensor.Device) {
	w := tensor.Ones(d, tensor.Float64, 2).RequireGrad()
	s := tensor.NewScope()
	inner := s.Child()
	h := w.In(s).Mul(w)
	var kept, stale *tensor.Tensor
	_, err := h.OnGrad(func(g *tensor.Tensor) *tensor.Tensor {
		require.Same(t, s, g.Scope())
		require.False(t, g.RequiresGrad())
		kept, stale = g.Detach(), g
		return g.In(inner).MulScalar(3)
	})
	require.NoError(t, err)
	_, err = w.OnGrad(func(*tensor.Tensor) *tensor.Tensor { require.NoError(t, inner.Close()); return nil })
	require.NoError(t, err)
	require.NoError(t, h.Sum().Backward())
	require.Equal(t, []float64{6, 6}, data64(t, w.Grad()), "the replacement has left the inner scope")
	require.Equal(t, []float64{1, 1}, data64(t, kept))
	require.ErrorIs(t, stale.Neg().Err(), tensor.ErrReleased, "it was lent")
	require.NoError(t, s.Close())
	require.ErrorIs(t, kept.Neg().Err(), tensor.ErrReleased)
}

// TestHookReturns: what a hook may return, and what it must not.
func TestHookReturns(t *testing.T) { onDevices(t, checkHookReturns) }

func checkHookReturns(t *testing.T, d *tensor.Device) {
	boom := errors.New("boom")
	mine := tensor.FromSlice(d, []float64{7, 8})
	leaf := tensor.FromSlice(d, []float64{5, 6}).RequireGrad()
	type T = *tensor.Tensor
	for _, c := range []struct {
		name string
		f    func(g T) T
		want []float64 // of w, where h = w+w and the gradient of h is 1
		is   error
	}{
		{"nil", func(T) T { return nil }, []float64{2, 2}, nil},
		{"g", func(g T) T { return g }, []float64{2, 2}, nil},
		{"a handle on g", func(g T) T { return g.NoGrad() }, []float64{2, 2}, nil},
		{"g detached", func(g T) T { return g.Detach() }, []float64{2, 2}, nil},
		{"new", func(g T) T { return g.MulScalar(4) }, []float64{8, 8}, nil},
		{"a view of g", func(g T) T { return g.Reshape(2, 1).Reshape(2) }, []float64{2, 2}, nil},
		{"borrowed from mine", func(T) T { return mine.NoGrad() }, []float64{14, 16}, nil},
		{"a leaf", func(T) T { return leaf }, []float64{10, 12}, nil},
		{"a result", func(T) T { return leaf.MulScalar(2) }, []float64{20, 24}, nil},
		{"shape", func(g T) T { return g.Sum() }, nil, tensor.ErrShape},
		{"dtype", func(g T) T { return g.To(tensor.Float32) }, nil, tensor.ErrDType},
		{"released", func(g T) T { x := g.Neg(); _ = x.Release(); return x }, nil, tensor.ErrReleased},
		{"error", func(g T) T { return tensor.FromError(g.Neg(), boom) }, nil, boom},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := live(d)
			w := tensor.FromSlice(d, []float64{1, 2}).RequireGrad()
			s := tensor.NewScope()
			h := w.In(s).Add(w)
			_, err := h.OnGrad(c.f)
			require.NoError(t, err)
			err = h.Sum().Backward()
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
				require.Nil(t, w.Grad())
			} else {
				require.NoError(t, err)
				require.Equal(t, c.want, data64(t, w.Grad()))
			}
			require.NoError(t, s.Close())
			require.NoError(t, w.Release())
			runtime.GC()
			require.Eventually(t, func() bool { return live(d) == base }, 5*time.Second, time.Millisecond)
		})
	}
	require.Equal(t, []float64{7, 8}, data64(t, mine))
	require.Equal(t, []float64{5, 6}, data64(t, leaf))
}

func TestPanicOfAHookLeaksNothing(t *testing.T) { onDevices(t, checkPanicOfAHook) }

func checkPanicOfAHook(t *testing.T, d *tensor.Device) {
	w := tensor.Ones(d, tensor.Float64, 64).RequireGrad()
	v := tensor.Ones(d, tensor.Float64, 64).RequireGrad()
	base := live(d)
	for _, hooked := range []string{"h", "w", "after"} {
		s := w.Exp()
		h := s.Mul(v)
		point := tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Mul(v).Exp() }, h)
		loss := point.Sum()
		boom := func(*tensor.Tensor) *tensor.Tensor { panic("test: boom") }
		remove, err := map[string]func() (func(), error){
			"h": func() (func(), error) { return h.OnGrad(boom) },
			"w": func() (func(), error) { return w.OnGrad(boom) },
			"after": func() (func(), error) {
				return v.AfterGrad(func(*tensor.Tensor) error { panic("test: boom") })
			},
		}[hooked]()
		require.NoError(t, err)
		require.PanicsWithValue(t, "test: boom", func() { _ = loss.Backward() })
		remove()
		for _, x := range (tensors{loss, point, h, s}) {
			require.NoError(t, x.Release())
		}
		require.NoError(t, errors.Join(w.ZeroGrad(), v.ZeroGrad()))
		require.Equal(t, base, live(d), hooked)
		again := tensor.NewScope()
		require.NoError(t, w.In(again).Mul(v).Sum().Backward(), "the leaves go on")
		require.NoError(t, errors.Join(w.ZeroGrad(), v.ZeroGrad(), again.Close()))
	}
}

// TestHooksKeepNothingAlive: neither a hook that is removed nor its remover
// holds what the hook's closure reaches, and a graph's hooks go with it.
func TestHooksKeepNothingAlive(t *testing.T) {
	d := newCPU(t)
	w := tensor.Ones(d, tensor.Float64, 2).RequireGrad()
	type big struct{ x [1 << 10]byte }
	hold := func(on *tensor.Tensor) (func(), weak.Pointer[big]) {
		b := new(big)
		remove, err := on.OnGrad(func(*tensor.Tensor) *tensor.Tensor { b.x[0]++; return nil })
		require.NoError(t, err)
		return remove, weak.Make(b)
	}
	gone := func(p weak.Pointer[big]) {
		t.Helper()
		require.Eventually(t, func() bool { runtime.GC(); return p.Value() == nil }, 5*time.Second, time.Millisecond)
	}
	remove, p := hold(w)
	runtime.GC()
	require.NotNil(t, p.Value())
	remove()
	gone(p)

	h := w.Exp()
	remove, p = hold(h)
	require.NoError(t, h.Sum().Backward())
	gone(p) // with the graph, though h is there and remove was not called
	remove()
	runtime.KeepAlive(h)

	remove, p = hold(w.Exp())
	gone(p) // with a graph that nobody walked
	remove()
}

func TestKeepGrad(t *testing.T) { onDevices(t, checkKeepGrad) }

func checkKeepGrad(t *testing.T, d *tensor.Device) {
	w := tensor.FromSlice(d, []float64{1, 2}).RequireGrad()
	base := live(d)
	s := tensor.NewScope()
	h := w.In(s).Mul(w)
	require.NoError(t, h.KeepGrad())
	require.NoError(t, h.KeepGrad(), "again is nothing")
	require.NoError(t, w.KeepGrad(), "a leaf does anyway")
	require.ErrorIs(t, w.NoGrad().KeepGrad(), tensor.ErrNoHistory)
	require.Nil(t, h.Grad())
	y := h.MulScalar(3)
	require.NoError(t, y.Sum().Backward(tensor.Retain))
	require.Nil(t, y.Grad(), "nobody asked")
	require.NoError(t, y.Sum().Backward())
	require.Equal(t, []float64{6, 6}, data64(t, h.Grad()))
	require.Equal(t, []float64{12, 24}, data64(t, w.Grad()))
	require.Same(t, s, h.Grad().Scope())
	require.NoError(t, h.ZeroGrad())
	require.Nil(t, h.Grad())
	require.NoError(t, s.Close())
	require.NoError(t, w.ZeroGrad())
	require.Equal(t, base, live(d))

	h = w.Mul(w)
	require.NoError(t, h.KeepGrad())
	loss := h.Sum()
	require.NoError(t, loss.Backward())
	require.NoError(t, errors.Join(loss.Release(), h.Release(), w.ZeroGrad()))
	require.Equal(t, base, live(d), "the gradient goes with its tensor")
}

// TestWalkInAWalk: a hook must not start a second walk over the same graph.
func TestWalkInAWalk(t *testing.T) { onDevices(t, checkWalkInAWalk) }

func checkWalkInAWalk(t *testing.T, d *tensor.Device) {
	w := tensor.Ones(d, tensor.Float64, 2).RequireGrad()
	h := w.Exp()
	a, b := h.Sum(), h.Mul(h).Sum()
	var inner, other error
	_, err := h.OnGrad(func(*tensor.Tensor) *tensor.Tensor {
		if inner == nil {
			inner = a.Backward(tensor.Retain)
		}
		other = w.MulScalar(2).Sum().Backward()
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, b.Backward(tensor.Retain))
	require.ErrorContains(t, inner, "another backward is going over the graph")
	require.NoError(t, other, "another graph is its own affair")
}

// TestHooksComeAndGoDuringWalks: a leaf that many goroutines train takes hooks
// and loses them at any time.
func TestHooksComeAndGoDuringWalks(t *testing.T) {
	d := newCPU(t)
	w := tensor.Ones(d, tensor.Float64, 2).RequireGrad()
	errs := make(chan error, 4)
	for range cap(errs) {
		go func() {
			var err error
			for range 50 {
				s := tensor.NewScope()
				remove, e := w.OnGrad(func(g *tensor.Tensor) *tensor.Tensor { return g.Detach() })
				err = errors.Join(err, e, w.In(s).Mul(w).Sum().Backward())
				remove()
				err = errors.Join(err, s.Close())
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	require.Equal(t, []float64{400, 400}, data64(t, w.Grad()))
}
