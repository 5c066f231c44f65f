package memory_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// TestStatsFollowPyTorch walks through what moves each family, by PyTorch's
// rules.
func TestStatsFollowPyTorch(t *testing.T) {
	_, a := device(t, memorytest.FakeConfig{}, memory.Config{})
	type numbers struct{ blocks, bytes, split, splitBytes, requested, segments int64 }
	check := func(step string, want numbers) {
		t.Helper()
		s := a.Stats()
		assert.Equal(t, want, numbers{
			s.Allocation.All.Current, s.AllocatedBytes.All.Current,
			s.InactiveSplit.All.Current, s.InactiveSplitBytes.All.Current,
			s.RequestedBytes.All.Current, s.Segment.All.Current,
		}, step)
		assert.Equal(t, s.Allocation, s.Active)
		assert.Equal(t, s.AllocatedBytes, s.ActiveBytes)
		require.NoError(t, memorytest.CheckStats(s))
	}
	const segment = 20 << 20
	b := alloc(t, a, 5*mib-1, 0)
	check("the rest of a new segment is inactive and split", numbers{1, 5 << 20, 1, 15 << 20, 5<<20 - 1, 1})
	c := alloc(t, a, 5*mib, 0)
	check("the split block shrinks", numbers{2, 10 << 20, 1, 10 << 20, 10<<20 - 1, 1})
	d := alloc(t, a, 10*mib-mib/2, 0)
	check("the rest goes to the block that is too near to its size", numbers{3, segment, 0, 0, 20<<20 - 1 - 1<<19, 1})
	free(t, a, c)
	check("a free block between two in use", numbers{2, 15 << 20, 1, 5 << 20, 15<<20 - 1 - 1<<19, 1})
	free(t, a, b)
	check("two neighbours are one", numbers{1, 10 << 20, 1, 10 << 20, 10<<20 - 1<<19, 1})
	free(t, a, d)
	check("a whole segment is not split", numbers{0, 0, 0, 0, 0, 1})
	require.NoError(t, a.EmptyCache())
	check("and can go back", numbers{})

	s := a.Stats()
	assert.Equal(t, memory.Stat{Current: 0, Peak: segment, Allocated: segment, Freed: segment}, s.AllocatedBytes.Large)
	assert.Equal(t, memory.Stat{Current: 0, Peak: segment, Allocated: segment, Freed: segment}, s.ReservedBytes.All)
	assert.Equal(t, memory.Stat{Current: 0, Peak: 1, Allocated: 2, Freed: 2}, s.InactiveSplit.All)
	assert.Zero(t, s.AllocatedBytes.Small)
}

// TestStatsOfPyTorch is its test_memory_stats.
func TestStatsOfPyTorch(t *testing.T) {
	_, a := device(t, memorytest.FakeConfig{}, memory.Config{})
	a.ResetPeak()
	start := a.Stats()
	b := alloc(t, a, 256*4, 0)
	s := a.Stats().Sub(start)
	assert.EqualValues(t, 1024, s.ActiveBytes.All.Current)
	assert.Zero(t, s.ActiveBytes.All.Freed)
	free(t, a, b)
	require.NoError(t, a.EmptyCache())
	s = a.Stats().Sub(start)
	assert.Zero(t, s.ActiveBytes.All.Current)
	assert.EqualValues(t, 1024, s.ActiveBytes.All.Freed)
	assert.EqualValues(t, 1, s.NumDeviceAlloc)
	assert.EqualValues(t, 1, s.NumDeviceFree)
	a.ResetPeak()
	assert.Zero(t, a.Stats().AllocatedBytes.All.Peak)
	assert.Zero(t, a.Stats().ReservedBytes.All.Peak)
}

func TestTags(t *testing.T) {
	params := memory.NewTag("parameters")
	assert.Equal(t, params, memory.NewTag("parameters"))
	assert.Equal(t, "parameters", params.String())
	assert.Equal(t, memory.Workspace, memory.NewTag("workspace"))

	_, a := device(t, memorytest.FakeConfig{}, memory.Config{})
	b, err := a.Alloc(1000, 0, params)
	require.NoError(t, err)
	w, err := a.Alloc(5000, 1, memory.Workspace)
	require.NoError(t, err)
	free(t, a, w)
	start := a.Stats()
	assert.Equal(t, []memory.TagStat{
		{Tag: "workspace", Bytes: memory.Stat{Peak: 5000, Allocated: 5000, Freed: 5000}},
		{Tag: "parameters", Bytes: memory.Stat{Current: 1000, Peak: 1000, Allocated: 1000}},
	}, start.Tags)
	free(t, a, b)
	assert.EqualValues(t, -1000, a.Stats().Sub(start).Tags[1].Bytes.Current)
}

