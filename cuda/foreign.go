package cuda

import "tarn/cuda/internal/shim"

// Foreign returns what the C code of another library needs to work on the
// device: the address of the driver's cuCtxSetCurrent, and the CUcontext that it
// is called with before all else, in the same step into C, since goroutines
// change threads. The streams to use are those of the context, [Context.Default]
// in place of the zero Stream.
func (c *Context) Foreign() (setCurrent, context uintptr, err error) {
	if err := c.usable(); err != nil {
		return 0, 0, err
	}
	return c.table.Address(shim.SetCurrent), c.handle, nil
}

// Launched is called when such code has queued work in a stream. Like a launch
// it waits for it with TARN_LAUNCH_BLOCKING=1, and returns the fault.
func (c *Context) Launched(s Stream) error { return c.check(c.settle(c.on(s))) }
