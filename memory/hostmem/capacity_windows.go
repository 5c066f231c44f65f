package hostmem

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

var globalMemoryStatusEx = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

// memoryStatusEx is MEMORYSTATUSEX of sysinfoapi.h.
type memoryStatusEx struct {
	length     uint32
	memoryLoad uint32
	totalPhys  uint64
	_          [6]uint64 // availPhys, page file and virtual address space
}

func machineMemory() (int64, error) {
	var s memoryStatusEx
	s.length = uint32(unsafe.Sizeof(s))
	if err := globalMemoryStatusEx.Find(); err != nil {
		return 0, err
	}
	if ok, _, err := globalMemoryStatusEx.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return 0, err
	}
	return int64(s.totalPhys), nil
}
