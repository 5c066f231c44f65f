package memorytest

import "fmt"

// Sizes in the traces' recipes.
const (
	kib = int64(1) << 10
	mib = int64(1) << 20

	f16, f32, i64 = 2, 4, 8 // bytes of an element
)

// Bounds of a trace: no sum of sizes overflows.
const (
	maxTraceSize = int64(1) << 60 // of a block
	maxTraceLive = int64(1) << 62
)

// recorder writes down the events of a trace in the making.
type recorder struct {
	events  []TraceEvent
	prelude int
	vacant  []uint32 // empty slots; the last one is used first
	ledger  ledger
}

// alloc fills a slot with size bytes on stream 0.
func (r *recorder) alloc(size int64) uint32 { return r.allocOn(0, size) }

// allocOn fills a slot. Nothing is smaller than a float32.
func (r *recorder) allocOn(stream uint8, size int64) uint32 {
	slot := uint32(len(r.ledger.blocks))
	if last := len(r.vacant) - 1; last >= 0 {
		slot, r.vacant = r.vacant[last], r.vacant[:last]
	} else {
		r.ledger.blocks = append(r.ledger.blocks, TraceEvent{})
	}
	r.record(TraceEvent{Size: max(size, f32), Slot: slot, Stream: stream})
	return slot
}

// free empties slots, in the order given.
func (r *recorder) free(slots ...uint32) {
	for _, slot := range slots {
		e := r.ledger.blocks[slot]
		e.Free = true
		r.record(e)
		r.vacant = append(r.vacant, slot)
	}
}

func (r *recorder) size(slot uint32) int64 { return r.ledger.blocks[slot].Size }

// startRun ends the prelude.
func (r *recorder) startRun() { r.prelude = len(r.events) }

func (r *recorder) record(e TraceEvent) {
	if f := r.ledger.enter(e); f != nil {
		panic(fmt.Sprintf("memorytest: trace, event %d: %s", len(r.events), f.reason))
	}
	r.events = append(r.events, e)
}

func (r *recorder) trace(name string) *Trace {
	return &Trace{
		Name:     name,
		Prelude:  r.prelude,
		Slots:    len(r.ledger.blocks),
		PeakLive: r.ledger.peak,
		Events:   r.events,
	}
}

// ledger follows the events of a trace.
type ledger struct {
	blocks     []TraceEvent // what fills each slot; Size is 0 where nothing does
	live, peak int64        // bytes, each block rounded up to a granule
}

func newLedger(slots int) ledger { return ledger{blocks: make([]TraceEvent, slots)} }

// fault is why an event cannot be, and the byte of its record that says it.
type fault struct {
	at     int64
	reason string
}

func faultf(at int64, format string, args ...any) *fault {
	return &fault{at, fmt.Sprintf(format, args...)}
}

// enter takes down an event, or returns what is wrong with it.
func (l *ledger) enter(e TraceEvent) *fault {
	if int64(e.Slot) >= int64(len(l.blocks)) {
		return faultf(slotAt, "slot %d where there are %d", e.Slot, len(l.blocks))
	}
	b := &l.blocks[e.Slot]
	if e.Free {
		switch {
		case b.Size == 0:
			return faultf(slotAt, "free of slot %d, which is empty", e.Slot)
		case b.Stream != e.Stream:
			return faultf(streamAt, "free of slot %d on stream %d, its block is of stream %d", e.Slot, e.Stream, b.Stream)
		case b.Size != e.Size:
			return faultf(sizeAt, "free of %d bytes of slot %d, which has %d", e.Size, e.Slot, b.Size)
		}
		l.live -= roundUp(e.Size, granule)
		b.Size = 0
		return nil
	}
	switch {
	case b.Size != 0:
		return faultf(slotAt, "alloc into slot %d, which is filled", e.Slot)
	case e.Size < 1 || e.Size > maxTraceSize:
		return faultf(sizeAt, "alloc of %d bytes", uint64(e.Size))
	case l.live+roundUp(e.Size, granule) > maxTraceLive:
		return faultf(sizeAt, "alloc of %d bytes makes more than 2^62 live", e.Size)
	}
	l.live += roundUp(e.Size, granule)
	l.peak = max(l.peak, l.live)
	*b = e
	return nil
}

// xorshift is the traces' source of random numbers: one that a program in any
// language can have too.
type xorshift uint64

// below returns a number from 0 to n-1.
func (x *xorshift) below(n int64) int64 {
	*x ^= *x << 13
	*x ^= *x >> 7
	*x ^= *x << 17
	return int64(uint64(*x) % uint64(n))
}

// between returns a source of numbers from least to most.
func between(least, most int64, seed uint64) func() int64 {
	x := xorshift(seed)
	return func() int64 { return least + x.below(most-least+1) }
}

// always returns a source of one number.
func always(n int64) func() int64 { return func() int64 { return n } }
