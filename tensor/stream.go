package tensor

import (
	"fmt"
	"sync"

	"tarn/cuda"
	"tarn/kernels"
)

// Stream is an in-order queue of work on one device. Tensors carry the stream
// that their ops run on; nobody has to say when a tensor crosses from one
// stream to another: uses are recorded on the storage, and a later use waits
// for the earlier ones that it conflicts with.
type Stream struct {
	dev   *Device
	id    cuda.Stream
	queue kernels.Queue

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
}

func newStream(d *Device, id cuda.Stream) *Stream {
	return &Stream{dev: d, id: id, queue: d.backend.Queue(id)}
}

// Device returns the stream's device.
func (s *Stream) Device() *Device { return s.dev }

func (s *Stream) String() string { return fmt.Sprintf("%s stream %d", s.dev.name, s.id) }

// Synchronize waits on the host until all work queued on s is done.
func (s *Stream) Synchronize() error {
	if s.dev.err != nil {
		return s.dev.err
	}
	if err := s.dev.backend.Synchronize(s.id); err != nil {
		return fmt.Errorf("tensor: synchronize %v: %w", s, err)
	}
	return nil
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
	if s.waited[u.stream] >= u.seq {
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
