//go:build cgo

package cpu

// #cgo noescape tarn_pool
// #cgo nocallback tarn_pool
// #include "dispatch.h"
import "C"

import (
	"math"

	"tarn/kernels"
)

// poolInC does a pooling of x to y, of which one may be a gradient and places is
// nil for means, and reports whether it is one for C: windows that do not
// stretch far, over planes whose columns lie side by side.
func poolInC(id kernels.ID, x, y, places *kernels.View, attr *kernels.PoolAttr) bool {
	kernel, stride, dilation := attr.Kernel, attr.Stride, attr.Dilation
	if x.Strides[3] != 1 || y.Strides[3] != 1 || stride[1] > C.POOL_STRIDE || (kernel[1]-1)*dilation[1] >= C.POOL_REACH ||
		x.Dims[2]*x.Dims[3] > math.MaxInt32/2 {
		return false
	}
	p := C.struct_pool{planes: C.int64_t(x.Dims[0] * x.Dims[1]), channels: C.int64_t(x.Dims[1]),
		h: C.int64_t(x.Dims[2]), w: C.int64_t(x.Dims[3]), oh: C.int64_t(y.Dims[2]), ow: C.int64_t(y.Dims[3]),
		kh: C.int64_t(kernel[0]), kw: C.int64_t(kernel[1]), sh: C.int64_t(stride[0]), sw: C.int64_t(stride[1]),
		ph: C.int64_t(attr.Padding[0]), pw: C.int64_t(attr.Padding[1]), dh: C.int64_t(dilation[0]), dw: C.int64_t(dilation[1]),
		x_image: C.int64_t(x.Strides[0]), x_channel: C.int64_t(x.Strides[1]), x_row: C.int64_t(x.Strides[2]),
		y_image: C.int64_t(y.Strides[0]), y_channel: C.int64_t(y.Strides[1]), y_row: C.int64_t(y.Strides[2]),
		count_pad: flag(attr.CountIncludePad)}
	op, to := C.enum_pool_op(C.AVG_POOL), uintptr(0)
	switch id {
	case kernels.MaxPool:
		if places.Strides[3] != 1 {
			return false
		}
		op, to = C.MAX_POOL, places.Ptr
		p.places_image, p.places_channel, p.places_row = C.int64_t(places.Strides[0]), C.int64_t(places.Strides[1]), C.int64_t(places.Strides[2])
	case kernels.AvgPoolGrad:
		op = C.AVG_POOL_GRAD
	}
	C.tarn_pool(&p, op, C.uintptr_t(x.Ptr), C.uintptr_t(y.Ptr), C.uintptr_t(to), threadsInC())
	return true
}
