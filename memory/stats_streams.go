package memory

import "tarn/cuda"

// StreamStat is what a stream has at one moment, in bytes. What was taken over
// from another stream is the new one's.
type StreamStat struct {
	Stream      cuda.Stream `json:"stream"`
	PrivatePool string      `json:"private_pool,omitempty"` // its name
	Reserved    int64       `json:"reserved"`
	Allocated   int64       `json:"allocated"`
	Pending     int64       `json:"pending"`    // wait for other streams
	FreePages   int64       `json:"free_pages"` // free pages with no live byte
	Pinned      int64       `json:"pinned"`     // free beside a block in use, in a page or segment
	LargestFree int64       `json:"largest_free"`
}

// stat adds up t. t.mu is held.
func (t *table) stat() StreamStat {
	s := StreamStat{
		Stream:    t.stream,
		Allocated: t.books[allocatedBytes][allPools].current(),
		Pinned:    t.books[inactiveSplitBytes][allPools].current(),
	}
	s.Pending = t.books[activeBytes][allPools].current() - s.Allocated
	if p := t.group(); p != nil {
		s.PrivatePool = p.cfg.Name
	}
	for i := range t.segments {
		s.Reserved += t.segments[i].size
	}
	for p := range t.bins {
		s.LargestFree = max(s.LargestFree, t.bins[p].largest(&t.records))
		if t.runs[p] == 0 {
			continue
		}
		t.bins[p].each(&t.records, func(_ uint32, b *block) {
			ar := t.segments[b.segment].arena
			if ar == nil {
				return
			}
			bytes := ar.bytes(b.wholePages(ar))
			s.FreePages += bytes
			if b.whole() {
				return
			}
			s.Pinned -= bytes
		})
	}
	return s
}

// fragmentation is the share of the free bytes that is in none of the largest
// free block, 0 where nothing is free.
func (s *Stats) fragmentation() float64 {
	free := s.ReservedBytes.All.Current - s.ActiveBytes.All.Current
	if free == 0 {
		return 0
	}
	return 1 - float64(s.LargestFree)/float64(free)
}
