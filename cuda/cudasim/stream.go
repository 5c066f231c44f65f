package cudasim

import (
	"math/rand/v2"
	"runtime"
	"time"

	"tarn/cuda"
)

const nonBlocking = 1 // CU_STREAM_NON_BLOCKING

// The priorities of streams. They are kept and change nothing.
const (
	leastPriority = 0
	mostPriority  = -5
)

// stream is a queue with a goroutine of its own, which does the work in order.
// What has no other guard is guarded by the machine.
type stream struct {
	context   *context
	handle    uintptr
	blocking  bool // it and the driver's default stream wait for each other
	priority  int
	queue     *queue
	last      *op // newest
	destroyed bool

	capture *capture // that it is part of, nil for none
	tips    []*node  // of the capture: what comes next comes after these
}

func (s *stream) owner() *Machine { return s.context.owner() }

// newStream is cuStreamCreateWithPriority.
func (c *context) newStream(flags uint32, priority int) (*stream, cuda.Code) {
	if flags&^nonBlocking != 0 {
		return nil, cuda.InvalidValue
	}
	m := c.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	s := c.startStream(flags&nonBlocking == 0)
	s.priority = min(max(priority, mostPriority), leastPriority)
	s.handle = add(s)
	return s, cuda.Success
}

func (c *context) startStream(blocking bool) *stream {
	config := &c.owner().config
	s := &stream{context: c, blocking: blocking, queue: newQueue(config.Lazy)}
	c.streams[s] = true
	c.device.running() // which forgets those that are through
	c.device.workers = append(c.device.workers, s)
	var delays *rand.Rand
	if config.Delays != 0 {
		delays = rand.New(rand.NewPCG(config.Delays, uint64(len(c.device.workers))))
	}
	go s.work(delays)
	return s
}

// work does what is in the queue. It must not touch what other goroutines do
// but by ops: no lock, no channel, no call into C.
func (s *stream) work(delays *rand.Rand) {
	d := s.context.device
	for o := s.queue.pop(); o != nil; o = s.queue.pop() {
		if delays != nil {
			for range delays.IntN(20) {
				runtime.Gosched()
			}
		}
		for _, before := range o.after {
			before.wait()
		}
		if o.run != nil && d.lost.Load() == nil {
			if err := o.run(); err != nil {
				d.lose(&FaultError{Device: d.String(), Op: o.name, Code: codeOf(err), Err: err})
			}
		}
		if o.timed {
			o.ended = time.Now()
		}
		o.run, o.after = nil, nil
		s.queue.finish(o)
	}
}

// way is where a copy goes.
type way int

const (
	noCopy way = iota
	hostToDevice
	deviceToHost
	deviceToDevice
	betweenDevices
)

// work is what a stream is given.
type work struct {
	name string // of the driver function
	run  func() error
	kind nodeKind
	way  way // of a copy
	uses []*usage
	of   *module // whose kernel it is; nil for other work
}

// submit queues work, or adds it to the capture; guarded by the machine. There
// is no op in a capture.
func (s *stream) submit(w work, after ...*op) (*op, cuda.Code) {
	if s.destroyed { // by another thread, since the call found it
		return nil, cuda.InvalidHandle
	}
	if s.capture != nil {
		return nil, s.capture.add(s, w)
	}
	if code := s.context.crosses(s); code != cuda.Success {
		return nil, code
	}
	o := s.enqueue(&op{name: w.name, run: w.run, after: append(after, s.context.implied(s)...)})
	for _, u := range w.uses {
		u.add(o)
	}
	return o, cuda.Success
}

func (s *stream) enqueue(o *op) *op {
	for _, d := range s.owner().devices {
		d.refresh()
	}
	o.stream, o.seq = s, 1
	if s.last != nil {
		o.seq = s.last.seq + 1
	}
	s.last = o
	s.queue.push(o)
	return o
}

// implied returns what work of a stream waits for without being told: the
// driver's default stream waits for all blocking ones, and they for it.
func (c *context) implied(s *stream) (after []*op) {
	if c.legacy == nil || !s.blocking {
		return nil
	}
	for _, other := range c.device.running() {
		if other != s && other.blocking && other.last != nil && (s == c.legacy || other == c.legacy) {
			after = append(after, other.last)
		}
	}
	return after
}

// crosses refuses work in the driver's default stream that would have to wait
// for a capture.
func (c *context) crosses(s *stream) cuda.Code {
	other := c.hindrance(s)
	if other == nil {
		return cuda.Success
	}
	other.capture.broken = true
	return captureImplicit
}

// hindrance returns a blocking stream in capture, if s is the stream that would
// have to wait for it.
func (c *context) hindrance(s *stream) *stream {
	if c.legacy != s {
		return nil
	}
	for other := range c.streams {
		if other.blocking && other.capture != nil {
			return other
		}
	}
	return nil
}

// The handles of the driver's own streams: 0 is the legacy default stream too.
const (
	legacyStream = 1
	threadStream = 2
)

// stream returns the stream that a handle means on a thread.
func (c *context) stream(handle, thread uintptr) (*stream, cuda.Code) {
	m := c.owner()
	if handle <= threadStream {
		m.mu.Lock()
		defer m.mu.Unlock()
		if handle == threadStream {
			if c.threads[thread] == nil {
				c.threads[thread] = c.startStream(true)
			}
			return c.threads[thread], cuda.Success
		}
		if c.legacy == nil {
			c.legacy = c.startStream(true)
		}
		return c.legacy, cuda.Success
	}
	s, ok := find[*stream](m, handle)
	if !ok || s.context != c {
		return nil, cuda.InvalidHandle
	}
	return s, cuda.Success
}

// drain waits for all work that is in the stream.
func (s *stream) drain() {
	m := s.owner()
	m.mu.Lock()
	last := s.last
	m.mu.Unlock()
	if last != nil {
		last.wait()
	}
}

// sync is cuStreamSynchronize.
func (s *stream) sync() cuda.Code {
	if code := s.watched(); code != cuda.Success {
		return code
	}
	s.drain()
	return s.context.device.code()
}

// query is cuStreamQuery.
func (s *stream) query() cuda.Code {
	if code := s.watched(); code != cuda.Success {
		return code
	}
	m := s.owner()
	m.mu.Lock()
	last := s.last
	m.mu.Unlock()
	if last != nil && !last.done() {
		return cuda.NotReady
	}
	return s.context.device.code()
}

// watched refuses to look at a stream that is captured, which ends the capture.
func (s *stream) watched() cuda.Code {
	m := s.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.capture != nil {
		s.capture.broken = true
		return captureUnsupported
	}
	return s.context.crosses(s)
}

// destroy is cuStreamDestroy: what is in the stream will be done.
func (s *stream) destroy() cuda.Code {
	m := s.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.destroyed || s.handle == 0 {
		return cuda.InvalidHandle
	}
	if s.capture != nil {
		s.capture.broken = true
	}
	s.remove()
	return cuda.Success
}

// remove takes the stream away; guarded by the machine.
func (s *stream) remove() {
	s.destroyed = true
	drop(s.handle)
	delete(s.context.streams, s)
	s.capture.leave(s)
	if s.queue.lazy && s.last != nil {
		s.last.done() // nobody can ask for it any more
	}
	s.queue.close()
}

// waitEvent is cuStreamWaitEvent.
func (s *stream) waitEvent(e *event) cuda.Code {
	m := s.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case e.captured != nil || s.capture != nil:
		return s.join(e)
	case e.mark == nil:
		return cuda.Success
	}
	_, code := s.submit(work{name: "cuStreamWaitEvent"}, e.mark)
	return code
}
