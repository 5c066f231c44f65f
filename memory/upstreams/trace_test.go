package upstreams_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
	"tarn/memory/upstreams"
)

func TestTraceLines(t *testing.T) {
	var text bytes.Buffer
	up := upstreams.Trace(newFake(t, memorytest.FakeConfig{Capacity: mib}), &text)
	p, err := up.Alloc(512)
	require.NoError(t, err)
	require.Error(t, up.Free(p, 1))
	require.NoError(t, up.Free(p, 512))
	_, _, err = up.MemInfo()
	require.NoError(t, err)
	e, err := up.RecordEvent(0)
	require.NoError(t, err)
	_, err = up.QueryEvent(e)
	require.NoError(t, err)
	require.NoError(t, up.DestroyEvent(e))
	assert.Equal(t, `{"call":"alloc","ptr":123145302311424,"size":512}
{"call":"free","ptr":123145302311424,"size":1,"err":"fake: free 0x700000000200 1 bytes: made with another size"}
{"call":"free","ptr":123145302311424,"size":512}
{"call":"memory info","free":1048576,"total":1048576}
{"call":"record","event":1}
{"call":"query","event":1,"done":true}
{"call":"destroy","event":1}
`, text.String())
	require.NoError(t, up.Err())
}

// failingWriter fails at its second write.
type failingWriter struct {
	bytes.Buffer
	writes int
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.writes++; w.writes == 2 {
		return 0, errBoom
	}
	return w.Buffer.Write(p)
}

func TestTraceKeepsTheWritersError(t *testing.T) {
	var w failingWriter
	up := upstreams.Trace(newFake(t, memorytest.FakeConfig{Capacity: mib}), &w)
	p, err := up.Alloc(512)
	require.NoError(t, err)
	require.NoError(t, up.Err())
	require.NoError(t, up.Free(p, 512), "the call is made all the same")
	require.ErrorIs(t, up.Err(), errBoom)
	assert.ErrorContains(t, up.Err(), "trace of free")
	_, _, err = up.MemInfo()
	require.NoError(t, err)
	assert.Equal(t, 2, w.writes, "a file with a hole is not a trace")
}

// Ensure that other calls go on while one waits for the device: the fake makes
// one from within.
func TestTraceOfASyncHoldsUpNobody(t *testing.T) {
	var up *upstreams.Tracing
	var text bytes.Buffer
	f := newFake(t, memorytest.FakeConfig{Capacity: mib, OnCall: func(c memorytest.Call) {
		if c == memorytest.CallSyncEvent {
			_, _, err := up.MemInfo()
			assert.NoError(t, err)
		}
	}})
	up = upstreams.Trace(f, &text)
	e, err := up.RecordEvent(1)
	require.NoError(t, err)
	require.NoError(t, up.SyncEvent(e))
	require.NoError(t, up.DestroyEvent(e))
	difference, err := upstreams.Replay(&text, newFake(t, memorytest.FakeConfig{Capacity: mib}))
	require.NoError(t, err)
	require.Nil(t, difference)
}

// recordAllocator plays random ops on an allocator and returns the trace.
func recordAllocator(t *testing.T, f *memorytest.Fake) []byte {
	var text bytes.Buffer
	up := upstreams.Trace(f, &text)
	a, err := memory.New(up, memory.Config{})
	require.NoError(t, err)
	var live []memory.Block
	for i := range int64(300) {
		b, err := a.Alloc((i*i*7919)%(3*mib)+1, 1, memory.Untagged)
		if err == nil {
			live = append(live, b)
		}
		if len(live) > 12 || err != nil {
			require.NoError(t, a.Free(live[0].Handle, 2))
			live = live[1:]
		}
		if i%7 == 0 {
			f.CompleteAll()
		}
	}
	for _, b := range live {
		require.NoError(t, a.Free(b.Handle))
	}
	require.NoError(t, a.Close())
	require.NoError(t, up.Err())
	return text.Bytes()
}

