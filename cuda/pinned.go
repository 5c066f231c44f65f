package cuda

import (
	"unsafe"

	"tarn/cuda/internal/shim"
)

// HostPtr is an address in host memory that is pinned: the device reads and
// writes it by itself. Like a DevicePtr it is an integer, and outside the Go
// heap. The zero value is no address.
type HostPtr uintptr

const hostPortable = 1 // CU_MEMHOSTALLOC_PORTABLE: pinned for all devices

// AllocPinned returns size bytes of pinned host memory, size > 0, which all
// devices can use. It is slow, and takes memory away from the whole machine.
func (c *Context) AllocPinned(size int64) (HostPtr, error) {
	if size <= 0 {
		return 0, refuse(shim.HostAlloc, InvalidValue)
	}
	p, err := c.begin(kindPinned, shim.HostAlloc, uint64(size), hostPortable, 0, 0)
	return HostPtr(p), err
}

// FreePinned gives back what AllocPinned returned. It may wait for the device.
func (c *Context) FreePinned(p HostPtr) error {
	if p == 0 {
		return refuse(shim.HostFree, InvalidValue)
	}
	return c.end(kindPinned, shim.HostFree, uint64(p), 0)
}

// Bytes returns size bytes at p as a slice. It is good until FreePinned, and
// must not be touched while the device writes there.
func (p HostPtr) Bytes(size int64) []byte {
	// The address is no Go pointer, so reading the integer as one breaks no
	// rule of the garbage collector.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&p)), size)
}
