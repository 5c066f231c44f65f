package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"tarn/cuda/internal/shim"
)

// MaxArgs is how many bytes the arguments of a launch can take.
const MaxArgs = shim.MaxArgs

// Grid is the shape of a launch. An extent of 0 in Y or Z means 1.
type Grid struct {
	Blocks  [3]uint32 // in X, Y, Z
	Threads [3]uint32 // of one block
	Shared  uint32    // bytes of dynamic shared memory, of one block
}

// Launch is a launch being prepared: the kernel's arguments, in the order in
// which it declares them. It is one goroutine's, and used up by Run or Discard.
type Launch struct {
	f    *Function // nil when used up
	over bool      // more than MaxArgs
	rec  shim.Launch
}

// launches are records of launches that are over. A record lies on the heap:
// C reads it, and may call Go meanwhile, which may move stacks.
var launches = sync.Pool{New: func() any { return new(Launch) }}

// Prepare begins a launch.
func (f *Function) Prepare() *Launch {
	l := launches.Get().(*Launch)
	l.f, l.over, l.rec.Size = f, false, 0
	return l
}

// Ptr adds an address.
func (l *Launch) Ptr(p DevicePtr) *Launch { return l.Uint64(uint64(p)) }

// Int32 adds a number of 4 bytes.
func (l *Launch) Int32(v int32) *Launch { return l.Uint32(uint32(v)) }

// Int64 adds a number of 8 bytes.
func (l *Launch) Int64(v int64) *Launch { return l.Uint64(uint64(v)) }

// Float32 adds a number of 4 bytes.
func (l *Launch) Float32(v float32) *Launch { return l.Uint32(math.Float32bits(v)) }

// Uint32 adds a number of 4 bytes.
func (l *Launch) Uint32(v uint32) *Launch {
	if b := l.room(4, 4); b != nil {
		binary.NativeEndian.PutUint32(b, v)
	}
	return l
}

// Uint64 adds a number of 8 bytes.
func (l *Launch) Uint64(v uint64) *Launch {
	if b := l.room(8, 8); b != nil {
		binary.NativeEndian.PutUint64(b, v)
	}
	return l
}

// Bytes adds a struct, as C lays it out, with the alignment of its largest
// member: a power of two.
func (l *Launch) Bytes(v []byte, alignment int) *Launch {
	if alignment <= 0 || alignment&(alignment-1) != 0 {
		panic(fmt.Sprintf("cuda: an argument's alignment of %d is no power of two", alignment))
	}
	copy(l.room(len(v), alignment), v)
	return l
}

// room returns the place of the next argument, nil where there is none.
func (l *Launch) room(size, alignment int) []byte {
	if l.f == nil {
		panic("cuda: a launch that is used up got an argument")
	}
	at := (int(l.rec.Size) + alignment - 1) &^ (alignment - 1)
	if l.over = l.over || at+size > MaxArgs; l.over {
		return nil
	}
	l.rec.Size = uint32(at + size)
	return l.rec.Args[at : at+size]
}

// Discard gives up the launch.
func (l *Launch) Discard() {
	if l.f == nil {
		panic("cuda: a launch was used up twice")
	}
	l.f = nil
	launches.Put(l)
}

// Run queues the launch in a stream. The driver checks that the arguments have
// the kernel's size, and not what they mean. Memory that the kernel uses must
// stay until it is done. An error names the kernel, with all that was asked for
// where the driver says [InvalidValue], but for a loss of the device
// that may be the fault of earlier work.
func (l *Launch) Run(s Stream, g Grid) error {
	f := l.f
	if f == nil {
		panic("cuda: a launch was used up twice")
	}
	defer l.Discard()
	c := f.context
	if err := c.usable(); err != nil {
		return err
	}
	if f.module.unloaded.Load() {
		return fmt.Errorf("kernel %q: %w", f.name, refuse(shim.LaunchKernel, InvalidHandle))
	}
	if l.over {
		return fmt.Errorf("cuda: kernel %q: its arguments are more than %d bytes", f.name, MaxArgs)
	}
	r := &l.rec
	r.Context, r.Function, r.Stream = uint64(c.handle), uint64(f.handle), c.on(s)
	r.Grid, r.Block, r.Shared = atLeastOne(g.Blocks), atLeastOne(g.Threads), g.Shared
	out := c.table.Launch(r)
	if out.OK() {
		out = c.settle(r.Stream)
	}
	err := c.check(out)
	if err == nil || c.Lost() != nil && !c.blocking {
		return err
	}
	if out.Entry == shim.LaunchKernel && Code(out.Code) == InvalidValue { // the driver does not say which
		return fmt.Errorf("kernel %q: %w: a grid of %v blocks of %v threads with %d bytes of dynamic shared memory, and %d bytes of arguments",
			f.name, err, r.Grid, r.Block, r.Shared, r.Size)
	}
	return fmt.Errorf("kernel %q: %w", f.name, err)
}

// settle waits for a launch if TARN_LAUNCH_BLOCKING says so. In a capture there
// is nothing to wait for, and asking would spoil it.
func (c *Context) settle(stream uint64) shim.Out {
	if !c.blocking {
		return shim.Out{}
	}
	if out := c.table.Call(shim.IsCapturing, c.handle, stream, 0, 0, 0); !out.Missing {
		if !out.OK() || CaptureStatus(out.Value) != NotCapturing {
			return out
		}
	}
	return c.table.Call(shim.StreamSynchronize, c.handle, stream, 0, 0, 0)
}

// atLeastOne leaves X as it is: a grid of no blocks is a mistake to report.
func atLeastOne(v [3]uint32) [3]uint32 {
	return [3]uint32{v[0], max(v[1], 1), max(v[2], 1)}
}
