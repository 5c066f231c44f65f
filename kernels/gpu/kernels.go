package gpu

import (
	"sync/atomic"

	"tarn/cuda"
	"tarn/kernels"
)

// Kernels are the ops of one device. All methods may be called from many
// goroutines.
type Kernels struct {
	context *cuda.Context
	loaded  []loaded // by module.index
	table   kernels.Table
	fault   fault
	blas    blas
	closed  atomic.Bool

	// For tests: 64-bit indices even where 32 bits do, and how many blocks are
	// enough for any device.
	wide       bool
	mostBlocks int64
}

// New returns the ops of the device that c is of. It calls no driver: modules
// are loaded when an op first needs them, or by Load. End with Close, before
// the context's.
//
// With TARN_MATMUL=cublaslt in the environment matrices are multiplied by
// NVIDIA's library where it can, and by our kernels else. If it cannot be opened
// Load and each MatMul return an error, and so they do for a value other than
// that, "tarn" and none.
func New(c *cuda.Context) *Kernels {
	k := &Kernels{context: c, loaded: make([]loaded, len(modules)), mostBlocks: 1 << 16}
	k.fault.context = c
	k.blas.ask(c)
	k.table = k.makeTable()
	return k
}

// Table returns the ops. All callers share one table and must not change it.
// A Run queues its kernels on the stream of its queue and returns; errors of
// the device are those of package cuda. Workspaces need the alignment of 16
// bytes.
func (k *Kernels) Table() *kernels.Table { return &k.table }

// Queue returns the queue of a stream of the device; 0 is the default stream.
func (k *Kernels) Queue(s cuda.Stream) kernels.Queue { return queue(s) }

type queue cuda.Stream

// Stream returns the stream that the queue is of.
func (q queue) Stream() cuda.Stream { return cuda.Stream(q) }

// Load loads all modules that the device can run, and makes what ops share.
// Without it that happens at first use, which no capture of a stream allows.
func (k *Kernels) Load() error {
	if _, err := k.fault.address(); err != nil {
		return err
	}
	if _, err := k.blas.get(); err != nil {
		return err
	}
	for _, m := range modules {
		if !k.has(m) {
			continue
		}
		if _, err := k.functions(m); err != nil {
			return err
		}
	}
	return nil
}

// Close unloads the modules. No kernel may be running; later calls of ops are
// errors wrapping cuda.ErrClosed. A second Close does nothing.
func (k *Kernels) Close() error {
	if k.closed.Swap(true) {
		return nil
	}
	err := k.fault.free()
	if e := k.blas.close(); err == nil {
		err = e
	}
	for i := range k.loaded {
		if e := k.loaded[i].unload(); err == nil {
			err = e
		}
	}
	return err
}