func TestReplayOfAnAllocator(t *testing.T) {
	cfg := memorytest.FakeConfig{Capacity: 64 * mib, Asynchronous: true}
	first := newFake(t, cfg)
	text := recordAllocator(t, first)
	cfg.Adjacent = true // other addresses
	second := newFake(t, cfg)
	difference, err := upstreams.Replay(bytes.NewReader(text), second)
	require.NoError(t, err)
	require.Nil(t, difference)
	assert.Equal(t, first.Calls(), second.Calls())

	// A device that is too small shows where.
	small := memorytest.NewFake(memorytest.FakeConfig{Capacity: 8 * mib})
	difference, err = upstreams.Replay(bytes.NewReader(text), small)
	require.NoError(t, err)
	require.NotNil(t, difference)
	assert.Equal(t, upstreams.CallAlloc, difference.Recorded.Name)
	require.NoError(t, difference.Recorded.Err)
	require.ErrorIs(t, difference.Replayed.Err, memory.ErrUpstreamFull)
}

// Ensure that the replay of every test of the conformance suite, in which most
// calls are made to be refused, differs in nothing.
func TestReplayOfConformance(t *testing.T) {
	cfg := memorytest.FakeConfig{Capacity: 64 * mib, Granularity: g, Asynchronous: true}
	var traces []*bytes.Buffer
	memorytest.TestUpstream(t, func(t *testing.T) memory.Upstream {
		text := &bytes.Buffer{}
		traces = append(traces, text)
		return upstreams.Trace(newFake(t, cfg), text)
	})
	lines := 0
	for _, text := range traces {
		lines += bytes.Count(text.Bytes(), []byte("\n"))
		// Other addresses, pages and events than in the recording.
		f := memorytest.NewFake(cfg)
		p, err := f.Reserve(g)
		require.NoError(t, err)
		pg, err := f.Create(g)
		require.NoError(t, err)
		require.NoError(t, f.Release(pg))
		e, err := f.RecordEvent(9)
		require.NoError(t, err)
		difference, err := upstreams.Replay(text, f)
		require.NoError(t, err)
		require.Nil(t, difference)
		require.NoError(t, f.DestroyEvent(e))
		require.NoError(t, f.ReleaseRange(p, g))
		require.NoError(t, f.Close())
	}
	assert.Greater(t, lines, 500)
}

func TestReplayStopsAtTheFirstDifference(t *testing.T) {
	f := newFake(t, memorytest.FakeConfig{Capacity: mib})
	text := `{"call":"alloc","ptr":4096,"size":512}
{"call":"alloc","ptr":8192,"size":1024,"err":"memory: upstream is full"}
{"call":"free","ptr":4096,"size":512}
`
	difference, err := upstreams.Replay(strings.NewReader(text), f)
	require.NoError(t, err)
	require.NotNil(t, difference)
	assert.Equal(t, 2, difference.Line)
	assert.Equal(t, "line 2: recorded alloc 1024 bytes: memory: upstream is full; replayed alloc 1024 bytes 0x700000000a00", difference.String())
	require.NoError(t, f.Free(difference.Replayed.Ptr, 1024))
	require.NoError(t, f.Free(0x700000000200, 512), "what went before stays")

	difference, err = upstreams.Replay(strings.NewReader(`{"call":"free","ptr":4096,"size":512}`), f)
	require.NoError(t, err)
	assert.Contains(t, difference.String(), "line 1: recorded free 512 bytes 0x1000; replayed free 512 bytes 0x0: ")
}

// lone notices calls that overlap.
type lone struct {
	memory.Upstream
	inside, overlaps atomic.Int32
}

func (u *lone) Alloc(size int64) (cuda.DevicePtr, error) {
	if u.inside.Add(1) > 1 {
		u.overlaps.Add(1)
	}
	defer u.inside.Add(-1)
	runtime.Gosched()
	return u.Upstream.Alloc(size)
}

// Ensure that the lines have the order of the calls: no two are made at a
// time.
func TestTraceMakesOneCallAtATime(t *testing.T) {
	u := &lone{Upstream: newFake(t, memorytest.FakeConfig{Capacity: mib})}
	up := upstreams.Trace(u, io.Discard)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				p, err := up.Alloc(512)
				assert.NoError(t, err)
				assert.NoError(t, up.Free(p, 512))
			}
		})
	}
	wg.Wait()
	assert.Zero(t, u.overlaps.Load())
}

