//go:build cgo && (linux || darwin)

package dl

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// dlerror speaks of the last call on the same OS thread. So each function
// here asks for the text before it returns to Go, which may go on on another
// thread, and hands back a copy that the caller frees.
static char *last_error(void) {
	const char *text = dlerror();
	return strdup(text ? text : "the system gave no reason");
}

static void *open_library(const char *name, char **fault) {
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!handle) *fault = last_error();
	return handle;
}

static uintptr_t find_symbol(void *handle, const char *name, char **fault) {
	dlerror();
	void *address = dlsym(handle, name);
	if (!address) *fault = last_error();
	return (uintptr_t)address;
}

static char *close_library(void *handle) {
	return dlclose(handle) ? last_error() : NULL;
}
*/
import "C"

import (
	"errors"
	"unsafe"
)

// Library is an open shared library.
type Library struct {
	handle unsafe.Pointer // from dlopen; C memory
}

// Open opens the library of that name or path. All its symbols are resolved
// at once and stay private to it. The error is the system's own text.
func Open(name string) (*Library, error) {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	var fault *C.char
	handle := C.open_library(cname, &fault)
	if handle == nil {
		return nil, taken(fault)
	}
	return &Library{handle: handle}, nil
}

// Symbol returns the address of a function or variable of the library. The
// error is the system's own text.
func (l *Library) Symbol(name string) (uintptr, error) {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	var fault *C.char
	address := C.find_symbol(l.handle, cname, &fault)
	if address == 0 {
		return 0, taken(fault)
	}
	return uintptr(address), nil
}

// Close lets go of the library. Nobody may be in its code or hold one of its
// addresses.
func (l *Library) Close() error {
	if fault := C.close_library(l.handle); fault != nil {
		return taken(fault)
	}
	return nil
}

// taken makes an error of a C string and frees it.
func taken(fault *C.char) error {
	defer C.free(unsafe.Pointer(fault))
	return errors.New(C.GoString(fault))
}
