//go:build cgo && (linux || darwin)

package cudasim_test

import (
	"fmt"
	"io"
	"log/slog"

	"tarn/cuda"
	"tarn/cuda/cudasim"
)

// A kernel writes past the end of what it was given.
func Example() {
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err := overrun(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// cuda: device cuda:0 is lost; first seen, with the fault in it or in earlier work: cuda: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700): a kernel touched memory that is not mapped
	// cudasim: cuda:0: cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS (700): ptx: load of 4 bytes at global address 0x700000000028: nothing is live there; the nearest is the allocation at 0x700000000000 of 40 bytes, which ends 0 bytes below: kernel add, PTX line 22 (ld.global.u32 %r6, [%rd4];), block (0,0,0), thread (10,0,0) (warp 0, lane 10)
}

func overrun() error {
	machine, err := cudasim.Open(cudasim.Config{Memory: 64 << 20})
	if err != nil {
		return err
	}
	device, err := machine.Library().Device(0)
	if err != nil {
		return err
	}
	c, err := device.Open()
	if err != nil {
		return err
	}
	module, err := c.Load(text)
	if err != nil {
		return err
	}
	kernel, err := module.Function("add")
	if err != nil {
		return err
	}
	p, err := c.Alloc(10 * 4)
	if err != nil {
		return err
	}
	launch := kernel.Prepare().Ptr(p).Uint32(11).Uint32(1)
	if err := launch.Run(0, cuda.Grid{Blocks: [3]uint32{1}, Threads: [3]uint32{32}}); err != nil {
		return err
	}
	fmt.Println(c.SyncStream(0))
	for _, report := range machine.Reports() {
		fmt.Println(report)
	}
	if err := c.Close(); err != nil {
		return err
	}
	return machine.Close()
}
