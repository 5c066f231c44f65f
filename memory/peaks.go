package memory

import "math"

// The peak of a sum over streams is not the sum of their peaks, and a counter
// that all streams share would cost each Alloc a fight for its cache line. So
// each table has a mark for its active bytes, and the marks are such that
// while all tables stay below them the sum cannot have passed its peak, but
// for a slack. Who passes its mark takes all locks and adds up. Once the
// tables have been at their peaks together nobody does any more.
//
// The other counters are summed at the same moments. With one table there is
// nothing to sum: the peaks are the table's own.

// minSlack and slackPart say by how much a table's mark may lie above what
// keeps the sum below its peak: 1 MiB, or an equal share of 1/32 of the peak.
// With no slack, a peak that rises would call for all locks each time.
const (
	minSlack  = 1 << 20
	slackPart = 32
)

// observePeaks brings the peaks of the sums up to date and sets the marks. All
// locks are held.
func (a *Allocator) observePeaks(tables []*table) {
	switch len(tables) {
	case 0:
		return
	case 1:
		a.peaks.take(tables[0])
		tables[0].mark = math.MaxInt64
		return
	}
	var now sums
	for _, t := range tables {
		now.add(t)
	}
	a.peaks.raise(&now)
	var peaks int64 // the sum of what the tables reached alone
	for _, t := range tables {
		peaks += t.books[activeBytes][allPools].peak
	}
	n := int64(len(tables))
	peak := a.peaks.books[activeBytes][allPools]
	slack := max(minSlack, peak/slackPart/n)
	room := max((peak-now.books[activeBytes][allPools])/n, slack)
	for _, t := range tables {
		c := &t.books[activeBytes][allPools]
		if t.mark = c.current() + room; peaks <= peak+n*slack {
			t.mark = c.peak
		}
	}
}

// checkPeaks is called, with no lock held, after a table has passed its mark.
func (a *Allocator) checkPeaks() {
	tables := a.lockAll()
	defer a.unlockAll(tables)
	a.observePeaks(tables)
}

// overMark reports whether t has passed its mark. t.mu is held.
func (t *table) overMark() bool { return t.books[activeBytes][allPools].current() > t.mark }

// sums have a number for each counter that tables keep.
type sums struct {
	books [numFamilies][numPools + 1]int64
	tags  [maxTags]int64

	oversize int64
}

// add adds what the counters of t say now. t.mu is held.
func (s *sums) add(t *table) {
	for f := range s.books {
		for p := range s.books[f] {
			s.books[f][p] += t.books[f][p].current()
		}
	}
	for i := range s.tags {
		s.tags[i] += t.tags[i].current()
	}
	s.oversize += t.oversize.current()
}

// raise makes s the greater of s and now, number by number.
func (s *sums) raise(now *sums) {
	for f := range s.books {
		for p := range s.books[f] {
			s.books[f][p] = max(s.books[f][p], now.books[f][p])
		}
	}
	for i := range s.tags {
		s.tags[i] = max(s.tags[i], now.tags[i])
	}
	s.oversize = max(s.oversize, now.oversize)
}

// take makes s the peaks of t, which has been alone so far. t.mu is held.
func (s *sums) take(t *table) {
	for f := range s.books {
		for p := range s.books[f] {
			s.books[f][p] = t.books[f][p].peak
		}
	}
	for i := range s.tags {
		s.tags[i] = t.tags[i].peak
	}
	s.oversize = t.oversize.peak
}
