//go:build cgo

package cpu

// #cgo noescape tarn_random
// #cgo nocallback tarn_random
// #include "dispatch.h"
import "C"

import "tarn/kernels"

// randomInC does a random op of float32 on total elements that lie dense from
// out on; x is 0 or where those of its input do.
func randomInC(n numbers, out, x uintptr, total int64) {
	d := C.struct_draw{seed: C.uint64_t(n.seed), offset: C.uint64_t(n.offset)}
	switch n.id {
	case kernels.RandomUniform:
		d.op, d.a, d.b = C.DRAW_UNIFORM, C.float(n.alpha), C.float(n.beta-n.alpha)
	case kernels.RandomNormal:
		d.op, d.a, d.b = C.DRAW_NORMAL, C.float(n.alpha), C.float(n.beta)
	default:
		d.op, d.b = C.DRAW_DROPOUT, C.float(kernels.Kept(n.alpha))
		if below := kernels.Threshold(n.alpha); below > 0 {
			d.most, d.some = C.uint32_t(below-1), -1
		}
	}
	C.tarn_random(&d, C.uintptr_t(out), C.uintptr_t(x), C.int64_t(total), threadsInC())
}

// wordsInC writes count words from a block on to out, on one thread.
func wordsInC(n numbers, out uintptr, block, count int64) {
	d := C.struct_draw{seed: C.uint64_t(n.seed), offset: C.uint64_t(n.offset + uint64(block)), op: C.DRAW_WORDS}
	C.tarn_random(&d, C.uintptr_t(out), 0, C.int64_t(count), 1)
}
