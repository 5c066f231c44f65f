package conformance

import (
	"runtime"

	"tarn/cuda/internal/shim"
)

// within captures in RELAXED mode and returns what ask answers, not how the
// capture ended.
func (d *driver) within(ask func() string) (got string) {
	d.captured(relaxed, func() { got = ask() })
	return got
}

// ends returns how a capture ends that record is in.
func (d *driver) ends(record func()) string {
	_, code := d.captured(relaxed, record)
	return code
}

var captureRows = []row{
	{"begin a capture twice", "ILLEGAL_STATE or INVALID_VALUE", func(d *driver) string {
		return d.within(func() string { return d.code(shim.BeginCapture, d.stream, relaxed, 0, 0) })
	}},
	{"end a capture that never began", "ILLEGAL_STATE", func(d *driver) string {
		return d.code(shim.EndCapture, d.stream, 0, 0, 0)
	}},
	{"capture the legacy stream", "STREAM_CAPTURE_UNSUPPORTED", func(d *driver) string {
		return d.code(shim.BeginCapture, legacy, relaxed, 0, 0)
	}},
	{"synchronise a stream in capture", "STREAM_CAPTURE_UNSUPPORTED", func(d *driver) string {
		return d.within(func() string { return d.code(shim.StreamSynchronize, d.stream, 0, 0, 0) })
	}},
	{"query a stream in capture", "STREAM_CAPTURE_UNSUPPORTED", func(d *driver) string {
		return d.within(func() string { return d.code(shim.StreamQuery, d.stream, 0, 0, 0) })
	}},
	{"such a call invalidates the capture", "STREAM_CAPTURE_INVALIDATED", func(d *driver) string {
		return d.ends(func() { d.code(shim.StreamSynchronize, d.stream, 0, 0, 0) })
	}},
	{"an invalidated capture takes no more work", "STREAM_CAPTURE_INVALIDATED", func(d *driver) string {
		p := d.alloc(4096)
		return d.within(func() string {
			d.code(shim.StreamSynchronize, d.stream, 0, 0, 0)
			return d.code(shim.Fill8, p, 1, 64, d.stream)
		})
	}},
	{"a stream is usable after a broken capture", "OK", func(d *driver) string {
		d.ends(func() { d.code(shim.StreamSynchronize, d.stream, 0, 0, 0) })
		return d.fill(d.alloc(4096), 1)
	}},
	{"query an event recorded in a capture", "CAPTURED_EVENT", func(d *driver) string {
		e := d.newEvent()
		return d.within(func() string {
			d.must(shim.EventRecord, e, d.stream, 0, 0)
			return d.code(shim.EventQuery, e, 0, 0, 0)
		})
	}},
	{"wait on the host for an event recorded in a capture", "CAPTURED_EVENT", func(d *driver) string {
		e := d.newEvent()
		return d.within(func() string {
			d.must(shim.EventRecord, e, d.stream, 0, 0)
			return d.code(shim.EventSynchronize, e, 0, 0, 0)
		})
	}},
	{"fork and join a second stream", "OK", func(d *driver) string {
		other, fork, join := d.newStream(), d.newEvent(), d.newEvent()
		return d.ends(func() {
			d.must(shim.EventRecord, fork, d.stream, 0, 0)
			d.must(shim.StreamWaitEvent, other, fork, 0, 0)
			d.must(shim.EventRecord, join, other, 0, 0)
			d.must(shim.StreamWaitEvent, d.stream, join, 0, 0)
		})
	}},
	{"a forked stream is in capture", "ACTIVE", func(d *driver) string {
		other, fork := d.newStream(), d.newEvent()
		return d.within(func() string {
			d.must(shim.EventRecord, fork, d.stream, 0, 0)
			d.must(shim.StreamWaitEvent, other, fork, 0, 0)
			if d.must(shim.IsCapturing, other, 0, 0, 0) == 1 {
				return "ACTIVE"
			}
			return "NONE"
		})
	}},
	{"unjoined: a forked stream does not come back", "STREAM_CAPTURE_UNJOINED", func(d *driver) string {
		other, fork, p := d.newStream(), d.newEvent(), d.alloc(4096)
		return d.ends(func() {
			d.must(shim.EventRecord, fork, d.stream, 0, 0)
			d.must(shim.StreamWaitEvent, other, fork, 0, 0)
			d.must(shim.Fill8, p, 1, 64, other)
		})
	}},
	{"unmatched: a forked stream ends the capture", "STREAM_CAPTURE_UNMATCHED", func(d *driver) string {
		other, fork := d.newStream(), d.newEvent()
		return d.within(func() string {
			d.must(shim.EventRecord, fork, d.stream, 0, 0)
			d.must(shim.StreamWaitEvent, other, fork, 0, 0)
			return d.code(shim.EndCapture, other, 0, 0, 0)
		})
	}},
	{"isolation: wait for an event of before the capture", "STREAM_CAPTURE_ISOLATION", func(d *driver) string {
		before := d.recorded(d.newStream())
		return d.within(func() string { return d.code(shim.StreamWaitEvent, d.stream, before, 0, 0) })
	}},
	{"such a wait invalidates the capture", "STREAM_CAPTURE_INVALIDATED", func(d *driver) string {
		before := d.recorded(d.newStream())
		return d.ends(func() { d.code(shim.StreamWaitEvent, d.stream, before, 0, 0) })
	}},
	{"wait for the device in a capture", "STREAM_CAPTURE_UNSUPPORTED", func(d *driver) string {
		return d.within(func() string { return d.code(shim.Synchronize, 0, 0, 0, 0) })
	}},
	{"the legacy stream while a blocking one is captured", "STREAM_CAPTURE_IMPLICIT, STREAM_CAPTURE_IMPLICIT", func(d *driver) string {
		s, p := d.must(shim.StreamCreate, 0, 0, 0, 0), d.alloc(4096)
		d.later(shim.StreamDestroy, s, 0)
		d.must(shim.BeginCapture, s, relaxed, 0, 0)
		defer d.call(shim.EndCapture, s, 0, 0, 0)
		return d.code(shim.IsCapturing, legacy, 0, 0, 0) + ", " + d.code(shim.Fill8, p, 1, 64, legacy)
	}},
	{"merge: wait for an event of another capture", "STREAM_CAPTURE_MERGE", func(d *driver) string {
		other, e := d.newStream(), d.newEvent()
		d.must(shim.BeginCapture, other, relaxed, 0, 0)
		d.must(shim.EventRecord, e, other, 0, 0)
		defer d.call(shim.EndCapture, other, 0, 0, 0)
		return d.within(func() string { return d.code(shim.StreamWaitEvent, d.stream, e, 0, 0) })
	}},
	{"wrong thread: a THREAD_LOCAL capture ended elsewhere", "STREAM_CAPTURE_WRONG_THREAD", func(d *driver) string {
		return d.elsewhere(threadLocal)
	}},
	{"a RELAXED capture may end on another thread", "OK", func(d *driver) string {
		return d.elsewhere(relaxed)
	}},
	{"allocate in a GLOBAL capture", "STREAM_CAPTURE_UNSUPPORTED", func(d *driver) string {
		return d.allocateIn(global)
	}},
	{"allocate in a RELAXED capture", "OK", func(d *driver) string {
		return d.allocateIn(relaxed)
	}},
	{"work of a stream outside goes on during a capture", "OK", func(d *driver) string {
		other, p := d.newStream(), d.alloc(4096)
		return d.within(func() string {
			d.must(shim.Fill8, p, 1, 64, other)
			return d.code(shim.StreamSynchronize, other, 0, 0, 0)
		})
	}},
}

// elsewhere begins a capture on one thread and ends it on another.
func (d *driver) elsewhere(mode uint64) (code string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d.must(shim.BeginCapture, d.stream, mode, 0, 0)
	ended := make(chan shim.Out)
	go func() {
		runtime.LockOSThread() // not this thread: that one is locked
		defer runtime.UnlockOSThread()
		ended <- d.call(shim.EndCapture, d.stream, 0, 0, 0)
	}()
	out := <-ended
	code = d.name(out)
	if !out.OK() {
		out = d.call(shim.EndCapture, d.stream, 0, 0, 0)
	}
	if out.OK() {
		d.later(shim.GraphDestroy, out.Value, 0)
	}
	return code
}

// allocateIn allocates while a capture of that mode is on.
func (d *driver) allocateIn(mode uint64) (code string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d.captured(mode, func() {
		out := d.call(shim.MemAlloc, 4096, 0, 0, 0)
		if out.OK() {
			d.later(shim.MemFree, out.Value, 0)
		}
		code = d.name(out)
	})
	return code
}
