package memorytest_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// captured is the stream that is captured into graphs.
const captured = cuda.Stream(7)

// forCaptures plays a test on a device with streams, with segments and with
// pages.
func forCaptures(t *testing.T, test func(s *stage)) {
	for name, granularity := range map[string]int64{"segments": 0, "pages": 2 * mib} {
		t.Run(name, func(t *testing.T) {
			test(newStage(t, memorytest.FakeConfig{
				Capacity: 1024 * mib, Granularity: granularity, Asynchronous: true, KeepLog: true,
			}, memory.Config{}))
		})
	}
}

// capture runs what is captured from a stream with memory of p.
func (s *stage) capture(p *memory.Pool, body func()) {
	s.Helper()
	require.NoError(s.T, p.BeginCapture(captured))
	body()
	require.NoError(s.T, p.EndCapture(captured))
}

func overlap(b, c memory.Block) bool {
	return b.Ptr < c.Ptr+cuda.DevicePtr(c.Size) && c.Ptr < b.Ptr+cuda.DevicePtr(b.Size)
}

// sharing plays a test with two graphs that share a pool, and with two that do
// not.
func sharing(t *testing.T, test func(s *stage, first, second *memory.Pool)) {
	t.Run("shared", func(t *testing.T) {
		forCaptures(t, func(s *stage) {
			p := s.pool(memory.PoolConfig{})
			test(s, p, p)
		})
	})
	t.Run("apart", func(t *testing.T) {
		forCaptures(t, func(s *stage) { test(s, s.pool(memory.PoolConfig{}), s.pool(memory.PoolConfig{})) })
	})
}

func scenarioCaptureOOM(t *testing.T) {
	forCaptures(t, func(s *stage) {
		p := s.pool(memory.PoolConfig{})
		s.capture(p, func() {
			_, err := p.Alloc(1<<40, captured, memory.Untagged)
			var oom *memory.OutOfMemoryError
			require.ErrorAs(s.T, err, &oom)
			s.free(s.allocIn(p, 20*mib, captured))
		})
		s.free(s.allocIn(p, 20*mib, captured))
	})
}

// scenarioCaptureWorkspace captures a hundred graphs that use scratch memory,
// in one pool and with a pool each.
func scenarioCaptureWorkspace(t *testing.T) {
	const scratch = 8 * mib
	forCaptures(t, func(s *stage) {
		shared := s.pool(memory.PoolConfig{})
		for range 100 {
			s.capture(shared, func() { s.free(s.allocIn(shared, scratch, captured)) })
		}
		assert.LessOrEqual(s.T, s.fake.Used(), int64(20*mib))
		for range 100 {
			p := s.pool(memory.PoolConfig{})
			require.NoError(s.T, s.a.EmptyCache(), "as PyTorch does")
			s.capture(p, func() { s.free(s.allocIn(p, scratch, captured)) })
			require.NoError(s.T, p.Close())
		}
		assert.LessOrEqual(s.T, s.fake.Used(), int64(40*mib), "that of the pool above, and of the last one")
	})
}

// scenarioTwoGraphs captures two graphs and then lets others allocate. Sharing
// a pool saves the second one's segment.
func scenarioTwoGraphs(t *testing.T) {
	reserved := make(map[string]int64)
	sharing(t, func(s *stage, first, second *memory.Pool) {
		var graphs []memory.Block
		for _, p := range []*memory.Pool{first, second} {
			s.capture(p, func() {
				s.free(s.allocIn(p, 1000, captured))
				graphs = append(graphs, s.allocIn(p, 1000, captured))
			})
		}
		mode := map[bool]string{true: "shared", false: "apart"}[first == second]
		reserved[mode] = s.a.Stats().ReservedBytes.All.Current
		for _, size := range []int64{1000, mib, 20 * mib} {
			for _, stream := range []cuda.Stream{0, captured} {
				b := must(s.T, s.a, size, stream)
				for _, g := range graphs {
					assert.False(s.T, overlap(b, g))
				}
			}
		}
		for _, g := range graphs {
			require.NoError(s.T, s.fake.Write(captured, g.Ptr, g.Size), "the replay")
		}
		s.free(graphs...)
	})
	assert.EqualValues(t, 2*mib, reserved["apart"]-reserved["shared"])
}

// scenarioGraphsAtOnce: graphs that share a pool may use the same bytes, so
// they may not run at the same time. Others may.
func scenarioGraphsAtOnce(t *testing.T) {
	sharing(t, func(s *stage, first, second *memory.Pool) {
		var used []memory.Block
		for _, p := range []*memory.Pool{first, second} {
			s.capture(p, func() {
				b := s.allocIn(p, 12*mib, captured)
				used = append(used, b)
				s.free(b)
			})
		}
		require.Equal(s.T, first == second, overlap(used[0], used[1]))
		if first != second {
			assert.NoError(s.T, s.fake.Write(1, used[0].Ptr, used[0].Size))
			assert.NoError(s.T, s.fake.Write(2, used[1].Ptr, used[1].Size))
			s.fake.Sync(1)
			s.fake.Sync(2)
		}
	})
}

// scenarioThreeGraphs: the third graph gets what the second has freed, which is
// sound in the order of the captures, but only out of the same pool.
func scenarioThreeGraphs(t *testing.T) {
	sharing(t, func(s *stage, first, third *memory.Pool) {
		var a, b, c memory.Block
		s.capture(first, func() { a = s.allocIn(first, 12*mib, captured) })
		s.capture(first, func() { b = s.allocIn(first, 12*mib, captured) })
		s.free(b)
		s.capture(third, func() { c = s.allocIn(third, 12*mib, captured) })
		assert.Equal(s.T, first == third, b.Ptr == c.Ptr)
		assert.False(s.T, overlap(a, c))
		s.free(a, c)
	})
}

