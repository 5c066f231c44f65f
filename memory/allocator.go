package memory

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"tarn/cuda"
	"tarn/internal/invariants"
)

// Config is the policy of an allocator. The zero Config is a good one.
type Config struct {
	// Limit bounds the bytes that are held from the upstream at any time; 0
	// leaves the bound to the upstream.
	Limit int64
	// SoftBudget returns how many bytes may be allocated, and not released,
	// before a Go GC starts beside the work, given the bytes that were live
	// after the last one. At twice as many a request waits for a GC rather
	// than take more memory. nil is the default rule: the square root of live
	// × 64 MiB, and at least 64 MiB.
	SoftBudget func(live int64) int64
	// NoBackgroundGC leaves out the GC beside the work. Memory is bounded all
	// the same, by the requests that wait.
	NoBackgroundGC bool
	// PageSlack is how far reserved may go past the peak of the live bytes, as a
	// share of it, before free pages are moved together rather than more of them
	// mapped; 0 for an eighth, negative for not at all. Less of it saves memory
	// and costs calls upstream.
	PageSlack float64
	// Settings are PyTorch's; see [ParseSettings] and [SettingsFromEnv].
	Settings Settings
}

// Allocator is a caching allocator over one upstream. Its methods may be
// called from many goroutines. See the package documentation.
type Allocator struct {
	up      Upstream
	ordered StreamOrdered // up as that; nil where it is none
	props   Props
	cfg     Config

	policy    atomic.Pointer[policy]
	directory atomic.Pointer[directory] // of the tables; stored with mu held
	history   atomic.Pointer[history]   // nil while it is off; stored with all locks held
	abandoned abandoned
	stacks    stacks
	lookups   atomic.Uint64 // searches of the large pool; counted only for reclaim

	mu       sync.Mutex // the device lock; guards all below
	settled  sync.Cond  // on mu: inflight fell to 0
	closed   bool
	segments pooled
	reserved pooled  // bytes, with those that are on their way back
	oversize counter // segments of policy.whole bytes or more
	peaks    sums    // of the sums over all tables
	// What is under way upstream, by goroutines that dropped the lock.
	pledged   int64 // bytes that were asked for
	strays    []stray
	stuck     []stuck
	returning int64  // bytes that are no longer in a table and not yet returned
	inflight  int    // goroutines
	progress  uint64 // goes up when one of them left room for others
	pacer     pacer
	counts    counts
	hooks     hooks

	arenas [numPools]arena // where there is virtual memory
	runs   [numPools]int64 // of segments, those that are runs of pages
	survey survey

	pools     []*Pool                       // private ones that are not closed
	capturing atomic.Pointer[[]cuda.Stream] // streams that record a graph; stored with mu held
	deferred  []deferred                    // blocks whose free waits for the end of that
}

// New returns an allocator over up.
func New(up Upstream, cfg Config) (*Allocator, error) {
	if up == nil {
		return nil, errors.New("memory: New: the upstream is nil")
	}
	if cfg.Limit < 0 {
		return nil, errors.New("memory: New: the limit is negative")
	}
	if cfg.SoftBudget == nil {
		cfg.SoftBudget = softBudget
	}
	a := &Allocator{up: up, props: up.Props(), cfg: cfg}
	if a.props.StreamOrdered {
		a.ordered, a.props.StreamOrdered = up.(StreamOrdered)
	}
	p, err := newPolicy(&cfg, a.props, a.total)
	if err != nil {
		return nil, err
	}
	a.policy.Store(p)
	for pool := range a.arenas {
		a.arenas[pool] = arena{pool: poolKind(pool), page: pageSize(a.props)}
	}
	a.settled.L = &a.mu
	a.abandoned.settled.L = &a.abandoned.mu
	a.pacer.soft = max(cfg.SoftBudget(0), 0)
	a.directory.Store(newDirectory(nil, nil))
	register(a)
	return a, nil
}

func (a *Allocator) total() (int64, error) {
	_, total, err := a.up.MemInfo()
	return total, err
}

// Props says what the upstream can do.
func (a *Allocator) Props() Props { return a.props }

