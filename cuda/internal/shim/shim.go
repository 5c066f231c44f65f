//go:build cgo

package shim

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime/cgo"
	"slices"
	"strings"
	"unsafe"
)

// Either difference is negative, and no constant, where the two languages see
// a launch differently.
const (
	_ = uint(unsafe.Sizeof(Launch{}) - C.sizeof_struct_tarn_launch)
	_ = uint(C.sizeof_struct_tarn_launch - unsafe.Sizeof(Launch{}))
	_ = uint(unsafe.Offsetof(Launch{}.Args) - unsafe.Offsetof(C.struct_tarn_launch{}.args))
	_ = uint(unsafe.Offsetof(C.struct_tarn_launch{}.args) - unsafe.Offsetof(Launch{}.Args))
)

// Table is a filled table. It does not change, so it may be used from many
// goroutines, as far as the functions in it may.
type Table struct {
	// The table is C memory: handing it to C costs no look at the pointers in
	// it. It is never freed, like the library that it leads to.
	c       *C.struct_tarn_cuda
	missing []string
}

// Fill makes a table of the addresses that resolve returns for names. A
// missing mandatory entry is an error that wraps what resolve said. A missing
// optional one switches all of its feature off.
func Fill(resolve func(name string) (uintptr, error)) (*Table, error) {
	t := &Table{c: (*C.struct_tarn_cuda)(C.calloc(1, C.sizeof_struct_tarn_cuda))}
	for i := range Entry(C.TARN_ENTRIES) {
		names, feature := Names(i), t.Feature(i)
		function, err := first(names, resolve)
		switch {
		case err == nil:
			C.tarn_set(t.c, C.tarn_entry(C.int(i)), C.uintptr_t(function))
		case feature == "":
			C.free(unsafe.Pointer(t.c))
			return nil, fmt.Errorf("it has no %s: %w", strings.Join(names, " or "), err)
		case !slices.Contains(t.missing, feature):
			t.missing = append(t.missing, feature)
		}
	}
	for i := range Entry(C.TARN_ENTRIES) {
		if slices.Contains(t.missing, t.Feature(i)) {
			C.tarn_set(t.c, C.tarn_entry(C.int(i)), 0)
		}
	}
	return t, nil
}

// first resolves the first name that can be; the error is that of the first.
func first(names []string, resolve func(string) (uintptr, error)) (function uintptr, err error) {
	for _, name := range names {
		f, e := resolve(name)
		if e == nil {
			return f, nil
		}
		if err == nil {
			err = e
		}
	}
	return 0, err
}

// Names returns the symbols that an entry may have, by preference; nothing
// after the last entry.
func Names(i Entry) []string {
	if e := C.tarn_entry(C.int(i)); e != nil {
		return strings.Fields(C.GoString(e.names))
	}
	return nil
}

// Feature returns what an entry is part of; "" for what every driver has.
func (t *Table) Feature(i Entry) string { return C.GoString(C.tarn_entry(C.int(i)).feature) }

// Missing returns the features that are off because the driver lacks a
// function.
func (t *Table) Missing() []string { return t.missing }

// Call calls an entry whose arguments are numbers; what they are is in
// tarn_call of shim.c. A context that is not 0 is made current first.
func (t *Table) Call(e Entry, context uintptr, a, b, c, d uint64) Out {
	return out(C.tarn_call(t.c, C.int(e), C.tarn_handle(context),
		C.uint64_t(a), C.uint64_t(b), C.uint64_t(c), C.uint64_t(d)))
}

// CopyWait is CopyIn or CopyOut between the device and any host memory, Go's
// included; at least one byte. It returns when the copy is done.
func (t *Table) CopyWait(e Entry, context, device uintptr, host []byte, stream uintptr) Out {
	return out(C.tarn_copy_wait(t.c, C.int(e), C.tarn_handle(context), C.tarn_address(device),
		unsafe.Pointer(&host[0]), C.size_t(len(host)), C.tarn_handle(stream)))
}

// CopyPeer copies between the memory of two contexts, in a stream of context.
func (t *Table) CopyPeer(context, to, toContext, from, fromContext uintptr, size int64, stream uintptr) Out {
	return out(C.tarn_copy_peer(t.c, C.tarn_handle(context), C.tarn_address(to), C.tarn_handle(toContext),
		C.tarn_address(from), C.tarn_handle(fromContext), C.size_t(size), C.tarn_handle(stream)))
}

// CallHost queues a call of f in a stream. f runs once, on a thread of the
// driver, and not at all if the call fails or the device is lost before.
func (t *Table) CallHost(context, stream uintptr, f func()) Out {
	h := cgo.NewHandle(f)
	o := out(C.tarn_host_function(t.c, C.tarn_handle(context), C.tarn_handle(stream), C.uintptr_t(h)))
	if !o.OK() {
		h.Delete()
	}
	return o
}

//export tarn_run_host_function
func tarn_run_host_function(function C.uintptr_t) {
	h := cgo.Handle(function)
	f := h.Value().(func())
	h.Delete()
	returned := false
	defer func() {
		// The thread is the driver's: with its goroutine gone, the stream would
		// wait for ever.
		if fault := recover(); fault != nil {
			panic(fault)
		}
		if !returned {
			panic("shim: a host function has ended its goroutine, by runtime.Goexit or a test's FailNow; it must return")
		}
	}()
	f()
	returned = true
}

// DeviceText is DeviceGetName or DeviceGetUUID into text, which for the latter
// has 16 bytes.
func (t *Table) DeviceText(e Entry, device int, text []byte) Out {
	return out(C.tarn_device_text(t.c, C.int(e), C.int(device), unsafe.Pointer(&text[0]), C.int(len(text))))
}

// ModuleLoad loads an image that ends with a NUL. The compiler's complaints
// are in log, up to a NUL.
func (t *Table) ModuleLoad(context uintptr, image, log []byte) Out {
	return out(C.tarn_module_load(t.c, C.tarn_handle(context), unsafe.Pointer(&image[0]),
		(*C.char)(unsafe.Pointer(&log[0])), C.uint(len(log))))
}

// ModuleGetFunction finds a function by its name.
func (t *Table) ModuleGetFunction(context, module uintptr, name string) Out {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	return out(C.tarn_module_get_function(t.c, C.tarn_handle(context), C.tarn_handle(module), cname))
}

// Launch launches a kernel. The record may be used again when it returns. It
// must not lie on a stack, which would move if the function called Go.
func (t *Table) Launch(l *Launch) Out {
	return out(C.tarn_launch(t.c, (*C.struct_tarn_launch)(unsafe.Pointer(l))))
}

// Address returns where the function of an entry is; 0 where there is none.
func (t *Table) Address(e Entry) uintptr {
	return *(*uintptr)(unsafe.Add(unsafe.Pointer(t.c), C.tarn_entry(C.int(e)).offset))
}

// HandOver calls a C function that takes the table, by its address.
func (t *Table) HandOver(function uintptr) { C.tarn_hand_over(C.uintptr_t(function), t.c) }

// Nothing crosses into C and back, with the argument of Launch.
func (t *Table) Nothing(l *Launch) { C.tarn_nothing((*C.struct_tarn_launch)(unsafe.Pointer(l))) }

// ErrorName is cuGetErrorName; "" where the driver does not know.
func (t *Table) ErrorName(code int32) string {
	return C.GoString(C.tarn_get_error_name(t.c, C.tarn_result(code)))
}

func out(o C.struct_tarn_out) Out {
	return Out{Value: uint64(o.value), More: uint64(o.more), Code: int32(o.code),
		Entry: Entry(o.entry), Missing: o.missing != 0}
}
