//go:build cgo

package cpu

// #include "dispatch.h"
import "C"

import "tarn/kernels"

// lossOf describes the loss of logits and classes, without their addresses.
func lossOf(logits, classes *kernels.View) C.struct_loss {
	return C.struct_loss{c: C.int64_t(logits.Dims[1]), ldlogits: C.int64_t(logits.Strides[0]), ldclasses: C.int64_t(classes.Strides[0])}
}

func lossInC(a *kernels.Args, losses uintptr) {
	logits, classes := &a.In[0], &a.In[1]
	l := lossOf(logits, classes)
	C.tarn_loss(&l, C.uintptr_t(logits.Ptr), C.uintptr_t(classes.Ptr),
		C.uintptr_t(losses), C.int64_t(logits.Dims[0]), threadsInC())
}

func lossGradInC(a *kernels.Args, scale float32) {
	logits, classes, out := &a.In[1], &a.In[2], &a.Out[0]
	l := lossOf(logits, classes)
	l.ldgrad, l.scale = C.int64_t(out.Strides[0]), C.float(scale)
	C.tarn_loss_grad(&l, C.uintptr_t(logits.Ptr), C.uintptr_t(classes.Ptr), C.uintptr_t(out.Ptr),
		C.int64_t(logits.Dims[0]), threadsInC())
}
