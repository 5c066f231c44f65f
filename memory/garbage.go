package memory

import (
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"time"
)

// The Go garbage collector sees the small handles of tensors and not the
// memory behind them, so left alone it would run far too late. Here the
// allocator paces it. See doc.go for the two budgets.

// waste is what a table knows about blocks that nobody released. It is guarded
// by the table's lock.
type waste struct {
	blocks, bytes int64 // freed through Abandon since the start
	softMark      int64 // unreleased() above which the soft budget is looked at
}

// unreleased returns the bytes that were allocated in t since the start, less
// those released explicitly. t.mu is held.
func (t *table) unreleased() int64 {
	return t.books[allocatedBytes][allPools].current() + t.waste.bytes
}

// pacer decides when the Go garbage collector runs. It is guarded by the
// device lock.
type pacer struct {
	peakLive   int64 // L: the most bytes that a GC left allocated
	soft       int64 // the soft budget since the last one; the hard one is twice as much
	unreleased int64 // sum of the tables' unreleased() when the last GC began
	allocated  int64 // sum of the bytes ever allocated at that time
	running    bool  // a background GC is on its way

	background, waited int64 // GCs started beside the work and waited for
}

func (p *pacer) hard() int64 {
	if p.soft > maxRequest { // no bound; sums with this do not overflow
		return 2 * maxRequest
	}
	return 2 * p.soft
}

// softBudget is the default Config.SoftBudget. The square root is
// MemBalancer's rule: it keeps the cost of collecting and of the memory that
// waits to be collected in proportion whatever the size of the program. Its
// scale is the floor, so that the rule starts where the floor ends.
func softBudget(live int64) int64 {
	const floor = 64 << 20
	return max(floor, int64(math.Sqrt(floor*float64(live))))
}

// moment is what the pacer must know of all tables at one time.
type moment struct{ allocated, current, unreleased int64 }

// moment sums up the tables, one after the other. a.mu is held.
func (a *Allocator) moment() (m moment) {
	for _, t := range a.directory.Load().tables {
		t.mu.Lock()
		c := &t.books[allocatedBytes][allPools]
		m.allocated += c.allocated
		m.current += c.current()
		m.unreleased += t.unreleased()
		t.mu.Unlock()
	}
	return m
}

// checkSoftBudget starts a background GC if the soft budget is spent, and
// otherwise tells the tables when to ask again.
func (a *Allocator) checkSoftBudget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.markTables()
	if a.cfg.NoBackgroundGC || a.pacer.running || a.closed {
		return
	}
	if a.moment().unreleased-a.pacer.unreleased > a.pacer.soft {
		a.pacer.running = true
		a.pacer.background++
		go func() {
			a.collect()
			a.mu.Lock()
			a.pacer.running = false
			a.mu.Unlock()
		}()
	}
}

// markTables shares what is left of the soft budget out among the tables. Each
// compares its own number with its mark; nothing is shared on the way of an
// Alloc. Past the budget the marks ask again after another eighth of it. a.mu
// is held.
func (a *Allocator) markTables() {
	tables := a.directory.Load().tables
	left := a.pacer.soft - (a.moment().unreleased - a.pacer.unreleased)
	for _, t := range tables {
		t.mu.Lock()
		if a.cfg.NoBackgroundGC {
			t.waste.softMark = math.MaxInt64
		} else {
			t.waste.softMark = t.unreleased() + max(left, a.pacer.soft/8)/int64(len(tables))
		}
		t.mu.Unlock()
	}
}

// overHardBudget reports whether growing by size bytes for t has to wait for a
// GC.
func (a *Allocator) overHardBudget(t *table, size int64) bool {
	tables := a.lockAll()
	defer a.unlockAll(tables)
	return a.heldFor(t, tables)+size-a.pacer.peakLive > a.pacer.hard()
}

// heldFor returns the bytes held but for those that are free in pools of graphs,
// t's own apart: no GC gives them back, and no cache. All locks are held.
func (a *Allocator) heldFor(t *table, tables []*table) int64 {
	held := a.held()
	if len(a.pools) == 0 {
		return held
	}
	keeps := func(p *Pool) bool { return p != t.pool && p.keeps() && slices.Contains(a.pools, p) }
	for _, p := range a.pools {
		if keeps(p) {
			held -= p.held
		}
	}
	for _, other := range tables {
		if keeps(other.pool) {
			held += other.books[activeBytes][allPools].current()
		}
	}
	return held
}

