package memory

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
)

// addresses is an upstream that hands out addresses with nothing behind them,
// for tests that look inside and so cannot import memorytest.
type addresses struct {
	NoVirtualMemory
	next cuda.DevicePtr
}

func (u *addresses) Props() Props {
	return Props{Name: "addresses", Alignment: 512, Asynchronous: true}
}

func (u *addresses) MemInfo() (free, total int64, err error) { return 1 << 40, 1 << 40, nil }

func (u *addresses) Alloc(size int64) (cuda.DevicePtr, error) {
	u.next += 1 << 30
	return u.next, nil
}

func (u *addresses) Free(cuda.DevicePtr, int64) error             { return nil }
func (u *addresses) RecordEvent(cuda.Stream) (cuda.Event, error)  { return 1, nil }
func (u *addresses) QueryEvent(cuda.Event) (done bool, err error) { return false, nil }
func (u *addresses) WaitEvent(cuda.Stream, cuda.Event) error      { return nil }
func (u *addresses) SyncEvent(cuda.Event) error                   { return nil }
func (u *addresses) DestroyEvent(cuda.Event) error                { return nil }

// TestCheckFindsFaults breaks each thing that Check is to watch, and demands
// the sentence that says so.
func TestCheckFindsFaults(t *testing.T) {
	for _, tc := range []struct {
		name string
		// spoil gets a table with, in one segment: a live block, a free one, a
		// parked one and a free rest.
		spoil func(a *Allocator, t *table, live, free, parked *block)
		want  string
	}{
		{"address", func(_ *Allocator, _ *table, live, _, _ *block) { live.ptr++ }, "expected address"},
		{"size", func(_ *Allocator, _ *table, live, _, _ *block) { live.size++ }, "is no multiple of 512"},
		{"gap", func(_ *Allocator, _ *table, live, _, _ *block) { live.size += 512 }, "expected address"},
		{"segment", func(_ *Allocator, t *table, _, _, _ *block) { t.segments[0].size += 512 }, "its blocks end at"},
		{"link", func(_ *Allocator, _ *table, _, free, _ *block) { free.prev = 3 }, "expected address"},
		{"pool", func(_ *Allocator, _ *table, live, _, _ *block) { live.pool = largePool }, "small pool, found"},
		{"neighbours", func(_ *Allocator, _ *table, _, _, parked *block) { parked.state, parked.uses = stateFree, 0 }, "free beside a free neighbour"},
		{"free in no bin", func(_ *Allocator, _ *table, live, _, _ *block) { live.state = stateFree }, "and in a bin: false"},
		{"used in a bin", func(_ *Allocator, _ *table, _, free, _ *block) { free.state = stateLive }, "in bin 2 of the small pool, but it is live"},
		{"wrong bin", func(_ *Allocator, _ *table, _, free, _ *block) { free.bin++ }, "knows bin 3"},
		{"level", func(_ *Allocator, t *table, _, _, _ *block) { t.bins[smallPool].levels ^= 1 }, "level 0: bit is false"},
		{"bitmap", func(_ *Allocator, t *table, _, _, _ *block) { t.bins[smallPool].subs[0] ^= 4 }, "bin 2: bit is false"},
		{"bin's back link", func(_ *Allocator, _ *table, _, free, _ *block) { free.binPrev = 1 }, "previous 1, not 0"},
		{"unused", func(_ *Allocator, _ *table, live, _, _ *block) { live.state = stateUnused }, "in a segment, but unused"},
		{"requested", func(_ *Allocator, _ *table, live, _, _ *block) { live.requested = live.size + 1 }, "1025 bytes requested of 1024"},
		{"freed in the future", func(_ *Allocator, t *table, _, free, _ *block) { free.setFreedAt(t.clock + 1) }, "free since 3, after the present 2"},
		{"uses", func(_ *Allocator, _ *table, _, _, parked *block) { parked.uses++ }, "with 3 uses of which 2 are queued"},
		{"uses of a live block", func(_ *Allocator, _ *table, live, _, _ *block) { live.uses = 1 }, "live, with 1 uses"},
		{"parked", func(_ *Allocator, t *table, _, _, _ *block) { t.parked++ }, "parked blocks: booked 2, counted 1"},
		{"orphaned event", func(_ *Allocator, t *table, _, _, _ *block) { t.queues[0].uses[0].index = 99 }, "events wait for 1 blocks that are not parked"},
		{"lost record", func(_ *Allocator, t *table, _, _, _ *block) { t.records.unused = 0 }, "records of stream 0x0: booked"},
		{"records in use", func(_ *Allocator, t *table, _, _, _ *block) { t.records.inUse++ }, "records of stream 0x0 in use: booked 5, counted 4"},
		{"count", func(_ *Allocator, t *table, _, _, _ *block) { t.books[allocation].add(smallPool, 1) }, "family 0, pool 0: booked 2, counted 1"},
		{"bytes", func(_ *Allocator, t *table, _, _, _ *block) { t.books[activeBytes].sub(smallPool, 512) }, "active + inactive"},
		{"inactive split", func(_ *Allocator, t *table, _, _, _ *block) { t.books[inactiveSplit].sub(smallPool, 1) }, "family 2, pool 0: booked 1, counted 2"},
		{"peak", func(_ *Allocator, t *table, _, _, _ *block) { t.books[active][allPools].peak = 0 }, "current 2, peak 0"},
		{"tag", func(_ *Allocator, _ *table, live, _, _ *block) { live.tag = Workspace }, "tag workspace: booked 0, counted 1000"},
		{"reserved", func(a *Allocator, _ *table, _, _, _ *block) { a.reserved.add(smallPool, 512) }, "reserved bytes: booked 2097664, counted 2097152"},
		{"segments", func(a *Allocator, _ *table, _, _, _ *block) { a.segments.add(smallPool, 1) }, "segments: booked 2, counted 1"},
		{"oversize", func(_ *Allocator, _ *table, live, _, _ *block) { live.oversize = true }, "oversize blocks: booked 0, counted 1"},
		{"oversize of a free block", func(_ *Allocator, _ *table, _, free, _ *block) { free.oversize = true }, "free, and oversize"},
		{"oversize blocks", func(_ *Allocator, t *table, _, _, _ *block) { t.oversize.add(1) }, "oversize blocks: booked 1, counted 0"},
		{"oversize segments", func(a *Allocator, _ *table, _, _, _ *block) { a.oversize.add(1) }, "oversize segments: booked 1, counted 0"},
		{"overlap", func(_ *Allocator, t *table, _, _, _ *block) {
			t.segments = append(t.segments, t.segments[0])
		}, "overlaps segment"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, err := New(&addresses{}, Config{NoBackgroundGC: true})
			require.NoError(t, err)
			t.Cleanup(func() { unregister(a) }) // Close would trip over the damage
			var blocks [4]Block
			for i := range blocks {
				blocks[i], err = a.Alloc(1000, 0, Untagged)
				require.NoError(t, err)
			}
			require.NoError(t, a.Free(blocks[1].Handle))
			require.NoError(t, a.Free(blocks[2].Handle, 1, 2))
			require.NoError(t, a.Free(blocks[3].Handle)) // joins the rest; its record is unused
			require.NoError(t, a.check())
			tab := a.directory.Load().tables[0]
			at := func(i int) *block { return tab.records.at(blocks[i].index) }
			tc.spoil(a, tab, at(0), at(1), at(2))
			assert.ErrorContains(t, a.check(), tc.want)
		})
	}
}

// TestAbandonTakesNoLock calls it while all locks of the allocator are taken,
// as a cleanup of the runtime may.
func TestAbandonTakesNoLock(t *testing.T) {
	a, err := New(&addresses{}, Config{NoBackgroundGC: true})
	require.NoError(t, err)
	b, err := a.Alloc(1000, 0, Untagged)
	require.NoError(t, err)
	tables := a.lockAll()
	a.Abandon(b.Handle)
	a.unlockAll(tables)
	require.NoError(t, a.Close(), "it was freed")
}
