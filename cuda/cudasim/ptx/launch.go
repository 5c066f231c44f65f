package ptx

import (
	"fmt"
	"sync"
	"sync/atomic"
)

const (
	maxBlockThreads = 1024
	maxSharedBytes  = 96 << 10  // of a block, more than any device of compute capability 7.5 has
	maxLocalBytes   = 512 << 10 // of a thread
	maxParamBytes   = 4096

	maxVariableBytes = 64 << 20 // of a module, less than a device has

	// unwritten fills shared and local memory: as floats, NaN.
	unwritten = 0xff
)

// block is one block of threads while it runs; it is used for many, one after
// another.
type block struct {
	kernel        *Kernel
	grid, dim, at Dim3
	params        []byte
	shared        []byte
	view          *view
	warps         []*warp
	atomics       *sync.Mutex // nil where blocks run one after another
}

// Launch runs a grid of blocks with sharedBytes of dynamic shared memory. The
// parameters are packed as [Kernel.Params] says. It returns when all blocks
// have ended or one has failed: with a [*LaunchError] if nothing ran, an
// [*AccessError], [*SyncError] or [*TrapError] else. Blocks run on the calling
// goroutine in the order of their indices, but see [Kernel.Spread]. Atomics are
// atomic within a launch: launches that run at the same time take no lock of
// each other, so that the race detector sees what they share.
func (k *Kernel) Launch(grid, block Dim3, sharedBytes int, params []byte, mem Memory) error {
	if err := k.check(grid, block, sharedBytes, params); err != nil {
		return err
	}
	snapshot := mem.Allocations()
	workers := min(k.workers, grid.count())
	if workers == 1 {
		b := k.newBlock(grid, block, sharedBytes, params, snapshot, nil)
		for i := range grid.count() {
			if err := b.run(i); err != nil {
				return err
			}
		}
		return nil
	}
	// Each goroutine takes the next block. All blocks before one that failed
	// have been taken, so the first failure by index is always the same.
	var (
		taken   atomic.Int64
		failed  atomic.Bool
		atomics sync.Mutex
		wait    sync.WaitGroup
		errs    = make([]error, workers)
		at      = make([]int, workers)
	)
	for worker := range workers {
		wait.Go(func() {
			b := k.newBlock(grid, block, sharedBytes, params, snapshot, &atomics)
			for !failed.Load() {
				i := int(taken.Add(1)) - 1
				if i >= grid.count() {
					return
				}
				if err := b.run(i); err != nil {
					errs[worker], at[worker] = err, i
					failed.Store(true)
					return
				}
			}
		})
	}
	wait.Wait()
	var first error
	lowest := grid.count()
	for i, err := range errs {
		if err != nil && at[i] < lowest {
			first, lowest = err, at[i]
		}
	}
	return first
}

func (k *Kernel) check(grid, block Dim3, sharedBytes int, params []byte) error {
	refuse := func(format string, args ...any) error {
		return &LaunchError{k.Name, fmt.Sprintf(format, args...)}
	}
	switch {
	case grid.X < 1 || grid.Y < 1 || grid.Z < 1 || grid.X > 1<<31-1 || grid.Y > 65535 || grid.Z > 65535:
		return refuse("a grid of %v blocks", grid)
	case block.X < 1 || block.Y < 1 || block.Z < 1 || block.X > 1024 || block.Y > 1024 || block.Z > 64:
		return refuse("blocks of %v threads", block)
	case block.count() > k.MaxThreads():
		return refuse("blocks of %v threads; the kernel takes %d", block, k.MaxThreads())
	case k.reqThreads != Dim3{} && block != k.reqThreads:
		return refuse("blocks of %v threads; the kernel requires %v", block, k.reqThreads)
	case sharedBytes < 0 || k.dynamic+sharedBytes > maxSharedBytes:
		return refuse("%d bytes of dynamic shared memory beside %d; a block has %d", sharedBytes, k.dynamic, maxSharedBytes)
	case len(params) != k.paramBytes:
		return refuse("%d bytes of parameters; the kernel takes %d", len(params), k.paramBytes)
	}
	return nil
}

func (k *Kernel) newBlock(grid, dim Dim3, sharedBytes int, params []byte, snapshot []Allocation, atomics *sync.Mutex) *block {
	b := &block{kernel: k, grid: grid, dim: dim, params: params, view: k.newView(snapshot), atomics: atomics,
		shared: make([]byte, k.dynamic+sharedBytes)}
	for i := range (dim.count() + warpSize - 1) / warpSize {
		w := &warp{
			block: b, index: i,
			r32:   make([]lanes32, max(k.registers[class32], 1)),
			r64:   make([]lanes64, max(k.registers[class64], 1)),
			pred:  make([]uint32, max(k.registers[classPred], 1)),
			local: make([]byte, k.local*warpSize),
		}
		w.prepare()
		b.warps = append(b.warps, w)
	}
	return b
}

// run runs block i of the grid.
func (b *block) run(i int) error {
	b.at = b.grid.at(i)
	poison(b.shared)
	for _, w := range b.warps {
		w.start()
	}
	for {
		ended := true
		for _, w := range b.warps {
			if err := w.run(); err != nil {
				return err
			}
			ended = ended && w.live == 0
		}
		if ended {
			return nil
		}
		if err := b.release(); err != nil {
			return err
		}
	}
}

// release lets a block go on from a barrier. All its threads must be there,
// those that have ended as well: on some devices they count as having come, on
// none may a program rely on it.
func (b *block) release() error {
	var first *warp // that waits, at pc
	pc := -1
	for _, w := range b.warps {
		if len(w.groups) > 0 {
			first, pc = w, w.groups[0].pc
			break
		}
	}
	line := b.kernel.code[pc].line
	at := first.place(line, lowest(first.groups[0].mask))
	for _, w := range b.warps {
		for _, g := range w.groups {
			if g.pc != pc {
				other := b.kernel.code[g.pc].line
				return &SyncError{at, 0, fmt.Sprintf("threads of the block wait at a barrier here and at another in line %d", other)}
			}
		}
		if ended := w.all &^ w.live; ended != 0 {
			thread := b.dim.at(w.index*warpSize + lowest(ended))
			return &SyncError{at, 0, fmt.Sprintf("threads wait at a barrier that thread %v of the block will not reach: it has ended", thread)}
		}
	}
	for _, w := range b.warps {
		w.groups = append(w.groups[:0], group{pc: pc + 1, mask: w.live})
	}
	return nil
}
