package upstreams_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/memory"
	"tarn/memory/memorytest"
	"tarn/memory/upstreams"
)

func TestCount(t *testing.T) {
	n := upstreams.Count(upstreams.Fail(device(t, 8), 2, errBoom))
	p, err := n.Alloc(g)
	require.NoError(t, err)
	_, err = n.Alloc(g)
	require.ErrorIs(t, err, errBoom)
	pg, err := n.Create(2 * g)
	require.NoError(t, err)
	assert.EqualValues(t, 3*g, n.Held())
	require.NoError(t, n.Free(p, g))
	assert.EqualValues(t, 2*g, n.Held())
	assert.EqualValues(t, 3*g, n.Peak())
	require.NoError(t, n.Release(pg))
	assert.Zero(t, n.Held())

	c := n.Calls()
	assert.Equal(t, "create 1, release 1, alloc 2 (1 failed), free 1", c.String())
	assert.EqualValues(t, 2, c.Made[upstreams.CallAlloc])
	assert.EqualValues(t, 1, c.Failed[upstreams.CallAlloc])
	assert.EqualValues(t, 5, c.Driver())
	assert.EqualValues(t, 1, c.Failures())

	life(t, n, 1)
	since := n.Calls().Since(c)
	assert.EqualValues(t, 15, since.Total())
	assert.EqualValues(t, 9, since.Driver())
	assert.Zero(t, since.Failures())
	for name, made := range since.Made {
		assert.EqualValues(t, 1, made, upstreams.Name(name))
	}
	assert.Equal(t, "none", n.Calls().Since(n.Calls()).String())
}

func TestLog(t *testing.T) {
	var text bytes.Buffer
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey:
			return slog.Attr{}
		case "duration":
			if a.Value.Duration() < 0 {
				return slog.String("duration", "negative")
			}
			return slog.String("duration", "some")
		}
		return a
	}
	h := slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: noTime})
	f := device(t, 8)
	up := upstreams.Log(f, slog.New(h), slog.LevelInfo)
	life(t, up, 0)
	_, err := up.Alloc(mib)
	require.ErrorIs(t, err, memory.ErrUpstreamFull)
	require.Error(t, up.Free(0x10, 1))
	require.NoError(t, f.Leaked())
	got := text.String()
	for _, line := range []string{
		"level=INFO msg=\"memory info\" device=fake:0 free=", "msg=record device=fake:0 stream=0x0 event=0x1 duration=some",
		"msg=query device=fake:0 event=0x1 done=true duration=some",
		"msg=alloc device=fake:0 size=1048576 error=\"fake: alloc 1048576 bytes: memory: upstream is full\" duration=some",
		"msg=free device=fake:0 size=1 ptr=0x10 error=",
	} {
		assert.Contains(t, got, line)
	}
	assert.Equal(t, 17, strings.Count(got, "\n"), "a record a call")

	text.Reset()
	life(t, upstreams.Log(device(t, 8), slog.New(h), slog.LevelDebug), 0)
	assert.Empty(t, text.String(), "a level that is off")
}

func TestFail(t *testing.T) {
	fake := newFake(t, memorytest.FakeConfig{Capacity: mib})
	f := upstreams.Fail(fake, 2, errBoom)
	p, err := f.Alloc(512)
	require.NoError(t, err)
	_, struck := f.Struck()
	assert.False(t, struck)
	require.ErrorIs(t, f.Free(p, 512), errBoom)
	assert.EqualValues(t, 512, fake.Used(), "it was not made")
	name, struck := f.Struck()
	assert.True(t, struck)
	assert.Equal(t, upstreams.CallFree, name)

	f.Set(upstreams.CallAlloc, 1, memory.ErrUpstreamFull)
	_, struck = f.Struck()
	assert.False(t, struck, "set anew")
	require.NoError(t, f.Free(p, 512), "another name")
	q, err := f.Alloc(512)
	require.ErrorIs(t, err, memory.ErrUpstreamFull)
	assert.Zero(t, q)
	p, err = f.Alloc(512)
	require.NoError(t, err, "it happens once")
	f.Set(upstreams.AnyCall, 1, errBoom)
	f.Set(upstreams.AnyCall, 0, nil)
	require.NoError(t, f.Free(p, 512), "called off")

	assert.Panics(t, func() { upstreams.Fail(fake, -1, errBoom) })
	assert.Panics(t, func() { f.Set(upstreams.CallAlloc, 1, nil) })
	assert.Panics(t, func() { f.Set(upstreams.NumNames, 1, errBoom) })
}
