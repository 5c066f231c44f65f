package cpu

import "tarn/kernels"

// convolution is the geometry of a Conv and its gradients: x [N,C,H,W],
// w [O,C/groups,KH,KW], y [N,O,OH,OW].
type convolution struct {
	x, w, y *kernels.View
	attr    *kernels.ConvAttr
}

// taps calls f with each element of the kernel and the range of y's rows and
// columns whose x is inside: y's row i meets x's row i*stride + h.
func (c *convolution) taps(f func(t tap)) {
	var t tap
	for t.k = range c.w.Dims[2] {
		t.h = t.k*int64(c.attr.Dilation[0]) - int64(c.attr.Padding[0])
		t.i0, t.i1 = inside(c.y.Dims[2], c.x.Dims[2], int64(c.attr.Stride[0]), t.h)
		for t.l = range c.w.Dims[3] {
			t.v = t.l*int64(c.attr.Dilation[1]) - int64(c.attr.Padding[1])
			t.j0, t.j1 = inside(c.y.Dims[3], c.x.Dims[3], int64(c.attr.Stride[1]), t.v)
			if t.i0 < t.i1 && t.j0 < t.j1 {
				f(t)
			}
		}
	}
}

// tap is an element k, l of a kernel: where it meets x and y.
type tap struct {
	k, l, h, v     int64
	i0, i1, j0, j1 int64
}

// inside returns from which to which of outs i*stride+offset is in [0,n).
func inside(outs, n, stride, offset int64) (lo, hi int64) {
	if offset < 0 {
		lo = ceil(-offset, stride)
	}
	if last := n - 1 - offset; last >= 0 {
		hi = min(last/stride+1, outs)
	}
	return lo, hi
}

// meeting is the rows of x and y that meet at t, in one plane of each: n rows,
// their first elements and the bytes from row to row and from column to column.
type meeting struct {
	n, columns   int64
	x, y         uintptr
	xrow, yrow   int64
	xstep, ystep int64
}

func (c *convolution) meeting(t tap, xplane, yplane uintptr) meeting {
	size, xs, ys := c.x.DType.Size(), &c.x.Strides, &c.y.Strides
	sh, sw := int64(c.attr.Stride[0]), int64(c.attr.Stride[1])
	return meeting{
		n: t.i1 - t.i0, columns: t.j1 - t.j0,
		x:    xplane + uintptr(((t.i0*sh+t.h)*xs[2]+(t.j0*sw+t.v)*xs[3])*size),
		y:    yplane + uintptr((t.i0*ys[2]+t.j0*ys[3])*size),
		xrow: sh * xs[2] * size, yrow: ys[2] * size,
		xstep: sw * xs[3] * size, ystep: ys[3] * size,
	}
}

// planeAt returns the address of v's plane n, c.
func planeAt(v *kernels.View, n, c int64) uintptr {
	return v.Ptr + uintptr((n*v.Strides[0]+c*v.Strides[1])*v.DType.Size())
}

// weight returns an element of w.
func weight[T float](w *kernels.View, o, c int64, t tap) *T {
	return at[T](planeAt(w, o, c), t.k*w.Strides[2]+t.l*w.Strides[3], w.DType.Size())
}

// whole reports whether the rows of a plane of v lie one behind the other.
func whole(v *kernels.View) bool {
	return (v.Dims[3] == 1 || v.Strides[3] == 1) && (v.Dims[2] == 1 || v.Strides[2] == v.Dims[3])
}

// fillPlane sets all elements of plane n, c.
func fillPlane[T float](v *kernels.View, n, c int64, value T) {
	size := v.DType.Size()
	if whole(v) && v.Dims[2]*v.Dims[3] > 0 {
		all := dense[T](planeAt(v, n, c), v.Dims[2]*v.Dims[3])
		if value == 0 {
			clear(all) // which the compiler has a faster way for
			return
		}
		for i := range all {
			all[i] = value
		}
		return
	}
	for i := range v.Dims[2] {
		row := planeAt(v, n, c) + uintptr(i*v.Strides[2]*size)
		for j := range v.Dims[3] {
			*at[T](row, j, v.Strides[3]*size) = value
		}
	}
}

// grainOf returns how many units of that much work each make a piece.
func grainOf(work int64) int64 { return max(serialBelow/max(work, 1), 1) }

// conv is the body of Conv: every plane of y is one goroutine's.
func conv[T float](a *kernels.Args) error {
	c := convolution{x: &a.In[0], w: &a.In[1], y: &a.Out[0], attr: &a.Attr.Conv}
	if inC[T](minRun) != nil && convInC(&c, a) {
		return nil
	}
	planes, grain := c.y.Dims[0]*c.w.Dims[0], grainOf(c.y.Dims[2]*c.y.Dims[3]*c.w.Dims[1]*c.w.Dims[2]*c.w.Dims[3])
	if chunks(planes, grain) == 1 {
		convPlanes[T](&c, a, 0, planes)
		return nil
	}
	shared := c
	parallel(planes, grain, func(lo, hi int64) { convPlanes[T](&shared, a, lo, hi) })
	return nil
}

