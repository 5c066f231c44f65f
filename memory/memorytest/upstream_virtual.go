package memorytest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
)

// virtual is an upstream with one reserved range, for the tests of its
// virtual-memory calls. All sizes are in pages of one granule.
type virtual struct {
	memory.Upstream
	t       *testing.T
	granule int64
	base    cuda.DevicePtr
	pages   int64
}

func newVirtual(t *testing.T, u memory.Upstream, pages int64) *virtual {
	t.Helper()
	v := &virtual{Upstream: u, t: t, granule: u.Props().Granularity, pages: pages}
	base, err := u.Reserve(pages * v.granule)
	require.NoError(t, err)
	require.NotZero(t, base)
	require.Zero(t, int64(base)%v.granule, "%#x is not aligned", uintptr(base))
	v.base = base
	return v
}

func (v *virtual) at(page int64) cuda.DevicePtr { return v.base + cuda.DevicePtr(page*v.granule) }

func (v *virtual) create() memory.Page {
	v.t.Helper()
	pg, err := v.Create(v.granule)
	require.NoError(v.t, err)
	require.NotZero(v.t, pg)
	return pg
}

func (v *virtual) mapAt(page int64, pg memory.Page) {
	v.t.Helper()
	require.NoError(v.t, v.Map(v.at(page), v.granule, pg))
}

func (v *virtual) unmap(page, pages int64) {
	v.t.Helper()
	require.NoError(v.t, v.Unmap(v.at(page), pages*v.granule))
}

func (v *virtual) free() int64 {
	v.t.Helper()
	free, _, err := v.MemInfo()
	require.NoError(v.t, err)
	return free
}

func (v *virtual) close() {
	v.t.Helper()
	require.NoError(v.t, v.ReleaseRange(v.base, v.pages*v.granule))
}

// testVirtual walks one page through its life.
func testVirtual(t *testing.T, u memory.Upstream) {
	free, total, err := u.MemInfo()
	require.NoError(t, err)
	v := newVirtual(t, u, total/u.Props().Granularity*9/8+1)
	assert.Equal(t, free, v.free(), "addresses cost no memory")
	second, err := u.Reserve(v.granule)
	require.NoError(t, err)
	assert.False(t, regions{{ptr: v.base, size: v.pages * v.granule}}.overlaps(second, v.granule), "ranges overlap")

	pg := v.create()
	assert.LessOrEqual(t, v.free(), free-v.granule, "a page is memory")
	v.mapAt(1, pg)
	require.NoError(t, u.SetAccess(v.at(1), v.granule))
	require.NoError(t, u.SetAccess(v.at(1), v.granule), "twice is once")
	v.unmap(1, 1)
	v.mapAt(0, pg)
	v.unmap(0, 1)
	require.NoError(t, u.Release(pg))
	require.NoError(t, u.ReleaseRange(second, v.granule))
	v.close()
}

// testVirtualRun sets access to, and unmaps, several mappings with one call.
func testVirtualRun(t *testing.T, u memory.Upstream) {
	v := newVirtual(t, u, 6)
	large, err := u.Create(2 * v.granule)
	require.NoError(t, err)
	small := []memory.Page{v.create(), v.create(), v.create()}
	require.NoError(t, u.Map(v.at(1), 2*v.granule, large))
	v.mapAt(0, small[0])
	v.mapAt(3, small[1])
	v.mapAt(4, small[2])
	require.NoError(t, u.SetAccess(v.at(0), 4*v.granule))
	v.unmap(1, 3)
	v.mapAt(2, small[1])
	v.unmap(4, 1)
	v.unmap(2, 1)
	v.unmap(0, 1)
	for _, pg := range append(small, large) {
		require.NoError(t, u.Release(pg))
	}
	v.close()
}

// testVirtualMove builds a run out of pages that lie apart, the new address
// first, as an allocator does that looks for contiguous bytes.
func testVirtualMove(t *testing.T, u memory.Upstream) {
	v := newVirtual(t, u, 8)
	a, b := v.create(), v.create()
	v.mapAt(0, a)
	v.mapAt(2, b)
	require.NoError(t, u.SetAccess(v.at(0), v.granule))
	require.NoError(t, u.SetAccess(v.at(2), v.granule))
	free := v.free()
	v.unmap(0, 1)
	v.unmap(2, 1)
	v.mapAt(4, a)
	v.mapAt(5, b)
	require.NoError(t, u.SetAccess(v.at(4), 2*v.granule))
	assert.Equal(t, free, v.free(), "moving takes no memory")
	v.unmap(4, 2)
	require.NoError(t, u.Release(a))
	require.NoError(t, u.Release(b))
	v.close()
}

