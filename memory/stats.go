package memory

// Stat is one number of the books: what it is now, the most it was since the
// last ResetPeak, and what was added and taken away since the start.
// Current == Allocated - Freed, and Current <= Peak.
type Stat struct {
	Current   int64 `json:"current"`
	Peak      int64 `json:"peak"`
	Allocated int64 `json:"allocated"`
	Freed     int64 `json:"freed"`
}

func (s Stat) sub(t Stat) Stat {
	return Stat{s.Current - t.Current, s.Peak, s.Allocated - t.Allocated, s.Freed - t.Freed}
}

// plus adds up all but the peaks: the peak of a sum is not the sum of peaks.
func (s Stat) plus(t Stat) Stat {
	return Stat{s.Current + t.Current, s.Peak, s.Allocated + t.Allocated, s.Freed + t.Freed}
}

// Family is a number by pool. All is the sum of both, but for the peaks, which
// need not have been at the same time.
type Family struct {
	All   Stat `json:"all"`
	Large Stat `json:"large_pool"`
	Small Stat `json:"small_pool"`
}

func (f Family) sub(g Family) Family {
	return Family{f.All.sub(g.All), f.Large.sub(g.Large), f.Small.sub(g.Small)}
}

func (f *Family) pool(p poolKind) *Stat {
	return [...]*Stat{smallPool: &f.Small, largePool: &f.Large, allPools: &f.All}[p]
}

func (f *Family) set(c *pooled) {
	for p := range poolKind(len(c)) {
		*f.pool(p) = c[p].stat()
	}
}

// Stats are the books of an allocator at one moment. The families have the
// names and the meaning that PyTorch gives them. In each pool
//
//	requested <= active, allocated <= active, active + inactive split <= reserved
//
// and what is left of reserved lies in segments with no block in use.
//
// With one stream, peaks are exact, and those of segments and reserved bytes
// always are. With several, the peak of active bytes may be missed by 1 MiB
// for each stream, or by 1/32 of it in all; the other peaks are looked at in
// the same moments as that one.
type Stats struct {
	Device string `json:"device"`

	Allocation    Family `json:"allocation"`     // blocks that clients have
	Segment       Family `json:"segment"`        // ranges taken upstream
	Active        Family `json:"active"`         // blocks that clients have, or that are parked
	InactiveSplit Family `json:"inactive_split"` // free blocks of segments that are in use

	AllocatedBytes     Family `json:"allocated_bytes"`
	ReservedBytes      Family `json:"reserved_bytes"`
	ActiveBytes        Family `json:"active_bytes"`
	InactiveSplitBytes Family `json:"inactive_split_bytes"`
	RequestedBytes     Family `json:"requested_bytes"` // of active blocks, before rounding

	// Blocks that clients have, and segments, of Settings.MaxSplitSize bytes or
	// more; none where that is not set. Runs of pages do not count.
	OversizeAllocations Stat `json:"oversize_allocations"`
	OversizeSegments    Stat `json:"oversize_segments"`

	NumAllocRetries   int64 `json:"num_alloc_retries"`    // requests that had to release cached segments
	NumOOMs           int64 `json:"num_ooms"`             // requests that failed for want of memory
	NumOOMRejections  int64 `json:"num_oom_rejections"`   // requests that Settings.ThrowOnMallocOOM refused
	NumSyncAllStreams int64 `json:"num_sync_all_streams"` // times that all parked blocks were waited for
	NumDeviceAlloc    int64 `json:"num_device_alloc"`     // segments taken upstream
	NumDeviceFree     int64 `json:"num_device_free"`      // segments given back

	// FreePageBytes are free pages with no live byte, whatever streams they are
	// of: they serve any request that they hold together.
	FreePageBytes int64 `json:"free_page_bytes"`
	// PinnedBytes are free but in a page, or in a segment that is no run of
	// pages, with a block in use: they can be
	// reused and not be given back. PendingBytes wait for other streams.
	PinnedBytes  int64 `json:"pinned_bytes"`
	PendingBytes int64 `json:"pending_bytes"`
	// LargestFree is the size of the largest free block.
	LargestFree int64 `json:"largest_free"`
	// Streams has the books of each stream that has any, and of each private
	// pool, in the order in which they came.
	Streams []StreamStat `json:"streams"`

	// GCReleased is what nobody released and Abandon freed.
	GCReleased Released `json:"gc_released"`
	// Collections counts the Go GCs that the allocator started.
	Collections Collections `json:"collections"`
	// Rungs says how often requests that missed the cache came to each rung of
	// the ladder, in order.
	Rungs []RungStat `json:"rungs"`
	// Tags has the requested bytes of active blocks by tag, without those that
	// were never used.
	Tags []TagStat `json:"tags"`
}

// Released counts blocks, with their bytes after rounding.
type Released struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
}

// Collections counts GCs of the Go runtime.
type Collections struct {
	Background int64 `json:"background"` // started beside the work
	Waited     int64 `json:"waited"`     // waited for by a request
}

// RungStat sums up a rung.
type RungStat struct {
	Rung   Rung  `json:"rung"`
	Tried  int64 `json:"tried"`  // requests that came to it
	Served int64 `json:"served"` // requests that it got a block for
	Gained int64 `json:"gained"` // bytes that it made free or gave back
}

// TagStat is the bytes of a tag.
type TagStat struct {
	Tag   string `json:"tag"`
	Bytes Stat   `json:"bytes"`
}

