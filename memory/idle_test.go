package memory_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// Here the fake's clocks are the judge: work on memory that is not in order
// after the work of its last stream is refused.

// TestMarkIsNotTheLastWord has an event done that was recorded before the last
// free: what was freed since is not idle.
func TestMarkIsNotTheLastWord(t *testing.T) {
	f, a := paged(t, 6, true, memory.Config{})
	free(t, a, write(t, f, a, 2*page, 0))
	write(t, f, a, 2*page, 1) // records an event on stream 0
	f.Complete(0)
	again := write(t, f, a, 2*page, 0)
	free(t, a, again) // after the event
	assert.NotEqual(t, again.Ptr, write(t, f, a, 2*page, 1).Ptr)
}

// TestLaterFreeCounts joins a block whose work is done with one whose work is
// not, in each order of addresses.
func TestLaterFreeCounts(t *testing.T) {
	for first := range 2 {
		f, a := paged(t, 6, true, memory.Config{})
		blocks := row(t, f, a, 0, 1, 1)
		free(t, a, blocks[first])
		free(t, a, write(t, f, a, 2*page, 1)) // records an event on stream 0
		f.Complete(0)
		require.NoError(t, f.Write(0, blocks[1-first].Ptr, page))
		free(t, a, blocks[1-first])
		b := write(t, f, a, 2*page, 2)
		assert.NotEqual(t, blocks[0].Ptr, b.Ptr)
	}
}

// TestRestOfABlockIsNotIdle has the rest of a block that is used again be as
// busy as all of it was.
func TestRestOfABlockIsNotIdle(t *testing.T) {
	f, a := paged(t, 8, true, memory.Config{})
	b := write(t, f, a, 4*page, 0)
	free(t, a, b)
	write(t, f, a, page, 0)
	assert.NotEqual(t, b.Ptr+cuda.DevicePtr(page), write(t, f, a, 3*page, 1).Ptr)
}

// TestPagesOnBothSidesAreNotIdle takes pages out of the middle of free ones:
// what is left of them on each side has still to be waited for.
func TestPagesOnBothSidesAreNotIdle(t *testing.T) {
	f, a := paged(t, 4, true, memory.Config{})
	free(t, a, write(t, f, a, 4*page, 0))
	for s := range 4 {
		made, _ := calls(f, func() { write(t, f, a, page, cuda.Stream(s+1)) })
		assert.EqualValues(t, 1, made[memorytest.CallWaitEvent])
	}
}

// TestIdleSegmentsChangeStreams gives segments of a device without virtual
// memory to another stream: the smallest that holds the request.
func TestIdleSegmentsChangeStreams(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{Asynchronous: true}, memory.Config{NoBackgroundGC: true})
	large, small := write(t, f, a, 40*mib, 0), write(t, f, a, 30*mib, 0)
	free(t, a, large)
	free(t, a, small)
	b := write(t, f, a, 30*mib, 1)
	assert.NotEqual(t, small.Ptr, b.Ptr, "the work may still run, and there is room")
	f.Complete(0)
	made, _ := calls(f, func() { b = write(t, f, a, 30*mib, 1) })
	assert.Equal(t, small.Ptr, b.Ptr)
	assert.Zero(t, made.Driver())
	assert.Zero(t, made[memorytest.CallWaitEvent])
	assert.EqualValues(t, 1, served(a)[memory.RungReuse])
}

// TestUnfinishedSegmentsAreFollowed takes a segment whose work still runs when
// there is no room for another, and gives the rest to nobody too early.
func TestUnfinishedSegmentsAreFollowed(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{Capacity: 40 * mib, Asynchronous: true}, memory.Config{NoBackgroundGC: true})
	b := write(t, f, a, 40*mib, 0)
	free(t, a, b)
	for s := range 3 {
		made, _ := calls(f, func() { b = write(t, f, a, 40*mib, cuda.Stream(s+1)) })
		assert.EqualValues(t, 1, made[memorytest.CallWaitEvent])
		assert.Zero(t, made[memorytest.CallFree])
		free(t, a, b)
	}
	assert.EqualValues(t, 3, served(a)[memory.RungFollow])

	f.FailAt(memorytest.CallWaitEvent, 1, errBroken)
	_, err := a.Alloc(40*mib, 9, memory.Untagged)
	require.ErrorIs(t, err, errBroken)
	require.NoError(t, a.Check())
	write(t, f, a, 40*mib, 9)
}
