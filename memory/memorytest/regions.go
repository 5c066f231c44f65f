package memorytest

import (
	"slices"
	"sort"

	"tarn/cuda"
)

// region is a run of addresses: a plain allocation, a reserved range, or a
// mapping in one.
type region struct {
	ptr  cuda.DevicePtr
	size int64

	page       *page // nil unless it is a mapping
	accessible bool  // the device may touch it
}

func (r region) end() cuda.DevicePtr { return r.ptr + cuda.DevicePtr(r.size) }

// regions is sorted by address; no two overlap.
type regions []region

// after returns the index of the first region that ends after p, which is the
// one that contains p if there is such a one.
func (rs regions) after(p cuda.DevicePtr) int {
	return sort.Search(len(rs), func(i int) bool { return rs[i].end() > p })
}

// find returns the index of the region that starts at p.
func (rs regions) find(p cuda.DevicePtr) (int, bool) {
	i := rs.after(p)
	return i, i < len(rs) && rs[i].ptr == p
}

// overlaps reports whether a region has a byte in [p, p+size).
func (rs regions) overlaps(p cuda.DevicePtr, size int64) bool {
	i := rs.after(p)
	return i < len(rs) && rs[i].ptr < p+cuda.DevicePtr(size)
}

// cover returns the regions [from, to) that hold every byte of [p, p+size), or
// ok false if there is a hole. whole is set if no region sticks out.
func (rs regions) cover(p cuda.DevicePtr, size int64) (from, to int, whole, ok bool) {
	end := p + cuda.DevicePtr(size)
	from = rs.after(p)
	to = from
	at := p
	for to < len(rs) && at < end && rs[to].ptr <= at {
		at = rs[to].end()
		to++
	}
	if at < end || from == to {
		return from, to, false, false
	}
	return from, to, rs[from].ptr == p && at == end, true
}

func (rs *regions) insert(r region) {
	*rs = slices.Insert(*rs, rs.after(r.ptr), r)
}

func (rs *regions) remove(from, to int) {
	*rs = slices.Delete(*rs, from, to)
}