// TestPeaksOfSeveralStreams compares the peak over streams with the true one,
// which a test that allocates on one goroutine can know.
func TestPeaksOfSeveralStreams(t *testing.T) {
	const streams, steps = 4, 20_000
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	_, a := device(t, memorytest.FakeConfig{Capacity: 64 << 30}, memory.Config{NoBackgroundGC: true})
	var live [streams][]memory.Block
	var now, peak int64
	check := func() {
		t.Helper()
		s := a.Stats()
		assert.Equal(t, now, s.ActiveBytes.All.Current)
		slack := max(streams*mib, peak/32)
		assert.LessOrEqual(t, s.ActiveBytes.All.Peak, peak)
		assert.GreaterOrEqual(t, s.ActiveBytes.All.Peak, peak-slack)
		assert.LessOrEqual(t, s.AllocatedBytes.All.Peak, peak)
		assert.GreaterOrEqual(t, s.AllocatedBytes.All.Peak, peak-slack)
	}
	for i := range steps {
		s := r.IntN(streams)
		// Streams swell and shrink in turns, so that their peaks do not meet.
		swell := (i/1000)%streams == s
		if n := len(live[s]); n > 0 && (r.IntN(100) < 50) != swell {
			k := r.IntN(n)
			b := live[s][k]
			free(t, a, b)
			live[s][k] = live[s][n-1]
			live[s] = live[s][:n-1]
			now -= b.Size
		} else {
			b := alloc(t, a, 1+r.Int64N(mib<<r.IntN(4)), cuda.Stream(s))
			live[s] = append(live[s], b)
			now += b.Size
			peak = max(peak, now)
		}
		if i == steps/2 {
			check()
			a.ResetPeak()
			peak = now
		}
	}
	check()
}

// TestStatsAsJSON finds PyTorch's keys where a reader of JSON would.
func TestStatsAsJSON(t *testing.T) {
	_, a := device(t, memorytest.FakeConfig{}, memory.Config{})
	alloc(t, a, 3*mib, 0)
	text, err := json.Marshal(a.Stats())
	require.NoError(t, err)
	var tree map[string]any
	require.NoError(t, json.Unmarshal(text, &tree))
	for _, key := range []string{
		"allocation.all.current", "allocated_bytes.large_pool.peak", "reserved_bytes.small_pool.allocated",
		"inactive_split_bytes.all.freed", "requested_bytes.all.current", "num_alloc_retries", "num_ooms",
		"num_sync_all_streams", "num_device_alloc", "num_device_free", "num_oom_rejections",
		"oversize_allocations.current", "oversize_segments.peak",
	} {
		var at any = tree
		for part := range strings.SplitSeq(key, ".") {
			at = at.(map[string]any)[part]
		}
		assert.NotNil(t, at, key)
	}
	assert.Contains(t, string(text), `{"rung":"grow","tried":1,"served":1,"gained":0}`)
}

// story fills the books with numbers of all kinds.
func story(t *testing.T) *memory.Allocator {
	f, a := device(t, memorytest.FakeConfig{Name: "cuda:0", Capacity: 2 << 30, Asynchronous: true}, memory.Config{NoBackgroundGC: true})
	var blocks []memory.Block
	for i := range int64(40) {
		blocks = append(blocks, alloc(t, a, 100*kib*(i+1), 0))
	}
	for _, b := range blocks[20:] {
		free(t, a, b)
	}
	w, err := a.Alloc(60*mib, 1, memory.Workspace)
	require.NoError(t, err)
	free(t, a, w, 0)
	a.Abandon(blocks[0].Handle)
	_, err = a.Alloc(4<<30, 0, memory.Untagged)
	require.Error(t, err)
	free(t, a, alloc(t, a, 900*mib, 0))
	free(t, a, alloc(t, a, 10*mib, 1), 0)
	t.Cleanup(f.CompleteAll)
	return a
}

func TestSummary(t *testing.T) {
	got := story(t).Summary()
	for line := range strings.Lines(got) {
		assert.Len(t, strings.TrimSuffix(line, "\n"), 77)
	}
	golden(t, "summary.txt", got)
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1024: "1024 bytes", 1025: "1.00 KiB", 1 << 20: "1024.00 KiB", 1<<20 + 1: "1.00 MiB",
		1 << 30: "1024.00 MiB", 3 << 30: "3.00 GiB", 800_000_000 << 30: "800000000.00 GiB",
	} {
		assert.Equal(t, want, memory.FormatSize(n))
	}
}
