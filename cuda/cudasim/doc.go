// Package cudasim is a CUDA driver with simulated GPUs. It stands where the real
// driver would, behind the function table of package cuda, so that what runs on
// it is what runs on a GPU: the same calls, packed arguments and PTX.
//
//	machine, err := cudasim.Open(cudasim.Config{Devices: 2})
//	device, err := machine.Library().Device(0)
//	...
//	err = machine.Close() // says what was left
//
// It is a small GPU but a strict one. It has a capacity, asynchronous streams,
// virtual memory, graphs and the driver's codes, and refuses what a driver
// refuses. It also tells what a driver keeps to itself: the access that a kernel
// faulted at, with the line of PTX and the thread, is in [Machine.Reports] and in
// the log, and so is misuse that a driver leaves undefined.
//
// # Streams
//
// Each stream has a goroutine. It runs what it is given as soon as it can, with
// pauses where [Config.Delays] asks for them, or as late as it may with
// [Config.Lazy]: a program that forgot to wait then finds nothing done.
//
// Under the race detector a forgotten wait between two streams is a data race.
// Memory, of devices and pinned, is Go's, and the goroutines of two streams share
// no order but what the program asked for by events and waits; how work gets
// from host to stream is hidden from the detector (queue.go). Host functions are
// the exception: what is before one in its stream is ordered with all calls that
// the host makes after it ran.
//
// # Memory
//
// Addresses of a device are ones that nothing is mapped at in this process, so
// a host that follows one faults. They are not used again soon. Pinned memory has
// the same address on both sides. An allocator can have blocks that it took back
// marked, in stream order, with [Machine.Poison]: work that touches one faults.
//
// # Not like a device
//
// Priorities change nothing. Work that faults stops at its first wrong access. Device
// memory that a call gives out is filled with 0xff bytes, NaN as floats, where a
// device leaves what lay there. A kernel that does not end is ended, by
// [Config.Steps]. The registers of a kernel are an estimate. There is no compiler
// cache, no memory shared between processes, and the memory of the stream-ordered
// pool is there from the call on, before its stream gets to it.
//
// # Files
//
//	machine.go   configuration, several machines in a process, what is left at the end
//	device.go    facts; context.go primary contexts
//	stream.go    streams and their goroutines; queue.go how work gets there
//	event.go     marks
//	space.go     which memory lies where; snapshot.go what work sees of it
//	memory.go    allocations, pinned memory; virtual.go pages and ranges; pool.go
//	afford_*.go  what the host cannot lend
//	copy.go      copies and fills; launch.go kernels, of module.go
//	capture.go   recording of work; graph.go, replay.go running it again
//	faults.go    calls that fail; reports.go errors that no call returns; usage.go
//	export_*.go  the driver's functions, by table.c
package cudasim
