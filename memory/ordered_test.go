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

// poolDevice is a fake whose pool takes its memory from the fake and notes the
// streams.
type poolDevice struct {
	*memorytest.Fake
	live    map[cuda.DevicePtr]bool
	freedOn []cuda.Stream
	trims   int
	fail    error // of FreeAsync
}

func (d *poolDevice) Props() memory.Props {
	p := d.Fake.Props()
	p.StreamOrdered = true
	return p
}

func (d *poolDevice) AllocAsync(size int64, _ cuda.Stream) (cuda.DevicePtr, error) {
	p, err := d.Fake.Alloc(size)
	if err == nil {
		d.live[p] = true
	}
	return p, err
}

func (d *poolDevice) FreeAsync(p cuda.DevicePtr, size int64, s cuda.Stream) error {
	if d.fail != nil {
		return d.fail
	}
	if !d.live[p] {
		return errors.New("not of the pool")
	}
	delete(d.live, p)
	d.freedOn = append(d.freedOn, s)
	d.CompleteAll() // plain memory of the fake is not freed in order
	return d.Fake.Free(p, size)
}

func (d *poolDevice) TrimPool() error { d.trims++; return nil }

func ordered(t *testing.T, cfg memory.Config) (*poolDevice, *memory.Allocator) {
	t.Helper()
	f := memorytest.NewFake(memorytest.FakeConfig{Capacity: 100 * mib, Granularity: 2 * mib, Asynchronous: true})
	d := &poolDevice{Fake: f, live: map[cuda.DevicePtr]bool{}}
	cfg.NoBackgroundGC = true
	cfg.Settings.Backend = "cudaMallocAsync"
	a, err := memory.New(d, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, a.Check())
		assert.NoError(t, a.Close())
		assert.NoError(t, f.Close())
	})
	return d, a
}

// Each block is a segment of its size, and goes back with it, on its stream.
func TestOrdered(t *testing.T) {
	d, a := ordered(t, memory.Config{})
	small, large := alloc(t, a, 1000, 1), alloc(t, a, 30*mib, 2)
	assert.Equal(t, []int64{1024, 30 * mib}, []int64{small.Size, large.Size})
	assert.EqualValues(t, 1024+30*mib, d.Used())
	s := a.Stats()
	assert.EqualValues(t, 1024+30*mib, s.ReservedBytes.All.Current)
	assert.Zero(t, s.PinnedBytes)
	free(t, a, small)
	free(t, a, large)
	assert.Equal(t, []cuda.Stream{1, 2}, d.freedOn)
	assert.Zero(t, d.Used())
	assert.Zero(t, a.Stats().ReservedBytes.All.Current)
	require.NoError(t, a.EmptyCache())
	assert.Equal(t, 1, d.trims)
}

// A block that another stream uses goes back when that is done.
func TestOrderedWaitsForUses(t *testing.T) {
	d, a := ordered(t, memory.Config{})
	b := alloc(t, a, 4*mib, 1)
	require.NoError(t, d.Write(2, b.Ptr, b.Size))
	free(t, a, b, 2)
	assert.Empty(t, d.freedOn)
	d.CompleteAll()
	other := alloc(t, a, 2*mib, 1)
	assert.Equal(t, []cuda.Stream{1}, d.freedOn)
	free(t, a, other)
}

func TestOrderedAbandoned(t *testing.T) {
	d, a := ordered(t, memory.Config{})
	a.Abandon(alloc(t, a, 4*mib, 3).Handle)
	free(t, a, alloc(t, a, 512, 1))
	assert.Equal(t, []cuda.Stream{3, 1}, d.freedOn)
}

// The stream of a block may be gone.
func TestOrderedRetired(t *testing.T) {
	d, a := ordered(t, memory.Config{})
	b := alloc(t, a, 4*mib, 3)
	require.NoError(t, a.RetireStream(3))
	free(t, a, b)
	assert.Equal(t, []cuda.Stream{0}, d.freedOn)
}

// A refused segment stays in the cache, is used again, and goes back later.
func TestOrderedRefused(t *testing.T) {
	d, a := ordered(t, memory.Config{})
	b := alloc(t, a, 4*mib, 1)
	d.fail = errors.New("not now")
	require.ErrorIs(t, a.Free(b.Handle), d.fail)
	d.fail = nil
	assert.Zero(t, a.Stats().AllocatedBytes.All.Current)
	assert.EqualValues(t, 4*mib, a.Stats().ReservedBytes.All.Current)
	smaller, again := alloc(t, a, 2*mib, 1), alloc(t, a, 4*mib, 1)
	assert.NotEqual(t, b.Ptr, smaller.Ptr, "it is of another size")
	assert.Equal(t, b.Ptr, again.Ptr)
	free(t, a, again)
	free(t, a, smaller)
	assert.Zero(t, d.Used())
}

// The limit and the ladder are what they are.
func TestOrderedOutOfMemory(t *testing.T) {
	d, a := ordered(t, memory.Config{Limit: 50 * mib})
	b := alloc(t, a, 40*mib, 1)
	oom := outOfMemory(t, a, 11*mib, 1)
	assert.EqualValues(t, 11*mib, oom.Rounded)
	free(t, a, alloc(t, a, 10*mib, 1))
	free(t, a, b, 2) // waited for
	free(t, a, alloc(t, a, 50*mib, 1))
	assert.Zero(t, d.Used())
}

// Graphs and private pools keep what they got: it is not the pool's.
func TestOrderedLeavesPools(t *testing.T) {
	d, a := ordered(t, memory.Config{})
	p := newPool(t, a, memory.PoolConfig{})
	before, early := alloc(t, a, 4*mib, 1), poolAlloc(t, p, 4*mib, 1)
	require.NoError(t, p.BeginCapture(1))
	b, inCapture := poolAlloc(t, p, 4*mib, 1), alloc(t, a, 4*mib, 1)
	assert.Len(t, d.live, 1)
	free(t, a, before)
	assert.Len(t, d.live, 1, "its stream is captured")
	free(t, a, b)
	free(t, a, early)
	free(t, a, inCapture)
	require.NoError(t, p.EndCapture(1))
	require.NoError(t, p.Close())
	require.NoError(t, a.EmptyCache())
	assert.Empty(t, d.live)
	assert.Zero(t, d.Used())
}

// The backend can be changed while blocks are live.
func TestOrderedIsSwitched(t *testing.T) {
	d, a := ordered(t, memory.Config{})
	b := alloc(t, a, 4*mib, 1)
	require.NoError(t, a.SetSettings(memory.Settings{}))
	native := alloc(t, a, 4*mib, 1)
	assert.Len(t, d.live, 1)
	free(t, a, b)
	assert.Empty(t, d.live)
	free(t, a, native)
	assert.Positive(t, a.Stats().ReservedBytes.All.Current)
}
