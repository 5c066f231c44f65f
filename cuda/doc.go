// Package cuda is the CUDA driver API as far as Tarn needs it. Device
// addresses, streams and events are plain integers, so that packages which
// only carry them (memory, kernels) need no C.
//
// Importing this package loads nothing. [Open] looks for the driver when it is
// asked to. A [Library] describes its devices; [Device.Open] begins the use of
// one, and the [Context] that it returns does the rest:
//
//	streams        stream.go   queues of work; the zero Stream is the default one, ours and NON_BLOCKING
//	events         event.go    marks in streams, with the time or without
//	host functions host.go     calls of Go in a stream
//	memory         memory.go   allocations and fills; pinned.go host memory
//	pool           pool.go     allocations in the order of a stream
//	copies         copy.go     queued, with pinned memory; awaited, with any
//	virtual memory virtual.go  ranges of addresses, and pages that are mapped there
//	peers          peer.go     the memory of other devices
//	kernels        module.go   from PTX text; launch.go runs them
//	graphs         capture.go  work that a stream keeps; graph.go runs it again
//
// Package nvml asks the driver's other library who uses a device, and package
// cublaslt has NVIDIA's library multiply; foreign.go is for such libraries.
//
// # Threads
//
// The driver has a current context for each OS thread. Each call makes its own
// context current, in the same step into C as the call itself, so goroutines
// may use any number of devices and are not tied to threads.
//
// # Errors
//
// Every result code is looked at. A call that failed returns an [Error] with
// the driver's name of it. After a fault that takes the device away all calls
// on the context return a [LostError], which keeps the first cause. A feature
// that the driver is too old for ends in a [FeatureError].
//
// # Lifetime
//
// Whoever makes a thing takes it away, in any order that the driver allows. Memory
// may go by way of any context of the library, and leaves the books (books.go) of
// the one that made it.
// [Context.Close] refuses while something is left. What is kept past Close
// does no harm: it is answered with [ErrClosed], and not by the driver.
package cuda
