//go:build cgo && (linux || darwin) && !race

package cudasim_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
)

// bag has what the goroutines of a random program made, dead things too.
type bag[T any] struct {
	mu   sync.Mutex
	list []T // guarded by mu
}

func (b *bag[T]) add(thing T, err error) {
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.list = append(b.list, thing)
	}
}

func (b *bag[T]) any(r *rand.Rand) (thing T, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.list) == 0 {
		return thing, false
	}
	return b.list[r.IntN(len(b.list))], true
}

// chaos is a program of calls that no program should make.
type chaos struct {
	machine  *cudasim.Machine
	contexts [2]*cuda.Context
	ptrs     bag[cuda.DevicePtr]
	hosts    bag[cuda.HostPtr]
	streams  bag[cuda.Stream]
	events   bag[cuda.Event]
	pages    bag[cuda.Page]
	modules  bag[*cuda.Module]
	kernels  bag[*cuda.Function]
	graph    sync.Mutex // of a graph one goroutine at a time may call a method
	graphs   bag[*cuda.Graph]
	execs    bag[*cuda.GraphExec]
}

// step makes one call, or a few that belong together. Most errors are right, so
// all are dropped.
func (x *chaos) step(r *rand.Rand) {
	c, other := x.contexts[r.IntN(2)], x.contexts[r.IntN(2)]
	p, _ := x.ptrs.any(r)
	q, _ := x.ptrs.any(r)
	h, _ := x.hosts.any(r)
	s, _ := x.streams.any(r)
	e, _ := x.events.any(r)
	page, _ := x.pages.any(r)
	n := int64(r.IntN(20000)) - 100
	if r.IntN(50) == 0 {
		n = r.Int64() - 1<<62
	}
	whole := n / 4096 * 4096
	steps := []func(){
		func() { x.ptrs.add(c.Alloc(n)) },
		func() { _ = c.Free(p) },
		func() { x.hosts.add(c.AllocPinned(min(n, 1<<20))) },
		func() { x.streams.add(c.NewStream(int(n))) },
		func() { _ = c.DestroyStream(s) },
		func() { x.events.add(c.NewTimingEvent()) },
		func() { _ = c.DestroyEvent(e) },
		func() { _ = c.Record(e, s) },
		func() { _ = c.WaitEvent(s, e) },
		func() { _, _ = c.QueryEvent(e) },
		func() { _ = c.SyncEvent(e) },
		func() { _, _ = c.Elapsed(e, e) },
		func() { _ = c.SyncStream(s) },
		func() { _ = c.Synchronize() },
		func() { _ = c.Fill8(s, p, 1, min(n, 1000)) },
		func() { _ = c.Fill32(s, p, 1, n) },
		func() { _ = c.Copy(s, p, q, min(n, 100)) },
		func() { _ = c.CopyIn(s, p, h, min(n, 100)) },
		func() { _ = c.CopyPeer(s, p, c, q, other, min(n, 100)) },
		func() { x.modules.add(c.Load(text)) },
		func() {
			if m, ok := x.modules.any(r); ok {
				x.kernels.add(m.Function("add"))
			}
		},
		func() {
			if m, ok := x.modules.any(r); ok && r.IntN(4) == 0 {
				_ = m.Unload()
			}
		},
		func() {
			if f, ok := x.kernels.any(r); ok {
				_ = add(f, s, p, 0, 1)
			}
		},
		func() { _ = c.BeginCapture(s) },
		func() { x.graphs.add(c.EndCapture(s)) },
		func() { x.replay(r, s) },
		func() { x.pool(c, p, s, n) },
		func() { x.ptrs.add(c.Reserve(whole, 0)); x.pages.add(c.Create(whole)) },
		func() { _ = c.Map(p, whole, page); _ = c.SetAccessFrom(p, whole, other.Device()) },
		func() { _ = c.Unmap(p, whole); _ = c.ReleaseRange(p, n); _ = c.Release(page) },
		func() { _ = c.EnablePeer(other); _ = c.DisablePeer(other) },
		func() { _ = x.machine.Poison(p, n, s); _ = x.machine.Unpoison(p, n, s) },
		func() { x.machine.Fail(cudasim.Fault{N: r.IntN(30), Code: []int{1, 2, 400, 801}[r.IntN(4)]}) },
	}
	steps[r.IntN(len(steps))]()
}

func (x *chaos) replay(r *rand.Rand, s cuda.Stream) {
	x.graph.Lock()
	defer x.graph.Unlock()
	if g, ok := x.graphs.any(r); ok {
		x.execs.add(g.Instantiate())
		if exec, ok := x.execs.any(r); ok {
			_ = exec.Launch(s)
			_ = exec.Update(g)
		}
	}
}

func (x *chaos) pool(c *cuda.Context, p cuda.DevicePtr, s cuda.Stream, n int64) {
	if pool, err := c.Pool(); err == nil {
		x.ptrs.add(pool.Alloc(n, s))
		_ = pool.Free(p, s)
		_ = pool.SetThreshold(n)
		_ = pool.Trim(n)
	}
}

// TestRandomCalls has many goroutines make any calls with any arguments. Nothing
// may panic or hang, and a context is lost if, and only if, work of its own device
// faulted.
func TestRandomCalls(t *testing.T) {
	for seed := range uint64(12) {
		m, err := cudasim.Open(cudasim.Config{Memory: 32 << 20, Devices: 2, Granularity: 4096, Lazy: seed%3 == 1, Delays: seed % 2 * 5})
		require.NoError(t, err)
		x := &chaos{machine: m}
		for i := range x.contexts {
			d, err := m.Library().Device(i)
			require.NoError(t, err)
			x.contexts[i], err = d.Open()
			require.NoError(t, err)
		}
		var all sync.WaitGroup
		for g := range uint64(6) {
			all.Go(func() {
				r := rand.New(rand.NewPCG(seed, g))
				for range 400 {
					x.step(r)
				}
			})
		}
		all.Wait()
		for _, c := range x.contexts {
			faulted := slices.ContainsFunc(m.Reports(), func(err error) bool {
				var fault *cudasim.FaultError
				return errors.As(err, &fault) && fault.Device == c.Device().String()
			})
			require.True(t, faulted || c.Lost() == nil, "seed %d: %v: %v", seed, c.Device(), c.Lost())
			_ = c.Close() // which mostly says that something is live
		}
		if err := m.Close(); err != nil {
			require.ErrorAs(t, err, new(*cudasim.LeakError), "seed %d", seed)
		}
	}
}
