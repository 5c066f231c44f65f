package memory

import "runtime/debug"

// RemoveHardWait takes away what keeps garbage bounded, to show that the test
// of the bound needs it.
func (a *Allocator) RemoveHardWait() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pacer.soft = maxRequest
}

// Collect runs the rung of the GC and returns the bytes that it made free.
func (a *Allocator) Collect() int64 {
	gained, _ := a.collect()
	return gained
}

// HardBudget returns the default hard budget for live bytes.
func HardBudget(live int64) int64 { return 2 * softBudget(live) }

// FormatSize is formatSize.
var FormatSize = formatSize

// NumRungs is the number of rungs, NumTried that of a request without hooks.
const (
	NumRungs = int(numRungs)
	NumTried = int(RungHooks)
)

// NoGC switches the Go garbage collector's own pacing off until the function
// that it returns is called.
func NoGC() (restore func()) {
	old := debug.SetGCPercent(-1)
	return func() { debug.SetGCPercent(old) }
}
