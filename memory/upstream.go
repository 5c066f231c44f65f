package memory

import (
	"errors"

	"tarn/cuda"
)

// Upstream is the source that an allocator takes segments from and gives them
// back to: a CUDA device, the host, or a fake of either. It is mechanism
// without policy; everything clever is above. One may be a [StreamOrdered] too, or
// know its [Neighbours].
//
// All methods may be called from many goroutines. None is called with a lock
// of the allocator held if it can wait. An implementation returns an error
// that wraps [ErrUpstreamFull] when, and only when, the device has not enough
// memory; any other error is a fault and is handed to the caller as it is.
type Upstream interface {
	// Props says what the upstream can do. It does not change.
	Props() Props
	// MemInfo returns the bytes that are free and that exist, other users of
	// the device included.
	MemInfo() (free, total int64, err error)

	// Alloc returns size bytes, aligned to Props.Alignment. size > 0.
	Alloc(size int64) (cuda.DevicePtr, error)
	// Free gives back what Alloc returned, with the same size.
	Free(p cuda.DevicePtr, size int64) error

	// The virtual-memory calls; usable where Props.VirtualMemory is set. Sizes
	// and addresses are multiples of Props.Granularity.

	// Reserve returns a range of addresses with no memory behind it.
	Reserve(size int64) (cuda.DevicePtr, error)
	// ReleaseRange gives back a range; nothing may be mapped in it.
	ReleaseRange(p cuda.DevicePtr, size int64) error
	// Create makes a page: physical memory with no address.
	Create(size int64) (Page, error)
	// Release destroys a page. It lives on while it is mapped.
	Release(pg Page) error
	// Map puts a page at an address; it cannot be touched before SetAccess.
	Map(p cuda.DevicePtr, size int64, pg Page) error
	// SetAccess lets the device read and write a run of mapped pages.
	SetAccess(p cuda.DevicePtr, size int64) error
	// Unmap takes away a run of whole mappings. It does not wait for work that
	// uses them: the caller has.
	Unmap(p cuda.DevicePtr, size int64) error

	// RecordEvent marks the present end of a stream.
	RecordEvent(s cuda.Stream) (cuda.Event, error)
	// QueryEvent reports whether the work before the mark is done.
	QueryEvent(e cuda.Event) (done bool, err error)
	// WaitEvent makes later work of s wait on the device for e.
	WaitEvent(s cuda.Stream, e cuda.Event) error
	// SyncEvent waits on the host for e.
	SyncEvent(e cuda.Event) error
	// DestroyEvent gives the event back; work that waits for it still does.
	DestroyEvent(e cuda.Event) error
}

// Page names physical memory made by Upstream.Create. Zero is no page.
type Page uint64

// Props says what an upstream can do.
type Props struct {
	// Name is how messages call the device: "cpu", "cuda:0".
	Name string
	// Alignment of what Alloc returns, in bytes; a power of two, at least 64.
	Alignment int64
	// VirtualMemory is set where Reserve, Create, Map, SetAccess, Unmap and
	// their opposites work; Granularity is then the page size in bytes.
	VirtualMemory bool
	Granularity   int64
	// StreamOrdered is set where the upstream is a [StreamOrdered] too.
	StreamOrdered bool
	// Asynchronous is set where a stream's work goes on after the call that
	// queued it returned. Elsewhere events are always done.
	Asynchronous bool
	// Peers are the devices that can map this one's pages.
	Peers []int
	// ShareableHandle is how another process can open a page: "", "fd", "fabric".
	ShareableHandle string
	// RDMA is set where a network card can read and write the memory.
	RDMA bool
}

// Errors of an upstream.
var (
	// ErrUpstreamFull means that the device has not enough memory for the call.
	ErrUpstreamFull = errors.New("memory: upstream is full")
	// ErrNotSupported means that the upstream lacks the call; see Props.
	ErrNotSupported = errors.New("memory: upstream does not support this call")
)

// NoVirtualMemory is embedded by upstreams whose Props.VirtualMemory is false.
type NoVirtualMemory struct{}

// Reserve returns ErrNotSupported.
func (NoVirtualMemory) Reserve(int64) (cuda.DevicePtr, error) { return 0, ErrNotSupported }

// ReleaseRange returns ErrNotSupported.
func (NoVirtualMemory) ReleaseRange(cuda.DevicePtr, int64) error { return ErrNotSupported }

// Create returns ErrNotSupported.
func (NoVirtualMemory) Create(int64) (Page, error) { return 0, ErrNotSupported }

// Release returns ErrNotSupported.
func (NoVirtualMemory) Release(Page) error { return ErrNotSupported }

// Map returns ErrNotSupported.
func (NoVirtualMemory) Map(cuda.DevicePtr, int64, Page) error { return ErrNotSupported }

// SetAccess returns ErrNotSupported.
func (NoVirtualMemory) SetAccess(cuda.DevicePtr, int64) error { return ErrNotSupported }

// Unmap returns ErrNotSupported.
func (NoVirtualMemory) Unmap(cuda.DevicePtr, int64) error { return ErrNotSupported }
