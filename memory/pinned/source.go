package pinned

import "tarn/cuda"

// Source is where pinned memory comes from, and the events that say when a
// device is done with it. All methods may be called from many goroutines.
type Source interface {
	// AllocHost returns size bytes of pinned memory that start on a page of
	// 4 KiB. size is a multiple of that. The error wraps
	// [tarn/memory.ErrUpstreamFull] when, and only when, there is not enough
	// memory; any other is a fault and is handed to the caller as it is.
	AllocHost(size int64) (uintptr, error)
	// FreeHost gives back what AllocHost returned, with the same size.
	FreeHost(p uintptr, size int64) error

	// RecordEvent marks the present end of a stream.
	RecordEvent(s cuda.Stream) (cuda.Event, error)
	// QueryEvent reports whether the work before the mark is done.
	QueryEvent(e cuda.Event) (done bool, err error)
	// SyncEvent waits for it.
	SyncEvent(e cuda.Event) error
	// DestroyEvent gives the event back.
	DestroyEvent(e cuda.Event) error
}