// convPlanes makes the planes lo to hi of y.
func convPlanes[T float](c *convolution, a *kernels.Args, lo, hi int64) {
	outputs, channels := c.w.Dims[0], c.w.Dims[1]
	perGroup := outputs / int64(c.attr.Groups)
	for u := lo; u < hi; u++ {
		n, o := u/outputs, u%outputs
		bias := T(0)
		if len(a.In) == 3 {
			bias = *at[T](a.In[2].Ptr, o, a.In[2].Strides[0]*sizeOf[T]())
		}
		fillPlane(c.y, n, o, bias)
		for ch := range channels {
			x, y := planeAt(c.x, n, o/perGroup*channels+ch), planeAt(c.y, n, o)
			c.taps(func(t tap) {
				l, w := c.meeting(t, x, y), *weight[T](c.w, o, ch, t)
				for range l.n {
					addScaled(l.y, l.ystep, w, l.x, l.xstep, l.columns)
					l.x, l.y = l.x+uintptr(l.xrow), l.y+uintptr(l.yrow)
				}
			})
		}
	}
}

// convGradInput is the body of ConvGradInput: every plane of dx is one
// goroutine's.
func convGradInput[T float](a *kernels.Args) error {
	c := convolution{x: &a.Out[0], w: &a.In[1], y: &a.In[0], attr: &a.Attr.Conv}
	if inC[T](minRun) != nil && convGradInputInC(&c, a) {
		return nil
	}
	perGroup := c.w.Dims[0] / int64(c.attr.Groups)
	planes, grain := c.x.Dims[0]*c.x.Dims[1], grainOf(c.y.Dims[2]*c.y.Dims[3]*perGroup*c.w.Dims[2]*c.w.Dims[3])
	if chunks(planes, grain) == 1 {
		convInputPlanes[T](&c, 0, planes)
		return nil
	}
	shared := c
	parallel(planes, grain, func(lo, hi int64) { convInputPlanes[T](&shared, lo, hi) })
	return nil
}

// convInputPlanes makes the planes lo to hi of dx.
func convInputPlanes[T float](c *convolution, lo, hi int64) {
	channels, perGroup := c.w.Dims[1], c.w.Dims[0]/int64(c.attr.Groups)
	for u := lo; u < hi; u++ {
		n, ch := u/c.x.Dims[1], u%c.x.Dims[1]
		fillPlane(c.x, n, ch, T(0))
		first := ch / channels * perGroup
		for o := first; o < first+perGroup; o++ {
			x, y := planeAt(c.x, n, ch), planeAt(c.y, n, o)
			c.taps(func(t tap) {
				l, w := c.meeting(t, x, y), *weight[T](c.w, o, ch%channels, t)
				for range l.n {
					addScaled(l.x, l.xstep, w, l.y, l.ystep, l.columns)
					l.x, l.y = l.x+uintptr(l.xrow), l.y+uintptr(l.yrow)
				}
			})
		}
	}
}

// convGradWeight is the body of ConvGradWeight: every plane of dw is one
// goroutine's.
func convGradWeight[T float](a *kernels.Args) error {
	c := convolution{x: &a.In[1], w: &a.Out[0], y: &a.In[0], attr: &a.Attr.Conv}
	if inC[T](minRun) != nil && convGradWeightInC(&c, a) {
		return nil
	}
	planes, grain := c.w.Dims[0]*c.w.Dims[1], grainOf(c.y.Dims[0]*c.y.Dims[2]*c.y.Dims[3]*c.w.Dims[2]*c.w.Dims[3])
	if chunks(planes, grain) == 1 {
		convWeightPlanes[T](&c, 0, planes)
		return nil
	}
	shared := c
	parallel(planes, grain, func(lo, hi int64) { convWeightPlanes[T](&shared, lo, hi) })
	return nil
}

// convWeightPlanes makes the planes lo to hi of dw. Rows are added up in T,
// their sums in float64: there may be very many.
func convWeightPlanes[T float](c *convolution, lo, hi int64) {
	channels, perGroup := c.w.Dims[1], c.w.Dims[0]/int64(c.attr.Groups)
	for u := lo; u < hi; u++ {
		o, ch := u/channels, u%channels
		fillPlane(c.w, o, ch, T(0)) // for elements that meet nothing
		c.taps(func(t tap) {
			sum := 0.0
			for n := range c.y.Dims[0] {
				l := c.meeting(t, planeAt(c.x, n, o/perGroup*channels+ch), planeAt(c.y, n, o))
				for range l.n {
					sum += float64(dot[T](l.x, l.xstep, l.y, l.ystep, l.columns))
					l.x, l.y = l.x+uintptr(l.xrow), l.y+uintptr(l.yrow)
				}
			}
			*weight[T](c.w, o, ch, t) = T(sum)
		})
	}
}

// packedWeight is the bytes of w laid out anew, at a multiple of packedAlign.
func packedWeight(w *kernels.View) int64 { return ceil(w.Len()*4, packedAlign) * packedAlign }

// convWorkspace asks for the scratch of C's bodies.
func convWorkspace(a *kernels.Args) int64 {
	if a.Out[0].DType.Size() != 4 || bodiesInC() == nil {
		return 0
	}
	return convScratch(a.Out[0].Len() * a.In[1].Dims[1] * a.In[1].Dims[2] * a.In[1].Dims[3])
}

// convGradWorkspace asks for room for the weight w beside it.
func convGradWorkspace(a *kernels.Args, w *kernels.View) int64 {
	if a.Out[0].DType.Size() != 4 || bodiesInC() == nil {
		return 0
	}
	dy := &a.In[0]
	return packedWeight(w) + convScratch(w.Len()*dy.Dims[0]*dy.Dims[2]*dy.Dims[3])
}

func convGradInputWorkspace(a *kernels.Args) int64  { return convGradWorkspace(a, &a.In[1]) }
func convGradWeightWorkspace(a *kernels.Args) int64 { return convGradWorkspace(a, &a.Out[0]) }
