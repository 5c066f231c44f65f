//go:build unix && !linux

package hostmem

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"tarn/memory"
)

// mapPages maps size bytes, whole pages.
func mapPages(size int64) (unsafe.Pointer, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if errors.Is(err, unix.ENOMEM) {
		return nil, fmt.Errorf("%w: mmap: %w", memory.ErrUpstreamFull, err)
	}
	return p, err
}

func unmapPages(p unsafe.Pointer, size int64) error {
	return unix.MunmapPtr(p, uintptr(size))
}

// discardPages uses MADV_FREE, the advice that the BSDs act on: the pages go
// when the system wants them.
func discardPages(p unsafe.Pointer, size int64) error {
	return unix.Madvise(unsafe.Slice((*byte)(p), size), unix.MADV_FREE)
}
