package tensor

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"tarn/memory"
)

// capture is a graph that is being recorded. What is recorded does not run, so
// it leaves no trace in the storages' own records: those go on to say what
// really ran, and the recorded uses stand here. When the graph is queued it is
// one launch, which reads and writes all that its ops did.
type capture struct {
	dev     *Device
	backend Capturer
	pool    *memory.Pool
	origin  *Stream

	mu sync.Mutex // guards all below
	// before says of each stream how far it had come when the capture began.
	before  map[*Stream]startOf
	streams []*Stream // that are recorded; origin is the first
	seq     map[*Stream]uint64
	waited  map[[2]*Stream]uint64
	touched map[*Storage]*recorded
	order   []*Storage     // the keys of touched, in order of first use
	failed  error          // the first thing that cannot be recorded
	fresh   []memory.Block // that are to be unpoisoned at the end
}

// startOf is where a stream stood at the begin of a capture.
type startOf struct {
	seq  uint64
	used bool // by the first run of what is captured
}

// recorded are the recorded uses of a storage, with sequence numbers of their
// own.
type recorded struct {
	write  use
	reads  []use
	writes bool
	outer  bool // its memory is not the graph's own; held
}

func newCapture(s *Stream, b Capturer, before map[*Stream]startOf) *capture {
	return &capture{dev: s.dev, backend: b, origin: s, before: before, seq: map[*Stream]uint64{},
		waited: map[[2]*Stream]uint64{}, touched: map[*Storage]*recorded{}}
}

// admit decides, before an op on s, whether it is recorded. A stream that the
// first run used is drawn in when it comes to need what was recorded.
func (c *capture) admit(s *Stream, outs, ins []*Tensor) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.capture.Load() != c {
		uses := c.conflicts(s, outs, ins)
		if len(uses) == 0 {
			return nil
		}
		if err := c.fork(s); err != nil {
			return c.fail(err)
		}
		for _, u := range uses {
			if err := c.waitFor(s, u); err != nil {
				return c.fail(err)
			}
		}
	}
	for _, operands := range [][]*Tensor{outs, ins} {
		for _, t := range operands {
			if err := c.untouched(t.storage); err != nil {
				return c.fail(err)
			}
		}
	}
	return nil
}

// conflicts returns the recorded uses that an op on s has to wait for.
func (c *capture) conflicts(s *Stream, outs, ins []*Tensor) (uses []use) {
	for _, t := range ins {
		uses = append(uses, c.usesBefore(s, t.storage, false)...)
	}
	for _, t := range outs {
		uses = append(uses, c.usesBefore(s, t.storage, true)...)
	}
	return uses
}

func (c *capture) usesBefore(s *Stream, st *Storage, writes bool) (uses []use) {
	r := c.touched[st]
	if r == nil {
		return nil
	}
	if r.write.stream != nil && r.write.stream != s {
		uses = append(uses, r.write)
	}
	if writes {
		for _, u := range r.reads {
			if u.stream != s {
				uses = append(uses, u)
			}
		}
	}
	return uses
}

// untouched returns an error if st was written since the capture began by work
// that is not recorded: a graph would go on to read what that left there once.
func (c *capture) untouched(st *Storage) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if w := st.write; w.stream != nil && w.seq > c.before[w.stream].seq {
		return fmt.Errorf("%w: an operand was written by %v, whose work is not recorded; let the stream wait for %v first",
			ErrCapture, w.stream, c.origin)
	}
	return nil
}

