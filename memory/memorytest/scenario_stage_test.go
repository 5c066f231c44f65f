package memorytest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// stage is an allocator of its own on a device of its own.
type stage struct {
	*testing.T
	fake *memorytest.Fake
	a    *memory.Allocator

	pages bool // segments are runs of pages
}

// newStage opens an allocator. At the end of the test the books must be right
// and the device must have everything back.
func newStage(t *testing.T, fake memorytest.FakeConfig, cfg memory.Config) *stage {
	t.Helper()
	s := &stage{T: t, fake: newFake(t, fake)}
	cfg.NoBackgroundGC = true
	var err error
	s.a, err = memory.New(s.fake, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, s.a.Check())
		assert.NoError(t, memorytest.CheckStats(s.a.Stats()))
		if err := s.a.Close(); err != nil {
			var live *memory.LiveBlocksError
			assert.ErrorAs(t, err, &live)
		}
	})
	return s
}

// inBothModes plays a test on a device that has virtual memory, with segments
// and with runs of pages.
func inBothModes(t *testing.T, capacity int64, cfg memory.Config, test func(s *stage)) {
	for name, mode := range map[string]memory.Expandable{"segments": memory.ExpandableOff, "pages": memory.ExpandableOn} {
		t.Run(name, func(t *testing.T) {
			cfg := cfg
			cfg.Settings.Expandable = mode
			s := newStage(t, memorytest.FakeConfig{Capacity: capacity, Granularity: 2 * mib}, cfg)
			s.pages = mode == memory.ExpandableOn
			test(s)
		})
	}
}

// alloc returns a block on the default stream.
func (s *stage) alloc(size int64) memory.Block {
	s.Helper()
	return must(s.T, s.a, size, 0)
}

func must(t *testing.T, a *memory.Allocator, size int64, stream cuda.Stream) memory.Block {
	t.Helper()
	b, err := a.Alloc(size, stream, memory.Untagged)
	require.NoError(t, err, "%d bytes on stream %d", size, stream)
	return b
}

func (s *stage) free(blocks ...memory.Block) {
	s.Helper()
	for _, b := range blocks {
		require.NoError(s.T, s.a.Free(b.Handle))
	}
}

// byTurns returns blocks of a size, one under each of some settings.
func (s *stage) byTurns(size int64, modes ...memory.Expandable) (blocks []memory.Block) {
	s.Helper()
	for _, mode := range modes {
		settings := s.a.Settings()
		settings.Expandable = mode
		require.NoError(s.T, s.a.SetSettings(settings))
		blocks = append(blocks, s.alloc(size))
	}
	return blocks
}

// outOfMemory demands that a request fails for want of memory.
func (s *stage) outOfMemory(size int64) *memory.OutOfMemoryError {
	s.Helper()
	_, err := s.a.Alloc(size, 0, memory.Untagged)
	var oom *memory.OutOfMemoryError
	require.ErrorAs(s.T, err, &oom)
	return oom
}

// parse returns the settings of a text that has no fault.
func parse(t *testing.T, text string) memory.Settings {
	t.Helper()
	s, _, err := memory.ParseSettings(text)
	require.NoError(t, err, text)
	return s
}
