//go:build cgo

package cpu

// #cgo noescape tarn_conv
// #cgo nocallback tarn_conv
// #cgo noescape tarn_conv_weight
// #cgo nocallback tarn_conv_weight
// #cgo noescape tarn_conv_turn
// #cgo nocallback tarn_conv_turn
// #include "dispatch.h"
import "C"

import "tarn/kernels"

// inC returns c as C sees it, with y as the grid of columns and x as what they
// meet, or false where the layout is one for Go's loops.
func (c *convolution) inC() (v C.struct_conv, ok bool) {
	x, y := c.x, c.y
	if x.Dims[3] != 1 && x.Strides[3] != 1 || !c.w.Contiguous() || c.w.Len() == 0 || y.Len() == 0 || x.Len() == 0 {
		return v, false
	}
	groups := int64(c.attr.Groups)
	v = C.struct_conv{
		groups: C.int64_t(groups), images: C.int64_t(x.Dims[0]),
		h: C.int64_t(x.Dims[2]), w: C.int64_t(x.Dims[3]), gh: C.int64_t(y.Dims[2]), gw: C.int64_t(y.Dims[3]),
		nkh: C.int64_t(c.w.Dims[2]), nkw: C.int64_t(c.w.Dims[3]),
		dh0: C.int64_t(-c.attr.Padding[0]), ddh: C.int64_t(c.attr.Dilation[0]), dw0: C.int64_t(-c.attr.Padding[1]), ddw: C.int64_t(c.attr.Dilation[1]),
		sh: C.int64_t(c.attr.Stride[0]), sw: C.int64_t(c.attr.Stride[1]),
		src_image: C.int64_t(x.Strides[0]), src_channel: C.int64_t(x.Strides[1]), src_row: C.int64_t(x.Strides[2]),
		dst_image: C.int64_t(y.Strides[0]), dst_channel: C.int64_t(y.Strides[1]), dst_row: C.int64_t(y.Strides[2]), dst_step: C.int64_t(y.Strides[3]),
		src_group: C.int64_t(x.Dims[1] / groups * x.Strides[1]), dst_group: C.int64_t(y.Dims[1] / groups * y.Strides[1]),
	}
	v.g.m, v.g.k = C.int64_t(y.Dims[1]/groups), C.int64_t(x.Dims[1]/groups)*v.nkh*v.nkw
	v.g.ars, v.g.acs, v.a_group = v.g.k, 1, v.g.m*v.g.k
	if y.Dims[3] == 1 {
		v.dst_step = 1
	}
	if x.Dims[3] == y.Dims[3] && x.Dims[2] == y.Dims[2] && c.isPointwise() && whole(x) && whole(y) {
		v.w, v.h = v.w*v.h, 1
		v.gw, v.gh = v.w, 1
	}
	return v, true
}

// isPointwise reports whether each pixel of y meets the one at its place alone.
func (c *convolution) isPointwise() bool {
	return c.w.Dims[2] == 1 && c.w.Dims[3] == 1 && c.attr.Stride == [2]int{1, 1} && c.attr.Padding == [2]int{}
}

// convScratch is the work space of the threads that a convolution of so many
// multiplications is for.
func convScratch(work int64) int64 {
	if work < pieceFLOP {
		return C.SCRATCH
	}
	return int64(Threads()) * C.SCRATCH
}

// convThreads returns how many threads the work space is enough for, when the
// first bytes of it are for something else.
func convThreads(a *kernels.Args, first int64) C.int {
	return C.int(min(int64(Threads()), (a.Work.Len()*a.Work.DType.Size()-first)/C.SCRATCH))
}

// convInC does a Conv; false where it is for Go's loops.
func convInC(c *convolution, a *kernels.Args) bool {
	v, ok := c.inC()
	if !ok {
		return false
	}
	var bias uintptr
	if len(a.In) == 3 {
		bias, v.g.biasrs = a.In[2].Ptr, C.int64_t(a.In[2].Strides[0])
	}
	C.tarn_conv(&v, C.uintptr_t(c.y.Ptr), C.uintptr_t(c.w.Ptr), C.uintptr_t(c.x.Ptr), C.uintptr_t(bias),
		C.uintptr_t(a.Work.Ptr), convThreads(a, 0))
	return true
}

