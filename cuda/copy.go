package cuda

import "tarn/cuda/internal/shim"

// Copy queues a copy of size bytes within the device. The two ranges must not
// overlap.
func (c *Context) Copy(s Stream, to, from DevicePtr, size int64) error {
	return c.copy(shim.Copy, s, uint64(to), uint64(from), size)
}

// CopyIn queues a copy of size bytes of pinned memory to the device. The
// pinned memory must stay as it is until the copy is done.
func (c *Context) CopyIn(s Stream, to DevicePtr, from HostPtr, size int64) error {
	return c.copy(shim.CopyIn, s, uint64(to), uint64(from), size)
}

// CopyOut queues a copy of size bytes of the device to pinned memory.
func (c *Context) CopyOut(s Stream, to HostPtr, from DevicePtr, size int64) error {
	return c.copy(shim.CopyOut, s, uint64(to), uint64(from), size)
}

func (c *Context) copy(e shim.Entry, s Stream, to, from uint64, size int64) error {
	if size < 0 {
		return refuse(e, InvalidValue)
	}
	_, err := c.call(e, to, from, uint64(size), c.on(s))
	return err
}

// Upload copies bytes to the device, in order with the stream's other work. It
// returns when the stream is done with that and the copy: the driver may not
// keep memory of the Go heap.
func (c *Context) Upload(s Stream, to DevicePtr, from []byte) error {
	return c.copyWait(shim.CopyIn, s, to, from)
}

// Download copies from the device, in order with the stream's other work. It
// returns when the bytes are there.
func (c *Context) Download(s Stream, to []byte, from DevicePtr) error {
	return c.copyWait(shim.CopyOut, s, from, to)
}

func (c *Context) copyWait(e shim.Entry, s Stream, device DevicePtr, host []byte) error {
	if err := c.usable(); err != nil || len(host) == 0 {
		return err
	}
	return c.check(c.table.CopyWait(e, c.handle, uintptr(device), host, uintptr(c.on(s))))
}
