package memorytest_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/memory"
)

// everything is a history with room for all that a test does.
var everything = memory.History{Stacks: memory.AllStacks, Events: 10_000}

// mentions reports whether a call in frames is of a function.
func mentions(frames []memory.Frame, function string) bool {
	return slices.ContainsFunc(frames, func(f memory.Frame) bool { return strings.Contains(f.Func, function) })
}

// of returns the events with an action.
func of(s memory.Snapshot, action memory.Action) (events []memory.Event) {
	for _, e := range s.Events() {
		if e.Action == action {
			events = append(events, e)
		}
	}
	return events
}

func scenarioSnapshot(t *testing.T) {
	inBothModes(t, 1024*mib, memory.Config{}, func(s *stage) {
		s.a.RecordHistory(everything)
		blocks := []memory.Block{s.alloc(2 * 311 * 411 * 4), s.alloc(310 * 410 * 4)}
		x := s.alloc(311 * 411 * 4)
		var many []memory.Block
		for range 1000 {
			many = append(many, s.alloc(128*4))
		}
		rand.New(rand.NewPCG(34, 0)).Shuffle(len(many), func(i, j int) { many[i], many[j] = many[j], many[i] })
		s.free(many...)
		blocks = append(blocks, x, s.alloc(640*4))

		found := false
		for _, segment := range s.a.Snapshot().Segments {
			assert.Equal(s.T, !s.pages, mentions(segment.Frames, "scenarioSnapshot"), "pages are no one's in particular")
			for _, b := range segment.Blocks {
				if b.Requested == 311*411*4 {
					found = true
					assert.Equal(s.T, x.Ptr, b.Address)
					assert.Contains(s.T, b.Frames[0].File, "scenario_stage_test.go")
					assert.True(s.T, mentions(b.Frames, "scenarioSnapshot"))
				}
			}
		}
		assert.True(s.T, found)
		s.free(blocks...)
		require.NoError(s.T, s.a.EmptyCache())
		events := s.a.Snapshot().Events()
		last := events[len(events)-1].Action
		assert.Contains(s.T, []memory.Action{memory.ActionSegmentFree, memory.ActionSegmentUnmap}, last)
	})
}

// scenarioPlots looks for what PyTorch's viewer shows in the JSON.
func scenarioPlots(t *testing.T) {
	for _, stacks := range []memory.StackMode{memory.NoStacks, memory.AllStacks} {
		inBothModes(t, 64*mib, memory.Config{}, func(s *stage) {
			s.a.RecordHistory(memory.History{Stacks: stacks, Events: 100})
			b := s.alloc(65536)
			text, err := json.Marshal(s.a.Snapshot())
			require.NoError(s.T, err)
			assert.Contains(s.T, string(text), `"size":65536`)
			assert.Equal(s.T, stacks == memory.AllStacks, strings.Contains(string(text), "scenarioPlots"))
			s.free(b)
		})
	}
}

// scenarioSegmentStacks: a segment has the stack of who needed it, to its end,
// and only where stacks are noted. Pages change hands, and have none.
func scenarioSegmentStacks(t *testing.T) {
	for _, stacks := range []memory.StackMode{memory.NoStacks, memory.AllStacks} {
		inBothModes(t, 64*mib, memory.Config{}, func(s *stage) {
			s.a.RecordHistory(memory.History{Stacks: stacks, Events: 100})
			s.free(s.alloc(20 * mib))
			require.NoError(s.T, s.a.EmptyCache())
			gone := memory.ActionSegmentFree
			if s.pages {
				gone = memory.ActionSegmentUnmap
			}
			events := of(s.a.Snapshot(), gone)
			require.Len(s.T, events, 1)
			known := stacks == memory.AllStacks && !s.pages
			assert.Equal(s.T, known, mentions(events[0].Frames, "scenarioSegmentStacks"))
		})
	}
}

// scenarioHistorySwitched notes stacks, does not, and does again.
func scenarioHistorySwitched(t *testing.T) {
	inBothModes(t, 64*mib, memory.Config{}, func(s *stage) {
		for i, stacks := range []memory.StackMode{memory.AllStacks, memory.NoStacks, memory.AllStacks} {
			s.a.RecordHistory(memory.History{Stacks: stacks, Events: 100})
			s.alloc(1000 * int64(i+1))
		}
		var known []bool
		for _, e := range of(s.a.Snapshot(), memory.ActionAlloc) {
			known = append(known, mentions(e.Frames, "scenarioHistorySwitched"))
		}
		assert.Equal(s.T, []bool{true, false, true}, known)
	})
}

// scenarioMetadata: what a program has to say about its blocks is their tag.
// Each event of a block has it.
func scenarioMetadata(t *testing.T) {
	tag := memory.NewTag("metadata of a scenario")
	inBothModes(t, 64*mib, memory.Config{}, func(s *stage) {
		s.a.RecordHistory(everything)
		b, err := s.a.Alloc(65536, 0, tag)
		require.NoError(s.T, err)
		s.free(b)
		for _, action := range []memory.Action{memory.ActionAlloc, memory.ActionFreeRequested, memory.ActionFreeCompleted} {
			events := of(s.a.Snapshot(), action)
			require.Len(s.T, events, 1)
			assert.Equal(s.T, tag.String(), events[0].Tag)
		}
	})
}

// scenarioSnapshotFile writes a snapshot with the last ten events and reads it.
func scenarioSnapshotFile(t *testing.T) {
	inBothModes(t, 64*mib, memory.Config{}, func(s *stage) {
		s.a.RecordHistory(memory.History{Stacks: memory.AllStacks, Events: 10})
		for range 20 {
			s.free(s.alloc(1000))
		}
		b := s.alloc(311 * 411 * 4)
		text, err := json.Marshal(s.a.Snapshot())
		require.NoError(s.T, err)
		var read memory.Snapshot
		require.NoError(s.T, json.Unmarshal(text, &read))
		events := read.Events()
		require.Len(s.T, events, 10)
		last := events[len(events)-1]
		assert.Equal(s.T, memory.ActionAlloc, last.Action)
		assert.EqualValues(s.T, 311*411*4, last.Size)
		assert.Equal(s.T, b.Ptr, last.Addr)
		assert.True(s.T, mentions(last.Frames, "scenarioSnapshotFile"))
		s.free(b)
	})
}

// scenarioFreeWithoutAlloc has a block that is older than the history. Who adds
// up the events finds its end and no beginning.
func scenarioFreeWithoutAlloc(t *testing.T) {
	inBothModes(t, 64*mib, memory.Config{}, func(s *stage) {
		p := s.pool(memory.PoolConfig{})
		b := s.allocIn(p, 3*mib, 0)
		s.a.RecordHistory(memory.History{Events: 10})
		s.free(b)
		var actions []memory.Action
		for _, e := range s.a.Snapshot().Events() {
			assert.Equal(s.T, b.Ptr, e.Addr)
			actions = append(actions, e.Action)
		}
		assert.Equal(s.T, []memory.Action{memory.ActionFreeRequested, memory.ActionFreeCompleted}, actions)
	})
}
