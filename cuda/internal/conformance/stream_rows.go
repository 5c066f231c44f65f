package conformance

import (
	"slices"
	"sync"
	"sync/atomic"

	"tarn/cuda/internal/shim"
)

// The handles of the driver's own streams.
const (
	legacy    = 1
	perThread = 2
)

var streamRows = []row{
	{"an event that was never recorded is done", "OK", func(d *driver) string {
		return d.code(shim.EventQuery, d.newEvent(), 0, 0, 0)
	}},
	{"an event behind work that is not done", "NOT_READY", func(d *driver) string {
		d.block(d.stream)
		return d.code(shim.EventQuery, d.recorded(d.stream), 0, 0, 0)
	}},
	{"a stream with work that is not done", "NOT_READY", func(d *driver) string {
		d.block(d.stream)
		return d.code(shim.StreamQuery, d.stream, 0, 0, 0)
	}},
	{"waiting for an event that was never recorded", "done", func(d *driver) string {
		d.must(shim.StreamWaitEvent, d.stream, d.newEvent(), 0, 0)
		d.must(shim.StreamSynchronize, d.stream, 0, 0, 0)
		return "done"
	}},
	{"a wait holds back later work of its stream", "NOT_READY", func(d *driver) string {
		other := d.newStream()
		d.block(other)
		d.must(shim.StreamWaitEvent, d.stream, d.recorded(other), 0, 0)
		return d.code(shim.StreamQuery, d.stream, 0, 0, 0)
	}},
	{"a wait is for the mark as it was: recording again does not move it", "OK", func(d *driver) string {
		other := d.newStream()
		e := d.recorded(other)
		d.must(shim.StreamWaitEvent, d.stream, e, 0, 0)
		d.block(other)
		d.must(shim.EventRecord, e, other, 0, 0)
		return d.code(shim.StreamSynchronize, d.stream, 0, 0, 0)
	}},
	{"recording again moves the mark that a query looks at", "NOT_READY", func(d *driver) string {
		e := d.recorded(d.stream)
		d.must(shim.EventSynchronize, e, 0, 0, 0)
		d.block(d.stream)
		d.must(shim.EventRecord, e, d.stream, 0, 0)
		return d.code(shim.EventQuery, e, 0, 0, 0)
	}},
	{"an event may be destroyed while a stream waits for it: it still waits", "NOT_READY", func(d *driver) string {
		other := d.newStream()
		d.block(other)
		e := d.must(shim.EventCreate, noTiming, 0, 0, 0)
		d.must(shim.EventRecord, e, other, 0, 0)
		d.must(shim.StreamWaitEvent, d.stream, e, 0, 0)
		d.must(shim.EventDestroy, e, 0, 0, 0)
		return d.code(shim.StreamQuery, d.stream, 0, 0, 0)
	}},
	{"a destroyed stream finishes its work", "finishes", func(d *driver) string {
		s, p := d.must(shim.StreamCreate, nonBlocking, 0, 0, 0), d.alloc(4096)
		release := d.block(d.stream)
		d.must(shim.StreamWaitEvent, s, d.recorded(d.stream), 0, 0)
		d.must(shim.Fill8, p, 9, 64, s)
		e := d.recorded(s)
		d.must(shim.StreamDestroy, s, 0, 0, 0)
		release()
		d.must(shim.EventSynchronize, e, 0, 0, 0)
		if d.read(p) == 9 {
			return "finishes"
		}
		return "does not"
	}},
	{"work and host functions of a stream run in order", "in order", func(d *driver) string {
		var mu sync.Mutex
		var seen []byte
		at, bytes := d.pinned(64)
		for i := range 8 {
			d.must(shim.Fill8, at, uint64(i), 1, d.stream)
			d.granted(d.table.CallHost(d.context, uintptr(d.stream), func() {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, bytes[0])
			}))
		}
		d.must(shim.StreamSynchronize, d.stream, 0, 0, 0)
		mu.Lock()
		defer mu.Unlock()
		if slices.Equal(seen, []byte{0, 1, 2, 3, 4, 5, 6, 7}) {
			return "in order"
		}
		return "out of order"
	}},
	{"two streams do not wait for each other", "OK", func(d *driver) string {
		d.block(d.newStream())
		return d.fill(d.alloc(4096), 1)
	}},
	{"the legacy stream does not wait for a NON_BLOCKING one", "OK", func(d *driver) string {
		p := d.alloc(4096)
		d.block(d.stream)
		d.must(shim.Fill8, p, 1, 64, legacy)
		return d.code(shim.StreamSynchronize, legacy, 0, 0, 0)
	}},
	{"a blocking stream waits for the legacy one", "NOT_READY", func(d *driver) string {
		s := d.must(shim.StreamCreate, 0, 0, 0, 0)
		d.later(shim.StreamDestroy, s, 0)
		p := d.alloc(4096)
		d.block(legacy)
		d.must(shim.Fill8, p, 1, 64, s)
		return d.code(shim.StreamQuery, s, 0, 0, 0)
	}},
	{"an event of a blocking stream is behind the legacy one's work", "NOT_READY", func(d *driver) string {
		s := d.must(shim.StreamCreate, 0, 0, 0, 0)
		d.later(shim.StreamDestroy, s, 0)
		d.block(legacy)
		return d.code(shim.EventQuery, d.recorded(s), 0, 0, 0)
	}},
	{"the stream of the thread does not wait for a NON_BLOCKING one", "OK", func(d *driver) string {
		p := d.alloc(4096)
		d.block(d.stream)
		d.must(shim.Fill8, p, 1, 64, perThread)
		return d.code(shim.StreamSynchronize, perThread, 0, 0, 0)
	}},
	{"the most urgent priority is a lower number", "lower", func(d *driver) string {
		out := d.call(shim.PriorityRange, 0, 0, 0, 0)
		d.granted(out)
		if int64(out.More) <= int64(out.Value) {
			return "lower"
		}
		return "higher"
	}},
	{"a priority beyond the range is taken to its end", "OK", func(d *driver) string {
		out := d.call(shim.StreamCreate, nonBlocking, 1<<32-1000, 0, 0)
		if out.OK() {
			d.later(shim.StreamDestroy, out.Value, 0)
		}
		return d.name(out)
	}},
	{"an event recorded again in another stream marks that one alone", "OK", func(d *driver) string {
		other := d.newStream()
		d.block(other)
		e := d.recorded(other)
		d.must(shim.EventRecord, e, d.stream, 0, 0)
		return d.code(shim.EventSynchronize, e, 0, 0, 0)
	}},
	{"a wait for the device is one for NON_BLOCKING streams too", "waits", func(d *driver) string {
		var ran atomic.Bool
		release := d.block(d.stream)
		d.granted(d.table.CallHost(d.context, uintptr(d.stream), func() { ran.Store(true) }))
		go release()
		d.must(shim.Synchronize, 0, 0, 0, 0)
		if ran.Load() {
			return "waits"
		}
		return "does not wait"
	}},
	{"destroy a stream that works", "does not wait", func(d *driver) string {
		return d.waits(func() {
			s := d.must(shim.StreamCreate, nonBlocking, 0, 0, 0)
			d.must(shim.StreamWaitEvent, s, d.recorded(d.stream), 0, 0)
			d.must(shim.StreamDestroy, s, 0, 0, 0)
		})
	}},
	{"destroy an event that is not done", "does not wait", func(d *driver) string {
		return d.waits(func() {
			e := d.must(shim.EventCreate, noTiming, 0, 0, 0)
			d.must(shim.EventRecord, e, d.stream, 0, 0)
			d.must(shim.EventDestroy, e, 0, 0, 0)
		})
	}},
	{"the time from an event that was never recorded", "INVALID_HANDLE", func(d *driver) string {
		var events [2]uint64
		for i := range events {
			events[i] = d.must(shim.EventCreate, 0, 0, 0, 0)
			d.later(shim.EventDestroy, events[i], 0)
		}
		d.must(shim.EventRecord, events[1], d.stream, 0, 0)
		d.must(shim.EventSynchronize, events[1], 0, 0, 0)
		return d.code(shim.EventElapsed, events[0], events[1], 0, 0)
	}},
	{"the time between events that keep none", "INVALID_HANDLE", func(d *driver) string {
		from, to := d.recorded(d.stream), d.recorded(d.stream)
		d.must(shim.EventSynchronize, to, 0, 0, 0)
		return d.code(shim.EventElapsed, from, to, 0, 0)
	}},
	{"the time between events that are not done", "NOT_READY", func(d *driver) string {
		var events [2]uint64
		for i := range events {
			events[i] = d.must(shim.EventCreate, 0, 0, 0, 0)
			d.later(shim.EventDestroy, events[i], 0)
		}
		d.must(shim.EventRecord, events[0], d.stream, 0, 0)
		d.block(d.stream)
		d.must(shim.EventRecord, events[1], d.stream, 0, 0)
		return d.code(shim.EventElapsed, events[0], events[1], 0, 0)
	}},
}
