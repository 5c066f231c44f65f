package kerneltest

import (
	"fmt"
	"unsafe"

	"tarn/cuda"
	"tarn/kernels"
	"tarn/kernels/ref"
)

// Place is the memory of a device under test and the queue that its ops run on.
type Place interface {
	// Queue returns the queue, the same at each call.
	Queue() kernels.Queue
	// Put returns the address, a multiple of 8, of memory that holds b.
	Put(b []byte) (uintptr, error)
	// Take copies the memory that Put returned to b and gives it up. All work
	// has been waited for.
	Take(address uintptr, b []byte) error
	// Sync waits for the work. Its error is the device's, or what an op has
	// found wrong with its data since the last call.
	Sync() error
}

// Host returns the place of a device that works on host memory and is done
// when Run returns.
func Host() Place { return host{} }

type host struct{}

func (host) Queue() kernels.Queue          { return host{} }
func (host) Stream() cuda.Stream           { return 0 }
func (host) Put(b []byte) (uintptr, error) { return uintptr(unsafe.Pointer(unsafe.SliceData(b))), nil }
func (host) Take(uintptr, []byte) error    { return nil }
func (host) Sync() error                   { return nil }

// device is what a call runs on.
type device struct {
	table *kernels.Table
	place Place
}

func onHost(table *kernels.Table) device { return device{table, host{}} }

var reference = onHost(ref.Table())

// work is the workspace of a call, between red zones.
type work struct {
	bytes   []byte
	address uintptr // of bytes
	skip    int     // bytes before the first red zone
}

// workspace gives a what op asks for, at a multiple of 64.
func (on device) workspace(op *kernels.Op, a *kernels.Args) work {
	if op.Workspace == nil {
		return work{}
	}
	n := op.Workspace(a)
	if n == 0 {
		return work{}
	}
	w := work{bytes: newMemory(n + 2*redZone + 64).words()}
	w.address = on.put(w.bytes)
	w.skip = int(-(w.address + redZone) & 63)
	a.Work = kernels.View{Ptr: w.address + uintptr(w.skip) + redZone, Rank: 1}
	a.Work.Dims[0], a.Work.Strides[0] = n, 1
	return w
}

// overrun gives w up and says where it was written out of bounds, "" if nowhere.
func (on device) overrun(w work) string {
	if w.bytes == nil {
		return ""
	}
	on.take(w.address, w.bytes)
	n := len(w.bytes) - 2*redZone - 64
	for i, b := range w.bytes {
		if at := i - w.skip - redZone; b != poison && (at < 0 || at >= n) {
			return fmt.Sprintf("byte %d of a workspace of %d", at, n)
		}
	}
	return ""
}

func (on device) put(b []byte) uintptr {
	p, err := on.place.Put(b)
	if err != nil {
		panic(fmt.Sprintf("kerneltest: %d bytes for a test: %v", len(b), err))
	}
	return p
}

func (on device) take(p uintptr, b []byte) {
	if err := on.place.Take(p, b); err != nil {
		panic(fmt.Sprintf("kerneltest: %d bytes after a test: %v", len(b), err))
	}
}
