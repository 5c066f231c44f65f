package memory_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

func asynchronous(t *testing.T) (*memorytest.Fake, *memory.Allocator) {
	return device(t, memorytest.FakeConfig{Asynchronous: true}, memory.Config{})
}

func TestFreeWaitsForTheOtherStream(t *testing.T) {
	f, a := asynchronous(t)
	b := alloc(t, a, mib, 0)
	require.NoError(t, f.Read(1, b.Ptr, b.Size))
	free(t, a, b, 1)
	s := a.Stats()
	assert.Equal(t, b.Size, s.PendingBytes)
	assert.EqualValues(t, 1, s.Active.All.Current)
	assert.Zero(t, s.Allocation.All.Current)
	assert.ErrorIs(t, a.Free(b.Handle, 1), memory.ErrStaleHandle)

	other := alloc(t, a, mib, 0)
	assert.NotEqual(t, b.Ptr, other.Ptr)
	f.Complete(1)
	assert.Equal(t, b.Ptr, alloc(t, a, mib, 0).Ptr, "the next Alloc sees that the work is done")
	assert.Zero(t, a.Stats().PendingBytes)
}

// TestSlowStreamHoldsUpNobody frees blocks used on a stream that never
// finishes before ones used on a stream that does.
func TestSlowStreamHoldsUpNobody(t *testing.T) {
	f, a := asynchronous(t)
	const slow, fast = 1, 2
	stuck := alloc(t, a, 30*mib, 0)
	both := alloc(t, a, 30*mib, 0)
	quick := alloc(t, a, 30*mib, 0)
	free(t, a, stuck, slow)
	free(t, a, both, slow, fast)
	free(t, a, quick, fast)
	f.Complete(fast)
	assert.Equal(t, quick.Ptr, alloc(t, a, 30*mib, 0).Ptr)
	assert.Equal(t, stuck.Size+both.Size, a.Stats().PendingBytes)
	f.Complete(slow)
	got := []cuda.DevicePtr{alloc(t, a, 30*mib, 0).Ptr, alloc(t, a, 30*mib, 0).Ptr}
	assert.ElementsMatch(t, []cuda.DevicePtr{stuck.Ptr, both.Ptr}, got)
}

func TestUsesThatNeedNoEvent(t *testing.T) {
	f, a := asynchronous(t)
	b := alloc(t, a, mib, 3)
	free(t, a, b, 3, 3)
	assert.Zero(t, f.Calls()[memorytest.CallRecordEvent], "the own stream is in order by itself")
	b = alloc(t, a, mib, 3)
	free(t, a, b, 1, 3, 1, 1)
	assert.EqualValues(t, 1, f.Calls()[memorytest.CallRecordEvent], "one event a stream")

	f, a = device(t, memorytest.FakeConfig{}, memory.Config{})
	b = alloc(t, a, mib, 0)
	free(t, a, b, 1, 2)
	assert.Zero(t, f.Calls()[memorytest.CallRecordEvent], "work is done when it was queued")
	assert.Equal(t, b.Ptr, alloc(t, a, mib, 0).Ptr)
}

// TestParkedBlocksJoinTheirNeighbours lets a block finish between two free
// ones, and before that be no part of either.
func TestParkedBlocksJoinTheirNeighbours(t *testing.T) {
	f, a := asynchronous(t)
	left, middle, right := alloc(t, a, 6*mib, 0), alloc(t, a, 6*mib, 0), alloc(t, a, 8*mib, 0)
	free(t, a, middle, 1)
	free(t, a, left)
	free(t, a, right)
	assert.EqualValues(t, 8*mib, a.Stats().LargestFree)
	require.NoError(t, a.Check())
	f.Complete(1)
	assert.Equal(t, left.Ptr, alloc(t, a, 20*mib, 0).Ptr)
	assert.EqualValues(t, 20*mib, f.Used())
}

func TestFreeThatCannotRecordLeavesTheBlock(t *testing.T) {
	f, a := asynchronous(t)
	fault := errors.New("no event")
	b := alloc(t, a, mib, 0)
	before := a.Stats()
	f.FailAt(memorytest.CallRecordEvent, 2, fault)
	assert.ErrorIs(t, a.Free(b.Handle, 1, 2), fault)
	assert.Equal(t, before, a.Stats())
	assert.Zero(t, f.LiveEvents(), "the event of the first stream is gone")
	free(t, a, b, 1, 2)
	f.CompleteAll()
}

func TestQueryThatFailsIsReported(t *testing.T) {
	f, a := asynchronous(t)
	fault := errors.New("an earlier launch failed")
	b := alloc(t, a, mib, 0)
	free(t, a, b, 1)
	f.FailAt(memorytest.CallQueryEvent, 1, fault)
	_, err := a.Alloc(mib, 0, memory.Untagged)
	assert.ErrorIs(t, err, fault)
	require.NoError(t, a.Check())
	assert.Equal(t, b.Size, a.Stats().PendingBytes)
	f.CompleteAll()
	assert.Equal(t, b.Ptr, alloc(t, a, mib, 0).Ptr)
}

// TestAbandonedBlockWaitsToo drops a block that another stream has used.
func TestAbandonedBlockWaitsToo(t *testing.T) {
	f, a := asynchronous(t)
	b := alloc(t, a, 30*mib, 0)
	a.Abandon(b.Handle, 0, 1)
	s := a.Stats()
	assert.Equal(t, memory.Released{Count: 1, Bytes: b.Size}, s.GCReleased)
	assert.Equal(t, b.Size, s.PendingBytes)
	assert.NotEqual(t, b.Ptr, alloc(t, a, 30*mib, 0).Ptr)
	f.Complete(1)
	assert.Equal(t, b.Ptr, alloc(t, a, 30*mib, 0).Ptr)

	c := alloc(t, a, mib, 0)
	a.Abandon(c.Handle, 1)
	f.FailAt(memorytest.CallRecordEvent, 1, errors.New("not now"))
	assert.EqualValues(t, 1, a.Stats().GCReleased.Count, "it stays where it is")
	assert.ErrorIs(t, a.Free(c.Handle), memory.ErrStaleHandle, "but is nobody's")
	assert.EqualValues(t, 2, a.Stats().GCReleased.Count, "until an event can be recorded")
	f.CompleteAll()
}

func TestCloseWaitsForParkedBlocks(t *testing.T) {
	f := memorytest.NewFake(memorytest.FakeConfig{Capacity: 100 * mib, Asynchronous: true})
	a, err := memory.New(f, memory.Config{})
	require.NoError(t, err)
	free(t, a, alloc(t, a, mib, 0), 1, 2)
	require.NoError(t, a.Close())
	assert.EqualValues(t, 2, f.Calls()[memorytest.CallSyncEvent])
	assert.NoError(t, f.Close())
}
