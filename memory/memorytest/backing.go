package memorytest

import "tarn/cuda"

// backing gives a [Fake] its addresses, and maybe memory behind them. It is
// called with the fake's lock held and with arguments that the fake checked.
type backing interface {
	alloc(size, alignment int64) (cuda.DevicePtr, error)
	free(p cuda.DevicePtr, size int64) error

	reserve(size, granularity int64) (cuda.DevicePtr, error)
	releaseRange(p cuda.DevicePtr, size int64) error
	// create makes a page and returns what names it in place and drop.
	create(size int64) (offset int64, err error)
	drop(offset, size int64) error
	// place puts a page at an address, out of reach until allow.
	place(p cuda.DevicePtr, size, offset int64) error
	allow(p cuda.DevicePtr, size int64) error
	remove(p cuda.DevicePtr, size int64) error

	close() error
}

// firstAddress of a device without memory: where a process hardly ever has a
// mapping, so that code which follows a device's address faults.
const firstAddress = 0x7000_0000 << (16 * (^uintptr(0) >> 63)) // less where addresses have 32 bits

// counter makes up addresses, each larger than all before.
type counter struct {
	next     cuda.DevicePtr
	adjacent bool // plain allocations have no gaps between them
}

// alloc aligns to exactly the alignment, never by luck to twice that.
func (c *counter) alloc(size, alignment int64) (cuda.DevicePtr, error) {
	if c.adjacent {
		return c.advance(size, alignment, 0), nil
	}
	c.advance(0, 2*alignment, alignment)
	return c.advance(size, alignment, alignment), nil
}

func (c *counter) reserve(size, granularity int64) (cuda.DevicePtr, error) {
	return c.advance(size, granularity, granularity), nil
}

func (c *counter) advance(size, alignment, gap int64) cuda.DevicePtr {
	p := cuda.DevicePtr(roundUp(int64(c.next), alignment))
	c.next = p + cuda.DevicePtr(size+gap)
	return p
}

func (*counter) free(cuda.DevicePtr, int64) error         { return nil }
func (*counter) releaseRange(cuda.DevicePtr, int64) error { return nil }
func (*counter) create(int64) (int64, error)              { return 0, nil }
func (*counter) drop(int64, int64) error                  { return nil }
func (*counter) place(cuda.DevicePtr, int64, int64) error { return nil }
func (*counter) allow(cuda.DevicePtr, int64) error        { return nil }
func (*counter) remove(cuda.DevicePtr, int64) error       { return nil }
func (*counter) close() error                             { return nil }