// scenarioGraphStats has five sizes whose captures need different numbers of
// segments, and looks at what is left when only the result is used.
func scenarioGraphStats(t *testing.T) {
	for _, tc := range []struct{ size, segments, reserved, left int64 }{
		{512, 1, 2 * mib, 2 * mib},
		{mib, 2, 4 * mib, 2 * mib},
		{mib + 512, 1, 20 * mib, 20 * mib},
		{10*mib - 512, 2, 40 * mib, 20 * mib},
		{10*mib + 512, 3, 36 * mib, 12 * mib},
	} {
		s := newStage(t, memorytest.FakeConfig{Capacity: 1024 * mib, Asynchronous: true}, memory.Config{})
		p := s.pool(memory.PoolConfig{})
		var b memory.Block
		s.capture(p, func() {
			b = s.allocIn(p, tc.size, captured)
			for range 5 { // b = copy of b, plus 1
				copied, sum := s.allocIn(p, tc.size, captured), s.allocIn(p, tc.size, captured)
				s.free(copied, b)
				b = sum
			}
		})
		now := s.a.Stats()
		assert.Equal(t, []int64{tc.segments, tc.reserved, 1, tc.size}, []int64{
			now.Segment.All.Current, now.ReservedBytes.All.Current, now.Active.All.Current, now.ActiveBytes.All.Current,
		}, "%d bytes", tc.size)
		require.NoError(t, p.Close())
		require.NoError(t, s.a.EmptyCache())
		assert.Equal(t, tc.left, s.a.Stats().ReservedBytes.All.Current, "%d bytes", tc.size)
		require.NoError(t, s.fake.Write(captured, b.Ptr, b.Size), "the result outlives the graph")
		s.free(b)
	}
}

// scenarioGraphRecordStream has blocks that wait for another stream when a
// capture begins and that are freed in it.
func scenarioGraphRecordStream(t *testing.T) {
	const reader = cuda.Stream(8)
	forCaptures(t, func(s *stage) {
		p := s.pool(memory.PoolConfig{})
		before := must(s.T, s.a, 12*mib, captured)
		require.NoError(s.T, s.fake.Write(reader, before.Ptr, before.Size))
		require.NoError(s.T, s.a.Free(before.Handle, reader))
		var inside memory.Block
		s.capture(p, func() {
			began := len(s.fake.Log())
			inside = s.allocIn(p, 14*mib, captured)
			require.NoError(s.T, s.a.Free(inside.Handle, reader))
			s.free(s.allocIn(p, 16*mib, captured))
			for _, e := range s.fake.Log()[began:] {
				about := []memorytest.Call{memorytest.CallRecordEvent, memorytest.CallQueryEvent, memorytest.CallSyncEvent}
				assert.NotContains(s.T, about, e.Call)
			}
			assert.EqualValues(s.T, 26*mib, s.a.Stats().ActiveBytes.All.Current)
		})
		s.fake.Complete(reader)
		s.fake.Complete(captured)
		again, inGraph := must(s.T, s.a, 12*mib, captured), s.allocIn(p, 14*mib, captured)
		assert.Equal(s.T, []cuda.DevicePtr{before.Ptr, inside.Ptr}, []cuda.DevicePtr{again.Ptr, inGraph.Ptr})
		s.free(again, inGraph)
	})
}

// scenarioAllocInCapture lets another goroutine take memory upstream meanwhile.
func scenarioAllocInCapture(t *testing.T) {
	forCaptures(t, func(s *stage) {
		p := s.pool(memory.PoolConfig{})
		s.capture(p, func() {
			var done sync.WaitGroup
			done.Go(func() {
				b, err := s.a.Alloc(1024, 0, memory.Untagged)
				assert.NoError(s.T, err)
				assert.NoError(s.T, s.a.Free(b.Handle))
			})
			done.Wait()
		})
	})
}

func scenarioCaptureOfTwoStreams(t *testing.T) {
	const joined = cuda.Stream(8)
	forCaptures(t, func(s *stage) {
		p := s.pool(memory.PoolConfig{Name: "graph"})
		s.capture(p, func() {
			require.NoError(s.T, p.BeginCapture(joined))
			s.free(s.allocIn(p, mib, captured), s.allocIn(p, mib, joined))
			require.NoError(s.T, p.EndCapture(joined))
		})
		var streams []cuda.Stream
		for _, segment := range s.segments("graph") {
			streams = append(streams, segment.Stream)
		}
		slices.Sort(streams)
		assert.Equal(s.T, []cuda.Stream{captured, joined}, streams)
		assert.Empty(s.T, s.segments(""))
	})
}

// scenarioRecapture gives a graph up and captures it again.
func scenarioRecapture(t *testing.T) {
	forCaptures(t, func(s *stage) {
		var last memory.Block
		for range 3 {
			p := s.pool(memory.PoolConfig{})
			var b memory.Block
			s.capture(p, func() { b = s.allocIn(p, 12*mib, captured) })
			if last.Size > 0 {
				assert.False(s.T, overlap(last, b), "what is live still of the graph before")
				s.free(last)
			}
			require.NoError(s.T, s.fake.Write(captured, b.Ptr, b.Size))
			require.NoError(s.T, p.Close())
			last = b
		}
		s.free(last)
	})
}
