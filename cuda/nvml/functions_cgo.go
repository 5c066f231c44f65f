//go:build cgo && (linux || darwin)

package nvml

/*
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// nvmlMemory_t, and nvmlProcessInfo_t of the versions 2 and 3 of the call.
struct memory {
	unsigned long long total, free, used;
};
struct process {
	unsigned int pid;
	unsigned long long used;
	unsigned int instance, compute_instance;
};
_Static_assert(sizeof(struct memory) == 24, "nvmlMemory_t");
_Static_assert(sizeof(struct process) == 24, "nvmlProcessInfo_t");
_Static_assert(offsetof(struct process, used) == 8, "nvmlProcessInfo_t.usedGpuMemory");

// nvmlDevice_t is a pointer that nobody but the library follows.
static int call(uintptr_t f) { return ((int (*)(void))f)(); }
static const char *text(uintptr_t f, int code) { return ((const char *(*)(int))f)(code); }
static int device(uintptr_t f, const char *uuid, uintptr_t *d) {
	return ((int (*)(const char *, uintptr_t *))f)(uuid, d);
}
static int memory(uintptr_t f, uintptr_t d, struct memory *m) {
	return ((int (*)(uintptr_t, struct memory *))f)(d, m);
}
static int processes(uintptr_t f, uintptr_t d, unsigned int *n, struct process *list) {
	return ((int (*)(uintptr_t, unsigned int *, struct process *))f)(d, n, list);
}
*/
import "C"

import (
	"fmt"
	"strings"
	"unsafe"

	"tarn/cuda/internal/dl"
)

// symbols are addresses of functions.
type symbols struct {
	initialise, end, words, byUUID, info, running C.uintptr_t
}

// find finds the functions by their names, the newest of those with the same
// signature.
func find(lib *dl.Library) (functions, error) {
	s := new(symbols)
	for _, want := range []struct {
		at    *C.uintptr_t
		names string
	}{
		{&s.initialise, "nvmlInit_v2"}, {&s.end, "nvmlShutdown"}, {&s.words, "nvmlErrorString"},
		{&s.byUUID, "nvmlDeviceGetHandleByUUID"}, {&s.info, "nvmlDeviceGetMemoryInfo"},
		{&s.running, "nvmlDeviceGetComputeRunningProcesses_v3 nvmlDeviceGetComputeRunningProcesses_v2"},
	} {
		var first error
		for _, name := range strings.Fields(want.names) {
			address, err := lib.Symbol(name)
			if *want.at = C.uintptr_t(address); err == nil {
				first = nil
				break
			}
			if first == nil {
				first = fmt.Errorf("it has no %s: %w", strings.ReplaceAll(want.names, " ", " or "), err)
			}
		}
		if first != nil {
			return nil, first
		}
	}
	return s, nil
}

func (s *symbols) init() int     { return int(C.call(s.initialise)) }
func (s *symbols) shutdown() int { return int(C.call(s.end)) }

func (s *symbols) text(code int) string { return C.GoString(C.text(s.words, C.int(code))) }

func (s *symbols) device(uuid string) (uintptr, int) {
	name := C.CString(uuid)
	defer C.free(unsafe.Pointer(name))
	var d C.uintptr_t
	code := C.device(s.byUUID, name, &d)
	return uintptr(d), int(code)
}

func (s *symbols) memory(device uintptr) (Memory, int) {
	var m C.struct_memory
	code := C.memory(s.info, C.uintptr_t(device), &m)
	return Memory{Total: int64(m.total), Free: int64(m.free), Used: int64(m.used)}, int(code)
}

func (s *symbols) processes(device uintptr, room []Process) (int, int) {
	n := C.uint(len(room))
	list := make([]C.struct_process, len(room))
	code := C.processes(s.running, C.uintptr_t(device), &n, unsafe.SliceData(list))
	for i := range list[:min(int(n), len(list))] {
		// NVML_VALUE_NOT_AVAILABLE is all ones, -1 as a signed number.
		room[i] = Process{PID: int(list[i].pid), Memory: int64(list[i].used)}
	}
	return int(n), int(code)
}
