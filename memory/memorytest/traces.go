package memorytest

import (
	"fmt"
	"iter"
	"math"
)

// Trace is a record of what a program asks of an allocator. Its events can be
// played as they stand: each alloc fills an empty slot, and each free empties
// the slot that an alloc filled.
type Trace struct {
	// Name is what the figures of the trace are reported under.
	Name string
	// Prelude is the number of events, from the first, that make what lives
	// through the whole run: parameters, the optimiser's state.
	Prelude int
	// Slots is the number of slots that the events use.
	Slots int
	// PeakLive is the most bytes that are live at a time, each block rounded up
	// to 512.
	PeakLive int64
	Events   []TraceEvent
}

// TraceEvent is the alloc or the free of one block.
type TraceEvent struct {
	Size   int64  // bytes asked for, 1 to 2^60; a free repeats them
	Slot   uint32 // holds the block in between
	Stream uint8  // of the block
	Free   bool
}

func (e TraceEvent) String() string {
	if e.Free {
		return fmt.Sprintf("free %d bytes of slot %d on stream %d", e.Size, e.Slot, e.Stream)
	}
	return fmt.Sprintf("alloc %d bytes into slot %d on stream %d", e.Size, e.Slot, e.Stream)
}

// recipe makes one trace. Those that do not say otherwise are the same for
// every seed.
type recipe struct {
	name string
	make func(seed uint64, streams int) *recorder
}

// recipes has all traces, by what they do to an allocator:
//
//	a  a small MLP with Adam, fixed shapes
//	b  transformers, fixed shapes; ckpt recomputes activations
//	c  transformers with another sequence length each step; quad stores the
//	   scores of attention
//	d  serving: several streams, mixed batches, a KV cache for each request
//	e  the textbook case of fragmentation, cold and out of one warm segment
//	f  random sizes, thousands of live blocks
//	g  each block is freed at once: nothing but hits
var recipes = []recipe{
	{"a_mlp", func(uint64, int) *recorder { return mlp(300) }},
	{"b_tfm12", func(uint64, int) *recorder {
		return transformer{layers: 12, hidden: 1024, batch: 8, vocab: 32000, heads: 16}.train(20, always(1024))
	}},
	{"b_tfm24", func(uint64, int) *recorder {
		return transformer{layers: 24, hidden: 2048, batch: 4, vocab: 32000, heads: 16}.train(20, always(2048))
	}},
	{"b_tfm48", func(uint64, int) *recorder {
		return transformer{layers: 48, hidden: 1600, batch: 4, vocab: 50257, heads: 25}.train(10, always(1024))
	}},
	{"b_tfm24ckpt", func(uint64, int) *recorder {
		return transformer{layers: 24, hidden: 2048, batch: 16, vocab: 32000, heads: 16, recompute: true}.train(20, always(2048))
	}},
	{"c_var24", func(seed uint64, _ int) *recorder {
		return transformer{layers: 24, hidden: 1024, batch: 8, vocab: 32000, heads: 16}.train(150, between(128, 2048, 12345678901+seed))
	}},
	{"c_var24quad", func(seed uint64, _ int) *recorder {
		return transformer{layers: 24, hidden: 1024, batch: 8, vocab: 32000, heads: 16, quadratic: true}.train(150, between(64, 1024, 987654321+seed))
	}},
	{"c_var24ckpt", func(seed uint64, _ int) *recorder {
		return transformer{layers: 24, hidden: 1024, batch: 16, vocab: 32000, heads: 16, recompute: true}.train(150, between(128, 2048, 5555555+seed))
	}},
	{"d_serve", func(seed uint64, streams int) *recorder { return serve(600, streams, 88172645463325252+seed) }},
	{"e_frag", func(uint64, int) *recorder { return fragmented(false) }},
	{"e2_fragpool", func(uint64, int) *recorder { return fragmented(true) }},
	{"f_stress4k", func(seed uint64, _ int) *recorder { return stress(4096, 26, 424242+seed) }},
	{"f_stress32k", func(seed uint64, _ int) *recorder { return stress(32768, 24, 424242+seed) }},
	{"g_hit1", func(uint64, int) *recorder { return hits([]int64{64 * kib}) }},
	{"g_hit16", func(uint64, int) *recorder { return hits(hitSizes) }},
}

// TraceNames returns the names of the traces that this package makes.
func TraceNames() []string {
	names := make([]string, len(recipes))
	for i, r := range recipes {
		names[i] = r.name
	}
	return names
}

// Traces makes one trace after the other: together they take 100 MB. The same
// seed gives the same events. Traces c and f and the serving one depend on it;
// the latter runs on that many streams, 1 to 256.
func Traces(seed uint64, streams int) iter.Seq[*Trace] {
	return func(yield func(*Trace) bool) {
		for _, r := range recipes {
			if !yield(r.trace(seed, streams)) {
				return
			}
		}
	}
}

// TraceByName makes the trace of that name as [Traces] does; false if there is
// none.
func TraceByName(name string, seed uint64, streams int) (*Trace, bool) {
	for _, r := range recipes {
		if r.name == name {
			return r.trace(seed, streams), true
		}
	}
	return nil, false
}

func (r recipe) trace(seed uint64, streams int) *Trace {
	if streams < 1 || streams > math.MaxUint8+1 {
		panic(fmt.Sprintf("memorytest: a trace for %d streams: it has 1 to 256", streams))
	}
	return r.make(seed, streams).trace(r.name)
}

// Prefix returns a trace of the first events, n of them if there are as many,
// which frees in the end what they leave live, the last slot first.
func (t *Trace) Prefix(n int) *Trace {
	events := t.Events[:min(n, len(t.Events))]
	slots := 0
	for _, e := range events {
		slots = max(slots, int(e.Slot)+1)
	}
	short := recorder{prelude: min(t.Prelude, len(events)), ledger: newLedger(slots)}
	for _, e := range events {
		short.record(e)
	}
	for slot := slots - 1; slot >= 0; slot-- {
		if e := short.ledger.blocks[slot]; e.Size > 0 {
			e.Free = true
			short.record(e)
		}
	}
	return short.trace(t.Name)
}
