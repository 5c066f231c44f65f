package cuda

import "tarn/cuda/internal/shim"

const streamNonBlocking = 1 // CU_STREAM_NON_BLOCKING

// Priorities returns the numbers of the least and of the most urgent priority
// that streams can have. The most urgent is the lower number; 0 is ordinary.
func (c *Context) Priorities() (least, most int, err error) {
	out, err := c.call(shim.PriorityRange, 0, 0, 0, 0)
	return int(int64(out.Value)), int(int64(out.More)), err
}

// NewStream makes a stream. A priority out of the range of Priorities is taken
// to its nearer end. The stream does not wait for the driver's default stream.
func (c *Context) NewStream(priority int) (Stream, error) {
	h, err := c.begin(kindStream, shim.StreamCreate, streamNonBlocking, uint64(priority), 0, 0)
	if err != nil {
		return 0, err
	}
	s := Stream(h)
	c.streams.Store(s, nil)
	return s, nil
}

// DestroyStream gives a stream back that NewStream made. It does not wait: work
// in it goes on. All others are refused with [InvalidHandle]: the default stream
// goes with the context, and a stream from elsewhere is its maker's.
func (c *Context) DestroyStream(s Stream) error {
	if err := c.usable(); err != nil {
		return err
	}
	if _, ours := c.streams.LoadAndDelete(s); !ours {
		return refuse(shim.StreamDestroy, InvalidHandle)
	}
	err := c.end(kindStream, shim.StreamDestroy, uint64(s), 0)
	if err != nil {
		c.streams.Store(s, nil)
	}
	return err
}

// SyncStream waits for the work that is in the stream.
func (c *Context) SyncStream(s Stream) error {
	_, err := c.call(shim.StreamSynchronize, c.on(s), 0, 0, 0)
	return err
}

// QueryStream reports whether the work that is in the stream is done.
func (c *Context) QueryStream(s Stream) (done bool, err error) {
	return c.query(shim.StreamQuery, c.on(s))
}

// query is a call whose answer may be that something is not ready.
func (c *Context) query(e shim.Entry, handle uint64) (done bool, err error) {
	if err := c.usable(); err != nil {
		return false, err
	}
	out := c.table.Call(e, c.handle, handle, 0, 0, 0)
	if Code(out.Code) == NotReady {
		return false, nil
	}
	return out.OK(), c.check(out)
}
