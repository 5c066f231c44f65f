package memory

import "errors"

// Rung is a step that an Alloc takes when the cache has no block for it.
type Rung uint8

// The rungs, in their order. After each one the cache is searched again.
const (
	// RungDrain frees what finished events and dead owners have left behind.
	RungDrain Rung = iota
	// RungReuse takes idle memory of other streams where it lies.
	RungReuse
	// RungGrow takes memory upstream. Past the hard budget it waits for a Go
	// GC first.
	RungGrow
	// RungFollow takes memory of other streams whose last work is not done,
	// and has the stream wait for that on the device.
	RungFollow
	// RungRemap moves free pages together. It needs virtual memory.
	RungRemap
	// RungRelease gives cached segments back upstream and grows.
	RungRelease
	// RungWait waits for the parked blocks, and grows.
	RungWait
	// RungCollect waits for a Go GC, and grows.
	RungCollect
	// RungHooks calls the functions given to OnShortage, and grows.
	RungHooks
	numRungs
)

// String returns the name of r.
func (r Rung) String() string {
	if r < numRungs {
		return [...]string{"drain", "reuse", "grow", "follow", "remap", "release", "wait", "collect", "hooks"}[r]
	}
	return "no rung"
}

// MarshalText writes the name of r.
func (r Rung) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// climb is one way up the ladder.
type climb struct {
	a *Allocator
	t *table
	r request

	reports  [numRungs]RungReport
	asked    int64  // size of the last segment asked for
	refused  error  // why that failed
	progress uint64 // the allocator's, as far as the last growth could profit
}

// RungReport says what a rung did for one request.
type RungReport struct {
	Rung   Rung
	Gained int64 // bytes that became free, or that were given back upstream
	// Skipped is set for a rung that could not help: there is no virtual memory,
	// no other stream, or nothing was allocated since the last GC.
	Skipped bool
}

// miss serves a request that the cache could not, or returns an
// [*OutOfMemoryError].
func (a *Allocator) miss(t *table, r request) (Block, error) {
	c := &climb{a: a, t: t, r: r}
	if refused := c.reject(); refused != nil {
		return Block{}, a.failed(refused)
	}
	rungs := numRungs
	if !a.hasShortageHooks() {
		rungs = RungHooks
	}
	for rung := RungDrain; rung < rungs; rung++ {
		c.reports[rung].Rung = rung
		b, err := c.try(rung)
		if err == nil {
			a.bookClimb(c, rung)
			return b, nil
		}
		if !outOfRoom(err) {
			return Block{}, err
		}
	}
	b, lent := c.borrow()
	a.bookClimb(c, numRungs)
	if lent {
		return b, nil
	}
	a.mu.Lock()
	a.counts.ooms++
	a.mu.Unlock()
	return Block{}, a.failed(c.outOfMemory(rungs))
}

// try takes one rung. Each of its steps drops the locks, so the cache is
// searched after each.
func (c *climb) try(rung Rung) (Block, error) {
	if !c.able(rung) {
		c.reports[rung].Skipped = true
		return Block{}, errNoWindow
	}
	if err := c.step(rung); err != nil {
		return Block{}, err
	}
	if b, ok := c.search(); ok {
		return b, nil
	}
	b, err := c.enlarge(rung)
	if err == nil || !outOfRoom(err) {
		return b, err
	}
	if err == errOverLimit || errors.Is(err, ErrUpstreamFull) {
		c.refused = err
	}
	if b, ok := c.search(); ok {
		return b, nil
	}
	return Block{}, err
}

// step makes room in the way of a rung.
func (c *climb) step(rung Rung) (err error) {
	if c.a.captures(c.t.stream) {
		return nil
	}
	report := &c.reports[rung]
	switch rung {
	case RungDrain:
		report.Gained, err = c.a.drain()
	case RungGrow:
		if c.a.overHardBudget(c.t, c.a.policy.Load().growth(&c.r)) {
			report.Gained, _ = c.collect()
		}
	case RungRelease:
		err = c.release(maxRequest)
	case RungWait:
		report.Gained, err = c.a.waitForUses()
	case RungHooks:
		report.Gained = c.callShortage()
	case RungCollect:
		var ran bool
		report.Gained, ran = c.collect()
		report.Skipped = !ran
		if ran && report.Gained < c.r.rounded {
			// A cleanup of the first GC may have let go of what only a second
			// one can find: the tensors of a scope that was dropped open.
			collector.collect()
			report.Gained += c.a.drainAbandoned(true)
		}
	}
	return err
}

// enlarge brings memory to c's table: what other streams have to spare, or
// more from upstream.
func (c *climb) enlarge(rung Rung) (Block, error) {
	paged := c.paged()
	switch {
	case rung > RungGrow && c.a.captures(c.t.stream):
		return Block{}, errNoWindow
	case rung == RungDrain, rung == RungRemap && !paged, rung == RungRelease && paged && c.t.group() == nil:
		return Block{}, errNoWindow // it has no means
	case paged:
		return c.enlargePages(rung)
	case rung == RungReuse, rung == RungFollow:
		return c.takeSegment(rung == RungFollow)
	}
	return c.grow(rung)
}

