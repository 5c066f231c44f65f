package upstreams_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
	"tarn/memory/upstreams"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	g   = 64 * kib // granularity of the fakes
)

var errBoom = errors.New("boom")

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// wrappers are all types, and a stack of them.
var wrappers = map[string]func(memory.Upstream) memory.Upstream{
	"a wide limit":   func(up memory.Upstream) memory.Upstream { return upstreams.Limit(up, 1<<40) },
	"a narrow limit": func(up memory.Upstream) memory.Upstream { return upstreams.Limit(up, 48*mib) },
	"log":            func(up memory.Upstream) memory.Upstream { return upstreams.Log(up, quiet(), slog.LevelInfo) },
	"log off":        func(up memory.Upstream) memory.Upstream { return upstreams.Log(up, quiet(), slog.LevelDebug) },
	"count":          func(up memory.Upstream) memory.Upstream { return upstreams.Count(up) },
	"trace":          func(up memory.Upstream) memory.Upstream { return upstreams.Trace(up, io.Discard) },
	"fail":           func(up memory.Upstream) memory.Upstream { return upstreams.Fail(up, 0, nil) },
	"all": func(up memory.Upstream) memory.Upstream {
		up = upstreams.Count(upstreams.Limit(up, 48*mib))
		return upstreams.Fail(upstreams.Trace(upstreams.Log(up, quiet(), slog.LevelInfo), io.Discard), 0, nil)
	},
}

// newFake returns a fake that must leak nothing.
func newFake(t *testing.T, cfg memorytest.FakeConfig) *memorytest.Fake {
	t.Helper()
	f := memorytest.NewFake(cfg)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	return f
}

// device returns a fake with virtual memory, of n pages.
func device(t *testing.T, n int64) *memorytest.Fake {
	return newFake(t, memorytest.FakeConfig{Capacity: n * g, Granularity: g, Asynchronous: true})
}

func TestConformance(t *testing.T) {
	devices := map[string]memorytest.FakeConfig{
		"plain":   {Capacity: 64 * mib},
		"virtual": {Capacity: 64 * mib, Granularity: g, Asynchronous: true},
	}
	for name, wrap := range wrappers {
		for device, cfg := range devices {
			t.Run(name+"/"+device, func(t *testing.T) {
				memorytest.TestUpstream(t, func(t *testing.T) memory.Upstream { return wrap(newFake(t, cfg)) })
			})
		}
	}
}

// life makes each call once with success and gives everything back.
func life(t *testing.T, up memory.Upstream, s cuda.Stream) {
	fine := func(err error) {
		t.Helper()
		assert.NoError(t, err)
	}
	p, err := up.Alloc(512)
	fine(err)
	r, err := up.Reserve(2 * g)
	fine(err)
	pg, err := up.Create(g)
	fine(err)
	fine(up.Map(r+g, g, pg))
	fine(up.SetAccess(r+g, g))
	e, err := up.RecordEvent(s)
	fine(err)
	fine(up.WaitEvent(s+1, e))
	fine(up.SyncEvent(e))
	_, err = up.QueryEvent(e)
	fine(err)
	fine(up.DestroyEvent(e))
	_, _, err = up.MemInfo()
	fine(err)
	fine(up.Unmap(r+g, g))
	fine(up.Release(pg))
	fine(up.ReleaseRange(r, 2*g))
	fine(up.Free(p, 512))
}

// TestConcurrent is for the race detector, and for books that many hands keep.
func TestConcurrent(t *testing.T) {
	const workers, rounds = 8, 40
	f := device(t, 4*workers)
	fail := upstreams.Fail(f, 0, nil)
	limit := upstreams.Limit(upstreams.Log(fail, quiet(), slog.LevelInfo), 3*workers*g)
	var text bytes.Buffer
	trace := upstreams.Trace(limit, &text)
	count := upstreams.Count(trace)
	var wg sync.WaitGroup
	for w := range cuda.Stream(workers) {
		wg.Go(func() {
			for range rounds {
				life(t, count, w)
				fail.Set(upstreams.CallAlloc, 1000, errBoom)
				fail.Struck()
				assert.GreaterOrEqual(t, count.Peak(), count.Held())
			}
		})
	}
	wg.Wait()
	require.NoError(t, trace.Err())
	assert.Zero(t, count.Held())
	assert.Zero(t, limit.Held())
	assert.LessOrEqual(t, count.Peak(), int64(workers*(g+512)))
	assert.EqualValues(t, workers*rounds*15, count.Calls().Total())
	assert.EqualValues(t, workers*rounds*9, count.Calls().Driver())
	assert.Zero(t, count.Calls().Failures())

	// The lines have an order in which another device can serve them.
	again := device(t, 4*workers)
	difference, err := upstreams.Replay(&text, again)
	require.NoError(t, err)
	require.Nil(t, difference)
	assert.Equal(t, f.Calls(), again.Calls())
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for n := range upstreams.NumNames {
		text, err := n.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, n.String(), string(text))
		var back upstreams.Name
		require.NoError(t, back.UnmarshalText(text))
		assert.Equal(t, n, back)
		seen[n.String()] = true
	}
	assert.Len(t, seen, int(upstreams.NumNames))
	assert.Equal(t, "any call", upstreams.AnyCall.String())
	assert.Equal(t, "call 99", upstreams.Name(99).String())
	_, err := upstreams.AnyCall.MarshalText()
	require.Error(t, err)
	var n upstreams.Name
	require.ErrorContains(t, n.UnmarshalText([]byte("props")), `"props"`)
}

// neighbours is a fake that knows who uses it.
type neighbours struct{ *memorytest.Fake }

func (neighbours) Processes() ([]memory.Process, error) {
	return []memory.Process{{PID: 1, Bytes: 2}}, nil
}

func TestProcessesArePassedOn(t *testing.T) {
	for name, wrap := range wrappers {
		list, err := wrap(neighbours{device(t, 1)}).(memory.Neighbours).Processes()
		assert.NoError(t, err, name)
		assert.Equal(t, []memory.Process{{PID: 1, Bytes: 2}}, list, name)
		_, err = wrap(device(t, 1)).(memory.Neighbours).Processes()
		assert.ErrorIs(t, err, memory.ErrNotSupported, name)
	}
}
