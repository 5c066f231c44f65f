package cuda

import (
	"math"

	"tarn/cuda/internal/shim"
)

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
	number := min(max(priority, math.MinInt32), math.MaxInt32) // a C int
	s, err := c.begin(kindStream, shim.StreamCreate, streamNonBlocking, uint64(number), 0, 0)
	return Stream(s), err
}

// DestroyStream gives a stream back that NewStream made. It does not wait: work
// in it goes on. All others are refused with [InvalidHandle]: the default stream
// goes with the context, and a stream from elsewhere is its maker's.
func (c *Context) DestroyStream(s Stream) error {
	return c.end(kindStream, shim.StreamDestroy, uint64(s), 0)
}

// SyncStream waits for the work that is in the stream.
func (c *Context) SyncStream(s Stream) error {
	_, err := c.call(shim.StreamSynchronize, c.on(s), 0, 0, 0)
	return err
}

// QueryStream reports whether the work that is in the stream is done.
func (c *Context) QueryStream(s Stream) (done bool, err error) {
	if err := c.usable(); err != nil {
		return false, err
	}
	out := c.table.Call(shim.StreamQuery, c.handle, c.on(s), 0, 0, 0)
	if Code(out.Code) == NotReady {
		return false, nil
	}
	return out.OK(), c.check(out)
}
