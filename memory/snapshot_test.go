package memory_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// drawn is an allocator that compares its books with a snapshot whenever
// somebody reads them.
type drawn struct {
	*memory.Allocator
	t     *testing.T
	reads int
}

func (d *drawn) Stats() memory.Stats {
	d.t.Helper()
	d.reads++
	s, shot := d.Allocator.Stats(), d.Allocator.Snapshot()
	require.Equal(d.t, current(s), shot.Totals())
	checkTiles(d.t, shot)
	return s
}

// current returns what of the books a snapshot can know: each family, and the
// bytes by tag, without peaks and sums over time.
func current(s memory.Stats) memory.Stats {
	want := memory.Stats{
		Device: s.Device, FreePageBytes: s.FreePageBytes, PinnedBytes: s.PinnedBytes, PendingBytes: s.PendingBytes, LargestFree: s.LargestFree,
	}
	from, to := reflect.ValueOf(s), reflect.ValueOf(&want).Elem()
	for i := range from.NumField() {
		if f, ok := from.Field(i).Interface().(memory.Family); ok {
			to.Field(i).Set(reflect.ValueOf(memory.Family{
				All:   memory.Stat{Current: f.All.Current},
				Large: memory.Stat{Current: f.Large.Current},
				Small: memory.Stat{Current: f.Small.Current},
			}))
		}
	}
	for _, tag := range s.Tags {
		if tag.Bytes.Current > 0 {
			want.Tags = append(want.Tags, memory.TagStat{Tag: tag.Tag, Bytes: memory.Stat{Current: tag.Bytes.Current}})
		}
	}
	return want
}

// checkTiles demands that blocks tile their segments, which do not overlap, and
// that a segment's sums are those of its blocks.
func checkTiles(t *testing.T, s memory.Snapshot) {
	t.Helper()
	var end cuda.DevicePtr
	for _, segment := range s.Segments {
		require.GreaterOrEqual(t, segment.Address, end, "in order, and apart")
		end = segment.Address + cuda.DevicePtr(segment.Size)
		at := segment.Address
		var allocated, active, requested int64
		for _, b := range segment.Blocks {
			require.Equal(t, at, b.Address)
			at += cuda.DevicePtr(b.Size)
			require.LessOrEqual(t, b.Requested, b.Size)
			requested += b.Requested
			switch b.State {
			case memory.BlockAllocated:
				allocated += b.Size
				active += b.Size
			case memory.BlockPendingFree:
				active += b.Size
			default:
				require.Equal(t, memory.BlockInactive, b.State)
				require.Zero(t, b.Requested)
				require.Empty(t, b.Tag)
			}
		}
		require.Equal(t, end, at)
		require.Equal(t, []int64{segment.Allocated, segment.Active, segment.Requested}, []int64{allocated, active, requested})
	}
}

// TestSnapshotIsTheBooks is PyTorch's check of consistency: after every op of a
// random list each number of the books is what a snapshot adds up to.
func TestSnapshotIsTheBooks(t *testing.T) {
	for name, fake := range map[string]memorytest.FakeConfig{
		"plain":                {Capacity: 64 * mib},
		"asynchronous":         {Capacity: 64 * mib, Asynchronous: true},
		"virtual":              {Capacity: 64 * mib, Granularity: 2 * mib},
		"asynchronous virtual": {Capacity: 64 * mib, Granularity: 2 * mib, Asynchronous: true},
	} {
		for _, h := range []memory.History{{}, {Stacks: 3, Events: 100}} {
			t.Run(name, func(t *testing.T) {
				f := memorytest.NewFake(fake)
				a, err := memory.New(f, memory.Config{})
				require.NoError(t, err)
				a.RecordHistory(h)
				d := &drawn{Allocator: a, t: t}
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				memorytest.Play(t, memorytest.Target{Allocator: d, Upstream: f}, memorytest.Generate(rand.New(rand.NewPCG(seed, 0)), 600))
				assert.Greater(t, d.reads, 600, "after each op")
				assert.NoError(t, f.Close())
			})
		}
	}
}

