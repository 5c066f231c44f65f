package cudasim

import (
	"cmp"
	"slices"
	"sort"
)

// kind is what a region is.
type kind int

const (
	allocation kind = iota // of mem_alloc
	pooled                 // of alloc_async
	mapping                // of a page
	pinned                 // host memory
)

func (k kind) String() string {
	return [...]string{"allocations", "pool allocations", "mappings", "pinned allocations"}[k]
}

// backing is memory, wherever it can be seen.
type backing struct {
	bytes []byte
	// freed has a mark for each granule of bytes, which is not 0 where nobody
	// may touch it; nil as long as nothing was marked. Streams write it in their
	// order.
	freed []byte
}

// region is memory at an address.
type region struct {
	ptr    uint64
	kind   kind
	memory *backing

	context *context // that it goes with; nil for a mapping
	device  int      // that the memory is of; that of the context for pinned
	page    *page    // of a mapping
	access  uint64   // devices that may touch a mapping, by bit
	use     usage
	free    *op  // where a stream gives the memory back
	counted bool // free, and among what the pool keeps before free is done
}

func (r *region) size() uint64 { return uint64(len(r.memory.bytes)) }
func (r *region) end() uint64  { return r.ptr + r.size() }

// reach reports whether work of a device may touch the region.
func (r *region) reach(d *device) bool {
	switch r.kind {
	case pinned:
		return true
	case mapping:
		return r.access>>d.index&1 != 0
	case pooled: // a pool has rights of its own, which nobody can give here
		return r.device == d.index
	}
	return r.device == d.index || d.peers>>r.device&1 != 0
}

// space is the addresses of a machine, those of pinned memory too.
type space struct {
	base, next uint64
	regions    []*region // by ptr
	ranges     []vrange  // reserved, by ptr
}

// vrange is a run of reserved addresses.
type vrange struct{ ptr, size uint64 }

// gap lies between any two things, so that a step over the end of one does not
// end in another.
const gap = 64 << 10

// place finds size free addresses. Those that were used are not used again
// before all others have been.
func (s *space) place(size, alignment uint64) (uint64, bool) {
	if size > machineSpan {
		return 0, false
	}
	if p := roundUp(s.next, alignment); p+size+gap <= s.base+machineSpan {
		s.next = p + size + gap
		return p, true
	}
	taken := slices.Clone(s.ranges)
	for _, r := range s.regions {
		if r.kind != mapping && r.kind != pinned {
			taken = append(taken, vrange{r.ptr, r.size()})
		}
	}
	slices.SortFunc(taken, func(a, b vrange) int { return cmp.Compare(a.ptr, b.ptr) })
	p := roundUp(s.base, alignment)
	for _, t := range taken {
		if p+size+gap <= t.ptr {
			break
		}
		p = roundUp(t.ptr+t.size+gap, alignment)
	}
	return p, p+size+gap <= s.base+machineSpan
}

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }

// index returns how many regions begin at or below p.
func (s *space) index(p uint64) int {
	return sort.Search(len(s.regions), func(i int) bool { return s.regions[i].ptr > p })
}

func (s *space) insert(r *region) { s.regions = slices.Insert(s.regions, s.index(r.ptr), r) }

func (s *space) remove(r *region) {
	i := s.index(r.ptr) - 1
	s.regions = slices.Delete(s.regions, i, i+1)
}

// at returns the region that begins at p and is of that kind.
func (s *space) at(p uint64, k kind) *region {
	if i := s.index(p); i > 0 && s.regions[i-1].ptr == p && s.regions[i-1].kind == k {
		return s.regions[i-1]
	}
	return nil
}

// run returns the regions that p to p+size lies in, nil if there is a hole. Only
// mappings are taken together: what else lies side by side does so by chance.
func (s *space) run(p, size uint64) []*region {
	i := s.index(p) - 1
	if i < 0 || p+size < p {
		return nil
	}
	for j, at := i, p; ; j++ {
		if j == len(s.regions) || s.regions[j].ptr > at || s.regions[j].end() <= at {
			return nil
		}
		if j > i && (s.regions[j].kind != mapping || s.regions[j-1].kind != mapping) {
			return nil
		}
		if at = s.regions[j].end(); at >= p+size {
			return s.regions[i : j+1]
		}
	}
}

// uses is what work uses that touches p to p+size.
func (s *space) uses(p, size uint64) (all []*usage) {
	for _, r := range s.run(p, size) {
		all = append(all, &r.use)
	}
	return all
}

// usable reports whether work of a device may touch p to p+size.
func (s *space) usable(d *device, p, size uint64) bool {
	if size == 0 {
		return true
	}
	run := s.run(p, size)
	for _, r := range run {
		if !r.reach(d) || r.free != nil {
			return false
		}
	}
	return len(run) > 0
}

// within reports whether p to p+size lies in one reserved range.
func (s *space) within(p, size uint64) bool {
	i := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].ptr > p }) - 1
	return i >= 0 && size <= s.ranges[i].size && p-s.ranges[i].ptr <= s.ranges[i].size-size
}

// changeAll says that what all devices see of memory has changed.
func (m *Machine) changeAll() {
	for _, d := range m.devices {
		m.taken(d)
	}
}

// taken says that memory which a device sees has gone. Work in its queues must
// see that: else the next call that queues work is early enough.
func (m *Machine) taken(d *device) {
	d.change()
	if !d.idle() {
		d.refresh()
	}
}
