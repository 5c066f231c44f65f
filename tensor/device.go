package tensor

import (
	"fmt"
	"sync"

	"tarn/cuda"
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
	// NewStream makes a stream beside the default one, which is 0.
	NewStream() (cuda.Stream, error)
	// CopyIn and CopyOut move bytes after the earlier work of s; both are done
	// with the Go memory when they return.
	CopyIn(s cuda.Stream, dst cuda.DevicePtr, src []byte) error
	CopyOut(s cuda.Stream, dst []byte, src cuda.DevicePtr) error
	// Synchronize waits for all work of s.
	Synchronize(s cuda.Stream) error
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
	order sync.Mutex
	err   error // the device could not be opened; every op on it reports this
}

// NewDevice makes a device of a backend. Its memory comes from a caching
// allocator with the given configuration. Close gives it back.
func NewDevice(b Backend, cfg memory.Config) (*Device, error) {
	up := b.Upstream()
	mem, err := memory.New(up, cfg)
	if err != nil {
		return nil, fmt.Errorf("tensor: open %s: %w", up.Props().Name, err)
	}
	d := &Device{backend: b, name: up.Props().Name, mem: mem, table: b.Kernels(), async: up.Props().Asynchronous}
	d.stream = newStream(d, 0)
	return d, nil
}

// Name returns "cpu", "cuda:0" and the like.
func (d *Device) Name() string { return d.name }

func (d *Device) String() string { return d.name }

// Memory returns the allocator that the device's tensors come from.
func (d *Device) Memory() *memory.Allocator { return d.mem }

// NewStream makes a stream: ops on different streams may run at the same time.
// On a device that runs ops at once, such as the CPU, a stream orders nothing
// and costs nothing.
func (d *Device) NewStream() (*Stream, error) {
	if d.err != nil {
		return nil, d.err
	}
	id, err := d.backend.NewStream()
	if err != nil {
		return nil, fmt.Errorf("tensor: new stream on %s: %w", d.name, err)
	}
	return newStream(d, id), nil
}

// Synchronize waits until all work queued on the default stream is done.
func (d *Device) Synchronize() error { return d.stream.Synchronize() }

// Close gives the device's memory back. It is an error, and the memory stays,
// while tensors live on it.
func (d *Device) Close() error {
	if d.err != nil {
		return nil
	}
	return d.mem.Close()
}

// Place is where new tensors are made: a [Device], or what Device.In,
// Device.On and Stream.In return.
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
