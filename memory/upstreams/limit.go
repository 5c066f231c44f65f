package upstreams

import (
	"fmt"

	"tarn/memory"
)

// Limited is an upstream that is smaller than the one below it.
type Limited struct {
	tap
	limit    int64
	holdings holdings
}

// Limit returns an upstream that never holds more than limit bytes from up,
// however many goroutines ask at a time. Allocations count as asked for; a
// page counts from Create until it is released and mapped nowhere. What would
// go past the limit fails with a [LimitError], and up is not asked. limit < 0
// is a mistake in the caller's code, and panics.
func Limit(up memory.Upstream, limit int64) *Limited {
	if limit < 0 {
		panic(fmt.Sprintf("upstreams: Limit to %d bytes", limit))
	}
	l := &Limited{limit: limit}
	l.tap = tap{up, l.call}
	return l
}

func (l *Limited) call(c *Call) {
	if held, ok := l.holdings.through(c, l.up, l.limit); !ok {
		c.Err = &LimitError{Name: c.Name, Device: l.up.Props().Name, Size: c.Size, Held: held, Limit: l.limit}
	}
	if c.Name == CallMemInfo && c.Err == nil {
		c.Free, c.Total = min(c.Free, l.limit-l.Held()), min(c.Total, l.limit)
	}
}

// Held returns the bytes that are held, those included that calls under way
// have asked for.
func (l *Limited) Held() int64 {
	l.holdings.mu.Lock()
	defer l.holdings.mu.Unlock()
	return l.holdings.held + l.holdings.pledged
}

// LimitError says that a call would have gone past the limit of a [Limited].
// It wraps [memory.ErrUpstreamFull].
type LimitError struct {
	Name   Name // CallAlloc or CallCreate
	Device string
	Size   int64 // bytes asked for
	Held   int64 // bytes held at that moment
	Limit  int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("upstreams: %v of %d bytes on %s: %d of at most %d bytes are held: %v",
		e.Name, e.Size, e.Device, e.Held, e.Limit, memory.ErrUpstreamFull)
}

// Unwrap returns [memory.ErrUpstreamFull].
func (e *LimitError) Unwrap() error { return memory.ErrUpstreamFull }
