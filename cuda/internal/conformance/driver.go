package conformance

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"tarn/cuda/internal/shim"
)

// driver is the use of device 0 for one row.
type driver struct {
	table   *shim.Table
	device  uint64
	context uintptr
	stream  uint64   // NON_BLOCKING
	release []func() // what holds streams up
	undo    []func()
}

// failure is what a row's preparation panics with; answer recovers it.
type failure struct{ error }

// The numbers that the driver's documentation gives.
const (
	nonBlocking = 1
	noTiming    = 2

	global, threadLocal, relaxed = 0, 1, 2 // modes of a capture

	page = 2 << 20 // a size of pages that every device has
)

func open(t *shim.Table) *driver {
	d := &driver{table: t}
	d.device = d.must(shim.DeviceGet, 0, 0, 0, 0)
	d.context = uintptr(d.must(shim.PrimaryRetain, d.device, 0, 0, 0))
	d.later(shim.PrimaryRelease, d.device, 0)
	d.stream = d.newStream()
	return d
}

// close undoes, last first. A lost device answers with its error to all of it.
func (d *driver) close() {
	for _, release := range d.release {
		release()
	}
	for i := len(d.undo) - 1; i >= 0; i-- {
		d.undo[i]()
	}
}

func (d *driver) later(e shim.Entry, a, b uint64) {
	d.undo = append(d.undo, func() { d.call(e, a, b, 0, 0) })
}

func (d *driver) call(e shim.Entry, a, b, x, y uint64) shim.Out {
	return d.table.Call(e, d.context, a, b, x, y)
}

// code is a call of which only the outcome counts.
func (d *driver) code(e shim.Entry, a, b, x, y uint64) string {
	return d.name(d.call(e, a, b, x, y))
}

func (d *driver) name(out shim.Out) string {
	if out.Missing {
		panic(failure{fmt.Errorf("the driver has no %s", out.Entry.Op())})
	}
	if out.Code == 0 {
		return "OK"
	}
	if name := d.table.ErrorName(out.Code); name != "" {
		return name[len("CUDA_ERROR_"):]
	}
	return fmt.Sprint(out.Code)
}

// must is a call that the row takes for granted.
func (d *driver) must(e shim.Entry, a, b, x, y uint64) uint64 {
	out := d.call(e, a, b, x, y)
	d.granted(out)
	return out.Value
}

func (d *driver) granted(out shim.Out) {
	if name := d.name(out); name != "OK" {
		panic(failure{fmt.Errorf("%s: %s", out.Entry.Op(), name)})
	}
}

func (d *driver) newStream() uint64 {
	s := d.must(shim.StreamCreate, nonBlocking, 0, 0, 0)
	d.later(shim.StreamDestroy, s, 0)
	return s
}

func (d *driver) newEvent() uint64 {
	e := d.must(shim.EventCreate, noTiming, 0, 0, 0)
	d.later(shim.EventDestroy, e, 0)
	return e
}

// recorded returns an event that marks the present end of a stream.
func (d *driver) recorded(stream uint64) uint64 {
	e := d.newEvent()
	d.must(shim.EventRecord, e, stream, 0, 0)
	return e
}

func (d *driver) alloc(size uint64) uint64 {
	p := d.must(shim.MemAlloc, size, 0, 0, 0)
	d.later(shim.MemFree, p, 0)
	return p
}

// pinned returns page-locked host memory.
func (d *driver) pinned(size int) (p uint64, bytes []byte) {
	p = d.must(shim.HostAlloc, uint64(size), 0, 0, 0)
	d.later(shim.HostFree, p, 0)
	address := uintptr(p)
	return p, unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), size)
}

// block lets work queued in a stream from now on wait until release is called,
// once, which the end of the row does if the row did not.
func (d *driver) block(stream uint64) (release func()) {
	held, done := make(chan struct{}), false
	release = func() {
		if !done {
			done = true
			close(held)
		}
	}
	d.granted(d.table.CallHost(d.context, uintptr(stream), func() { <-held }))
	d.release = append(d.release, release)
	d.undo = append(d.undo, func() { d.call(shim.StreamSynchronize, stream, 0, 0, 0) })
	return release
}

// read returns the first byte at an address of the device.
func (d *driver) read(p uint64) byte {
	to := make([]byte, 1)
	d.granted(d.table.CopyWait(shim.CopyOut, d.context, uintptr(p), to, uintptr(d.newStream())))
	return to[0]
}

// load compiles PTX and finds a kernel in it.
func (d *driver) load(text, kernel string) uint64 {
	log := make([]byte, 4<<10)
	out := d.table.ModuleLoad(d.context, append([]byte(text), 0), log)
	if !out.OK() {
		panic(failure{errors.New(string(log))})
	}
	d.later(shim.ModuleUnload, out.Value, 0)
	f := d.table.ModuleGetFunction(d.context, uintptr(out.Value), kernel)
	d.granted(f)
	return f.Value
}

// launch runs one block of 32 threads with 8-byte arguments.
func (d *driver) launch(function, stream uint64, args ...uint64) shim.Out {
	l := d.record(function, stream, args...)
	return d.table.Launch(l)
}

func (d *driver) record(function, stream uint64, args ...uint64) *shim.Launch {
	l := &shim.Launch{Context: uint64(d.context), Function: function, Stream: stream,
		Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{32, 1, 1}, Size: uint32(8 * len(args))}
	for i, a := range args {
		*(*uint64)(unsafe.Pointer(&l.Args[8*i])) = a
	}
	return l
}

// waits says whether do comes back while a stream is held up. Only a driver
// that waits costs the time.
func (d *driver) waits(do func()) string {
	release := d.block(d.stream)
	d.must(shim.Fill8, d.alloc(4096), 1, 64, d.stream) // work of the device behind the host's
	returned, fault := make(chan struct{}), any(nil)
	go func() {
		defer close(returned)
		defer func() { fault = recover() }()
		do()
	}()
	answer := "does not wait"
	select {
	case <-returned:
	case <-time.After(time.Second):
		answer = "waits"
		release()
		<-returned
	}
	if fault != nil {
		panic(fault)
	}
	return answer
}
