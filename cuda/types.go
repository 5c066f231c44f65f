package cuda

// DevicePtr is an address in the memory of a device. It is an integer, never a
// Go pointer: the garbage collector neither follows nor moves it. On the CPU
// it is the address of memory outside the Go heap. The zero value is no
// address.
type DevicePtr uintptr

// Stream is an in-order queue of work on one device. The zero value is the
// default stream of the device that it is used with.
//
// The CUstream of another library is one too, as it is, if it belongs to the
// device's primary context; 1 is the driver's own default stream. It can be used
// like any other, but DestroyStream is its maker's.
type Stream uintptr

// Event is a mark in a stream that can be queried and waited for. The zero
// value is no event.
type Event uintptr
