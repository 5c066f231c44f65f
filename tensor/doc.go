// Package tensor has n-dimensional arrays in device memory, the ops on them,
// and reverse-mode gradients.
//
// A [Tensor] is a small handle: a geometry on a shared [Storage], which is one
// block of the device's caching allocator. State travels with the handle, since
// Go has no goroutine-local state: x.On(stream), x.NoGrad(), x.In(scope) give
// another handle, and results inherit from their operands by one rule (see
// join in env.go). So there is no current stream, grad mode or scope to set
// and forget.
//
// # Element types
//
// A tensor holds one of eight [DType]: float32, float64, the half types float16
// and bfloat16, int64, int32, uint8 and bool. The half types are for storing: ops
// compute with them in float32 and round each result once. [Tensor.To] converts
// any to any. Floats alone have gradients, and an optimiser's step updates float32
// and float64.
//
// # Memory
//
// The garbage collector does not see device memory. In order of preference:
//   - Scopes. A training step opens one, puts its input in, and closes it.
//   - Release, for a tensor that is large and known to be done with.
//   - Neither: a storage that nobody reaches is freed by the garbage collector,
//     which the allocator starts itself when device memory asks for it. Memory
//     stays bounded; memory.Stats counts what had to be freed so.
//
// The library releases each temporary of its own as soon as its last reader is
// launched.
//
// # Devices
//
// [CPU] and [CUDA] are the devices of this machine, [OpenDevice] finds one by
// name, and [NewCUDA] makes one of any context of package cuda, a simulated one
// too. Nothing moves from device to device by itself but the value of a 0-dim
// CPU tensor; [Tensor.ToDevice] copies.
//
// # Streams
//
// On a CUDA device an op returns when its work is queued. What waits for the
// work is Item, Data and CopyTo, a copy to the CPU, Synchronize, and what closes
// something; copies to the device do not, beyond a bound on the pinned memory
// that they go by. Work is queued on the stream of the operands, x.On(stream),
// else on the device's default one. A use on another stream waits, on the
// device, for the uses that it conflicts with, and freed memory goes nowhere
// before its last use; nobody has to say so.
//
// [Capture] records work as a graph, which costs one call to queue again.
//
// # Gradients
//
// Ops on a leaf, [Tensor.RequireGrad], and on what is made of it are recorded.
// [Tensor.Backward] goes back over the record once and adds to the leaves'
// [Tensor.Grad]; with [Retain] it can be gone over again, and [Grad] returns
// gradients instead. [Tensor.OnGrad], [Tensor.AfterGrad] and [Tensor.KeepGrad]
// show gradients on the way, [Checkpoint] trades memory for a second forward,
// and [Tensor.DetectAnomaly] finds the op that made the first NaN.
//
// # Errors
//
// An op that fails returns a tensor that carries the first cause; ops on it do
// nothing and pass it on, and whatever reads data returns it: Item, Data,
// Backward. So a chain of ops needs one check, at its end. What an asynchronous
// device finds out later, such as a class that is out of range, is told by what
// waits. In-place ops return an error. Panics are for misuse in code, such as a nil
// tensor.
package tensor
