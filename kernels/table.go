package kernels

import "tarn/cuda"

// Queue is where an op runs: a stream of a device, or the CPU, whose work is
// done when Run returns.
type Queue interface {
	Stream() cuda.Stream
}

// Op is how one device does one op.
type Op struct {
	ID     ID
	DTypes DTypes // of Out[0]
	// Workspace returns the bytes that Run needs in Args.Work; nil means none.
	Workspace func(a *Args) int64
	// Run does the work on q. It checks a first (see Check); the only other
	// errors are those of the device and of the data where the ID says so.
	Run func(q Queue, a *Args) error
}

// Table is a device's ops by ID; nil where the device lacks one.
type Table [NumOps]*Op
