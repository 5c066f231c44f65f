package memory

// counter is one number of the books. It has no lock: it is guarded by the
// lock of what it counts, since plain adds under a lock that is held anyway
// cost a fraction of atomic ones.
type counter struct {
	allocated, freed int64 // sums since the start, 0 <= freed <= allocated
	peak             int64 // highest current since the last reset
}

func (c *counter) current() int64 { return c.allocated - c.freed }

func (c *counter) add(n int64) {
	c.allocated += n
	if current := c.allocated - c.freed; current > c.peak {
		c.peak = current
	}
}

func (c *counter) sub(n int64) { c.freed += n }

func (c *counter) resetPeak() { c.peak = c.current() }

func (c *counter) stat() Stat {
	return Stat{Current: c.current(), Peak: c.peak, Allocated: c.allocated, Freed: c.freed}
}

// family is one of the numbers that each table counts, by PyTorch's names.
type family uint8

const (
	allocation         family = iota // blocks that a client has
	active                           // these and the parked ones
	inactiveSplit                    // free blocks beside others in their segment
	allocatedBytes                   // and the same in bytes
	activeBytes                      //
	inactiveSplitBytes               //
	requestedBytes                   // of active blocks, before rounding
	numFamilies
)

// pooled is a counter for each pool and for all of them. The sum is kept, not
// computed, because a sum of peaks is not the peak of the sum.
type pooled [numPools + 1]counter

// allPools is the index of the sum.
const allPools = numPools

func (c *pooled) add(p poolKind, n int64) {
	c[p].add(n)
	c[allPools].add(n)
}

func (c *pooled) sub(p poolKind, n int64) {
	c[p].sub(n)
	c[allPools].sub(n)
}

// move books a change of either sign as one step.
func (c *pooled) move(p poolKind, n int64) {
	if n >= 0 {
		c.add(p, n)
	} else {
		c.sub(p, -n)
	}
}

func (c *pooled) resetPeaks() {
	for p := range c {
		c[p].resetPeak()
	}
}

// books are a table's counters.
type books [numFamilies]pooled
