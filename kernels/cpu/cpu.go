// Package cpu runs the ops of package kernels on the host.
//
//	go_*.go   all ops in plain Go, for float32, float64 and int64
//	fast.go   where C takes the place of Go's loops in float32
//	cgo*.go   the calls, in a build with a C compiler
//	*.c, *.h  entry*.c and what it calls: pool.c the threads, isa_*.c the bodies
//	nocgo.go  without one: Go's loops stay
//
// An op's work is done when Run returns. Large calls are shared out over
// [Threads] threads; work is cut at places that depend on the dims alone, so
// results have the same bits whatever the number of threads.
//
// Operands lie in memory that the Go garbage collector does not move or free:
// off the Go heap, or kept alive by the caller.
package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"

	"tarn/cuda"
	"tarn/kernels"
)

// Table returns the ops of the CPU. All callers share one table and must not
// change it.
func Table() *kernels.Table { return table() }

var table = sync.OnceValue(goTable)

// Queue returns the queue of the CPU, on which an op is done when Run returns.
func Queue() kernels.Queue { return queue{} }

type queue struct{}

// Stream returns 0: the CPU has no streams.
func (queue) Stream() cuda.Stream { return 0 }

// threads is the setting of SetThreads; 0 stands for the default.
var threads atomic.Int32

// SetThreads sets how many threads one op may use from its next call on. Less
// than 1 brings the default back: the smaller of GOMAXPROCS and the number of
// cores.
func SetThreads(n int) { threads.Store(int32(min(max(n, 0), maxThreads))) }

// maxThreads bounds the setting: each thread of a product has work space.
const maxThreads = 256

// Threads returns how many threads one op may use.
func Threads() int {
	if n := threads.Load(); n > 0 {
		return int(n)
	}
	return min(runtime.GOMAXPROCS(0), runtime.NumCPU())
}