func testVirtualFull(t *testing.T, u memory.Upstream) {
	granule := u.Props().Granularity
	free, total, err := u.MemInfo()
	require.NoError(t, err)
	_, err = u.Create(roundUp(total+1, granule))
	require.ErrorIs(t, err, memory.ErrUpstreamFull)
	size := max(free/4/granule, 1) * granule
	var pages []memory.Page
	for {
		pg, err := u.Create(size)
		if err != nil {
			require.ErrorIs(t, err, memory.ErrUpstreamFull)
			break
		}
		pages = append(pages, pg)
		require.LessOrEqual(t, int64(len(pages))*size, total, "more than there is")
	}
	_, err = u.Alloc(size)
	require.ErrorIs(t, err, memory.ErrUpstreamFull, "both kinds come from the same memory")
	for _, pg := range pages {
		require.NoError(t, u.Release(pg))
	}
}

// testPageOutlivesItsName releases a page while it is mapped: its memory goes
// with its last mapping.
func testPageOutlivesItsName(t *testing.T, u memory.Upstream) {
	free, _, err := u.MemInfo()
	require.NoError(t, err)
	v := newVirtual(t, u, 3)
	pg := v.create()
	v.mapAt(0, pg)
	v.mapAt(1, pg)
	require.NoError(t, u.Release(pg))
	requireRefused(t, u.Release(pg), "second release")
	requireRefused(t, u.Map(v.at(2), v.granule, pg), "map of a released page")
	require.NoError(t, u.SetAccess(v.at(0), 2*v.granule))
	v.unmap(0, 1)
	assert.LessOrEqual(t, v.free(), free-v.granule, "it is mapped still")
	v.unmap(1, 1)
	assert.Equal(t, free, v.free())
	v.close()
}

func testVirtualRefusals(t *testing.T, u memory.Upstream) {
	v := newVirtual(t, u, 8)
	g := v.granule
	large, err := u.Create(2 * g)
	require.NoError(t, err)
	a, b := v.create(), v.create()
	refused := func(what string, err error) {
		t.Helper()
		requireRefused(t, err, what)
	}

	for _, size := range []int64{0, -g, g / 2, g + 1, math.MinInt64} {
		_, err := u.Reserve(size)
		refused("reserve of a bad size", err)
		_, err = u.Create(size)
		refused("create of a bad size", err)
	}
	refused("map of a size that is not the page's", u.Map(v.at(0), g, large))
	refused("map at half a page", u.Map(v.at(0)+cuda.DevicePtr(g/2), g, a))
	refused("map of no page", u.Map(v.at(0), g, 0))
	refused("map over the end of the range", u.Map(v.at(7), 2*g, large))
	refused("map outside every range", u.Map(v.at(8), g, a))
	refused("map at no address", u.Map(0, g, a))

	require.NoError(t, u.Map(v.at(0), 2*g, large))
	v.mapAt(2, a)
	refused("map over the start of a mapping", u.Map(v.at(0), g, b))
	refused("map over the end of a mapping", u.Map(v.at(1), g, b))
	refused("access to part of a mapping", u.SetAccess(v.at(0), g))
	refused("access over a hole", u.SetAccess(v.at(2), 2*g))
	refused("access to nothing", u.SetAccess(v.at(5), g))
	refused("unmap of the first part of a mapping", u.Unmap(v.at(0), g))
	refused("unmap of the last part of a mapping", u.Unmap(v.at(1), 2*g))
	refused("unmap over a hole", u.Unmap(v.at(2), 2*g))
	refused("unmap of nothing", u.Unmap(v.at(5), g))
	refused("free of the range while mapped", u.ReleaseRange(v.base, 8*g))
	refused("release of no page", u.Release(0))
	refused("free of a mapping as an allocation", u.Free(v.at(2), g))

	require.NoError(t, u.SetAccess(v.at(0), 3*g), "the refusals changed nothing")
	v.unmap(0, 3)
	refused("unmap again", u.Unmap(v.at(0), 2*g))
	refused("free of part of the range", u.ReleaseRange(v.base, 4*g))
	refused("free of a range that is not", u.ReleaseRange(v.at(1), 7*g))
	for _, pg := range []memory.Page{large, a, b} {
		require.NoError(t, u.Release(pg))
	}
	v.close()
	refused("free of the range again", u.ReleaseRange(v.base, 8*g))
	refused("map in a freed range", u.Map(v.at(0), g, a))
}
