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
	c := foldOf(&f.kept, 0, 1, &f.reduced)
	c.op, c.alpha, c.accumulate = foldsInC[f.id], C.double(f.attr.Alpha), flag(f.id == kernels.Sum && f.attr.Accumulate)
	switch f.id {
	case kernels.Norm:
		c.op = normsInC[int(f.attr.Alpha)]
	case kernels.Var:
		c.alpha = C.double(f.attr.Correction)
		c.mean_outer, c.mean_kept = outerAndLast(&f.kept, 2)
	}
	at := [5]C.uintptr_t{C.uintptr_t(f.kept.base[1]), C.uintptr_t(f.kept.base[0]), C.uintptr_t(f.kept.base[2])}
	C.tarn_fold(&c, C.TOTAL_OF, C.int(flag(f.byColumns)), &at[0], threadsInC())
}

// foldOf describes a reduction of the elements of reduced to the results of kept,
// which has those at out and the first element of each at in.
func foldOf(kept *walk, out, in int, reduced *walk) (c C.struct_fold) {
	c.outer, c.kept, c.rows, c.n = 1, C.int64_t(kept.dims[kept.rank-1]), 1, C.int64_t(reduced.dims[reduced.rank-1])
	if kept.rank == 2 {
		c.outer = C.int64_t(kept.dims[0])
	}
	if reduced.rank == 2 {
		c.rows = C.int64_t(reduced.dims[0])
	}
	c.out_outer, c.out_kept = outerAndLast(kept, out)
	c.outer_step, c.kept_step = outerAndLast(kept, in)
	c.row_step, c.n_step = outerAndLast(reduced, 0)
	return c
}

// outerAndLast returns the steps of the two dims of w, 0 for the first of one, for
// operand k in elements.
func outerAndLast(w *walk, k int) (outer, last C.int64_t) {
	size := w.dtypes[k].Size()
	if w.rank == 2 {
		outer = C.int64_t(w.steps[k][0] / size)
	}
	return outer, C.int64_t(w.step(k) / size)
}

func indexInC(id kernels.ID, w walk, n, step int64, columns bool) {
	elements := walk{operands: 1, rank: 1, dtypes: w.dtypes}
	elements.dtypes[0] = kernels.Float32
	elements.dims[0], elements.steps[0][0] = n, step
	c := foldOf(&w, 0, 1, &elements)
	c.op = C.FOLD_ARGMAX
	if id == kernels.ArgMin {
		c.op = C.FOLD_ARGMIN
	}
	at := [5]C.uintptr_t{C.uintptr_t(w.base[1]), C.uintptr_t(w.base[0])}
	C.tarn_fold(&c, C.INDEX_OF, C.int(flag(columns)), &at[0], threadsInC())
}

func maxGradInC(kept, reduced walk, columns bool) {
	c := foldOf(&kept, 1, 0, &reduced)
	c.dx_outer, c.dx_kept = outerAndLast(&kept, 3)
	c.dx_row, c.dx_n = outerAndLast(&reduced, 1)
	c.dy_outer, c.dy_kept = outerAndLast(&kept, 2)
	at := [5]C.uintptr_t{C.uintptr_t(kept.base[0]), C.uintptr_t(kept.base[1]), 0, C.uintptr_t(kept.base[3]), C.uintptr_t(kept.base[2])}
	C.tarn_fold(&c, C.GRAD_OF_MAX, C.int(flag(columns)), &at[0], threadsInC())
}
