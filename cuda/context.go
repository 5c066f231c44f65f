package cuda

import (
	"os"
	"sync/atomic"

	"tarn/cuda/internal/shim"
)

// Context is the use of one device. All its methods may be called from many
// goroutines, on any thread: each makes the context current for its own call
// and leaves it so. The context is the device's primary one, which other CUDA
// libraries in the program share.
//
// A method that waits stops the goroutine that calls it, and no other.
type Context struct {
	device *Device
	table  *shim.Table
	handle uintptr // CUcontext
	stream Stream  // the default one

	blocking bool // TARN_LAUNCH_BLOCKING=1
	closed   atomic.Bool
	lost     atomic.Pointer[LostError]
	live     [kinds]atomic.Int64
}

// Open begins the use of the device. With TARN_LAUNCH_BLOCKING=1 in the
// environment each launch waits until the kernel, or the graph, is done, so that
// a fault is an error of the launch that caused it; in a capture none waits.
func (d *Device) Open() (*Context, error) {
	t := d.library.table
	out := t.Call(shim.PrimaryRetain, 0, uint64(d.handle), 0, 0, 0)
	if err := check(t, out); err != nil {
		return nil, err
	}
	c := &Context{device: d, table: t, handle: uintptr(out.Value),
		blocking: os.Getenv("TARN_LAUNCH_BLOCKING") == "1"}
	out, err := c.call(shim.StreamCreate, streamNonBlocking, 0, 0, 0)
	if err != nil {
		_ = c.release() // the first error is the one to tell
		return nil, err
	}
	c.stream = Stream(out.Value)
	return c, nil
}

// Device returns the device that the context is of.
func (c *Context) Device() *Device { return c.device }

// Default returns the default stream, which the zero Stream stands for too. It
// is a stream of ours, which neither waits for the driver's own default stream
// nor makes that one wait.
func (c *Context) Default() Stream { return c.stream }

// Lost returns the error that everything ends with since the device was lost,
// nil as long as nobody has noticed that it is. It calls nothing.
func (c *Context) Lost() error {
	if e := c.lost.Load(); e != nil {
		return e
	}
	return nil
}

// Synchronize waits for all work on the device that was queued before.
func (c *Context) Synchronize() error {
	_, err := c.call(shim.Synchronize, 0, 0, 0, 0)
	return err
}

// Close ends the use of the device. It waits for the default stream. While
// something made by the context is live it does nothing and returns an
// [InUseError], since the driver would take away what callers still hold;
// what a lost device had is given up instead, pages until the program ends. All other calls must have
// returned. Those that come later get [ErrClosed]; so does a second Close.
func (c *Context) Close() error {
	lost := c.lost.Load() != nil
	if e := c.inUse(); e != nil && !lost {
		return e
	}
	if !lost {
		if err := c.SyncStream(c.stream); err != nil && c.lost.Load() == nil {
			return err
		}
	}
	if c.closed.Swap(true) {
		return ErrClosed
	}
	var err error
	if c.lost.Load() == nil {
		err = check(c.table, c.table.Call(shim.StreamDestroy, c.handle, uint64(c.stream), 0, 0, 0))
	}
	c.device.library.books.giveUp(c)
	if e := c.release(); err == nil {
		err = e
	}
	return err
}

func (c *Context) release() error {
	return check(c.table, c.table.Call(shim.PrimaryRelease, 0, uint64(c.device.handle), 0, 0, 0))
}

// usable says why nothing can be called.
func (c *Context) usable() error {
	if c.closed.Load() {
		return ErrClosed
	}
	return c.Lost()
}

// call calls an entry that takes numbers, with the context current.
func (c *Context) call(e shim.Entry, a, b, x, y uint64) (shim.Out, error) {
	if err := c.usable(); err != nil {
		return shim.Out{}, err
	}
	out := c.table.Call(e, c.handle, a, b, x, y)
	return out, c.check(out)
}

// check notices that the device is lost.
func (c *Context) check(out shim.Out) error {
	if out.OK() {
		return nil
	}
	if out.Missing || !Code(out.Code).Sticky() {
		return check(c.table, out)
	}
	c.lost.CompareAndSwap(nil, &LostError{Device: c.device.String(), Cause: driverError(c.table, out)})
	return c.lost.Load()
}

// refuse is the error of a call that was not made: an argument that the driver
// would take for another one, or not survive.
func refuse(e shim.Entry, code Code) error {
	return &Error{Op: e.Op(), Code: code, Name: code.String()}
}

// on returns the driver's handle of a stream.
func (c *Context) on(s Stream) uint64 {
	if s == 0 {
		s = c.stream
	}
	return uint64(s)
}