// able reports whether a rung has any means here.
func (c *climb) able(rung Rung) bool {
	switch rung {
	case RungReuse, RungFollow:
		return c.paged() || len(c.a.directory.Load().tables) > 1
	case RungRemap:
		return c.paged()
	}
	return true
}

// paged reports whether c's segments are runs of pages.
func (c *climb) paged() bool { return c.a.policy.Load().paged && c.a.upstreamOf(c.t) == c.a.up }

// cached returns the tables whose cached segments may go to make room for c: all
// but those of other private pools, and of its own if graphs use that.
func (c *climb) cached() []*table {
	tables := c.a.everybodys()
	if p := c.t.group(); p != nil && !p.keeps() {
		tables = append(tables, p.directory.Load().tables...)
	}
	return tables
}

func (c *climb) collect() (gained int64, ran bool) {
	if gained, ran = c.a.collect(); ran {
		c.a.mu.Lock()
		c.a.pacer.waited++
		c.a.mu.Unlock()
	}
	return gained, ran
}

// search looks into the cache again.
func (c *climb) search() (Block, bool) {
	c.t.mu.Lock()
	if i := c.t.take(&c.r); i != 0 {
		return c.a.hand(c.t, i), true
	}
	c.t.mu.Unlock()
	return Block{}, false
}

// grow takes a segment; from RungRelease on, one that is no larger than needed
// if the usual size does not fit. What the rung made free in other segments and
// streams it first gives back upstream. The last rungs ask the upstream only if
// somebody has left room since it refused.
func (c *climb) grow(rung Rung) (Block, error) {
	switch {
	case c.a.captures(c.t.stream): // nothing goes back
	case rung == RungGrow:
		if err := c.reclaim(); err != nil {
			return Block{}, err
		}
		if over, _ := c.a.overPeak(c); over > 0 {
			if err := c.release(over); err != nil {
				return Block{}, err
			}
		}
		c.a.mu.Lock()
		c.progress = c.a.progress
		c.a.mu.Unlock()
	case rung > RungRelease:
		if err := c.release(maxRequest); err != nil {
			return Block{}, err
		}
	}
	if rung >= RungRelease {
		progress := c.a.settle()
		if rung > RungRelease && progress == c.progress {
			return Block{}, c.refused
		}
		c.progress = progress
	}
	b, err := c.take(c.a.policy.Load().growth(&c.r))
	if least := c.r.leastGrowth(); rung >= RungRelease && outOfRoom(err) && least < c.asked {
		b, err = c.take(least)
	}
	return b, err
}

// take takes a segment of a size.
func (c *climb) take(size int64) (Block, error) {
	c.asked = size
	b, err := c.a.grow(c.t, c.r, size)
	if err != errOverLimit {
		c.progress++ // our own failure leaves no room that was not there before
	}
	return b, err
}

// release gives back what c cannot use: segments, and pages too where those that
// are left of other settings serve no segment, or are not c's pool's.
func (c *climb) release(target int64) error {
	gained, err := c.a.release(c.cached(), target, !c.paged() || c.t.group() != nil)
	c.reports[RungRelease].Gained += gained
	return err
}

// outOfRoom reports whether err means that there is not enough memory.
func outOfRoom(err error) bool {
	return err == errOverLimit || err == errNoWindow || errors.Is(err, ErrUpstreamFull)
}

// drain frees the blocks of finished events and dead owners.
func (a *Allocator) drain() (int64, error) {
	gained := a.drainAbandoned(true)
	bytes, err := a.drainAllUses(false)
	return gained + bytes, err
}

// waitForUses waits for all blocks that are parked and returns their bytes.
func (a *Allocator) waitForUses() (int64, error) {
	a.mu.Lock()
	a.counts.syncs++
	a.mu.Unlock()
	return a.drainAllUses(true)
}

func (a *Allocator) drainAllUses(wait bool) (gained int64, err error) {
	for _, t := range a.directory.Load().tables {
		bytes, failed := a.drainUses(t, wait)
		gained += bytes
		err = errors.Join(err, failed)
	}
	return gained, err
}

// counts are sums over the life of an allocator, guarded by the device lock.
type counts struct {
	retries        int64 // requests that came to RungRelease
	ooms           int64 // requests that failed for want of memory
	rejections     int64 // requests that reject refused
	syncs          int64 // times that all parked blocks were waited for
	upstreamAllocs int64 // segments and pages taken
	upstreamFrees  int64 // and given back
	rungs          [numRungs]RungStat
}

// bookClimb counts a climb that ended at a rung, or at the top with none.
func (a *Allocator) bookClimb(c *climb, served Rung) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if served >= RungRelease {
		a.counts.retries++
	}
	for rung := range c.reports {
		s := &a.counts.rungs[rung]
		s.Gained += c.reports[rung].Gained
		if Rung(rung) <= served && !c.reports[rung].Skipped {
			s.Tried++
		}
	}
	if served < numRungs {
		a.counts.rungs[served].Served++
	}
}
