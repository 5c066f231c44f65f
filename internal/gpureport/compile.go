package main

import (
	"fmt"
	"io"
	"time"

	"tarn/cuda"
	"tarn/kernels/gpu"
)

// compileTimes prints how long the driver takes to compile each module. A driver
// that keeps what it compiled is told not to by CUDA_CACHE_DISABLE=1.
func compileTimes(w io.Writer, c *cuda.Context) error {
	fmt.Fprintf(w, "\n%-14s %8s %10s\n", "module", "KiB", "compile ms")
	for _, m := range gpu.Modules() {
		if c.Device().Major < m.Major {
			fmt.Fprintf(w, "%-14s needs compute capability %d.0\n", m.Name, m.Major)
			continue
		}
		start := time.Now()
		loaded, err := c.Load(m.PTX)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		took := time.Since(start)
		if err := loaded.Unload(); err != nil {
			return err
		}
		fmt.Fprintf(w, "%-14s %8.0f %10.1f\n", m.Name, float64(len(m.PTX))/1024, float64(took.Microseconds())/1e3)
	}
	return nil
}
