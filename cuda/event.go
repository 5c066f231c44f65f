package cuda

import (
	"math"
	"time"

	"tarn/cuda/internal/shim"
)

const eventNoTiming = 2 // CU_EVENT_DISABLE_TIMING

// NewEvent makes an event. It marks nothing yet, and so is done. It keeps no
// time, which would make it several times as slow.
func (c *Context) NewEvent() (Event, error) {
	e, err := c.begin(kindEvent, shim.EventCreate, eventNoTiming, 0, 0, 0)
	return Event(e), err
}

// NewTimingEvent makes an event that keeps the time at which the device came to
// its mark. Record, Elapsed and DestroyEvent take it like any other.
func (c *Context) NewTimingEvent() (Event, error) {
	e, err := c.begin(kindEvent, shim.EventCreate, 0, 0, 0, 0)
	return Event(e), err
}

// Elapsed returns the time that passed on the device between the marks of two
// timing events, to about half a microsecond; it is negative if from came
// later. Both must have been recorded, or the code is [InvalidHandle], and be
// done, or it is [NotReady].
func (c *Context) Elapsed(from, to Event) (time.Duration, error) {
	out, err := c.call(shim.EventElapsed, uint64(from), uint64(to), 0, 0)
	if err != nil {
		return 0, err
	}
	milliseconds := math.Float32frombits(uint32(out.Value))
	return time.Duration(math.Round(float64(milliseconds) * 1e6)), nil
}

// Record moves the event's mark to the present end of a stream.
func (c *Context) Record(e Event, s Stream) error {
	_, err := c.call(shim.EventRecord, uint64(e), c.on(s), 0, 0)
	return err
}

// QueryEvent reports whether the work before the mark is done.
func (c *Context) QueryEvent(e Event) (done bool, err error) {
	if err := c.usable(); err != nil {
		return false, err
	}
	out := c.table.Call(shim.EventQuery, c.handle, uint64(e), 0, 0, 0)
	if Code(out.Code) == NotReady {
		return false, nil
	}
	return out.OK(), c.checkEvent(e, out)
}

// SyncEvent waits for the work before the mark.
func (c *Context) SyncEvent(e Event) error {
	if err := c.usable(); err != nil {
		return err
	}
	return c.checkEvent(e, c.table.Call(shim.EventSynchronize, c.handle, uint64(e), 0, 0, 0))
}

// checkEvent is check for a call whose outcome may be that of the event's own
// context: c is not lost with another device that it asks about.
func (c *Context) checkEvent(e Event, out shim.Out) error {
	if out.OK() || !Code(out.Code).Sticky() {
		return c.check(out)
	}
	maker := c.device.library.books.maker(made{kindEvent, uint64(e)})
	if maker == c {
		return c.check(out)
	}
	if own := c.table.Call(shim.MemGetInfo, c.handle, 0, 0, 0, 0); Code(own.Code).Sticky() {
		return c.check(out)
	}
	if maker != nil {
		return maker.check(out)
	}
	return driverError(c.table, out) // another goroutine has destroyed it since
}

// WaitEvent makes later work of the stream wait, on the device, for the work
// before the mark as it is now. The event may be recorded again, or destroyed,
// at once.
func (c *Context) WaitEvent(s Stream, e Event) error {
	_, err := c.call(shim.StreamWaitEvent, c.on(s), uint64(e), 0, 0)
	return err
}

// DestroyEvent gives the event back. What waits for it still does.
func (c *Context) DestroyEvent(e Event) error {
	return c.end(kindEvent, shim.EventDestroy, uint64(e), 0)
}