// overPeak returns by how many bytes a growth for c would go past the peak of
// the live bytes, c's included, and what the cache may have beyond it: that
// much lies idle in shapes that nobody asks for. The second number is by how many
// it would go past the peak and the hard budget.
//
// What was abandoned was perhaps not live at the peak of what was active. So
// the peak counts without it, or is L.
func (a *Allocator) overPeak(c *climb) (over, overHard int64) {
	r := &c.r
	tables := a.lockAll()
	defer a.unlockAll(tables)
	a.observePeaks(tables)
	peak, now := a.peaks.books[activeBytes][allPools], r.rounded
	for _, t := range tables {
		peak -= t.waste.bytes
		now += t.books[activeBytes][allPools].current()
	}
	peak = max(peak, now, a.pacer.peakLive)
	p, hard := a.policy.Load(), a.pacer.hard()
	over = a.heldFor(c.t, tables) + p.growth(r) - peak
	return over - p.slack(peak, hard), over - hard
}

// collect runs the Go garbage collector, frees what it let go of and sets L.
// It does nothing, and says so, when nothing was allocated since the last one.
// No lock is held while it waits.
//
// L is what the GC could tell about: the bytes that were allocated when it
// began, less what it freed. Blocks made meanwhile are not garbage to it, and
// count as allocated since.
func (a *Allocator) collect() (gained int64, ran bool) {
	a.mu.Lock()
	before := a.moment()
	idle := before.allocated == a.pacer.allocated
	a.mu.Unlock()
	if idle {
		return a.drainAbandoned(true), false
	}
	collector.collect()
	gained = a.drainAbandoned(true)

	a.mu.Lock()
	after := a.moment()
	freed := (after.unreleased - after.current) - (before.unreleased - before.current)
	live := before.current - freed
	a.mu.Unlock()
	soft := max(a.cfg.SoftBudget(live), 0)

	a.mu.Lock()
	defer a.mu.Unlock()
	if before.allocated > a.pacer.allocated { // else a later GC was faster
		a.pacer.soft = soft
		a.pacer.peakLive = max(a.pacer.peakLive, live)
		a.pacer.unreleased, a.pacer.allocated = before.unreleased, before.allocated
		a.markTables()
	}
	return gained, true
}

// collector runs the garbage collector of the process for all allocators.
// Those that ask while a GC is on its way share the one after it.
var collector = newGCRunner()

type gcRunner struct {
	mu      sync.Mutex // guards all below
	settled sync.Cond  // on mu: running became false
	begun   uint64     // GCs that began
	done    uint64     // GCs that are over
	running bool
}

func newGCRunner() *gcRunner {
	c := new(gcRunner)
	c.settled.L = &c.mu
	return c
}

// collect returns when a GC that began after the call is over and the cleanups
// that it queued have run.
func (c *gcRunner) collect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for want := c.begun + 1; c.done < want; {
		if c.running {
			c.settled.Wait()
			continue
		}
		c.running = true
		c.begun++
		c.mu.Unlock()
		runtime.GC()
		awaitCleanups()
		c.mu.Lock()
		c.running = false
		c.done = c.begun
		c.settled.Broadcast()
	}
}

// awaitCleanups waits until the cleanups that the last GC queued have run, but
// not longer than maxBarrier: some other package's cleanup may be stuck. When
// runtime.GC returns they are queued, and most have not run.
func awaitCleanups() {
	const maxBarrier = 100 * time.Millisecond
	samples := []metrics.Sample{
		{Name: "/gc/cleanups/queued:cleanups"},
		{Name: "/gc/cleanups/executed:cleanups"},
	}
	metrics.Read(samples)
	queued := samples[0].Value.Uint64()
	pause := time.Microsecond
	for start := time.Now(); samples[1].Value.Uint64() < queued && time.Since(start) < maxBarrier; {
		runtime.Gosched()
		time.Sleep(pause)
		pause = min(2*pause, time.Millisecond)
		metrics.Read(samples[1:])
	}
}
