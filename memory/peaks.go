package memory

import "sync"

// The peak of a sum over streams is not the sum of their peaks, and a counter
// that all streams share would cost each Alloc a fight for its cache line. So
// a table publishes its currents now and then: when its active bytes have
// moved by a step since it last did. Between, the device's peak may miss, or
// see too late, one step a table.
//
// An allocator with one table publishes nothing: its peaks are the table's,
// and exact.

// publishStep is the least change of active bytes that is published, and
// publishPart the part of the table's own peak that is as good a reason: big
// tensors move more than 1 MiB each time.
const (
	publishStep = 1 << 20
	publishPart = 64
)

// sums are currents, or peaks, of all that tables count.
type sums struct {
	books [numFamilies][numPools + 1]int64
	tags  [maxTags]int64
}

// peaks are the sums over all tables. The lock is taken last of all, for a
// few instructions.
type peaks struct {
	mu            sync.Mutex // guards all below
	on            bool       // there is more than one table
	current, peak sums
}

// published is what a table has told. It is guarded by the table's lock.
type published struct {
	on   bool
	at   int64 // active bytes when it last published
	step int64 // change that calls for it again
	sums sums
}

// due reports whether t has to publish. t.mu is held.
func (p *published) due(t *table) bool {
	if !p.on {
		return false
	}
	moved := t.books[activeBytes][allPools].current() - p.at
	return moved >= p.step || moved <= -p.step
}

// publish tells the device what changed since the last time. t.mu is held.
func (t *table) publish(device *peaks) {
	now := t.currents()
	last := &t.published.sums
	device.mu.Lock()
	for f := range now.books {
		for p := range now.books[f] {
			c := &device.current.books[f][p]
			*c += now.books[f][p] - last.books[f][p]
			device.peak.books[f][p] = max(device.peak.books[f][p], *c)
		}
	}
	for i := range now.tags {
		c := &device.current.tags[i]
		*c += now.tags[i] - last.tags[i]
		device.peak.tags[i] = max(device.peak.tags[i], *c)
	}
	device.mu.Unlock()
	bytes := &t.books[activeBytes][allPools]
	t.published.sums = now
	t.published.at = bytes.current()
	t.published.step = max(publishStep, bytes.peak/publishPart)
}

func (t *table) currents() (s sums) {
	for f := range t.books {
		for p := range t.books[f] {
			s.books[f][p] = t.books[f][p].current()
		}
	}
	for i := range t.tags {
		s.tags[i] = t.tags[i].current()
	}
	return s
}

// share makes all tables publish as soon as there are two. Until then the
// peaks of the first are the device's. a.mu is held.
func (a *Allocator) share(tables []*table) {
	if len(tables) < 2 {
		return
	}
	for i, t := range tables {
		t.mu.Lock()
		if !t.published.on {
			t.published.on = true
			t.publish(&a.peaks)
			if i == 0 {
				a.peaks.raise(t)
			}
		}
		t.mu.Unlock()
	}
}

// raise takes over the peaks of the only table so far. t.mu is held.
func (p *peaks) raise(t *table) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.on = true
	for f := range t.books {
		for i := range t.books[f] {
			p.peak.books[f][i] = max(p.peak.books[f][i], t.books[f][i].peak)
		}
	}
	for i := range t.tags {
		p.peak.tags[i] = max(p.peak.tags[i], t.tags[i].peak)
	}
}

// apply puts the peaks of the sums in place of the greatest single ones, where
// they are greater.
func (p *peaks) apply(s *Stats, tags *[maxTags]Stat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.on {
		return
	}
	for f, family := range s.families()[:numFamilies] {
		for i := range poolKind(numPools + 1) {
			st := family.pool(i)
			st.Peak = max(st.Peak, p.peak.books[f][i])
		}
	}
	for i := range tags {
		tags[i].Peak = max(tags[i].Peak, p.peak.tags[i])
	}
}

func (p *peaks) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.peak = p.current
}
