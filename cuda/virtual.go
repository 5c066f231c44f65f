package cuda

import "tarn/cuda/internal/shim"

// Page names physical memory of a device that has no address by itself. The
// zero value is no page.
type Page uint64

// Granularity returns what sizes and addresses of the virtual-memory calls are
// multiples of, in bytes, and what they had better be multiples of. Where the
// calls are off, they return a [FeatureError].
func (c *Context) Granularity() (least, recommended int64, err error) {
	device := uint64(c.device.handle)
	small, err := c.call(shim.Granularity, device, 0, 0, 0)
	if err != nil {
		return 0, 0, err
	}
	large, err := c.call(shim.Granularity, device, 1, 0, 0)
	return int64(small.Value), int64(large.Value), err
}

// Reserve returns a range of addresses with no memory behind it, aligned to
// alignment, a power of two; 0 leaves that to the driver.
func (c *Context) Reserve(size, alignment int64) (DevicePtr, error) {
	if size <= 0 || alignment < 0 {
		return 0, refuse(shim.Reserve, InvalidValue)
	}
	p, err := c.begin(kindRange, shim.Reserve, uint64(size), uint64(alignment), 0, 0)
	return DevicePtr(p), err
}

// ReleaseRange gives back a whole range; nothing may be mapped in it.
func (c *Context) ReleaseRange(p DevicePtr, size int64) error {
	return c.end(kindRange, shim.ReleaseRange, uint64(p), uint64(size))
}

// Create makes a page of size bytes. An [Error] with code [OutOfMemory] means
// that the device has not so many.
func (c *Context) Create(size int64) (Page, error) {
	if size <= 0 {
		return 0, refuse(shim.Create, InvalidValue)
	}
	pg, err := c.begin(kindPage, shim.Create, uint64(c.device.handle), uint64(size), 0, 0)
	return Page(pg), err
}

// Release gives up the page's name. The memory lives on while it is mapped.
func (c *Context) Release(pg Page) error {
	return c.end(kindPage, shim.Release, uint64(pg), 0)
}

// Map puts a whole page at an address of a range, where nothing is mapped. It
// cannot be touched before SetAccess.
func (c *Context) Map(p DevicePtr, size int64, pg Page) error {
	_, err := c.call(shim.Map, uint64(p), uint64(size), uint64(pg), 0)
	return err
}

// SetAccess lets the device read and write a run of mapped pages.
func (c *Context) SetAccess(p DevicePtr, size int64) error {
	return c.SetAccessFrom(p, size, c.device)
}

// SetAccessFrom lets a device read and write a run of mapped pages, whichever
// device they are of. Of another one it must be able to: see Device.CanAccess.
// Devices that had access keep it.
func (c *Context) SetAccessFrom(p DevicePtr, size int64, d *Device) error {
	_, err := c.call(shim.SetAccess, uint64(p), uint64(size), uint64(d.handle), 0)
	return err
}

// Unmap takes away a run of whole mappings. It need not wait for work that
// uses them: the caller has to.
func (c *Context) Unmap(p DevicePtr, size int64) error {
	_, err := c.call(shim.Unmap, uint64(p), uint64(size), 0, 0)
	return err
}
