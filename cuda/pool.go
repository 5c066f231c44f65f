package cuda

import "tarn/cuda/internal/shim"

// Pool is the driver's own caching allocator of a device, which allocates and
// frees in the order of a stream's work, without waiting. All who use the device
// in this program share it.
type Pool struct {
	context *Context
	handle  uintptr // CUmemoryPool
}

// The numbers of CUmemPool_attribute.
const (
	poolThreshold    = 4
	poolReserved     = 5
	poolReservedHigh = 6
	poolUsed         = 7
	poolUsedHigh     = 8
)

// Pool returns the device's default pool. It is an [Error] with code
// [NotSupported], or a [FeatureError], where there is none.
func (c *Context) Pool() (*Pool, error) {
	out, err := c.call(shim.DefaultPool, uint64(c.device.handle), 0, 0, 0)
	if err != nil {
		return nil, err
	}
	return &Pool{context: c, handle: uintptr(out.Value)}, nil
}

// Alloc returns size bytes, size > 0, with anything in them. Work that comes
// later in the stream may use them; that of others has to wait for the stream. An
// [Error] with code [OutOfMemory] means that there are not so many. A stream that
// is captured is refused with [CaptureUnsupported]: the memory would be its
// graph's.
func (p *Pool) Alloc(size int64, s Stream) (DevicePtr, error) {
	if size <= 0 {
		return 0, refuse(shim.AllocAsync, InvalidValue)
	}
	if err := p.context.uncaptured(shim.AllocAsync, s); err != nil {
		return 0, err
	}
	at, err := p.context.begin(kindAllocation, shim.AllocAsync, uint64(size), p.context.on(s), 0, 0)
	return DevicePtr(at), err
}

// Free gives back what Alloc returned, when the work that is in the stream is
// done. Work elsewhere that uses the memory must be done, or the stream must wait
// for it. A stream that is captured is refused.
func (p *Pool) Free(at DevicePtr, s Stream) error {
	if at == 0 { // which the driver would take without a word
		return refuse(shim.FreeAsync, InvalidValue)
	}
	if err := p.context.uncaptured(shim.FreeAsync, s); err != nil {
		return err
	}
	return p.context.end(kindAllocation, shim.FreeAsync, uint64(at), p.context.on(s))
}

// SetThreshold says how many bytes the pool may keep when the device is waited
// for; it begins with 0. Negative is no limit.
func (p *Pool) SetThreshold(bytes int64) error {
	limit := uint64(bytes)
	if bytes < 0 {
		limit = 1<<64 - 1
	}
	_, err := p.context.call(shim.PoolSetAttribute, uint64(p.handle), poolThreshold, limit, 0)
	return err
}

// Trim gives memory that is not in use back to the device, until the pool has no
// more than keep bytes.
func (p *Pool) Trim(keep int64) error {
	if keep < 0 {
		return refuse(shim.PoolTrim, InvalidValue)
	}
	_, err := p.context.call(shim.PoolTrim, uint64(p.handle), uint64(keep), 0, 0)
	return err
}

// Reserved returns the bytes that the pool holds, and the most that it held.
func (p *Pool) Reserved() (current, high int64, err error) {
	return p.pair(poolReserved, poolReservedHigh)
}

// Used returns the bytes that are allocated, and the most that were.
func (p *Pool) Used() (current, high int64, err error) { return p.pair(poolUsed, poolUsedHigh) }

func (p *Pool) pair(current, high uint64) (int64, int64, error) {
	a, err := p.context.call(shim.PoolGetAttribute, uint64(p.handle), current, 0, 0)
	if err != nil {
		return 0, 0, err
	}
	b, err := p.context.call(shim.PoolGetAttribute, uint64(p.handle), high, 0, 0)
	return int64(a.Value), int64(b.Value), err
}