// Sub returns the change from an earlier prev to s: of everything but peaks
// and LargestFree, which stay those of s.
func (s Stats) Sub(prev Stats) Stats {
	d := s
	for i, f := range d.families() {
		*f = f.sub(*prev.families()[i])
	}
	d.OversizeAllocations = s.OversizeAllocations.sub(prev.OversizeAllocations)
	d.OversizeSegments = s.OversizeSegments.sub(prev.OversizeSegments)
	for i, n := range d.scalars() {
		*n -= *prev.scalars()[i]
	}
	d.Rungs = append([]RungStat(nil), s.Rungs...)
	for i := range min(len(d.Rungs), len(prev.Rungs)) {
		d.Rungs[i].Tried -= prev.Rungs[i].Tried
		d.Rungs[i].Served -= prev.Rungs[i].Served
		d.Rungs[i].Gained -= prev.Rungs[i].Gained
	}
	d.Tags = append([]TagStat(nil), s.Tags...)
	for i := range d.Tags {
		for _, p := range prev.Tags {
			if p.Tag == d.Tags[i].Tag {
				d.Tags[i].Bytes = d.Tags[i].Bytes.sub(p.Bytes)
			}
		}
	}
	return d
}

// families are all numbers by pool; the first numFamilies are those that
// tables count, in the order of the constants.
func (s *Stats) families() []*Family {
	return []*Family{
		allocation: &s.Allocation, active: &s.Active, inactiveSplit: &s.InactiveSplit,
		allocatedBytes: &s.AllocatedBytes, activeBytes: &s.ActiveBytes,
		inactiveSplitBytes: &s.InactiveSplitBytes, requestedBytes: &s.RequestedBytes,
		numFamilies: &s.Segment, numFamilies + 1: &s.ReservedBytes,
	}
}

func (s *Stats) scalars() []*int64 {
	return []*int64{
		&s.NumAllocRetries, &s.NumOOMs, &s.NumOOMRejections, &s.NumSyncAllStreams, &s.NumDeviceAlloc, &s.NumDeviceFree,
		&s.FreePageBytes, &s.PinnedBytes, &s.PendingBytes, &s.GCReleased.Count, &s.GCReleased.Bytes,
		&s.Collections.Background, &s.Collections.Waited,
	}
}

// Stats returns the books as they are now. Blocks that were abandoned are
// freed first.
func (a *Allocator) Stats() Stats {
	a.drainAbandoned(true)
	tables := a.lockAll()
	defer a.unlockAll(tables)
	return a.stats(tables)
}

// stats adds up the tables. All locks are held.
func (a *Allocator) stats(tables []*table) Stats {
	s := Stats{
		Device:            a.props.Name,
		NumAllocRetries:   a.counts.retries,
		NumOOMs:           a.counts.ooms,
		NumOOMRejections:  a.counts.rejections,
		NumSyncAllStreams: a.counts.syncs,
		NumDeviceAlloc:    a.counts.upstreamAllocs,
		NumDeviceFree:     a.counts.upstreamFrees,
		Collections:       Collections{a.pacer.background, a.pacer.waited},
		Rungs:             append([]RungStat(nil), a.counts.rungs[:]...),
	}
	s.Segment.set(&a.segments)
	s.ReservedBytes.set(&a.reserved)
	s.OversizeSegments = a.oversize.stat()
	a.observePeaks(tables)
	var tagged [maxTags]Stat
	for _, t := range tables {
		for f, family := range s.families()[:numFamilies] {
			for p := range poolKind(numPools + 1) {
				*family.pool(p) = family.pool(p).plus(t.books[f][p].stat())
			}
		}
		for i := range t.tags {
			tagged[i] = tagged[i].plus(t.tags[i].stat())
		}
		s.OversizeAllocations = s.OversizeAllocations.plus(t.oversize.stat())
		stream := t.stat()
		s.LargestFree = max(s.LargestFree, stream.LargestFree)
		s.FreePageBytes += stream.FreePages
		s.PinnedBytes += stream.Pinned
		if stream.Reserved > 0 {
			s.Streams = append(s.Streams, stream)
		}
		s.GCReleased.Count += t.waste.blocks
		s.GCReleased.Bytes += t.waste.bytes
	}
	for f, family := range s.families()[:numFamilies] {
		for p := range poolKind(numPools + 1) {
			family.pool(p).Peak = a.peaks.books[f][p]
		}
	}
	s.OversizeAllocations.Peak = a.peaks.oversize
	for i := range tagged {
		tagged[i].Peak = a.peaks.tags[i]
	}
	s.PendingBytes = s.ActiveBytes.All.Current - s.AllocatedBytes.All.Current
	for i := range tagged {
		if tagged[i].Allocated > 0 {
			s.Tags = append(s.Tags, TagStat{Tag(i).String(), tagged[i]})
		}
	}
	for i := range s.Rungs {
		s.Rungs[i].Rung = Rung(i)
	}
	return s
}

// ResetPeak sets all peaks to what is current.
func (a *Allocator) ResetPeak() {
	a.drainAbandoned(true)
	tables := a.lockAll()
	defer a.unlockAll(tables)
	a.segments.resetPeaks()
	a.reserved.resetPeaks()
	a.oversize.resetPeak()
	a.peaks = sums{}
	for _, t := range tables {
		for f := range t.books {
			t.books[f].resetPeaks()
		}
		for i := range t.tags {
			t.tags[i].resetPeak()
		}
		t.oversize.resetPeak()
	}
	a.observePeaks(tables)
}
