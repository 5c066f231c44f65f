package memory

// Totals returns the books as a walk over the snapshot finds them: what is
// current in each family and by tag, FreePageBytes, PinnedBytes, PendingBytes
// and LargestFree. All else, such as peaks, is 0. While nothing is on its way to or from the
// upstream, these are the numbers of [Allocator.Stats] at that moment.
func (s Snapshot) Totals() Stats {
	totals := Stats{Device: s.Device}
	add := func(f *Family, pool string, n int64) {
		f.All.Current += n
		if pool == smallPool.String() {
			f.Small.Current += n
		} else {
			f.Large.Current += n
		}
	}
	tags := make(map[string]int64)
	for i := range s.Segments {
		segment := &s.Segments[i]
		add(&totals.Segment, segment.Pool, 1)
		add(&totals.ReservedBytes, segment.Pool, segment.Size)
		for _, b := range segment.Blocks {
			switch b.State {
			case BlockInactive:
				totals.LargestFree = max(totals.LargestFree, b.Size)
				if len(segment.Blocks) > 1 {
					add(&totals.InactiveSplit, segment.Pool, 1)
					add(&totals.InactiveSplitBytes, segment.Pool, b.Size)
					totals.PinnedBytes += b.Size
				}
				if segment.Pages {
					from := roundUp(int64(b.Address-segment.Address), s.PageSize)
					to := (int64(b.Address-segment.Address) + b.Size) &^ (s.PageSize - 1)
					pages := max(to-from, 0)
					totals.FreePageBytes += pages
					if len(segment.Blocks) > 1 {
						totals.PinnedBytes -= pages
					}
				}
				continue
			case BlockAllocated:
				add(&totals.Allocation, segment.Pool, 1)
				add(&totals.AllocatedBytes, segment.Pool, b.Size)
			}
			add(&totals.Active, segment.Pool, 1)
			add(&totals.ActiveBytes, segment.Pool, b.Size)
			add(&totals.RequestedBytes, segment.Pool, b.Requested)
			tags[b.Tag] += b.Requested
		}
	}
	totals.PendingBytes = totals.ActiveBytes.All.Current - totals.AllocatedBytes.All.Current
	for i := range numTags.Load() {
		if name := Tag(i).String(); tags[name] > 0 {
			totals.Tags = append(totals.Tags, TagStat{name, Stat{Current: tags[name]}})
		}
	}
	return totals
}
