package memory_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// noSlack moves pages from the first byte past the peak of the live bytes on, and
// has a hard budget of so many pages.
func noSlack(pages int64) memory.Config {
	return memory.Config{PageSlack: -1, SoftBudget: func(int64) int64 { return pages * page / 2 }}
}

// holes is a device whose stream 0 has two free pages, one that is in use and two
// free ones at the end, which its work may still use: a request of four pages
// finds two at the end and misses two.
func holes(t *testing.T, hard int64) (*memorytest.Fake, *memory.Allocator, []memory.Block) {
	t.Helper()
	f, a := paged(t, 32, true, noSlack(hard))
	blocks := row(t, f, a, 0, 2, 1, 2)
	free(t, a, blocks[0])
	free(t, a, blocks[2])
	return f, a, blocks
}

// TestSlackWaitsForNobody has a request past the peak when the device is behind:
// within the hard budget it takes new memory, and past that the host waits.
func TestSlackWaitsForNobody(t *testing.T) {
	for _, stream := range []cuda.Stream{0, 1} {
		f, a, blocks := holes(t, 4)
		made, _ := calls(f, func() {
			b := write(t, f, a, 4*page, stream)
			assert.Equal(t, blocks[2].Ptr, b.Ptr, "two of its pages were there")
		})
		assert.Zero(t, made[memorytest.CallSyncEvent])
		assert.Zero(t, made[memorytest.CallUnmap])
		assert.EqualValues(t, 2, made[memorytest.CallCreate])
		assert.EqualValues(t, stream, made[memorytest.CallWaitEvent], "another stream's pages are followed where they lie")
	}
	for hard, waits := range map[int64]int64{4: 0, 3: 1} {
		f, a, _ := holes(t, hard)
		made, _ := calls(f, func() { write(t, f, a, 4*page, 0) })
		assert.Equal(t, waits, made[memorytest.CallSyncEvent])
		assert.Equal(t, waits, made[memorytest.CallUnmap])
	}
}

// TestSlackMovesIdlePages has the same request when the device has done its work:
// the pages of its own stream move, as far as they are known to be idle.
func TestSlackMovesIdlePages(t *testing.T) {
	f, a, blocks := holes(t, 100)
	b := write(t, f, a, 4*page, 0) // records an event on its own stream, and grows
	f.Complete(0)
	free(t, a, b)
	used := f.Used()
	made, _ := calls(f, func() { write(t, f, a, 6*page, 0) })
	assert.Equal(t, used, f.Used())
	assert.EqualValues(t, 1, made[memorytest.CallUnmap], "of what was freed before the event")
	assert.Zero(t, made[memorytest.CallSyncEvent])
	free(t, a, blocks[1])
}