// fork makes s one of the recorded streams; the driver learns of it when s
// waits for one of them.
func (c *capture) fork(s *Stream) error {
	from, known := c.before[s]
	if !known || !from.used {
		return fmt.Errorf("%w: an operand is being recorded, and %v is not part of that: the first run did not use it", ErrCapture, s)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seq != from.seq {
		return fmt.Errorf("%w: %v ran work since the recording began; let it wait for %v before that", ErrCapture, s, c.origin)
	}
	if err := s.open(); err != nil {
		return err
	}
	return c.begin(s)
}

// begin marks s as recorded. The caller holds c.mu and s.mu.
func (c *capture) begin(s *Stream) error {
	if err := c.pool.BeginCapture(s.id); err != nil {
		return err
	}
	s.capture.Store(c)
	c.streams = append(c.streams, s)
	return nil
}

// fail notes the first error, and returns its own argument.
func (c *capture) fail(err error) error {
	if c.failed == nil {
		c.failed = err
	}
	return err
}

// waitFor makes later recorded work of s come after u.
func (c *capture) waitFor(s *Stream, u use) error {
	key := [2]*Stream{s, u.stream}
	if covered, before := c.waited[key]; s == u.stream || before && covered >= u.seq {
		return nil
	}
	up := c.dev.backend.Upstream()
	e, err := up.RecordEvent(u.stream.id)
	if err != nil {
		return fmt.Errorf("mark %v: %w", u.stream, err)
	}
	if err := errors.Join(up.WaitEvent(s.id, e), up.DestroyEvent(e)); err != nil {
		return fmt.Errorf("%v waits for %v: %w", s, u.stream, err)
	}
	c.waited[key] = c.seq[u.stream]
	return nil
}

// waitForAll is Stream.Wait, as far as it is about recorded work.
func (c *capture) waitForAll(s, other *Stream) (did bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch mine, others := s.capture.Load() == c, other.capture.Load() == c; {
	case !mine && !others:
		return false, nil
	case !mine:
		if err := c.fork(s); err != nil {
			return true, c.fail(err)
		}
	case !others:
		if other.last() != c.before[other].seq {
			return true, c.fail(fmt.Errorf("%w: the work of %v is not recorded", ErrCapture, other))
		}
		return true, nil // it was waited for when the capture began
	}
	if err := c.waitFor(s, use{other, c.seq[other]}); err != nil {
		return true, c.fail(err)
	}
	return true, nil
}

// note records the uses of an op on s, which was admitted. The caller holds c.mu
// until the op is queued.
func (c *capture) note(s *Stream, outs, ins []*Tensor) error {
	for _, u := range c.conflicts(s, outs, ins) {
		if err := c.waitFor(s, u); err != nil {
			return c.fail(err)
		}
	}
	c.seq[s]++
	u := use{s, c.seq[s]}
	for _, t := range ins {
		c.record(t.storage, u, false)
	}
	for _, t := range outs {
		c.record(t.storage, u, true)
	}
	return nil
}

func (c *capture) record(st *Storage, u use, writes bool) {
	r := c.touched[st]
	if r == nil {
		r = &recorded{outer: st.graph != c}
		if r.outer {
			st.retain() // the graph goes on using it
		}
		c.touched[st] = r
		c.order = append(c.order, st)
	}
	if writes {
		r.write, r.reads, r.writes = u, nil, true
		return
	}
	i := slices.IndexFunc(r.reads, func(old use) bool { return old.stream == u.stream })
	if i < 0 {
		r.reads = append(r.reads, u)
		return
	}
	r.reads[i] = u
}

// refuse returns why the host cannot read or write t on s now.
func (c *capture) refuse(s *Stream, t *Tensor) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.touched[t.storage]
	switch {
	case s.capture.Load() == c:
		return c.fail(fmt.Errorf("%w: a copy between the host and %v, whose work is being recorded", ErrCapture, s))
	case r != nil && (r.writes || !r.outer):
		return c.fail(fmt.Errorf("%w: a copy between the host and what is being recorded on %v", ErrCapture, c.origin))
	}
	return nil
}

// refuseOp is refuse for an op that would be recorded with scalars that the
// next run has others of.
func (c *capture) refuseOp(s *Stream, operand *Tensor, why string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.capture.Load() == c || c.touched[operand.storage] != nil {
		return c.fail(fmt.Errorf("%w: %s", ErrCapture, why))
	}
	return nil
}

// visitors returns the streams other than home whose recorded work uses st, and
// whether there is any recorded work on it.
func (c *capture) visitors(st *Storage) (streams []*Stream, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.touched[st]
	if r == nil || r.outer {
		return nil, false
	}
	for _, u := range append(r.reads, r.write) {
		if u.stream != nil && u.stream != st.home && !slices.Contains(streams, u.stream) {
			streams = append(streams, u.stream)
		}
	}
	return streams, true
}

// join lets the origin wait for the other streams, so that the graph ends with
// all of them.
func (c *capture) join() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.streams[1:] {
		delete(c.waited, [2]*Stream{c.origin, s}) // also where it only waited itself
		if err := c.waitFor(c.origin, use{s, c.seq[s]}); err != nil {
			return err
		}
	}
	return c.failed
}

// uses ends the books of the capture: what the graph touches, held.
func (c *capture) uses() []graphUse {
	c.mu.Lock()
	defer c.mu.Unlock()
	var uses []graphUse
	for _, st := range c.order {
		r := c.touched[st]
		if !r.outer {
			if st.freed.Load() {
				continue // its memory is the graph's alone now
			}
			st.retain()
		}
		uses = append(uses, graphUse{st, r.writes})
	}
	return uses
}

// starts notes how far each stream of d has come. used are those that went on
// since an earlier note, which may be nil.
func (d *Device) starts(earlier map[*Stream]startOf) map[*Stream]startOf {
	d.order.Lock()
	streams := append(slices.Collect(maps.Keys(d.streams)), d.stream)
	d.order.Unlock()
	now := make(map[*Stream]startOf, len(streams))
	for _, s := range streams {
		seq := s.last()
		now[s] = startOf{seq, earlier != nil && seq != earlier[s].seq}
	}
	return now
}
