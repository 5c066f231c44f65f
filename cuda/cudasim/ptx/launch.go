package ptx

import (
	"fmt"
	"sync"
	"sync/atomic"
)

const (
	maxBlockThreads   = 1024
	maxDeclaredShared = 48 << 10  // bytes of a kernel, beside the dynamic ones
	maxSharedBytes    = 227 << 10 // of a block: the most that any device has
	maxLocalBytes     = 512 << 10 // of a thread
	maxParamBytes     = 4096

	maxVariableBytes = 64 << 20 // of a module, less than a device has

	// unwritten fills shared and local memory: as floats, NaN.
	unwritten = 0xff
)

// Launch runs a grid of blocks with sharedBytes of dynamic shared memory. The
// parameters are packed as [Kernel.Params] says. It returns when all blocks
// have ended or one has failed: with a [*LaunchError] if nothing ran, an
// [*AccessError], [*SyncError], [*TrapError], [*RaceError] or [*StepsError] else.
// Blocks run on the calling goroutine in the order of their indices, but see
// [Kernel.Spread].
// Launches that run at the same time are not ordered by anything here, not by
// atomics either, so that the race detector sees what they share.
func (k *Kernel) Launch(grid, block Dim3, sharedBytes int, params []byte, mem Memory) error {
	if err := k.Check(grid, block, sharedBytes); err != nil {
		return err
	}
	if len(params) != k.paramBytes {
		return &LaunchError{k.Name, fmt.Sprintf("%d bytes of parameters; the kernel takes %d", len(params), k.paramBytes)}
	}
	snapshot := mem.Allocations()
	workers := min(k.workers, grid.count())
	if workers == 1 {
		b := k.newBlock(grid, block, sharedBytes, params, snapshot, nil)
		defer b.putBack()
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
		taken  atomic.Int64
		failed atomic.Bool
		order  order
		wait   sync.WaitGroup
		errs   = make([]error, workers)
		at     = make([]int, workers)
	)
	for worker := range workers {
		wait.Go(func() {
			b := k.newBlock(grid, block, sharedBytes, params, snapshot, &order)
			defer b.putBack()
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

// Check returns a [*LaunchError] where the kernel takes no such grid and blocks,
// or a block has not that many bytes of dynamic shared memory.
func (k *Kernel) Check(grid, block Dim3, sharedBytes int) error {
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
	}
	return nil
}
