package memory

import (
	"fmt"
	"log/slog"
	"math"
)

// The numbers of the policy. They are PyTorch's, so that what its users know
// about segment counts and rounding holds here too.
const (
	// minBlockSize is the granule that requests are rounded up to: coarse
	// enough that a freed tensor fits the next one of about its size, fine
	// enough that scalars do not hurt, and a multiple of every alignment that
	// a kernel asks for.
	minBlockSize  = 1 << minBlockShift
	minBlockShift = 9

	// smallLimit divides the pools. Small blocks share segments of
	// smallSegment bytes, so that a long-lived scalar never pins a large one.
	smallLimit   = 1 << 20
	smallSegment = 2 << 20

	// largeSegment is taken for requests between smallLimit and ownSegment: a
	// call upstream is dear, and a handful of such blocks share it.
	largeSegment = 20 << 20

	// limitShare is how many of them must fit a limit for that size to be used.
	limitShare = 8

	// pageSlack and minPageSlack say how far pages may be reserved past the peak
	// of the live bytes before they are moved together rather than more of them
	// mapped. Of the serving trace on 4 streams, in driver calls for 1000
	// allocations (BenchmarkSlack): at no slack reserved was 1.03 times the live
	// bytes at 6.9 calls, at a twentieth 1.05 at 3.3, at an eighth 1.11 at 1.8, at
	// a fifth 1.20 at 0.5.
	pageSlack    = 0.125
	minPageSlack = 32 << 20

	// From ownSegment on a request gets a segment of its own, rounded up to
	// segmentRounding: the page size of the devices we know.
	ownSegment      = 10 << 20
	segmentRounding = 2 << 20

	// maxRequest is the largest size that is looked at; what is above it is a
	// mistake in the caller, and sums of sizes cannot overflow below it.
	maxRequest = 1 << 60
)

// poolKind says which pool a block belongs to.
type poolKind uint8

const (
	smallPool poolKind = iota
	largePool
	numPools
)

func (p poolKind) String() string {
	if p == smallPool {
		return "small"
	}
	return "large"
}

// policy is what a Config comes to on one device. It does not change; new
// settings make a new one.
type policy struct {
	Settings
	limit int64 // of the bytes held; unlimited for none
	paged bool  // segments are runs of pages
	// requests go to the device's own pool; see ordered.go
	ordered bool
	rounds  bool  // some sizes round up to more than minBlockSize
	large   int64 // size of a segment that large requests share
	// reserved may go past the peak of live bytes by a share and at least by so many
	pageSlack    float64
	minPageSlack int64
	whole        int64 // blocks of this size or more are not split; unlimited for none
	kept         int64 // bytes held past which idle segments go back; unlimited for none
}

// unlimited is the limit of an allocator that has none.
const unlimited = math.MaxInt64

// newPolicy returns the policy of cfg on a device of that much memory, which
// only a fraction of it asks for.
func newPolicy(cfg *Config, props Props, total func() (int64, error)) (*policy, error) {
	if err := cfg.Settings.Validate(); err != nil {
		return nil, err
	}
	p := &policy{Settings: cfg.Settings, limit: unlimited, rounds: cfg.Settings.rounds(), large: cfg.Settings.largeSegment()}
	p.whole = unlimited
	if p.MaxSplitSize > 0 {
		p.whole = p.MaxSplitSize
	}
	p.ordered = cfg.Settings.Backend == asyncBackend && props.StreamOrdered
	p.paged = props.VirtualMemory && cfg.Settings.Expandable != ExpandableOff && !p.ordered
	if cfg.Settings.Expandable == ExpandableOn && !props.VirtualMemory {
		slog.Warn("memory: a setting has no effect", "key", "expandable_segments", "device", props.Name,
			"reason", "the device has no virtual memory")
	}
	if cfg.Settings.Backend == asyncBackend && !p.ordered {
		slog.Warn("memory: a setting has no effect", "key", "backend", "device", props.Name,
			"reason", "the device has no pool of its own")
	}
	if cfg.Limit > 0 {
		p.limit = cfg.Limit
	}
	switch {
	case cfg.PageSlack == 0:
		p.pageSlack, p.minPageSlack = pageSlack, minPageSlack
	case cfg.PageSlack > 0:
		p.pageSlack = min(cfg.PageSlack, 1) // more is bounded by the hard budget in any case
	}
	if f := cfg.Settings.MemoryFraction; f != 0 {
		n, err := total()
		if err != nil {
			return nil, fmt.Errorf("memory: %s: total memory: %w", props.Name, err)
		}
		p.limit = min(p.limit, int64(max(f, 0)*float64(n)))
	}
	var err error
	p.kept, err = p.bytesKept(props, total)
	return p, err
}

