package cuda

import "tarn/cuda/internal/shim"

// MemInfo returns the bytes of the device's memory that are free and that
// exist, other programs included.
func (c *Context) MemInfo() (free, total int64, err error) {
	out, err := c.call(shim.MemGetInfo, 0, 0, 0, 0)
	return int64(out.Value), int64(out.More), err
}

// Alloc returns size bytes of device memory, size > 0, with anything in them.
// It may wait for the device. An [Error] with code [OutOfMemory] means that
// there are not so many.
func (c *Context) Alloc(size int64) (DevicePtr, error) {
	if size <= 0 {
		return 0, refuse(shim.MemAlloc, InvalidValue)
	}
	p, err := c.begin(kindAllocation, shim.MemAlloc, uint64(size), 0, 0, 0)
	return DevicePtr(p), err
}

// Free gives back what Alloc returned, of any context of the library. It may
// wait for the device.
func (c *Context) Free(p DevicePtr) error {
	if p == 0 { // which the driver would take without a word
		return refuse(shim.MemFree, InvalidValue)
	}
	return c.end(kindAllocation, shim.MemFree, uint64(p), 0)
}

// Fill8 queues the setting of count bytes.
func (c *Context) Fill8(s Stream, p DevicePtr, value uint8, count int64) error {
	if count < 0 {
		return refuse(shim.Fill8, InvalidValue)
	}
	_, err := c.call(shim.Fill8, uint64(p), uint64(value), uint64(count), c.on(s))
	return err
}

// Fill32 queues the setting of count words of 4 bytes, at an address that is a
// multiple of 4.
func (c *Context) Fill32(s Stream, p DevicePtr, value uint32, count int64) error {
	if count < 0 {
		return refuse(shim.Fill32, InvalidValue)
	}
	_, err := c.call(shim.Fill32, uint64(p), uint64(value), uint64(count), c.on(s))
	return err
}