// TestSnapshot looks at one of each kind of block.
func TestSnapshot(t *testing.T) {
	weights := memory.NewTag("weights of a test")
	_, a := device(t, memorytest.FakeConfig{Name: "cuda:2", Asynchronous: true}, memory.Config{
		Limit: 500 * mib, Settings: memory.Settings{MaxSplitSize: 100 * mib},
	})
	b, err := a.Alloc(3*mib-1, 7, weights)
	require.NoError(t, err)
	parked, gone := alloc(t, a, 2*mib, 7), alloc(t, a, 4*mib, 7)
	alloc(t, a, 1000, 0)
	free(t, a, gone)
	free(t, a, parked, 9)
	alloc(t, a, 1000, 7)

	s := a.Snapshot()
	assert.Equal(t, "cuda:2", s.Device)
	assert.Equal(t, "max_split_size_mb:100", s.Settings.Text)
	assert.EqualValues(t, []int64{100 * mib, 500 * mib}, []int64{s.Settings.MaxSplitSize, s.Settings.Limit})
	require.Len(t, s.Segments, 3)
	require.Len(t, s.DeviceTraces, 3, "one for each device, as PyTorch has it")
	assert.Empty(t, s.Events())
	large := s.Segments[0]
	at := func(offset int64) cuda.DevicePtr { return b.Ptr + cuda.DevicePtr(offset) }
	assert.Equal(t, memory.SnapshotSegment{
		Device: 2, Address: b.Ptr, Size: 20 * mib, Allocated: 3 * mib, Active: 5 * mib, Requested: 5*mib - 1,
		Stream: 7, Pool: "large",
		Blocks: []memory.SnapshotBlock{
			{Address: b.Ptr, Size: 3 * mib, Requested: 3*mib - 1, State: memory.BlockAllocated, Tag: "weights of a test"},
			{Address: at(3 * mib), Size: 2 * mib, Requested: 2 * mib, State: memory.BlockPendingFree, Tag: "untagged"},
			{Address: at(5 * mib), Size: 15 * mib, State: memory.BlockInactive},
		},
	}, large)
	assert.Equal(t, "small", s.Segments[1].Pool)

	// It is the reader's own.
	free(t, a, b)
	assert.Equal(t, memory.BlockAllocated, s.Segments[0].Blocks[0].State)
	alloc(t, a, 3*mib, 7)
	free(t, a, alloc(t, a, 3*mib, 7))
	assert.EqualValues(t, 0, a.Snapshot().Segments[0].Blocks[2].Age, "the last to be freed")
}

// TestSnapshotAsJSON has the keys that readers of PyTorch's snapshots look for,
// and comes back as it was.
func TestSnapshotAsJSON(t *testing.T) {
	_, a := device(t, memorytest.FakeConfig{Granularity: 2 * mib}, memory.Config{})
	a.RecordHistory(memory.History{Stacks: memory.AllStacks, Events: 10})
	free(t, a, alloc(t, a, 3*mib, 1))
	alloc(t, a, 1000, 1)
	s := a.Snapshot()
	text, err := json.Marshal(s)
	require.NoError(t, err)
	var again memory.Snapshot
	require.NoError(t, json.Unmarshal(text, &again))
	assert.Equal(t, s, again)

	var plain map[string]any
	require.NoError(t, json.Unmarshal(text, &plain))
	assert.Contains(t, plain, "allocator_settings")
	segment := plain["segments"].([]any)[0].(map[string]any)
	for _, key := range []string{
		"device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream",
		"segment_type", "is_expandable", "blocks",
	} {
		assert.Contains(t, segment, key)
	}
	assert.Equal(t, true, segment["is_expandable"])
	block := segment["blocks"].([]any)[0].(map[string]any)
	for _, key := range []string{"address", "size", "requested_size", "state"} {
		assert.Contains(t, block, key)
	}
	trace := plain["device_traces"].([]any)[0].([]any)[0].(map[string]any)
	for _, key := range []string{"action", "addr", "size", "stream", "time_us"} {
		assert.Contains(t, trace, key)
	}
	assert.Error(t, json.Unmarshal([]byte(`"free"`), new(memory.Action)))

	_, empty := device(t, memorytest.FakeConfig{Name: "cpu"}, memory.Config{})
	text, err = json.Marshal(empty.Snapshot())
	require.NoError(t, err)
	assert.Contains(t, string(text), `"segments":[],"device_traces":[[]],`)
}