// one is an upstream that has one thing at a time and gives it the same name
// each time.
type one struct {
	memory.Upstream
	live bool
}

func (u *one) begin() error {
	if u.live {
		return memory.ErrUpstreamFull
	}
	u.live = true
	return nil
}

func (u *one) end(known bool) error {
	if !u.live || !known {
		return errBoom
	}
	u.live = false
	return nil
}

func (u *one) Alloc(int64) (cuda.DevicePtr, error)         { return 4096, u.begin() }
func (u *one) Free(p cuda.DevicePtr, _ int64) error        { return u.end(p == 4096) }
func (u *one) Create(int64) (memory.Page, error)           { return 1, u.begin() }
func (u *one) Release(pg memory.Page) error                { return u.end(pg == 1) }
func (u *one) RecordEvent(cuda.Stream) (cuda.Event, error) { return 1, u.begin() }
func (u *one) DestroyEvent(e cuda.Event) error             { return u.end(e == 1) }

// Ensure that a name which ended in the trace is none in the replay, although
// what it stood for is used again.
func TestReplayOfStaleNames(t *testing.T) {
	for _, kind := range []struct{ begin, end string }{
		{`{"call":"alloc","size":512,"ptr":%d}`, `{"call":"free","size":512,"ptr":%d%s}`},
		{`{"call":"create","size":512,"page":%d}`, `{"call":"release","page":%d%s}`},
		{`{"call":"record","event":%d}`, `{"call":"destroy","event":%d%s}`},
	} {
		text := fmt.Sprintf(kind.begin+"\n"+kind.end+"\n"+kind.begin+"\n"+kind.end+"\n"+kind.end,
			70000, 70000, "", 90000, 70000, `,"err":"stale"`, 90000, "")
		difference, err := upstreams.Replay(strings.NewReader(text), &one{})
		require.NoError(t, err, text)
		require.Nil(t, difference, "%v", difference)
	}
}

// Ensure that the address after an allocation is not the next one's.
func TestReplayOfTheAddressAfter(t *testing.T) {
	f := memorytest.NewFake(memorytest.FakeConfig{Capacity: mib, Adjacent: true})
	difference, err := upstreams.Replay(strings.NewReader(`{"call":"alloc","ptr":4096,"size":512}
{"call":"alloc","ptr":8192,"size":512}
{"call":"free","ptr":4608,"size":512,"err":"nothing there"}
`), f)
	require.NoError(t, err)
	require.Nil(t, difference)
}

func TestReplayOfABadFile(t *testing.T) {
	const good = `{"call":"alloc","ptr":4096,"size":512}` + "\n" + `{"call":"free","ptr":4096,"size":512}` + "\n"
	for name, bad := range map[string]string{
		"not JSON":      "alloc 512\n",
		"cut off":       `{"call":"alloc","pt`,
		"empty line":    "\n",
		"no name":       "{}\n",
		"unknown name":  `{"call":"props"}`,
		"unknown field": `{"call":"free","pointer":1}`,
		"negative":      `{"call":"free","ptr":-1}`,
		"two":           `{"call":"memory info"} {"call":"memory info"}`,
		"not an object": "7\n",
		"null":          "null\n",
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, memorytest.FakeConfig{Capacity: mib})
			difference, err := upstreams.Replay(strings.NewReader(good+bad), f)
			var bad *upstreams.TraceError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, 3, bad.Line)
			assert.ErrorContains(t, err, "upstreams: trace line 3: ")
			assert.Nil(t, difference)
		})
	}
	f := newFake(t, memorytest.FakeConfig{Capacity: mib})
	_, err := upstreams.Replay(iotest.ErrReader(errBoom), f)
	require.ErrorIs(t, err, errBoom)
	var bad *upstreams.TraceError
	require.False(t, errors.As(err, &bad), "the file is not to blame")
	difference, err := upstreams.Replay(strings.NewReader(""), f)
	require.NoError(t, err)
	assert.Nil(t, difference)
}
