package fmapeak

import "time"

// NewCopyMeter returns a meter of calls that move so many bytes in all, read
// and written. Its peak is what copying reaches between the two halves of as
// much memory as footprint says: what a call touches, or far more than the
// caches hold. A copy counts as its length read and its length written.
func NewCopyMeter(moved, footprint float64, pause, resume func()) *Meter {
	half := max(int(footprint)/2, 64)
	from, to := make([]byte, half), make([]byte, half)
	for i := range from {
		from[i], to[i] = byte(i), 1 // pages that nobody wrote to are all one
	}
	m := NewMeter(moved, pause, resume)
	m.measure = func() float64 { return copyRate(to, from) }
	return m
}

// copyLeast is how many bytes one measurement copies at least.
const copyLeast = 1 << 20

// copyRate returns the bytes per second, read and written, of the fastest of
// some copies.
func copyRate(to, from []byte) float64 {
	times := max(copyLeast/len(from), 1)
	best := 0.0
	for range 5 {
		start := time.Now()
		for range times {
			copy(to, from)
		}
		best = max(best, 2*float64(len(from)*times)/time.Since(start).Seconds())
	}
	return best
}
