package hostmem

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"tarn/memory"
)

// hugePage is what one entry of the second page-table level covers on amd64
// and on arm64 with 4 KiB pages. A wrong guess costs alignment, nothing else.
const hugePage = 2 << 20

// mapPages maps size bytes, whole pages. From a huge page up it starts on one
// and asks for them: a kernel before 6.7 places a mapping at any page, and
// then its first and last 2 MiB cannot be huge.
func mapPages(size int64) (unsafe.Pointer, error) {
	if size < hugePage {
		return mmap(size)
	}
	base, err := mmap(size + hugePage)
	if err != nil {
		return nil, err
	}
	head := -int64(uintptr(base)) & (hugePage - 1)
	err = errors.Join(
		trim(base, head),
		trim(unsafe.Add(base, head+size), hugePage-head),
	)
	if err != nil {
		return nil, errors.Join(err, trim(base, size+hugePage))
	}
	p := unsafe.Add(base, head)
	// A kernel built without huge pages refuses the advice; small ones do.
	_ = unix.Madvise(unsafe.Slice((*byte)(p), size), unix.MADV_HUGEPAGE)
	return p, nil
}

func mmap(size int64) (unsafe.Pointer, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if errors.Is(err, unix.ENOMEM) {
		return nil, fmt.Errorf("%w: mmap: %w", memory.ErrUpstreamFull, err)
	}
	return p, err
}

func trim(p unsafe.Pointer, size int64) error {
	if size == 0 {
		return nil
	}
	return unix.MunmapPtr(p, uintptr(size))
}

func unmapPages(p unsafe.Pointer, size int64) error {
	return unix.MunmapPtr(p, uintptr(size))
}

func discardPages(p unsafe.Pointer, size int64) error {
	return unix.Madvise(unsafe.Slice((*byte)(p), size), unix.MADV_DONTNEED)
}
