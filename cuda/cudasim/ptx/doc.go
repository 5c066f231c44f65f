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
// a launch computes is the same each time.
//
// Every access to memory is checked: it must be aligned and lie within one
// live allocation, or within the shared, local or parameter memory that the
// kernel has. Errors name kernel, line, block, thread and address. Shared and
// local memory begin as NaNs. What a device leaves undefined is defined here,
// mostly as a device does it: integer division by zero gives all ones.
//
// The files: lexer.go and parse.go read the text, parse_body.go the
// instructions, decode.go translates them, with a file for each family
// (arithmetic.go, exec_*.go); warp.go and launch.go run them, memory.go checks
// accesses.
//
// Under the race detector launches of different goroutines show what they do to
// the same memory without an order, as streams of a device would; see race_on.go.
//
// What is taken is meant to be what ptxas takes: registers must have the width
// of the instruction that uses them, and modifiers be those that it may have.
//
// Not here, and refused: functions and calls, textures, f16 and bf16
// arithmetic, tensor core instructions, asynchronous copies, barriers of part
// of a block and reducing ones, and roundings of float arithmetic other than
// to nearest.
package ptx
