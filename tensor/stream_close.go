package tensor

import (
	"errors"
	"fmt"
)

// NewStream makes a stream: ops on different streams may run at the same time.
// On a device that runs ops at once, such as the CPU, a stream orders nothing
// and costs nothing.
func (d *Device) NewStream() (*Stream, error) { return d.NewStreamWith(0) }

// NewStreamWith makes a stream of a priority; see [Device.Priorities]. One out
// of that range is taken to its nearer end. Where the device has a choice, it
// runs work of a more urgent stream first.
func (d *Device) NewStreamWith(priority int) (*Stream, error) {
	if d.err != nil {
		return nil, d.err
	}
	id, err := d.backend.NewStream(priority)
	if err != nil {
		return nil, fmt.Errorf("tensor: new stream on %s: %w", d.name, err)
	}
	s := newStream(d, id)
	d.order.Lock()
	defer d.order.Unlock()
	d.streams[s] = struct{}{}
	return s, nil
}

// Priorities returns the numbers of the least and of the most urgent priority
// that a stream can have. The most urgent is the lower number; 0 is ordinary.
func (d *Device) Priorities() (least, most int, err error) {
	if d.err != nil {
		return 0, 0, d.err
	}
	return d.backend.Priorities()
}

// DefaultStream returns the stream of ops whose operands name none.
func (d *Device) DefaultStream() *Stream { return d.stream }

// Close ends s, after the work that is queued on it, for which it waits. Tensors
// made on s stay good: their memory goes back as ever, and a parameter's
// gradient and its optimizer's steps are on the default stream from now on. Ops
// on s are [ErrStreamClosed], and so is a second Close. The default stream is
// closed with its device alone.
func (s *Stream) Close() error {
	if s.dev.err != nil {
		return s.dev.err
	}
	if err := s.close(); err != nil {
		return fmt.Errorf("tensor: close %v: %w", s, err)
	}
	return nil
}

func (s *Stream) close() error {
	if s == s.dev.stream {
		return errors.New("it is the default stream, which goes with the device")
	}
	if err := s.end(); err != nil {
		return err
	}
	return errors.Join(s.settle(), s.forget())
}

// end lets nothing more be queued.
func (s *Stream) end() error {
	s.life.Lock()
	defer s.life.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return err
	}
	if s.capture.Load() != nil {
		return fmt.Errorf("%w: the stream is being captured", ErrCapture)
	}
	s.closed.Store(true)
	return nil
}

// settle waits for the work of s. Nobody waits for it after that, and nobody
// names s to the allocator.
func (s *Stream) settle() error {
	err := s.dev.backend.Synchronize(s.id)
	d := s.dev
	d.order.Lock()
	defer d.order.Unlock()
	d.naming.Lock()
	s.gone.Store(true)
	d.naming.Unlock()
	delete(d.streams, s)
	for other := range d.streams {
		delete(other.waited, s)
	}
	delete(d.stream.waited, s)
	return errors.Join(err, s.unmark())
}

// unmark gives the stream's event back.
func (s *Stream) unmark() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.mark
	s.mark, s.markSeq = 0, 0
	if e == 0 {
		return nil
	}
	return s.dev.backend.Upstream().DestroyEvent(e)
}

// forget takes s from the allocator and from the driver.
func (s *Stream) forget() error {
	// The books take in what the garbage collector found: the queue of that may
	// name s, and is empty of it afterwards.
	s.dev.mem.Stats()
	err := s.dev.mem.RetireStream(s.id)
	if err != nil { // a name that stays would be asked for events when it is void
		err = errors.Join(err, s.dev.mem.RetireStream(s.id))
	}
	return errors.Join(err, s.dev.backend.CloseStream(s.id))
}

// home is the stream that work which belongs to st itself runs on: the one that
// it was allocated on, or the default one where that is closed.
func (st *Storage) homeStream() *Stream { return st.home.orDefault() }

func (s *Stream) orDefault() *Stream {
	if s.closed.Load() {
		return s.dev.stream
	}
	return s
}
