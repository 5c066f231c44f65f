//go:build cgo

package shim

// #include "shim.h"
import "C"

import (
	"fmt"
	"strings"
)

// Table is a filled table. It does not change, so it may be used from many
// goroutines, as far as the functions in it may.
type Table struct {
	c       C.struct_tarn_cuda // holds addresses of functions, no Go pointer
	missing []string
}

// Fill makes a table of the addresses that resolve returns for names. A
// missing mandatory entry is an error that wraps what resolve said.
func Fill(resolve func(name string) (uintptr, error)) (*Table, error) {
	t := new(Table)
	for i := C.int(0); ; i++ {
		e := C.tarn_entry(i)
		if e == nil {
			return t, nil
		}
		names := strings.Fields(C.GoString(e.names))
		function, err := first(names, resolve)
		if err == nil {
			C.tarn_set(&t.c, e, C.uintptr_t(function))
			continue
		}
		feature := C.GoString(e.feature)
		if feature == "" {
			return nil, fmt.Errorf("it has no %s: %w", strings.Join(names, " or "), err)
		}
		t.missing = append(t.missing, feature)
	}
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

// Missing returns the features that are off because the driver lacks a
// function.
func (t *Table) Missing() []string { return t.missing }

// Init is cuInit.
func (t *Table) Init(flags uint32) (code int32) {
	return int32(C.tarn_init(&t.c, C.uint(flags)))
}

// DriverGetVersion is cuDriverGetVersion. It works before Init.
func (t *Table) DriverGetVersion() (version int, code int32) {
	var v C.int
	code = int32(C.tarn_driver_get_version(&t.c, &v))
	return int(v), code
}

// DeviceGetCount is cuDeviceGetCount.
func (t *Table) DeviceGetCount() (count int, code int32) {
	var n C.int
	code = int32(C.tarn_device_get_count(&t.c, &n))
	return int(n), code
}

// ErrorName is cuGetErrorName; "" where the driver does not know.
func (t *Table) ErrorName(code int32) string {
	return C.GoString(C.tarn_get_error_name(&t.c, C.tarn_result(code)))
}
