//go:build cgo

package cpu

// #cgo noescape tarn_lines
// #cgo nocallback tarn_lines
// #cgo noescape tarn_norm
// #cgo nocallback tarn_norm
// #cgo noescape tarn_norm_grad
// #cgo nocallback tarn_norm_grad
// #include "dispatch.h"
import "C"

import "tarn/kernels"

var lineOpsInC = [kernels.NumOps]C.int{
	kernels.Softmax: C.SOFTMAX, kernels.LogSoftmax: C.SOFTMAX, kernels.SoftmaxGrad: C.SOFTMAX_GRAD, kernels.LogSoftmaxGrad: C.SOFTMAX_GRAD,
	kernels.CumSum: C.SCAN, kernels.CumProd: C.SCAN,
}

func linesInC(l lines, columns bool) {
	last := l.rank - 1
	c := C.struct_lines{rows: C.int64_t(l.dims[last]), n: C.int64_t(l.len), outer: 1,
		log:     flag(l.id == kernels.LogSoftmax || l.id == kernels.LogSoftmaxGrad),
		product: flag(l.id == kernels.CumProd), back: flag(l.gaps[0] < 0)}
	between := &l.gaps
	if !columns {
		between = &[maxOperands]int64{l.step(0), l.step(1), l.step(2)}
	}
	c.ldout, c.lda, c.ldb = C.int64_t(between[0]/4), C.int64_t(between[1]/4), C.int64_t(between[2]/4)
	if l.rank == 2 {
		c.outer = C.int64_t(l.dims[0])
		c.out_outer, c.a_outer, c.b_outer = C.int64_t(l.steps[0][0]/4), C.int64_t(l.steps[1][0]/4), C.int64_t(l.steps[2][0]/4)
	}
	C.tarn_lines(&c, lineOpsInC[l.id], C.int(flag(columns)), C.uintptr_t(l.base[0]), C.uintptr_t(l.base[1]), C.uintptr_t(l.base[2]), threadsInC())
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
