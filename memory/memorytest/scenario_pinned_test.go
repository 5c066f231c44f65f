package memorytest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory/memorytest"
	"tarn/memory/pinned"
)

// hostMemory is a fake as a source of pinned memory.
type hostMemory struct{ *memorytest.Fake }

func (h hostMemory) AllocHost(size int64) (uintptr, error) {
	p, err := h.Alloc(size)
	return uintptr(p), err
}

func (h hostMemory) FreeHost(p uintptr, size int64) error { return h.Free(cuda.DevicePtr(p), size) }

// newPinned returns a pool that must keep its books right, and give everything
// back when the test is over.
func newPinned(t *testing.T, cfg pinned.Config) (*memorytest.Fake, *pinned.Pool) {
	t.Helper()
	fake := newFake(t, memorytest.FakeConfig{Capacity: 1024 * mib, Alignment: 4 * kib, Asynchronous: true})
	p, err := pinned.New(hostMemory{fake}, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, p.Check())
		assert.NoError(t, p.Close())
	})
	return fake, p
}

func pin(t *testing.T, p *pinned.Pool, size int64) pinned.Block {
	t.Helper()
	b, err := p.Alloc(size)
	require.NoError(t, err)
	return b
}

func scenarioPinnedEmptyCache(t *testing.T) {
	fake, p := newPinned(t, pinned.Config{})
	for range 2 {
		b := pin(t, p, 4*mib)
		require.NoError(t, p.Free(b.Handle))
		require.NoError(t, p.EmptyCache())
		assert.Zero(t, fake.Used())
	}
}

// scenarioHostMemoryStats has PyTorch's numbers, but for its rounding up to
// powers of two: small blocks have classes, and share a segment of up to 1 MiB.
func scenarioHostMemoryStats(t *testing.T) {
	_, p := newPinned(t, pinned.Config{})
	require.NoError(t, p.EmptyCache())
	assert.Equal(t, pinned.Stats{}, p.Stats())

	b := pin(t, p, 40*kib)
	s := p.Stats()
	assert.EqualValues(t, 40*kib, s.ActiveBytes.Current)
	assert.EqualValues(t, 1000*kib, s.AllocatedBytes.Current, "25 blocks")
	assert.EqualValues(t, 1, s.ActiveRequests.Current)
	assert.EqualValues(t, 1, s.Allocations.Current)
	assert.EqualValues(t, 1, s.NumHostAlloc)
	assert.EqualValues(t, 1, s.HostAllocTime.Count)

	c := pin(t, p, 80*kib)
	s = p.Stats()
	assert.EqualValues(t, 120*kib, s.ActiveBytes.Current)
	assert.EqualValues(t, 2, s.NumHostAlloc)
	require.NoError(t, p.EmptyCache())
	assert.Equal(t, s, p.Stats(), "nothing was free")

	require.NoError(t, p.Free(b.Handle))
	require.NoError(t, p.Free(c.Handle))
	require.NoError(t, p.EmptyCache())
	s = p.Stats()
	assert.Zero(t, s.AllocatedBytes.Current)
	assert.Zero(t, s.ActiveBytes.Current)
	assert.EqualValues(t, 2, s.NumHostFree)
	assert.EqualValues(t, 2, s.HostFreeTime.Count)
	assert.EqualValues(t, 120*kib, s.ActiveBytes.Peak)
	p.ResetPeak()
	assert.Zero(t, p.Stats().ActiveBytes.Peak)
}

// scenarioPinnedLazyInit demands that a pool nobody has used asks nothing.
func scenarioPinnedLazyInit(t *testing.T) {
	fake, p := newPinned(t, pinned.Config{})
	assert.Equal(t, pinned.Stats{}, p.Stats())
	assert.NoError(t, p.Check())
	assert.NoError(t, p.EmptyCache())
	assert.Zero(t, fake.Calls().Total())
}

// Sizes in this pool are exact, so there is no threshold from which on they
// are not rounded up to a power of two.

func scenarioPinnedRoundThreshold(t *testing.T) {
	_, p := newPinned(t, pinned.Config{})
	b := pin(t, p, 80*mib)
	assert.EqualValues(t, 80*mib, b.Size, "not 128 MiB")
	assert.EqualValues(t, 80*mib, p.Stats().AllocatedBytes.Current)
	require.NoError(t, p.Free(b.Handle))
}

func scenarioPinnedRoundSmall(t *testing.T) {
	_, p := newPinned(t, pinned.Config{})
	b := pin(t, p, 10*mib)
	assert.EqualValues(t, 10*mib, p.Stats().AllocatedBytes.Current, "PyTorch takes 16 MiB below its threshold")
	require.NoError(t, p.Free(b.Handle))
}

func scenarioPinnedNotCached(t *testing.T) {
	fake, p := newPinned(t, pinned.Config{MaxCached: 32 * mib})
	b := pin(t, p, 64*mib)
	require.NoError(t, p.Free(b.Handle))
	assert.Zero(t, p.Stats().AllocatedBytes.Current)
	assert.Zero(t, fake.Used())
}

func scenarioPinnedCached(t *testing.T) {
	_, p := newPinned(t, pinned.Config{MaxCached: 128 * mib})
	b := pin(t, p, 10*mib)
	require.NoError(t, p.Free(b.Handle))
	assert.EqualValues(t, 10*mib, p.Stats().AllocatedBytes.Current)
	assert.Zero(t, p.Stats().ActiveBytes.Current)
	require.NoError(t, p.EmptyCache())
	assert.Zero(t, p.Stats().AllocatedBytes.Current)
}

func scenarioPinnedLargerThanCache(t *testing.T) {
	_, p := newPinned(t, pinned.Config{MaxCached: 128 * mib})
	b := pin(t, p, 130*mib)
	assert.EqualValues(t, 130*mib, b.Size, "not 256 MiB")
	require.NoError(t, p.Free(b.Handle))
	assert.Zero(t, p.Stats().AllocatedBytes.Current)
}

func scenarioPinnedBoth(t *testing.T) {
	_, p := newPinned(t, pinned.Config{MaxCached: 64 * mib})
	b := pin(t, p, 80*mib)
	assert.EqualValues(t, 80*mib, b.Size)
	require.NoError(t, p.Free(b.Handle))
	assert.Zero(t, p.Stats().AllocatedBytes.Current)
}

// Blocks that no stream has used are free at once, whether or not a stream is
// captured: the pool need not know.

func scenarioPinnedLiveInCapture(t *testing.T) {
	_, p := newPinned(t, pinned.Config{})
	b, c := pin(t, p, 200), pin(t, p, 200)
	assert.NotEqual(t, b.Ptr, c.Ptr)
	require.NoError(t, p.Free(b.Handle))
	require.NoError(t, p.Free(c.Handle))
}

func scenarioPinnedUnusedInCapture(t *testing.T) {
	_, p := newPinned(t, pinned.Config{})
	b := pin(t, p, 200)
	require.NoError(t, p.Free(b.Handle))
	c := pin(t, p, 200)
	assert.Equal(t, b.Ptr, c.Ptr)
	require.NoError(t, p.Free(c.Handle))
}
