package tensor

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"tarn/cuda"
	"tarn/internal/invariants"
	"tarn/kernels"
	"tarn/memory"
)

// Backend is what a device brings: memory, ops, and a way to move bytes
// between its memory and Go's.
type Backend interface {
	Upstream() memory.Upstream
	Kernels() *kernels.Table
	// Queue returns where ops of stream s run.
	Queue(s cuda.Stream) kernels.Queue
	// NewStream makes a stream beside the default one, which is 0; the priority
	// is taken to the nearer end of what Priorities returns.
	NewStream(priority int) (cuda.Stream, error)
	// Priorities returns the numbers of the least and of the most urgent one.
	Priorities() (least, most int, err error)
	// CloseStream gives back what NewStream made, whose work is done.
	CloseStream(s cuda.Stream) error
	// CopyIn and CopyOut move bytes after the earlier work of s; both are done
	// with the Go memory when they return. CopyOut waits for that work and
	// returns its errors.
	CopyIn(s cuda.Stream, dst cuda.DevicePtr, src []byte) error
	CopyOut(s cuda.Stream, dst []byte, src cuda.DevicePtr) error
	// Synchronize waits for all work of s and returns its errors.
	Synchronize(s cuda.Stream) error
}

// Capturer is a [Backend] that can record a stream's work into a graph; see
// [Capture]. Streams that wait for an event of the recorded work are recorded
// too, until the end.
type Capturer interface {
	// Load gets everything ready that a first use of an op would, since that
	// cannot be recorded.
	Load() error
	BeginCapture(s cuda.Stream) error
	// EndCapture returns what was recorded since BeginCapture. After an error
	// nothing is recorded any more.
	EndCapture(s cuda.Stream) (Recording, error)
}

// Recording is recorded work that can be queued as one.
type Recording interface {
	Launch(s cuda.Stream) error
	// Close may be called when no launch is under way any more.
	Close() error
}

// Device is a place where tensors live and ops run. Its methods may be called
// from many goroutines.
type Device struct {
	backend Backend
	name    string
	mem     *memory.Allocator
	table   *kernels.Table
	stream  *Stream // the default stream
	// async is set where work goes on after a launch returned, so that uses
	// must be recorded and waited for.
	async bool
	// order guards the events and waits between the device's streams; taken
	// before any stream's mu.
	order   sync.Mutex
	streams map[*Stream]struct{} // beside the default one; guarded by order
	// naming is held for reading while a stream's id is given to the allocator,
	// and for writing when the id becomes void.
	naming  sync.RWMutex
	capture atomic.Pointer[capture] // the one under way, nil for none
	graphs  openGraphs
	poisons bool  // freed memory is spoilt; see poison.go
	err     error // the device could not be opened; every op on it reports this
}

// NewDevice makes a device of a backend. Its memory comes from a caching
// allocator with the given configuration. Close gives it back.
func NewDevice(b Backend, cfg memory.Config) (*Device, error) {
	d, err := newDevice(b, cfg)
	if err != nil {
		return nil, fmt.Errorf("tensor: open %s: %w", b.Upstream().Props().Name, err)
	}
	return d, nil
}

func newDevice(b Backend, cfg memory.Config) (*Device, error) {
	up := b.Upstream()
	mem, err := memory.New(up, cfg)
	if err != nil {
		return nil, err
	}
	d := &Device{backend: b, name: up.Props().Name, mem: mem, table: b.Kernels(), async: up.Props().Asynchronous,
		streams: map[*Stream]struct{}{}, poisons: invariants.Enabled}
	d.stream = newStream(d, 0)
	return d, nil
}

// Name returns "cpu", "cuda:0" and the like.
func (d *Device) Name() string { return d.name }

func (d *Device) String() string { return d.name }

// Memory returns the allocator that the device's tensors come from.
func (d *Device) Memory() *memory.Allocator { return d.mem }

// Synchronize waits until all work queued on the default stream is done.
func (d *Device) Synchronize() error { return d.stream.Synchronize() }

// Close closes the device's graphs and streams and gives its memory back, after
// the work that is queued. Tensors that are left have no memory any more, which is an
// error that counts them.
func (d *Device) Close() error {
	if d.err != nil {
		return nil
	}
	errs := []error{d.graphs.close(), d.stream.unmark()}
	d.order.Lock()
	streams := slices.Collect(maps.Keys(d.streams))
	d.order.Unlock()
	for _, s := range streams {
		errs = append(errs, s.Close())
	}
	errs = append(errs, d.mem.Close())
	if c, ok := d.backend.(io.Closer); ok {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Place is where new tensors are made: a [Device], a [Stream], or what Device.In,
// Stream.In and Tensor.Place return.
type Place interface {
	place() (*Device, *env)
}

type placed struct {
	dev *Device
	env *env
}

func (p placed) place() (*Device, *env) { return p.dev, p.env }

func (d *Device) place() (*Device, *env) { return d, nil }

// In returns the place on d whose tensors live in scope s.
func (d *Device) In(s *Scope) Place { return placed{d, env{scope: s}.with(s.shared())} }

func (s *Stream) place() (*Device, *env) { return s.dev, env{stream: s}.with() }

// In returns the place on the stream's device whose tensors live in scope sc
// and whose ops run on s.
func (s *Stream) In(sc *Scope) Place { return placed{s.dev, env{stream: s, scope: sc}.with()} }
