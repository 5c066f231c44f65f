package kernels

import "math"

// ConvAttr says how the kernel of a convolution moves over the input. Index 0
// is of the rows, 1 of the columns. Strides, dilations and groups are 1 or
// more, the padding, of zeros and the same on both sides, 0 or more.
type ConvAttr struct {
	Stride, Padding, Dilation [2]int

	Groups int
}

// PoolAttr says which windows a pooling takes, as [ConvAttr] does. The padding
// is at most half of what a window spans. Average pooling has no dilation.
type PoolAttr struct {
	Kernel, Stride, Padding, Dilation [2]int

	CeilMode        bool // a last window may reach beyond the padded input
	CountIncludePad bool // average pooling: padding counts in the divisor
}

// Windows returns how many windows of kernel elements, dilation apart, fit on
// n elements with padding on both sides, stride from one to the next: the size
// of a convolution's output along a dim, 0 where not one fits. n, kernel and
// padding must be 0 or more, stride and dilation 1 or more.
func Windows(n, kernel int64, stride, padding, dilation int) int64 {
	room := n + 2*int64(padding)
	if kernel < 1 || room < 1 || kernel-1 > (room-1)/int64(dilation) {
		return 0
	}
	return (room-1-(kernel-1)*int64(dilation))/int64(stride) + 1
}

// PoolWindows is [Windows] for dim 0 or 1 of a pooling. In ceil mode a window
// that ends beyond the padded input counts too, if it begins within the input
// or the padding ahead of it, as in PyTorch.
func (p *PoolAttr) PoolWindows(dim int, n int64) int64 {
	s, pad := int64(p.Stride[dim]), int64(p.Padding[dim])
	span := (int64(p.Kernel[dim])-1)*int64(p.Dilation[dim]) + 1
	room := n + 2*pad - span
	if n > maxPooled {
		return 0
	}
	if p.CeilMode {
		room += s - 1
	}
	if room < 0 {
		return 0
	}
	count := room/s + 1
	if p.CeilMode && (count-1)*s >= n+pad {
		count--
	}
	return count
}

// maxPooled bounds the rows and columns that a pooling takes, so that no sum
// with a window's span overflows.
const maxPooled = 1 << 60

// maxWindow bounds every attribute of a window, so that no product of two
// overflows.
const maxWindow = math.MaxInt32

func window(id ID, what string, v [2]int, least int) *Error {
	for _, x := range v {
		if x < least || x > maxWindow {
			return fail(id, ErrAttr, "%s %d, want %d to %d", what, v, least, maxWindow)
		}
	}
	return nil
}

// planes demands four dims.
func planes(id ID, role string, i int, v *View) *Error {
	if v.Rank != 4 {
		return fail(id, ErrDims, "%s[%d] %v has %d dims, want 4", role, i, *v, v.Rank)
	}
	return nil
}

// checkConv looks at x [N,C,H,W], w [O,C/groups,KH,KW] and y [N,O,OH,OW].
func checkConv(id ID, attr *ConvAttr, x, w, y *View) *Error {
	for _, e := range []*Error{
		window(id, "stride", attr.Stride, 1), window(id, "padding", attr.Padding, 0),
		window(id, "dilation", attr.Dilation, 1), window(id, "groups", [2]int{attr.Groups, attr.Groups}, 1),
	} {
		if e != nil {
			return e
		}
	}
	groups := int64(attr.Groups)
	if x.Dims[1]%groups != 0 || w.Dims[0]%groups != 0 || w.Dims[1] != x.Dims[1]/groups {
		return fail(id, ErrDims, "input %v and weight %v in %d groups", *x, *w, groups)
	}
	ok := y.Dims[0] == x.Dims[0] && y.Dims[1] == w.Dims[0]
	for d := range 2 {
		n := Windows(x.Dims[2+d], w.Dims[2+d], attr.Stride[d], attr.Padding[d], attr.Dilation[d])
		if n == 0 {
			return fail(id, ErrDims, "a kernel of %v does not fit on input %v with padding %v and dilation %v", *w, *x, attr.Padding, attr.Dilation)
		}
		ok = ok && y.Dims[2+d] == n
	}
	if !ok {
		return fail(id, ErrDims, "input %v and weight %v do not make %v", *x, *w, *y)
	}
	return nil
}

func allPlanes(id ID, a *Args, in int) *Error {
	for i := range a.Out {
		if e := planes(id, "out", i, &a.Out[i]); e != nil {
			return e
		}
	}
	for i := range a.In[:in] {
		if e := planes(id, "in", i, &a.In[i]); e != nil {
			return e
		}
	}
	return nil
}

func checkConvForward(id ID, a *Args) *Error {
	if e := allPlanes(id, a, 2); e != nil {
		return e
	}
	if len(a.In) == 3 && (a.In[2].Rank != 1 || a.In[2].Dims[0] != a.In[1].Dims[0]) {
		return fail(id, ErrDims, "in[2] %v, the bias, for weight %v", a.In[2], a.In[1])
	}
	return checkConv(id, &a.Attr.Conv, &a.In[0], &a.In[1], &a.Out[0])
}

