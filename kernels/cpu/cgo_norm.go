//go:build cgo

package cpu

// #cgo noescape tarn_softmax
// #cgo nocallback tarn_softmax
// #cgo noescape tarn_softmax_columns
// #cgo nocallback tarn_softmax_columns
// #cgo noescape tarn_norm
// #cgo nocallback tarn_norm
// #cgo noescape tarn_norm_grad
// #cgo nocallback tarn_norm_grad
// #include "dispatch.h"
import "C"

import "tarn/kernels"

func softmaxInC(l lines) {
	last := l.rank - 1
	c := C.struct_lines{rows: C.int64_t(l.total), n: C.int64_t(l.len),
		log:   flag(l.id == kernels.LogSoftmax || l.id == kernels.LogSoftmaxGrad),
		ldout: C.int64_t(l.steps[0][last] / 4), lda: C.int64_t(l.steps[1][last] / 4), ldb: C.int64_t(l.steps[2][last] / 4)}
	var b uintptr
	if l.operands == 3 {
		b = l.base[2]
	}
	C.tarn_softmax(&c, C.uintptr_t(l.base[0]), C.uintptr_t(l.base[1]), C.uintptr_t(b), threadsInC())
}

// softmaxColumnsInC does lines side by side, in a walk of up to two dims.
func softmaxColumnsInC(l lines) {
	last := l.rank - 1
	c := C.struct_lines{rows: C.int64_t(l.dims[last]), n: C.int64_t(l.len), outer: 1,
		log:   flag(l.id == kernels.LogSoftmax || l.id == kernels.LogSoftmaxGrad),
		ldout: C.int64_t(l.gaps[0] / 4), lda: C.int64_t(l.gaps[1] / 4), ldb: C.int64_t(l.gaps[2] / 4)}
	if l.rank == 2 {
		c.outer = C.int64_t(l.dims[0])
		c.out_outer, c.a_outer, c.b_outer = C.int64_t(l.steps[0][0]/4), C.int64_t(l.steps[1][0]/4), C.int64_t(l.steps[2][0]/4)
	}
	C.tarn_softmax_columns(&c, C.uintptr_t(l.base[0]), C.uintptr_t(l.base[1]), C.uintptr_t(l.base[2]), threadsInC())
}

// normOf describes the groups g, without addresses.
func normOf(g *groups, y, x, dy *kernels.View) C.struct_norm {
	return C.struct_norm{rows: C.int64_t(g.rows), per: C.int64_t(g.per), channels: C.int64_t(g.channels), size: C.int64_t(g.size),
		ldy: C.int64_t(g.between(y)), ldx: C.int64_t(g.between(x)), lddy: C.int64_t(g.between(dy)), eps: C.double(g.eps)}
}

func normInC(g groups, a *kernels.Args) {
	h := normOf(&g, &a.Out[0], &a.In[0], &a.In[0])
	at := [7]C.uintptr_t{C.uintptr_t(a.Out[0].Ptr), C.uintptr_t(a.In[0].Ptr)}
	for i := range a.In[1:] {
		at[2+i] = C.uintptr_t(a.In[1+i].Ptr)
	}
	if g.centred {
		at[4] = C.uintptr_t(a.Out[1].Ptr)
	}
	at[5] = C.uintptr_t(a.Out[len(a.Out)-1].Ptr)
	C.tarn_norm(&h, &at[0], threadsInC())
}

func normGradInC(g groups, a *kernels.Args, pieces int64) {
	h := normOf(&g, &a.Out[0], &a.In[1], &a.In[0])
	at := [7]C.uintptr_t{0: C.uintptr_t(a.Out[0].Ptr), 1: C.uintptr_t(a.In[1].Ptr), 6: C.uintptr_t(a.In[0].Ptr)}
	rest := a.In[2:]
	if g.centred {
		at[4] = C.uintptr_t(rest[0].Ptr)
		rest = rest[1:]
	}
	at[5] = C.uintptr_t(rest[0].Ptr)
	if len(rest) > 1 {
		at[2] = C.uintptr_t(rest[1].Ptr)
	}
	var parts, dw, db uintptr
	if len(a.Out) > 1 {
		parts, dw = a.Work.Ptr, a.Out[1].Ptr
	}
	if len(a.Out) > 2 {
		db = a.Out[2].Ptr
	}
	C.tarn_norm_grad(&h, &at[0], C.int64_t(pieces), C.uintptr_t(parts), C.uintptr_t(dw), C.uintptr_t(db), threadsInC())
}
