package memory

// reject refuses a request at once that would take the allocated bytes past
// the limit, where Settings.ThrowOnMallocOOM asks for it; else it returns nil.
// No rung is tried, and nothing is asked of the upstream but how much is free.
func (c *climb) reject() *OutOfMemoryError {
	a, p := c.a, c.a.policy.Load()
	if !p.ThrowOnMallocOOM || p.MemoryFraction == 0 {
		return nil
	}
	a.mu.Lock()
	over := a.moment().current+c.r.rounded > p.limit
	if over {
		a.counts.rejections++
	}
	a.mu.Unlock()
	if !over {
		return nil
	}
	c.asked = p.growth(&c.r)
	return c.outOfMemory(0)
}