func checkConvGradInput(id ID, a *Args) *Error {
	if e := allPlanes(id, a, 2); e != nil {
		return e
	}
	return checkConv(id, &a.Attr.Conv, &a.Out[0], &a.In[1], &a.In[0])
}

func checkConvGradWeight(id ID, a *Args) *Error {
	if e := allPlanes(id, a, 2); e != nil {
		return e
	}
	return checkConv(id, &a.Attr.Conv, &a.In[1], &a.Out[0], &a.In[0])
}

// checkPool looks at x [N,C,H,W] and y [N,C,OH,OW].
func checkPool(id ID, attr *PoolAttr, dilated bool, x, y *View) *Error {
	for _, e := range []*Error{
		window(id, "kernel", attr.Kernel, 1), window(id, "stride", attr.Stride, 1),
		window(id, "padding", attr.Padding, 0), window(id, "dilation", attr.Dilation, 1),
	} {
		if e != nil {
			return e
		}
	}
	if !dilated && attr.Dilation != [2]int{1, 1} {
		return fail(id, ErrAttr, "dilation %d, want 1", attr.Dilation)
	}
	ok := y.Dims[0] == x.Dims[0] && y.Dims[1] == x.Dims[1]
	for d := range 2 {
		span := (int64(attr.Kernel[d])-1)*int64(attr.Dilation[d]) + 1
		if int64(attr.Padding[d]) > span/2 {
			return fail(id, ErrAttr, "padding %d is more than half of a window that spans %d", attr.Padding, span)
		}
		n := attr.PoolWindows(d, x.Dims[2+d])
		if n == 0 || x.Dims[2+d] == 0 {
			return fail(id, ErrDims, "no window of %v fits on input %v with padding %v and dilation %v", attr.Kernel, *x, attr.Padding, attr.Dilation)
		}
		ok = ok && y.Dims[2+d] == n
	}
	if !ok {
		return fail(id, ErrDims, "pooling of input %v does not make %v", *x, *y)
	}
	return nil
}

func checkMaxPool(id ID, a *Args) *Error {
	if e := allPlanes(id, a, 1); e != nil {
		return e
	}
	if e := checkSame(id, "out", 1, &a.Out[1], &a.Out[0]); e != nil {
		return e
	}
	return checkPool(id, &a.Attr.Pool, true, &a.In[0], &a.Out[0])
}

func checkMaxPoolGrad(id ID, a *Args) *Error {
	if e := allPlanes(id, a, 2); e != nil {
		return e
	}
	if e := checkSame(id, "in", 1, &a.In[1], &a.In[0]); e != nil {
		return e
	}
	return checkPool(id, &a.Attr.Pool, true, &a.Out[0], &a.In[0])
}

func checkAvgPool(id ID, a *Args) *Error {
	if e := allPlanes(id, a, 1); e != nil {
		return e
	}
	return checkPool(id, &a.Attr.Pool, false, &a.In[0], &a.Out[0])
}

func checkAvgPoolGrad(id ID, a *Args) *Error {
	if e := allPlanes(id, a, 1); e != nil {
		return e
	}
	return checkPool(id, &a.Attr.Pool, false, &a.Out[0], &a.In[0])
}

// checkBins looks at x [N,C,H,W] and y [N,C,OH,OW] of an adaptive pooling.
func checkBins(id ID, x, y *View) *Error {
	if x.Dims[0] != y.Dims[0] || x.Dims[1] != y.Dims[1] {
		return fail(id, ErrDims, "adaptive pooling of input %v does not make %v", *x, *y)
	}
	if y.Len() > 0 && x.Len() == 0 {
		return fail(id, ErrDims, "input %v has no elements for the means %v", *x, *y)
	}
	return nil
}

func checkAdaptiveAvgPool(id ID, a *Args) *Error {
	if e := allPlanes(id, a, 1); e != nil {
		return e
	}
	return checkBins(id, &a.In[0], &a.Out[0])
}

func checkAdaptiveAvgPoolGrad(id ID, a *Args) *Error {
	if e := allPlanes(id, a, 1); e != nil {
		return e
	}
	return checkBins(id, &a.Out[0], &a.In[0])
}

// maxPoolTypes: the indices are int64, all else has the dtype of Out[0].
func maxPoolTypes(id ID, a *Args) *Error {
	if d := a.Out[1].DType; d != Int64 {
		return fail(id, ErrDType, "out[1], the indices, is %v, want int64", d)
	}
	return sameAs(id, a, 0)
}

func maxPoolGradTypes(id ID, a *Args) *Error {
	if e := wantDType(id, a, 1, "the indices", Int64); e != nil {
		return e
	}
	return sameAs(id, a, 0)
}

// sameAs demands that input i has the dtype of Out[0].
func sameAs(id ID, a *Args, i int) *Error {
	if got, d := a.In[i].DType, a.Out[0].DType; got != d {
		return fail(id, ErrDType, "in[%d] is %v, want %v as out[0]", i, got, d)
	}
	return nil
}
