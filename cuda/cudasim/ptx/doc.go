// Package ptx runs CUDA kernels without a GPU: it parses PTX, NVIDIA's
// assembler text, and interprets it.
//
// A module is compiled whole: [Compile] refuses, with the line, what it cannot
// run, so that a kernel that was compiled does not fail for that reason later.
// [Kernel.Launch] runs a grid on byte slices that stand for global memory.
//
// 32 threads, a warp, run in lockstep: an instruction is applied to a register
// of all lanes at once, which pays for its dispatch and makes shuffles and
// votes plain loops. Barriers suspend a warp. There is no preemption, so what
// a launch computes is the same each time, unless a kernel reads a register that
// it has not written.
//
// Every access to memory is checked: it must be aligned and lie within one
// live allocation and in no block of it that was freed ([Allocation.Freed]), or
// within the shared, local or parameter memory that the kernel has. Barriers that
// some threads do not come to are errors too and, on request, shared memory that
// warps use with no barrier between ([Kernel.CheckRaces]). A kernel that
// does not end can be made to ([Kernel.Limit]). Errors name kernel, line, block,
// thread and address. Shared and local memory begin as NaNs. What a
// device leaves undefined is defined here, mostly as a device does it: integer
// division by zero gives all ones.
//
// The files: lexer.go and parse.go read the text, parse_body.go the
// instructions, parse_call.go puts functions in place of their calls, decode.go
// translates, with a file for each family (arithmetic*.go, comparison.go,
// conversion.go, exec_*.go); launch.go, block.go, barrier.go and warp.go run.
// memory.go checks the access of a lane, extent.go that of a warp at once, and
// transfer.go then moves the elements; vector*.go and scan_amd64.s are loops over
// lanes in the host's vector instructions.
//
// Under the race detector launches of different goroutines show what they do to
// the same memory without an order, as streams of a device would; see race_on.go.
//
// What is taken is meant to be what ptxas takes: registers must have the width
// of the instruction that uses them, and modifiers be those that it may have.
//
// Asynchronous copies are made as late as they may be, at the wait for them, so
// that a kernel that does not wait reads what lay there before. The matrix
// products of tensor cores add in float32 and in order, which a device does not;
// see product.
//
// Not here, and refused: calls through pointers and recursion, textures, wmma
// and wgmma, tensor core instructions on integers and f64, bulk copies and
// mbarriers, clusters, and the modifiers .xorsign and .satfinite.
package ptx
