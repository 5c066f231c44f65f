package cudasim

import (
	"time"

	"tarn/cuda"
)

// The flags of events.
const (
	blockingSync = 1
	noTiming     = 2
)

// event is a mark in a stream: the op that was the newest when it was recorded.
// Its fields are guarded by the machine.
type event struct {
	context  *context
	handle   uintptr
	timed    bool
	gone     bool
	mark     *op  // nil where there is nothing to wait for
	recorded bool // outside of a capture

	captured *capture // where the record was part of one
	tips     []*node  // what the mark comes after, there
}

func (e *event) owner() *Machine { return e.context.owner() }

// newEvent is cuEventCreate.
func (c *context) newEvent(flags uint32) (*event, cuda.Code) {
	if flags&^(blockingSync|noTiming) != 0 {
		return nil, cuda.InvalidValue
	}
	m := c.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	e := &event{context: c, timed: flags&noTiming == 0}
	e.handle = add(e)
	c.events[e] = true
	return e, cuda.Success
}

// record is cuEventRecord.
func (e *event) record(s *stream) cuda.Code {
	if e.context != s.context {
		return cuda.InvalidHandle
	}
	m := e.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.gone || s.destroyed {
		return cuda.InvalidHandle
	}
	if s.capture != nil {
		if s.capture.broken {
			return captureInvalidated
		}
		e.mark, e.recorded, e.captured, e.tips = nil, false, s.capture, append([]*node(nil), s.tips...)
		return cuda.Success
	}
	if code := s.context.crosses(s); code != cuda.Success {
		return code
	}
	e.recorded, e.captured, e.tips = true, nil, nil
	if e.timed || s.blocking { // the driver's default stream may be what it waits for
		e.mark = s.enqueue(&op{name: "cuEventRecord", timed: e.timed, after: s.context.implied(s)})
	} else {
		e.mark = s.last // the newest work is mark enough; none is done
	}
	return cuda.Success
}

// marked returns what the event stands for; nil means that it is done.
func (e *event) marked() (*op, cuda.Code) {
	m := e.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.captured != nil {
		e.captured.broken = true
		return nil, capturedEvent
	}
	return e.mark, cuda.Success
}

// query is cuEventQuery.
func (e *event) query() cuda.Code {
	o, code := e.marked()
	switch {
	case code != cuda.Success:
		return code
	case o != nil && !o.done():
		return cuda.NotReady
	}
	return e.context.device.code()
}

// sync is cuEventSynchronize.
func (e *event) sync() cuda.Code {
	o, code := e.marked()
	if code != cuda.Success {
		return code
	}
	if o != nil {
		o.wait()
	}
	return e.context.device.code()
}

// destroy is cuEventDestroy. What waits for the event holds its mark.
func (e *event) destroy() cuda.Code {
	m := e.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.gone {
		return cuda.InvalidHandle
	}
	e.gone = true
	drop(e.handle)
	delete(e.context.events, e)
	return cuda.Success
}

// elapsed is cuEventElapsedTime, in milliseconds.
func (e *event) elapsed(to *event) (float32, cuda.Code) {
	if !e.timed || !to.timed || e.context != to.context {
		return 0, cuda.InvalidHandle
	}
	from, code := e.marked()
	if code != cuda.Success {
		return 0, code
	}
	until, code := to.marked()
	switch {
	case code != cuda.Success:
		return 0, code
	case from == nil || until == nil:
		return 0, cuda.InvalidHandle
	case !from.done() || !until.done():
		return 0, cuda.NotReady
	}
	return float32(until.ended.Sub(from.ended)) / float32(time.Millisecond), cuda.Success
}
