package cuda

import "tarn/cuda/internal/shim"

// CallHost queues a call of f in a stream. f runs once, after the work that is
// in the stream and before what comes later, on a thread of the driver's; not at
// all if the device is lost before. It must not call the driver, nor wait for
// who does. A stream that is captured is refused with [CaptureUnsupported]: its
// graph could run f any number of times.
func (c *Context) CallHost(s Stream, f func()) error {
	if f == nil {
		return refuse(shim.HostFunction, InvalidValue)
	}
	if err := c.uncaptured(shim.HostFunction, s); err != nil {
		return err
	}
	return c.check(c.table.CallHost(c.handle, uintptr(c.on(s)), f))
}

// uncaptured refuses a call that has no place in a capture. It leaves the
// capture as it is. A driver without graphs captures nothing.
func (c *Context) uncaptured(e shim.Entry, s Stream) error {
	if err := c.usable(); err != nil {
		return err
	}
	out := c.table.Call(shim.IsCapturing, c.handle, c.on(s), 0, 0, 0)
	switch {
	case out.Missing:
		return nil
	case out.OK() && CaptureStatus(out.Value) != NotCapturing:
		return refuse(e, CaptureUnsupported)
	}
	return c.check(out)
}