// Alloc returns a block of at least size bytes for use on stream s. A size of
// 0 gets the zero Block. The bytes hold whatever they held before.
//
// The error is an [*OutOfMemoryError], a [*RequestError], [ErrClosed], or a
// fault of the upstream as it came.
func (a *Allocator) Alloc(size int64, s cuda.Stream, tag Tag) (Block, error) {
	return a.alloc(nil, a.directory.Load(), size, s, tag)
}

// alloc is Alloc from a private pool, or with nil from none, whose directory it
// is given.
func (a *Allocator) alloc(p *Pool, d *directory, size int64, s cuda.Stream, tag Tag) (Block, error) {
	if size == 0 {
		return Block{}, nil
	}
	if size < 0 || size > maxRequest || uint32(tag) >= numTags.Load() {
		return Block{}, &RequestError{Device: a.props.Name, Size: size, Tag: tag}
	}
	if a.abandoned.any() {
		a.drainAbandoned(false)
	}
	t := d.ofStream(s)
	if t == nil {
		var err error
		if t, err = a.newTable(s, p); err != nil {
			return Block{}, err
		}
	}
	rules := a.policy.Load()
	r := rules.request(size, tag)
	if rules.ordered && p == nil && !a.captures(s) {
		r.order()
	}
	if h := a.history.Load(); h != nil && h.sample() {
		r.stack = a.stacks.capture(h.Skip+1, h.Depth) // alloc is called by Alloc
	}
	if p != nil {
		p.adapt(&r)
	}
	t.mu.Lock()
	if t.parked > 0 && !a.captures(s) {
		t.mu.Unlock()
		if _, err := a.drainUses(t, false); err != nil {
			return Block{}, err
		}
		t.mu.Lock()
	}
	i := t.take(&r)
	if i == 0 {
		t.mu.Unlock()
		return a.miss(t, r)
	}
	return a.hand(t, i), nil
}

// hand finishes an Alloc that got record i: with t.mu held on entry and not on
// return.
func (a *Allocator) hand(t *table, i uint32) Block {
	b := t.block(i)
	overSoft := t.unreleased() > t.waste.softMark
	overMark := t.overMark()
	t.mu.Unlock()
	if overSoft {
		a.checkSoftBudget()
	}
	if overMark {
		a.checkPeaks()
	}
	if invariants.Enabled {
		a.verify()
	}
	return b
}

// Free gives a block back. usedOn names the streams, other than the block's
// own, on which work that was queued up to now uses it: the block is not
// reused before that work is done. A zero Handle is no error, a stale or
// foreign one is a [*HandleError]. After Close, Free does nothing.
func (a *Allocator) Free(h Handle, usedOn ...cuda.Stream) error {
	if h == (Handle{}) {
		return nil
	}
	d := a.directory.Load()
	t := d.ofID(h.table)
	if t == nil {
		if d == noTables {
			return nil
		}
		return a.handleError("Free", h, ErrForeignBlock)
	}
	var stack stackID
	if y := a.history.Load(); y != nil && y.Stacks == AllStacks && y.Events > 0 {
		stack = a.stacks.capture(y.Skip, y.Depth)
	}
	if len(usedOn) > 0 {
		if streams := a.foreignUses(t, usedOn); len(streams) > 0 {
			return a.handleError("Free", h, a.freeAfter(t, h, streams, stack))
		}
	}
	t.mu.Lock()
	b, err := t.lookup(h)
	if err != nil {
		t.mu.Unlock()
		return a.handleError("Free", h, err)
	}
	slot := b.segment
	ordered := t.ordered > 0 && t.segments[slot].ordered
	t.end(h.index, b, stack)
	t.give(h.index, b)
	t.mu.Unlock()
	if ordered {
		err = a.spill(t, slot, slot+1)
	}
	if invariants.Enabled {
		a.verify()
	}
	return err
}

// handleError says whose handle was refused. A closed allocator refuses none.
func (a *Allocator) handleError(op string, h Handle, err error) error {
	switch err {
	case ErrStaleHandle, ErrForeignBlock:
		if a.directory.Load() == noTables {
			return nil
		}
		return &HandleError{Op: op, Device: a.props.Name, Handle: h, Err: err}
	}
	return err
}

