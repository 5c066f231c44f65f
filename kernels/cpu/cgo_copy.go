//go:build cgo

package cpu

// #cgo noescape tarn_turn
// #cgo nocallback tarn_turn
// #include "dispatch.h"
import "C"

func transposeInC(w walk, columns, outer int) {
	last := w.rank - 1
	t := C.struct_turn{outer: 1, rows: C.int64_t(w.dims[last]), columns: C.int64_t(w.dims[columns]),
		ldx: C.int64_t(w.steps[1][last] / 4), ldout: C.int64_t(w.steps[0][columns] / 4)}
	if outer >= 0 {
		t.outer, t.out_outer, t.x_outer = C.int64_t(w.dims[outer]), C.int64_t(w.steps[0][outer]/4), C.int64_t(w.steps[1][outer]/4)
	}
	C.tarn_turn(&t, C.uintptr_t(w.base[0]), C.uintptr_t(w.base[1]), threadsInC())
}