// convGradWeightInC does a ConvGradWeight. The sums come before the scratch.
func convGradWeightInC(c *convolution, a *kernels.Args) bool {
	v, ok := c.inC()
	if !ok || !whole(c.y) {
		return false
	}
	sums := packedWeight(c.w)
	C.tarn_conv_weight(&v, C.uintptr_t(c.w.Ptr), C.uintptr_t(c.y.Ptr), C.uintptr_t(c.x.Ptr), C.uintptr_t(a.Work.Ptr),
		C.uintptr_t(a.Work.Ptr+uintptr(sums)), convThreads(a, sums))
	return true
}

// phase is the rows or columns of dx with one remainder by the stride: those
// from first on, stride apart, and which elements of the kernel they meet. The
// i-th meets dy's i+offset+t*step by the t-th.
type phase struct {
	first, n, k0, kstep, taps, offset, step int64
}

// phaseOf returns the phase of a remainder along dim d.
func (c *convolution) phaseOf(d int, remainder int64) phase {
	stride, pad, dil := int64(c.attr.Stride[d]), int64(c.attr.Padding[d]), int64(c.attr.Dilation[d])
	p := phase{first: remainder, n: ceil(c.x.Dims[2+d]-remainder, stride), kstep: stride / divisorOf(stride, dil)}
	kernel := c.w.Dims[2+d]
	for p.k0 < min(kernel, p.kstep) && (remainder+pad-p.k0*dil)%stride != 0 {
		p.k0++
	}
	if p.k0 < min(kernel, p.kstep) {
		p.taps = (kernel-1-p.k0)/p.kstep + 1
		p.offset, p.step = (remainder+pad-p.k0*dil)/stride, -p.kstep*dil/stride
	}
	return p
}

// divisorOf returns the greatest common divisor.
func divisorOf(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// convGradInputInC does a ConvGradInput: a convolution of dy with stride 1 for
// each remainder of rows and columns by the stride, under the taps that they
// meet. The weights so turned come before the scratch.
func convGradInputInC(c *convolution, a *kernels.Args) bool {
	dy := convolution{x: c.y, w: c.w, y: c.x, attr: c.attr}
	v, ok := dy.inC()
	if !ok {
		return false
	}
	size, work := packedWeight(c.w), a.Work.Ptr
	outputs, channels := v.g.k/(v.nkh*v.nkw), v.g.m
	row, column := c.x.Strides[2], c.x.Strides[3]
	turned := uintptr(0)
	for r := range min(int64(c.attr.Stride[0]), c.x.Dims[2]) {
		rows := c.phaseOf(0, r)
		for q := range min(int64(c.attr.Stride[1]), c.x.Dims[3]) {
			columns := c.phaseOf(1, q)
			v.nkh, v.nkw = C.int64_t(rows.taps), C.int64_t(columns.taps)
			if v.nkh == 0 || v.nkw == 0 {
				v.nkh, v.nkw = 0, 0
			}
			at := C.uintptr_t(work + turned)
			C.tarn_conv_turn(at, C.uintptr_t(c.w.Ptr), v.groups, outputs, channels, C.int64_t(c.w.Dims[2]), C.int64_t(c.w.Dims[3]),
				C.int64_t(rows.k0), C.int64_t(rows.kstep), v.nkh, C.int64_t(columns.k0), C.int64_t(columns.kstep), v.nkw, threadsInC())
			v.g.k = outputs * v.nkh * v.nkw
			v.g.ars, v.a_group = v.g.k, channels*v.g.k
			turned += uintptr(v.groups * v.a_group * 4)
			if !c.isPointwise() {
				v.gh, v.gw = C.int64_t(rows.n), C.int64_t(columns.n)
				v.sh, v.sw = 1, 1
				v.dh0, v.ddh, v.dw0, v.ddw = C.int64_t(rows.offset), C.int64_t(rows.step), C.int64_t(columns.offset), C.int64_t(columns.step)
				v.dst_row, v.dst_step = C.int64_t(row*int64(c.attr.Stride[0])), C.int64_t(column*int64(c.attr.Stride[1]))
				if v.gw == 1 {
					v.dst_step = 1
				}
			}
			dst := c.x.Ptr + uintptr(4*(r*row+q*column))
			C.tarn_conv(&v, C.uintptr_t(dst), at, C.uintptr_t(c.y.Ptr), 0, C.uintptr_t(work+uintptr(size)), convThreads(a, size))
		}
	}
	return true
}
