//go:build cgo

package cpu

// #cgo noescape tarn_fold
// #cgo nocallback tarn_fold
// #cgo noescape tarn_fold_partials
// #cgo nocallback tarn_fold_partials
// #cgo noescape tarn_fold_run
// #cgo nocallback tarn_fold_run
// #include "dispatch.h"
import "C"

import "tarn/kernels"

var foldsInC = [kernels.NumOps]C.int32_t{
	kernels.Sum: C.FOLD_SUM, kernels.Prod: C.FOLD_PROD, kernels.Max: C.FOLD_MAX, kernels.Min: C.FOLD_MIN,
	kernels.Var: C.FOLD_VAR, kernels.LogSumExp: C.FOLD_LOGSUMEXP,
}

// normsInC are those of a norm's power.
var normsInC = [...]C.int32_t{C.FOLD_COUNT, C.FOLD_SIZES, C.FOLD_ROOT}

var stepsInC = [...]C.int{adding: C.ADDING, exping: C.EXPING, maximising: C.MAXIMISING, minimising: C.MINIMISING,
	multiplying: C.MULTIPLYING, squaring: C.SQUARING, powering: 0}

// stepInC returns the number of a step, and what it goes by.
func stepInC(s step, beside float64) (C.int, C.double) {
	if s != powering {
		return stepsInC[s], C.double(beside)
	}
	return [...]C.int{C.COUNTING, C.SIZING, C.SQUARING}[int(beside)], 0
}

func foldRunInC(s step, x uintptr, n int64, beside float64) float64 {
	number, by := stepInC(s, beside)
	return float64(C.tarn_fold_run(number, C.uintptr_t(x), C.int64_t(n), by))
}

func foldPartialsInC(s step, out, x uintptr, n int64, beside float64) {
	number, by := stepInC(s, beside)
	C.tarn_fold_partials(number, C.uintptr_t(out), C.uintptr_t(x), C.int64_t(n), by, partialLen, threadsInC())
}

func foldInC(f fold) {
	kept, reduced := &f.kept, &f.reduced
	c := C.struct_fold{op: foldsInC[f.id], alpha: C.double(f.attr.Alpha), accumulate: flag(f.id == kernels.Sum && f.attr.Accumulate),
		outer: 1, kept: C.int64_t(kept.dims[kept.rank-1]), rows: 1, n: C.int64_t(reduced.dims[reduced.rank-1]),
		out_kept: C.int64_t(kept.step(0) / 4), kept_step: C.int64_t(kept.step(1) / 4), n_step: C.int64_t(reduced.step(0) / 4)}
	switch f.id {
	case kernels.Norm:
		c.op = normsInC[int(f.attr.Alpha)]
	case kernels.Var:
		c.alpha = C.double(f.attr.Correction)
		c.mean_kept, c.mean_outer = C.int64_t(kept.step(2)/4), C.int64_t(kept.steps[2][0]/4)
	}
	if kept.rank == 2 {
		c.outer, c.out_outer, c.outer_step = C.int64_t(kept.dims[0]), C.int64_t(kept.steps[0][0]/4), C.int64_t(kept.steps[1][0]/4)
	}
	if reduced.rank == 2 {
		c.rows, c.row_step = C.int64_t(reduced.dims[0]), C.int64_t(reduced.steps[0][0]/4)
	}
	C.tarn_fold(&c, C.uintptr_t(kept.base[0]), C.uintptr_t(kept.base[2]), C.uintptr_t(kept.base[1]), C.int(flag(f.byColumns)), threadsInC())
}
