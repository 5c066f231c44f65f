//go:build cgo

package cpu

// #cgo noescape tarn_batch
// #cgo nocallback tarn_batch
// #include "dispatch.h"
import "C"

import "tarn/kernels"

func batchNormInC(id kernels.ID, a *kernels.Args, columns bool) {
	x, y := &a.In[0], &a.Out[0]
	h := C.struct_batch{eps: C.double(a.Attr.Norm.Eps), columns: flag(columns)}
	at := [9]C.uintptr_t{0: C.uintptr_t(y.Ptr)}
	address := func(list []kernels.View, i int) C.uintptr_t {
		if i >= len(list) {
			return 0
		}
		return C.uintptr_t(list[i].Ptr)
	}
	switch id {
	case kernels.BatchNorm:
		at[3], at[4], at[5], at[6] = address(a.In, 1), address(a.In, 2), address(a.Out, 1), address(a.Out, 2)
	case kernels.BatchNormInfer:
		at[3], at[4], at[5], at[6] = address(a.In, 3), address(a.In, 4), address(a.In, 1), address(a.In, 2)
		h.given = 1
	default:
		dy := x
		x = &a.In[1]
		at[2], at[3], at[5], at[6], at[7], at[8] = C.uintptr_t(dy.Ptr), address(a.In, 4), address(a.In, 2), address(a.In, 3), address(a.Out, 1), address(a.Out, 2)
		h.given = flag(a.Attr.Norm.Given)
		h.dy_image, h.dy_channel = C.int64_t(dy.Strides[0]), C.int64_t(dy.Strides[1])
	}
	at[1] = C.uintptr_t(x.Ptr)
	h.images, h.channels, h.size = C.int64_t(x.Dims[0]), C.int64_t(x.Dims[1]), C.int64_t(x.Dims[2])
	h.x_image, h.x_channel, h.y_image, h.y_channel = C.int64_t(x.Strides[0]), C.int64_t(x.Strides[1]), C.int64_t(y.Strides[0]), C.int64_t(y.Strides[1])
	C.tarn_batch(&h, &at[0], threadsInC())
}
