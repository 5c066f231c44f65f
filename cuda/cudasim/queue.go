package cudasim

import (
	"sync"
	"time"
)

// op is a piece of work in a stream. It is also what is waited for: all
// synchronisation of the simulator is to wait for an op.
type op struct {
	stream *stream
	seq    uint64 // place in the stream, from 1
	next   *op    // the queue's
	name   string // of the driver function
	after  []*op  // of other streams, to wait for first
	run    func() error
	timed  bool
	ended  time.Time // where timed
}

// queue is the work of a stream between the host, which adds it, and the
// stream's own goroutine, which takes it.
//
// Under the race detector only the edges that a device gives may be seen: from
// the call that queues an op to the op, and from its end to whoever waits for
// it. That the queue has a lock must not be seen: it would make the work of one
// stream look as if it were ordered with that of another.
type queue struct {
	mu         sync.Mutex
	changed    sync.Cond
	head, tail *op
	pushed     uint64 // seq of the op that was added last
	finished   uint64 // seq of the op that ended last
	wanted     uint64 // seq up to which a lazy queue has been asked for
	lazy       bool
	closed     bool // nothing comes any more
}

func newQueue(lazy bool) *queue {
	q := &queue{lazy: lazy}
	q.changed.L = &q.mu
	return q
}

// push adds an op.
func (q *queue) push(o *op) {
	publish(o)
	hide()
	q.link(o)
	show()
}

//go:norace
func (q *queue) link(o *op) {
	q.mu.Lock()
	if q.tail == nil {
		q.head = o
	} else {
		q.tail.next = o
	}
	q.tail = o
	q.pushed = o.seq
	q.changed.Broadcast()
	q.mu.Unlock()
}

// pop waits for the next op; nil means that the queue is closed and empty.
func (q *queue) pop() *op {
	hide()
	o := q.unlink()
	show()
	if o != nil {
		observe(o)
	}
	return o
}

//go:norace
func (q *queue) unlink() *op {
	q.mu.Lock()
	for !q.ready() {
		q.changed.Wait()
	}
	o := q.head
	if o != nil {
		q.head = o.next
		o.next = nil
		if q.head == nil {
			q.tail = nil
		}
	}
	q.mu.Unlock()
	return o
}

//go:norace
func (q *queue) ready() bool {
	if q.closed {
		return true
	}
	return q.head != nil && (!q.lazy || q.head.seq <= q.wanted)
}

// finish says that an op has ended.
func (q *queue) finish(o *op) {
	publish(o)
	hide()
	q.advance(o.seq)
	show()
}

//go:norace
func (q *queue) advance(seq uint64) {
	q.mu.Lock()
	q.finished = seq
	q.changed.Broadcast()
	q.mu.Unlock()
}

// wait returns when o has ended.
func (o *op) wait() {
	hide()
	o.stream.queue.await(o.seq)
	show()
	observe(o)
}

//go:norace
func (q *queue) await(seq uint64) {
	q.mu.Lock()
	q.want(seq)
	for q.finished < seq {
		q.changed.Wait()
	}
	q.mu.Unlock()
}

//go:norace
func (q *queue) want(seq uint64) {
	if q.wanted < seq {
		q.wanted = seq
		q.changed.Broadcast()
	}
}

// done reports whether o has ended. To ask makes a lazy queue run.
func (o *op) done() bool {
	hide()
	done := o.stream.queue.reached(o.seq)
	show()
	if done {
		observe(o)
	}
	return done
}

//go:norace
func (q *queue) reached(seq uint64) bool {
	q.mu.Lock()
	q.want(seq)
	done := q.finished >= seq
	q.mu.Unlock()
	return done
}

// idle reports whether all ops have ended. It is no order for anybody.
func (q *queue) idle() bool {
	hide()
	idle := q.ended()
	show()
	return idle
}

//go:norace
func (q *queue) ended() bool {
	q.mu.Lock()
	ended := q.finished >= q.pushed
	q.mu.Unlock()
	return ended
}

// past is done for the books: it is no order for the caller, and wakes nobody.
func (o *op) past() bool {
	hide()
	past := o.stream.queue.passed(o.seq)
	show()
	return past
}

//go:norace
func (q *queue) passed(seq uint64) bool {
	q.mu.Lock()
	passed := q.finished >= seq
	q.mu.Unlock()
	return passed
}

// close lets the queue's goroutine end when it has done what there is.
func (q *queue) close() {
	hide()
	q.shut()
	show()
}

//go:norace
func (q *queue) shut() {
	q.mu.Lock()
	q.closed = true
	q.changed.Broadcast()
	q.mu.Unlock()
}
