package tensor

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"tarn/memory"
)

// Graph is work that was recorded by [Capture] and is queued as one. Its methods
// may be called from many goroutines. Close it: one that is dropped open keeps
// what it holds until the garbage collector has found it and then a Capture
// begins or memory runs short. The device's Close closes those that are left.
type Graph struct{ body *graph }

// graph is what is in a Graph, and lives as long as that is open.
type graph struct {
	stream    *Stream
	pool      *memory.Pool
	recording Recording
	dropped   atomic.Bool // its Graph is gone

	mu     sync.Mutex // guards all below
	uses   []graphUse
	closed bool
}

// graphUse is a storage that a graph reads, or reads and writes.
type graphUse struct {
	storage *Storage
	writes  bool
}

// Capture runs f, then records what f does when it runs again, as a graph that
// [Graph.Replay] queues in one call. The first run really happens: it loads what
// ops need, and makes what later runs keep, such as an optimizer's state. The
// second leaves all data as they are, and the tensors that it makes hold nothing
// before the first Replay.
//
// What f does must be the same each time. A graph reads and writes the very
// memory that was recorded: new input is copied into the tensors that f read,
// results are read from those that f made; scalars, such as a learning rate,
// are what they were. Memory for what f makes comes from a private pool, which
// the graph keeps until [Graph.Close].
//
// f works on s. Other streams that it used in its first run are recorded too,
// once they wait for s. An op lets its stream wait where an operand is being
// recorded; one that takes nothing from the recording runs at once, and is not in
// the graph, unless the stream was told by [Stream.Wait]. Nothing else may be
// queued on these streams while Capture runs.
//
// ErrCapture, with the name of the op, is what cannot be recorded: Item, Data,
// CopyFrom and all else that goes by the host, an AdamW step whose number the
// caller gives (a graph would repeat it; [Steps] counts in the graph), the first
// step of a parameter that the first run did not do, the use of what is being
// recorded on a stream that is not, a device without graphs, and a capture while
// another one runs. After any error the streams go on as if only the first run
// had been.
func Capture(s *Stream, f func() error) (*Graph, error) {
	g, err := record(s, f)
	if err != nil {
		return nil, newError("Capture", err)
	}
	return g, nil
}

func record(s *Stream, f func() error) (*Graph, error) {
	backend, ok := s.dev.backend.(Capturer)
	switch {
	case s.dev.err != nil:
		return nil, s.dev.err
	case !ok:
		return nil, fmt.Errorf("%w: %v has no graphs", ErrCapture, s.dev)
	case s.dev.capture.Load() != nil:
		return nil, errSecondCapture
	}
	_, err := s.dev.sweepGraphs()
	if err := errors.Join(err, s.open(), backend.Load()); err != nil {
		return nil, err
	}
	before := s.dev.starts(nil)
	if err := f(); err != nil {
		return nil, err
	}
	c := newCapture(s, backend, s.dev.starts(before))
	if err := c.open(); err != nil {
		return nil, err
	}
	return c.run(f)
}

var errSecondCapture = fmt.Errorf("%w: another capture of the device is under way", ErrCapture)

// open begins the recording: after all that the streams of the first run have
// queued.
func (c *capture) open() (err error) {
	for s, from := range c.before {
		if from.used {
			if err := c.origin.waitFor(use{s, from.seq}); err != nil {
				return err
			}
		}
	}
	// What the first run left in the cache is no use to the graph.
	if err := c.dev.mem.EmptyCache(); err != nil {
		return err
	}
	if c.pool, err = c.dev.mem.NewPool(memory.PoolConfig{Name: "graph"}); err != nil {
		return err
	}
	if !c.dev.capture.CompareAndSwap(nil, c) {
		return errors.Join(errSecondCapture, c.pool.Close())
	}
	c.origin.mu.Lock()
	defer c.origin.mu.Unlock()
	if err = c.begin(c.origin); err == nil {
		err = c.backend.BeginCapture(c.origin.id)
	}
	if err != nil {
		err = errors.Join(err, c.close(), c.pool.Close())
	}
	return err
}

// run records f and ends the recording, also where f panics.
func (c *capture) run(f func() error) (g *Graph, err error) {
	ended := false
	end := func(err error) (*Graph, error) {
		ended = true
		if failed := c.join(); failed != nil && !errors.Is(err, failed) {
			err = errors.Join(err, failed)
		}
		recording, failed := c.backend.EndCapture(c.origin.id)
		if err == nil {
			err = failed // else it is about what is known already
		}
		uses := c.uses()
		err = errors.Join(err, c.close())
		if err == nil {
			err = c.unpoison()
		}
		g := &graph{stream: c.origin, pool: c.pool, recording: recording, uses: uses}
		if err != nil {
			return nil, errors.Join(err, g.release())
		}
		return g.handle(), nil
	}
	defer func() {
		if !ended {
			_, _ = end(errPanic)
		}
	}()
	return end(f())
}

var errPanic = errors.New("panic in a capture")

// close gives the streams back to ordinary work.
func (c *capture) close() error {
	var errs []error
	for _, s := range c.streams {
		s.capture.Store(nil)
	}
	c.dev.capture.Store(nil)
	for _, s := range c.streams {
		err := c.pool.EndCapture(s.id)
		if err != nil { // blocks that should be free are left for a second try
			err = c.pool.EndCapture(s.id)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Replay queues the recorded work on the stream that it was captured on, after
// all that it depends on. It waits for nothing.
func (g *Graph) Replay() error {
	defer runtime.KeepAlive(g)
	if err := g.body.replay(); err != nil {
		return newError("Replay", err)
	}
	return nil
}

func (g *graph) replay() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return fmt.Errorf("%w: the graph is closed", ErrReleased)
	}
	s := g.stream
	var before []use
	for _, u := range g.uses {
		if u.storage.freed.Load() {
			return fmt.Errorf("a tensor that the graph uses: %w", u.storage.whyFreed())
		}
		before = u.storage.before(s, u.writes, before)
	}
	if c := s.capture.Load(); c != nil {
		return fmt.Errorf("%w: a graph in a graph", ErrCapture)
	}
	launch, err := s.begin(before)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, u := range g.uses {
		u.storage.record(launch, u.writes)
		if u.writes {
			u.storage.version.Add(1)
		}
	}
	return g.recording.Launch(s.id)
}

// Close waits for the last Replay and gives back what the graph holds. Tensors
// that f made stay good. A second Close does nothing.
func (g *Graph) Close() error {
	defer runtime.KeepAlive(g)
	return g.body.close()
}

func (g *graph) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	g.stream.dev.graphs.forget(g)
	var err error
	if g.stream.open() == nil { // else its work is done
		err = g.stream.dev.backend.Synchronize(g.stream.id)
	}
	if err = errors.Join(err, g.release()); err != nil {
		return fmt.Errorf("tensor: close a graph of %v: %w", g.stream, err)
	}
	return nil
}

func (g *graph) release() error {
	var errs []error
	if g.recording != nil {
		errs = append(errs, g.recording.Close())
	}
	for _, u := range g.uses {
		errs = append(errs, u.storage.drop())
	}
	g.uses = nil
	return errors.Join(append(errs, g.pool.Close())...)
}

// hostMayWait returns why the host cannot wait for s now.
func (s *Stream) hostMayWait() error {
	c := s.capture.Load()
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fail(fmt.Errorf("%w: the host cannot wait for what is being recorded", ErrCapture))
}
