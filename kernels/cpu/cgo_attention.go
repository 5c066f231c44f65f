//go:build cgo

package cpu

// #include "dispatch.h"
import "C"

import "tarn/kernels"

// headsInC describes an operand of attention.
func headsInC(v *kernels.View) C.struct_heads {
	h := C.struct_heads{at: C.uintptr_t(v.Ptr)}
	for d := range h.s {
		h.s[d] = C.int64_t(v.Strides[d])
	}
	return h
}

func attentionOf(id kernels.ID, args *kernels.Args) (c C.struct_attention, grad C.int) {
	in, rest := args.In, args.In[3:]
	if id == kernels.AttentionGrad {
		grad = 1
		c.given, c.dq, c.dk, c.dv = headsInC(&in[0]), headsInC(&args.Out[0]), headsInC(&args.Out[1]), headsInC(&args.Out[2])
		c.o, c.logsumexp = headsInC(&in[4]), headsInC(&in[5])
		in, rest = in[1:], in[6:]
	} else {
		c.o, c.logsumexp = headsInC(&args.Out[0]), headsInC(&args.Out[1])
	}
	c.q, c.k, c.v = headsInC(&in[0]), headsInC(&in[1]), headsInC(&in[2])
	if len(rest) > 0 {
		c.mask, c.hides = headsInC(&rest[0]), flag(rest[0].DType == kernels.Bool)
	}
	q, k := in[0].Dims, in[1].Dims
	c.batch, c.heads, c.groups = C.int64_t(q[0]), C.int64_t(q[1]), C.int64_t(k[1])
	c.queries, c.keys = C.int64_t(q[2]), C.int64_t(k[2])
	c.width, c.value_width = C.int64_t(q[3]), C.int64_t(in[2].Dims[3])
	c.scale, c.causal = C.float(args.Attr.Attention.Scale), flag(args.Attr.Attention.Causal)
	return c, grad
}

func attentionWorkInC(id kernels.ID, args *kernels.Args) int64 {
	c, grad := attentionOf(id, args)
	return int64(C.tarn_attention_work(&c, grad, threadsInC()))
}

func attentionInC(id kernels.ID, args *kernels.Args) {
	c, grad := attentionOf(id, args)
	bytes := args.Work.Len() * args.Work.DType.Size()
	C.tarn_attention(&c, grad, C.uintptr_t(args.Work.Ptr), C.int64_t(bytes), threadsInC())
}
