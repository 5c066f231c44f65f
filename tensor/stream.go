package tensor

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"tarn/cuda"
	"tarn/kernels"
	"tarn/memory"
)

// Stream is an in-order queue of work on one device. Tensors carry the stream
// that their ops run on; nobody has to say when a tensor crosses from one
// stream to another: uses are recorded on the storage, and a later use waits
// for the earlier ones that it conflicts with.
type Stream struct {
	dev   *Device
	id    cuda.Stream
	queue kernels.Queue

	// life is held for reading by who allocates for s and for writing by Close.
	life sync.RWMutex
	// closed is set where nothing may be queued any more; set with life and mu
	// held.
	closed atomic.Bool
	// gone is set where the driver may have given the id to another stream. The
	// work of s is done then. Set with dev.order and dev.naming held.
	gone atomic.Bool

	mu sync.Mutex
	// seq counts the stream's launches; guarded by mu.
	seq uint64
	// mark is the last event recorded and covers launches up to markSeq;
	// guarded by mu. An event is recorded only when somebody has to wait.
	mark    cuda.Event
	markSeq uint64
	// waited is how far this stream has waited for each other one; guarded by
	// dev.order.
	waited map[*Stream]uint64

	// capture is what the stream's work is recorded in, nil for none. It is set
	// with mu held.
	capture atomic.Pointer[capture]
}

func newStream(d *Device, id cuda.Stream) *Stream {
	return &Stream{dev: d, id: id, queue: d.backend.Queue(id)}
}

// Device returns the stream's device.
func (s *Stream) Device() *Device { return s.dev }

func (s *Stream) String() string { return fmt.Sprintf("%s stream %d", s.dev.name, s.id) }

// Synchronize waits on the host until all work queued on s is done. The error
// may be of any of that work.
func (s *Stream) Synchronize() error {
	if s.dev.err != nil {
		return s.dev.err
	}
	err := s.open()
	if err == nil {
		err = s.hostMayWait()
	}
	if err == nil {
		err = s.dev.backend.Synchronize(s.id)
	}
	if err != nil {
		return fmt.Errorf("tensor: synchronize %v: %w", s, translate(err))
	}
	return nil
}

// Wait makes later work of s wait, on the device, for the work that is queued on
// other now. Ops on tensors do so by themselves; this is for order that no
// tensor shows.
func (s *Stream) Wait(other *Stream) error {
	err := errors.Join(s.dev.err, other.dev.err)
	if err == nil {
		err = errors.Join(s.open(), other.open())
	}
	if err == nil && s.dev.async {
		err = s.waitForAll(other)
	}
	if err != nil {
		return fmt.Errorf("tensor: %v waits for %v: %w", s, other, err)
	}
	return nil
}

func (s *Stream) waitForAll(other *Stream) error {
	if s.dev != other.dev {
		if !other.dev.async {
			return nil
		}
		return s.waitAcross(other)
	}
	if c := s.dev.capture.Load(); c != nil {
		if did, err := c.waitForAll(s, other); did || err != nil {
			return err
		}
	}
	return s.waitFor(use{other, other.last()})
}

// last returns the sequence number of the last launch.
func (s *Stream) last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq
}

// open returns why nothing can be queued on s, nil where something can.
func (s *Stream) open() error {
	if s.closed.Load() {
		return fmt.Errorf("%w: %v", ErrStreamClosed, s)
	}
	return nil
}

// alloc takes a block for work on s: in a capture from the graph's own memory.
func (s *Stream) alloc(size int64, tag memory.Tag) (memory.Block, error) {
	if s == s.dev.stream {
		return s.allocOpen(size, tag)
	}
	s.life.RLock()
	defer s.life.RUnlock()
	if err := s.open(); err != nil {
		return memory.Block{}, err
	}
	return s.allocOpen(size, tag)
}

func (s *Stream) allocOpen(size int64, tag memory.Tag) (b memory.Block, err error) {
	if c := s.capture.Load(); c != nil {
		b, err = c.pool.Alloc(size, s.id, tag)
	} else {
		b, err = s.dev.mem.Alloc(size, s.id, tag)
	}
	if err != nil {
		did, failed := s.dev.sweepGraphs()
		if err = errors.Join(err, failed); did && failed == nil {
			b, err = s.dev.mem.Alloc(size, s.id, tag)
		}
	}
	if err == nil && s.dev.poisons {
		err = s.unpoison(b)
	}
	return b, err
}

// use is a launch that touched a storage.
type use struct {
	stream *Stream
	seq    uint64
}

// waitFor makes later launches of s wait on the device for the launch u. The
// event that it waits for covers at least u.
func (s *Stream) waitFor(u use) error {
	if u.stream == nil || u.stream == s {
		return nil
	}
	s.dev.order.Lock()
	defer s.dev.order.Unlock()
	if s.waited[u.stream] >= u.seq || u.stream.gone.Load() {
		return nil
	}
	covered, event, err := u.stream.markAtLeast(u.seq)
	if err != nil {
		return fmt.Errorf("mark %v: %w", u.stream, err)
	}
	if err := s.dev.backend.Upstream().WaitEvent(s.id, event); err != nil {
		return fmt.Errorf("%v waits for %v: %w", s, u.stream, err)
	}
	if s.waited == nil {
		s.waited = map[*Stream]uint64{}
	}
	s.waited[u.stream] = covered
	return nil
}

// markAtLeast returns an event that covers launch seq of s, recording one if
// the last does not. The caller holds dev.order, so that the event is not
// replaced under it.
func (s *Stream) markAtLeast(seq uint64) (covered uint64, e cuda.Event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mark != 0 && s.markSeq >= seq {
		return s.markSeq, s.mark, nil
	}
	up := s.dev.backend.Upstream()
	e, err = up.RecordEvent(s.id)
	if err != nil {
		return 0, 0, err
	}
	old := s.mark
	s.mark, s.markSeq = e, s.seq
	if old != 0 {
		err = up.DestroyEvent(old)
	}
	return s.markSeq, s.mark, err
}

// waitAcross makes later work of s wait for the present end of a stream of
// another device.
func (s *Stream) waitAcross(other *Stream) error {
	up := other.dev.backend.Upstream()
	e, err := up.RecordEvent(other.id)
	if err != nil {
		return fmt.Errorf("mark %v: %w", other, err)
	}
	return errors.Join(s.dev.backend.Upstream().WaitEvent(s.id, e), up.DestroyEvent(e))
}
