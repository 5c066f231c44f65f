package upstreams

import (
	"fmt"
	"strings"
	"sync"

	"tarn/memory"
)

// Counting is an upstream that counts.
type Counting struct {
	tap
	holdings holdings

	mu    sync.Mutex // guards calls
	calls Calls
}

// Count returns an upstream that counts the calls to up and the bytes held
// from it.
func Count(up memory.Upstream) *Counting {
	n := &Counting{}
	n.tap = tap{up, n.call}
	return n
}

func (n *Counting) call(c *Call) {
	n.holdings.through(c, n.up, noLimit)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls.Made[c.Name]++
	if c.Err != nil {
		n.calls.Failed[c.Name]++
	}
}

// Calls returns the calls so far that have ended.
func (n *Counting) Calls() Calls {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls
}

// Held returns the bytes that are held: allocations as asked for, and pages
// until they are released and mapped nowhere.
func (n *Counting) Held() int64 {
	n.holdings.mu.Lock()
	defer n.holdings.mu.Unlock()
	return n.holdings.held
}

// Peak returns the most bytes that were held at a time. What a call under way
// is about to give back is still held.
func (n *Counting) Peak() int64 {
	n.holdings.mu.Lock()
	defer n.holdings.mu.Unlock()
	return n.holdings.peak
}

// Calls counts calls by [Name].
type Calls struct {
	Made   [NumNames]int64 // failed ones included
	Failed [NumNames]int64
}

// Driver is the number of driver calls: reserve, release range, create,
// release, map, access, unmap, alloc and free.
func (c Calls) Driver() int64 { return sum(c.Made[:driverCalls]) }

// Total is the number of calls of every name.
func (c Calls) Total() int64 { return sum(c.Made[:]) }

// Failures is the number of calls of every name that failed.
func (c Calls) Failures() int64 { return sum(c.Failed[:]) }

// Since returns the calls that c has and an earlier count had not.
func (c Calls) Since(earlier Calls) Calls {
	for i := range NumNames {
		c.Made[i] -= earlier.Made[i]
		c.Failed[i] -= earlier.Failed[i]
	}
	return c
}

// String lists the names that occurred: "alloc 2 (1 failed), free 1".
func (c Calls) String() string {
	var parts []string
	for name := range NumNames {
		if c.Made[name] == 0 {
			continue
		}
		part := fmt.Sprintf("%v %d", name, c.Made[name])
		if c.Failed[name] != 0 {
			part += fmt.Sprintf(" (%d failed)", c.Failed[name])
		}
		parts = append(parts, part)
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func sum(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}
