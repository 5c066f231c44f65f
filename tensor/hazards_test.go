//go:build race && cgo && (linux || darwin)

package tensor_test

import (
	"errors"
	"fmt"

	"tarn/memory"
	"tarn/tensor"
)

// hazard is a program of two streams of which the second half comes after the
// first by a wait alone that it does not ask for. The mistake is to leave that
// wait out.
type hazard struct {
	name    string
	memory  int64 // bytes of the device; 0 for plenty
	hurried bool  // what is left out is that the allocator asks whether work is done
	waits   bool  // all waits are there: the mistake is in the program
	setup   func(x *crossing) error
	first   func(x *crossing) error
	second  func(x *crossing) error
}

// crossing is what a hazard works on. x has been written, and waited for, before
// it begins.
type crossing struct {
	a, b  *tensor.Stream
	x     *tensor.Tensor // of a
	y     *tensor.Tensor // what a graph makes
	graph *tensor.Graph
	made  []*tensor.Tensor // released in the end
	freed uintptr          // address of what a stream gave back
	wrong bool
}

const (
	touched  = 8       // elements that both streams use, float32
	pageSize = 2 << 20 // bytes, of devices that have so few that they must change hands
	pageful  = 3 << 17 // elements: more than a small block
)

var hazards = []hazard{
	{name: "read after write", first: (*crossing).writeOnA, second: (*crossing).readOnB},
	{name: "write after read", first: (*crossing).readOnA, second: (*crossing).writeOnB},
	{name: "write after write", first: (*crossing).writeOnA, second: (*crossing).writeOnB},
	{name: "read by the host", first: (*crossing).writeOnA, second: (*crossing).download},
	{name: "write by the host", first: (*crossing).readOnA, second: (*crossing).upload},
	{name: "step after backward", first: (*crossing).backward, second: (*crossing).step},
	{name: "read after a replay", setup: (*crossing).capture, first: (*crossing).replay, second: (*crossing).readResult},
	{name: "replay after a read", setup: (*crossing).capture, first: (*crossing).readResult, second: (*crossing).replay},
	// A block that another stream read; and pages that another stream wrote: as they
	// lie, by a wait of the device or since the work is done, and moved after a wait
	// of the host.
	{name: "block reused", memory: 2 * pageSize, hurried: true, setup: (*crossing).makeLarge, first: (*crossing).readAndFree, second: (*crossing).reuseOnA},
	{name: "pages followed", memory: pageSize, first: (*crossing).free, second: (*crossing).takeOnB},
	{name: "pages taken for idle", memory: pageSize, hurried: true, first: (*crossing).free, second: (*crossing).takeOnB},
	{name: "pages moved", memory: pageSize, first: (*crossing).free, second: (*crossing).moveToB},
	// A graph writes what it was captured with, whoever has it now.
	{name: "memory of a graph", memory: 2 * pageSize, hurried: true, waits: true, setup: (*crossing).captureWithout, first: (*crossing).steal, second: (*crossing).replay},
}

func (x *crossing) keep(t *tensor.Tensor) error {
	x.made = append(x.made, t)
	return t.Err()
}

// writeStart and readStart are kernels, on every second of t's first elements; on
// all of them they would be a fill and a copy of the driver's.

func writeStart(t *tensor.Tensor) error {
	start := t.Slice(0, 0, touched, 2)
	return errors.Join(start.Fill(3), start.Release())
}

func readStart(t *tensor.Tensor) *tensor.Tensor {
	start := t.Slice(0, 0, touched, 2)
	defer start.Release()
	return start.Clone()
}

func (x *crossing) writeOnA() error { return writeStart(x.x) }
func (x *crossing) writeOnB() error { return writeStart(x.x.On(x.b)) }
func (x *crossing) readOnA() error  { return x.keep(readStart(x.x)) }
func (x *crossing) readOnB() error  { return x.keep(readStart(x.x.On(x.b))) }

func (x *crossing) download() error {
	_, err := tensor.Data[float32](x.x.On(x.b))
	return err
}

func (x *crossing) upload() error {
	return tensor.CopyFrom(x.x.On(x.b), make([]float32, touched))
}

func (x *crossing) backward() error {
	x.x.RequireGrad()
	loss := x.x.On(x.b).Sum()
	return errors.Join(x.keep(loss), loss.Backward())
}

func (x *crossing) step() error {
	return tensor.StepSGD([]*tensor.Tensor{x.x}, nil, tensor.SGD{LR: 1})
}

// capture has a graph on a make y of x.
func (x *crossing) capture() (err error) {
	x.graph, err = tensor.Capture(x.a, func() error {
		x.y = readStart(x.x)
		return x.keep(x.y)
	})
	return err
}

// captureWithout has a graph on a write memory that no tensor holds any more.
func (x *crossing) captureWithout() (err error) {
	x.graph, err = tensor.Capture(x.a, func() error {
		y := readStart(x.x)
		x.freed = tensor.Pointer(y)
		return errors.Join(y.Err(), y.Release())
	})
	return err
}

func (x *crossing) replay() error { return x.graph.Replay() }

func (x *crossing) readResult() error {
	twice := x.y.On(x.b).Expand(2, touched/2)
	defer twice.Release()
	return x.keep(twice.Clone())
}

// free gives all memory of a back, with a write of it queued.
func (x *crossing) free() error {
	x.freed = tensor.Pointer(x.x)
	return errors.Join(writeStart(x.x), x.x.Release())
}

func (x *crossing) takeOnB() error {
	t := tensor.Empty(x.b, tensor.Float32, touched)
	return errors.Join(x.keepSame(t), writeStart(t))
}

// moveToB gives b a tensor of the other pool, which the page moves to.
func (x *crossing) moveToB() error {
	t := tensor.Empty(x.b, tensor.Float32, pageful)
	return errors.Join(x.keep(t), writeStart(t))
}

// makeLarge makes x a tensor with a page of its own.
func (x *crossing) makeLarge() error {
	err := x.x.Release()
	x.x = tensor.Empty(x.a, tensor.Float32, pageful)
	x.freed = tensor.Pointer(x.x)
	return errors.Join(err, writeStart(x.x))
}

func (x *crossing) readAndFree() error {
	return errors.Join(x.keep(readStart(x.x.On(x.b))), x.x.Release())
}

func (x *crossing) reuseOnA() error {
	t := tensor.Empty(x.a, tensor.Float32, pageful)
	return errors.Join(x.keepSame(t), writeStart(t))
}

// steal asks for memory where there is none left but the graph's, which is
// refused unless the graph has lost it.
func (x *crossing) steal() error {
	if err := x.replay(); err != nil {
		return err
	}
	if x.wrong {
		return errors.Join(x.graph.GiveAway(), x.takeOnB())
	}
	t := tensor.Empty(x.b, tensor.Float32, touched)
	var oom *memory.OutOfMemoryError
	if !errors.As(t.Err(), &oom) {
		return errors.Join(x.keep(t), errors.New("there was memory beside the graph's"))
	}
	return nil
}

// keepSame keeps t, which must lie where another stream's memory was.
func (x *crossing) keepSame(t *tensor.Tensor) error {
	if err := x.keep(t); err != nil {
		return err
	}
	if at := tensor.Pointer(t); at != x.freed {
		return fmt.Errorf("the memory is at %#x, what was freed at %#x", at, x.freed)
	}
	return nil
}

// end gives back what is left.
func (x *crossing) end() error {
	var errs []error
	if x.graph != nil {
		errs = append(errs, x.graph.Close())
	}
	for _, t := range append(x.made, x.x) {
		errs = append(errs, t.Release())
	}
	return errors.Join(errs...)
}
