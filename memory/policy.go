package memory

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

// splits reports whether a block with that many bytes to spare is cut. In the
// large pool a small remainder stays with the block: cut off, it would serve
// no request of that pool and keep its neighbours from joining.
func (p poolKind) splits(remainder int64) bool {
	if p == smallPool {
		return remainder >= minBlockSize
	}
	return remainder > smallLimit
}

// request is one call of Alloc on its way through the allocator.
type request struct {
	size    int64 // what the caller asked for, 0 < size <= maxRequest
	rounded int64 // what a block must have
	pool    poolKind
	tag     Tag
}

func newRequest(size int64, tag Tag) request {
	r := request{size: size, rounded: roundUp(size, minBlockSize), pool: largePool, tag: tag}
	if r.rounded <= smallLimit {
		r.pool = smallPool
	}
	return r
}

// growth returns the size of the segment that is taken upstream for r under a
// limit, 0 for none. Where the usual size of a large segment would be a good
// part of the limit it is no larger than needed: it would keep the small pool
// and other streams from ever getting their share.
func (r *request) growth(limit int64) int64 {
	switch {
	case r.pool == smallPool:
		return smallSegment
	case r.rounded < ownSegment && (limit == 0 || limit >= limitShare*largeSegment):
		return largeSegment
	}
	return r.leastGrowth()
}

// leastGrowth returns the size of the smallest segment that holds r: what is
// asked for when there is no room for one of the usual size.
func (r *request) leastGrowth() int64 { return roundUp(r.rounded, segmentRounding) }

// roundUp rounds n up to a multiple of unit, a power of two.
func roundUp(n, unit int64) int64 { return (n + unit - 1) &^ (unit - 1) }
