package cpu

import (
	"sync"
	"sync/atomic"
)

// serialBelow is the work, in elements of an elementwise op or the like, below
// which starting goroutines costs more than it gains.
const serialBelow = 1 << 15

// chunks returns into how many pieces of at least grain units n is cut, 1 if
// it should be done where it is.
func chunks(n, grain int64) int64 {
	t := int64(Threads())
	if t == 1 || n < 2*grain {
		return 1
	}
	return min(n/grain, 4*t)
}

// parallel runs f on pieces of [0,n) of at least grain units each, on up to
// Threads goroutines, and waits. What f does for a unit must not depend on the
// piece that the unit is in.
func parallel(n, grain int64, f func(lo, hi int64)) {
	pieces := chunks(n, grain)
	if pieces <= 1 {
		f(0, n)
		return
	}
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < pieces; i = next.Add(1) - 1 {
			f(i*n/pieces, (i+1)*n/pieces)
		}
	}
	var wg sync.WaitGroup
	for range min(int64(Threads()), pieces) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