// addresses returns how many bytes of addresses an arena gets on a device of
// that much memory, usual where the settings do not say.
func (p *policy) addresses(total, usual int64) int64 {
	if p.ExpandableReserve == (Reserve{}) {
		return usual
	}
	return p.ExpandableReserve.Of(total)
}

// pageSize returns the size of a page of the device: of the driver's, and no
// less than a small segment.
func pageSize(props Props) int64 { return max(props.Granularity, smallSegment) }

// request is one call of Alloc on its way through the allocator.
type request struct {
	size    int64   // what the caller asked for, 0 < size <= maxRequest
	rounded int64   // what a block must have
	most    int64   // blocks of this size or more are too good for it
	split   int64   // from so many bytes to spare on a block is cut
	whole   int64   // blocks of this size or more count as oversize
	stack   stackID // of the caller, where history is on
	ordered bool    // the device's own pool serves it
	ages    bool    // the search counts as a lookup, by which idle segments age
	pool    poolKind
	tag     Tag
}

func (p *policy) request(size int64, tag Tag) request {
	r := request{size: size, rounded: roundUp(size, minBlockSize), most: math.MaxInt64, split: minBlockSize, whole: p.whole, pool: largePool, tag: tag}
	if p.rounds {
		r.rounded = p.rounded(size)
	}
	if r.rounded <= smallLimit {
		r.pool = smallPool
		return r
	}
	if p.paged {
		return r
	}
	r.ages = p.kept < unlimited
	// In a large segment a small remainder stays with the block: cut off, it
	// would serve no request of that pool and keep its neighbours from joining.
	r.split = smallLimit + 1
	switch whole := p.MaxSplitSize; {
	case whole == 0:
	case r.rounded < whole:
		r.most = whole
	default:
		r.split = math.MaxInt64
		r.most = r.rounded + max(p.MaxNonSplitRounding, p.large)
	}
	return r
}

// growth returns the size of the segment that is taken upstream for r. Where
// the usual size of a large segment would be a good part of the limit it is no
// larger than needed: it would keep the small pool and other streams from ever
// getting their share.
func (p *policy) growth(r *request) int64 {
	switch {
	case r.ordered:
		return r.rounded
	case r.pool == smallPool:
		return smallSegment
	case r.rounded < ownSegment && !p.paged && p.limit/limitShare >= p.large:
		return max(p.large, r.leastGrowth())
	}
	return r.leastGrowth()
}

// slack returns how many bytes may be reserved beyond the peak of the live
// bytes. Segments cannot be moved, only given back and taken again, so those
// have all of the hard budget.
func (p *policy) slack(peak, hard int64) int64 {
	if !p.paged {
		return hard
	}
	return min(max(int64(p.pageSlack*float64(peak)), p.minPageSlack), hard)
}

// leastGrowth returns the size of the smallest segment that holds r: what is
// asked for when there is no room for one of the usual size.
func (r *request) leastGrowth() int64 { return roundUp(r.rounded, segmentRounding) }

// roundUp rounds n up to a multiple of unit, a power of two.
func roundUp(n, unit int64) int64 { return (n + unit - 1) &^ (unit - 1) }
