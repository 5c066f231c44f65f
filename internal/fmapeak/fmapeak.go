//go:build cgo

package fmapeak

// #cgo CFLAGS: -O3
// #include "fmapeak.h"
import "C"

import "time"

// measure returns the float32 operations per second of one core, counting a
// fused multiply-add as two: the best of loops with 8, 10, 12 and 16
// independent chains, each tried several times.
func measure(tries, iterations int) float64 {
	best := 0.0
	for range tries {
		for chains := range C.int(C.FMAPEAK_KINDS) {
			start := time.Now()
			flops := C.tarn_fmapeak(chains, C.int64_t(iterations))
			best = max(best, float64(flops)/time.Since(start).Seconds())
		}
	}
	return best
}
