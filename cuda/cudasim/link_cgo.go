//go:build cgo && (linux || darwin)

package cudasim

// #cgo CFLAGS: -I${SRCDIR}/../internal/shim
// #include <stdlib.h>
// #include "table.h"
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"tarn/cuda"
)

// symbol returns the address of what stands for a function of the driver.
func (m *Machine) symbol(name string) (uintptr, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	if p := C.tarnsim_symbol(text, C.int(m.slot)); p != 0 {
		return uintptr(p), nil
	}
	return 0, fmt.Errorf("cudasim: the driver has no %s", name)
}

// call is a call of a function of the driver while it is checked.
type call struct {
	name    string
	context *context
	machine *Machine
	thread  uintptr
	code    cuda.Code
}

// enter begins a call that needs a current context: code says why it cannot go
// on.
func enter(name string) call {
	t := C.tarnsim_thread()
	c, ok := lookup[*context](uintptr(t.context))
	if !ok {
		return call{name: name, code: invalidContext}
	}
	k := call{name: name, context: c, machine: c.owner(), thread: uintptr(t.id)}
	k.check(t.in_host_function != 0, c.device, c.device.code())
	return k
}

// enterDevice begins a call that is about a device by its CUdevice.
func enterDevice(name string, number C.int) (*device, cuda.Code) {
	d := deviceAt(int(number))
	if d == nil {
		return nil, invalidDevice
	}
	k := call{name: name, machine: d.machine}
	k.check(C.tarnsim_thread().in_host_function != 0, d, cuda.Success)
	return d, k.code
}

// check refuses the call where the device is lost or a fault is due.
func (k *call) check(inHost bool, d *device, lost cuda.Code) {
	switch {
	case inHost:
		k.machine.report(&MisuseError{k.name, "a host function may not call the driver"})
		k.code = notPermitted
	case lost != cuda.Success:
		k.code = lost
	default:
		k.code = d.fault(k.name)
	}
}

// strict has the call refused where a capture that is not relaxed forbids it.
func (k *call) strict() {
	if k.code == cuda.Success && k.machine.strict.Load() != 0 {
		k.code = k.machine.forbids(k.thread)
	}
}

func (k *call) ok() bool { return k.code == cuda.Success }

// fail keeps the first code.
func (k *call) fail(code cuda.Code) {
	if k.code == cuda.Success {
		k.code = code
	}
}

// stream returns the stream that an argument stands for; nil once the call has
// failed.
func (k *call) stream(handle C.tarn_handle) *stream {
	if !k.ok() {
		return nil
	}
	s, code := k.context.stream(uintptr(handle), k.thread)
	k.fail(code)
	return s
}

// argument returns what an argument stands for, and fails the call if it is
// not of the machine.
func argument[T owned](k *call, handle C.tarn_handle) T {
	var none T
	if !k.ok() {
		return none
	}
	thing, ok := find[T](k.machine, uintptr(handle))
	if !ok {
		k.fail(cuda.InvalidHandle)
	}
	return thing
}

// result ends a call.
func result(code cuda.Code) C.tarn_result { return C.tarn_result(code) }

// names are the texts that tarnsim_get_error_name has handed out. They stay.
var names sync.Map // cuda.Code to *C.char