// newTable returns the table of a stream that is new.
func (a *Allocator) newTable(s cuda.Stream, p *Pool) (*table, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, ErrClosed
	}
	d := a.directory.Load()
	own := d
	if p != nil {
		own = p.directory.Load()
	}
	if t := own.ofStream(s); t != nil {
		return t, nil
	}
	t := newTable(tableIDs.Add(1), s, p)
	t.history = a.history.Load()
	t.lookups = &a.lookups
	lockTables(d.tables)
	a.observePeaks(d.tables)
	all := d.with(t)
	a.observePeaks(all.tables)
	unlockTables(d.tables)
	a.directory.Store(all)
	if p != nil {
		p.directory.Store(own.with(t))
	}
	a.markTables()
	return t, nil
}

// lockAll takes the device lock and those of all tables, for who must see one
// moment of all of them.
func (a *Allocator) lockAll() []*table {
	a.mu.Lock()
	tables := a.directory.Load().tables
	lockTables(tables)
	return tables
}

func (a *Allocator) unlockAll(tables []*table) {
	unlockTables(tables)
	a.mu.Unlock()
}

func lockTables(tables []*table) {
	for _, t := range tables {
		t.mu.Lock()
	}
}

func unlockTables(tables []*table) {
	for _, t := range tables {
		t.mu.Unlock()
	}
}

// EmptyCache gives all segments with no block in use back to the upstream. It
// waits for the parked blocks first.
func (a *Allocator) EmptyCache() error {
	a.drainAbandoned(true)
	_, err := a.waitForUses()
	_, failed := a.release(a.everybodys(), maxRequest, true)
	return errors.Join(err, failed, a.releaseMemory(nil, nil), a.trimPool())
}

// Close gives all memory back to the upstream, after the parked blocks' work
// is done. Blocks that are live are gone, and reported as a
// [*LiveBlocksError]. A second Close does nothing.
func (a *Allocator) Close() error {
	a.drainAbandoned(true)
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return nil
	}
	a.closed = true // nobody takes segments any more
	for a.inflight > 0 {
		a.settled.Wait()
	}
	a.mu.Unlock()
	unregister(a)
	_, err := a.drainAllUses(true)
	errs := []error{err}

	lost := LiveBlocksError{Device: a.props.Name}
	live := a.owners(a.lockAll())
	a.unlockAll(a.directory.Load().tables)
	a.mu.Lock()
	tables := a.directory.Swap(noTables).tables
	segments := make([][]segment, len(tables))
	events := make([]cuda.Event, 0, len(tables))
	for i, t := range tables {
		var idle []cuda.Event
		segments[i], idle = t.close(&lost)
		events = append(events, idle...)
		a.depart(segments[i])
	}
	a.departArenas()
	a.mu.Unlock()
	busy := false // pages may still be in use; segments wait for that when they are freed
	if a.arenas[smallPool].size+a.arenas[largePool].size > 0 && a.props.Asynchronous {
		if err := a.awaitStreams(tables); err != nil {
			errs = append(errs, err)
			busy = a.awaitStreams(tables) != nil // a second try
		}
	}
	for i, t := range tables {
		_, err := a.giveBack(t, segments[i])
		errs = append(errs, err)
	}
	errs = append(errs, a.destroyEvents(events))
	if !busy { // else they are lost: unmapping them would break the device
		errs = append(errs, a.closeArenas())
	}
	if lost.Count > 0 {
		lost.Owners = a.largestOwners(live, 5)
		errs = append(errs, &lost)
	}
	return errors.Join(errs...)
}

// close empties t and returns the segments that are not runs of pages, and the
// event that it has. It adds the live blocks to lost. The device lock is held.
func (t *table) close(lost *LiveBlocksError) ([]segment, []cuda.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lost.Count += t.books[allocation][allPools].current()
	lost.Bytes += t.books[allocatedBytes][allPools].current()
	segments := slices.DeleteFunc(t.segments, func(s segment) bool { return s.size == 0 || s.arena != nil })
	t.closed = true
	t.records, t.bins, t.segments, t.vacant = records{}, [numPools]bins{}, nil, nil
	t.queues, t.parked = nil, 0
	t.runs = [numPools]int64{}
	if t.idle.marked > 0 && !t.idle.busy {
		return segments, []cuda.Event{t.idle.event}
	}
	return segments, nil
}
