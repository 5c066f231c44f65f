package memorytest

import (
	"math"
	"unsafe"

	"golang.org/x/sys/unix"

	"tarn/cuda"
	"tarn/memory/hostmem"
)

// realMemory is virtual memory of the system: pages are parts of a file in
// memory, ranges are mappings of nothing that pages are mapped over. What was
// not set accessible, or was unmapped, cannot be touched at all.
type realMemory struct {
	*hostmem.Upstream // for plain allocations

	fd     int                               // the file, or -1 without virtual memory
	end    int64                             // of the file; offsets are not used twice
	ranges map[cuda.DevicePtr]unsafe.Pointer // by first usable address, the start of the mapping
	slack  int64                             // a range's mapping is longer by this, to align it
}

func newRealMemory(granularity int64) (backing, error) {
	host, err := hostmem.New(hostmem.Config{Capacity: math.MaxInt64}) // the fake counts
	if err != nil {
		return nil, err
	}
	m := &realMemory{Upstream: host, fd: -1, ranges: make(map[cuda.DevicePtr]unsafe.Pointer), slack: granularity}
	if granularity != 0 {
		m.fd, err = unix.MemfdCreate("fake device", unix.MFD_CLOEXEC)
	}
	return m, err
}

func (m *realMemory) alloc(size, _ int64) (cuda.DevicePtr, error) { return m.Alloc(size) }
func (m *realMemory) free(p cuda.DevicePtr, size int64) error     { return m.Free(p, size) }

const nothing = unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_NORESERVE

func (m *realMemory) reserve(size, granularity int64) (cuda.DevicePtr, error) {
	base, err := unix.MmapPtr(-1, 0, nil, uintptr(size+m.slack), unix.PROT_NONE, nothing)
	if err != nil {
		return 0, err
	}
	p := cuda.DevicePtr(roundUp(int64(uintptr(base)), granularity))
	m.ranges[p] = base
	return p, nil
}

func (m *realMemory) releaseRange(p cuda.DevicePtr, size int64) error {
	if err := unix.MunmapPtr(m.ranges[p], uintptr(size+m.slack)); err != nil {
		return err
	}
	delete(m.ranges, p)
	return nil
}

func (m *realMemory) create(size int64) (offset int64, err error) {
	if err := unix.Ftruncate(m.fd, m.end+size); err != nil {
		return 0, err
	}
	offset = m.end
	m.end += size
	return offset, nil
}

func (m *realMemory) drop(offset, size int64) error {
	return unix.Fallocate(m.fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, size)
}

func (m *realMemory) place(p cuda.DevicePtr, size, offset int64) error {
	_, err := unix.MmapPtr(m.fd, offset, m.pointer(p), uintptr(size), unix.PROT_NONE, unix.MAP_SHARED|unix.MAP_FIXED)
	return err
}

func (m *realMemory) allow(p cuda.DevicePtr, size int64) error {
	return unix.Mprotect(unsafe.Slice((*byte)(m.pointer(p)), size), unix.PROT_READ|unix.PROT_WRITE)
}

func (m *realMemory) remove(p cuda.DevicePtr, size int64) error {
	_, err := unix.MmapPtr(-1, 0, m.pointer(p), uintptr(size), unix.PROT_NONE, nothing|unix.MAP_FIXED)
	return err
}

// pointer turns an address back into the pointer that its range came from.
func (m *realMemory) pointer(p cuda.DevicePtr) unsafe.Pointer {
	var first cuda.DevicePtr
	for start := range m.ranges {
		if start <= p && start > first {
			first = start
		}
	}
	base := m.ranges[first]
	return unsafe.Add(base, uintptr(p)-uintptr(base))
}

func (m *realMemory) close() error {
	if m.fd < 0 {
		return nil
	}
	fd := m.fd
	m.fd = -1
	return unix.Close(fd)
}
