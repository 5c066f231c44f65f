package kernels

import "slices"

// Which dims, scalars and dtypes go together in softmax, the normalisations and
// NLL.

// statistics returns the rule of an op some of whose operands are statistics:
// those whose bit is set in outs and ins have the dtype of a statistic of
// Out[0]'s, all others that of Out[0].
func statistics(outs, ins uint) func(id ID, a *Args) *Error {
	want := func(d DType, set uint, i int) DType {
		if set>>i&1 == 1 {
			return d.Statistic()
		}
		return d
	}
	return func(id ID, a *Args) *Error {
		d := a.Out[0].DType
		for i := range a.Out {
			if got, w := a.Out[i].DType, want(d, outs, i); got != w {
				return fail(id, ErrDType, "out[%d] is %v, want %v for out[0] of %v", i, got, w, d)
			}
		}
		for i := range a.In {
			if got, w := a.In[i].DType, want(d, ins, i); got != w {
				return fail(id, ErrDType, "in[%d] is %v, want %v for out[0] of %v", i, got, w, d)
			}
		}
		return nil
	}
}

// classesOf is the rule of a loss whose second input holds class indices.
func classesOf(id ID, a *Args) *Error {
	for i := range a.Out {
		if got := a.Out[i].DType; got != a.Out[0].DType {
			return fail(id, ErrDType, "out[%d] is %v, want %v as out[0]", i, got, a.Out[0].DType)
		}
	}
	for i := range a.In {
		if got := a.In[i].DType; i != 1 && got != a.Out[0].DType {
			return fail(id, ErrDType, "in[%d] is %v, want %v as out[0]", i, got, a.Out[0].DType)
		}
	}
	return wantDType(id, a, 1, "the classes", Int64)
}

func checkAxis(id ID, a *Args) *Error {
	if axis := a.Attr.Axis; axis < 0 || axis >= int(a.Out[0].Rank) {
		return fail(id, ErrAttr, "axis %d of out[0] %v", axis, a.Out[0])
	}
	return checkElements(id, a)
}

// checkAll demands that the operands of a list from the first one on have the
// given dims.
func checkAll(id ID, role string, list []View, first int, dims ...int64) *Error {
	for i := first; i < len(list); i++ {
		if v := &list[i]; int(v.Rank) != len(dims) || !equal(v.Dims[:v.Rank], dims) {
			return fail(id, ErrDims, "%s[%d] %v, want dims %v", role, i, *v, slices.Clone(dims)) // dims stay on the stack
		}
	}
	return nil
}

// rank demands that In[i], which sets the other operands' dims, has a rank.
func rank(id ID, a *Args, i int, want int8) *Error {
	if a.In[i].Rank != want {
		return fail(id, ErrDims, "in[%d] %v, want rank %d", i, a.In[i], want)
	}
	return nil
}

func firstOf(errs ...*Error) *Error {
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}

func checkLayerNorm(id ID, a *Args) *Error {
	if e := rank(id, a, 0, 2); e != nil {
		return e
	}
	x := &a.In[0]
	return firstOf(checkSame(id, "out", 0, &a.Out[0], x), checkAll(id, "out", a.Out, 1, x.Dims[0]), checkAll(id, "in", a.In, 1, x.Dims[1]))
}

func checkLayerNormGrad(id ID, a *Args) *Error {
	if e := rank(id, a, 1, 2); e != nil {
		return e
	}
	x, w := &a.In[1], 4 // where w is, after the statistics
	if id == RMSNormGrad {
		w = 3
	}
	return firstOf(checkSame(id, "in", 0, &a.In[0], x), checkSame(id, "out", 0, &a.Out[0], x), checkAll(id, "out", a.Out, 1, x.Dims[1]),
		checkAll(id, "in", a.In[:w], 2, x.Dims[0]), checkAll(id, "in", a.In, w, x.Dims[1]))
}

// checkChannels demands that the groups divide the channels of In[i] [N,C,S].
func checkChannels(id ID, a *Args, i int) *Error {
	if e := rank(id, a, i, 3); e != nil {
		return e
	}
	if g := int64(a.Attr.Norm.Groups); g < 1 || a.In[i].Dims[1]%g != 0 {
		return fail(id, ErrAttr, "%d groups of the channels of in[%d] %v", g, i, a.In[i])
	}
	return nil
}

func checkGroupNorm(id ID, a *Args) *Error {
	if e := checkChannels(id, a, 0); e != nil {
		return e
	}
	x := &a.In[0]
	return firstOf(checkSame(id, "out", 0, &a.Out[0], x), checkAll(id, "out", a.Out, 1, x.Dims[0], int64(a.Attr.Norm.Groups)),
		checkAll(id, "in", a.In, 1, x.Dims[1]))
}

func checkGroupNormGrad(id ID, a *Args) *Error {
	if e := checkChannels(id, a, 1); e != nil {
		return e
	}
	x := &a.In[1]
	return firstOf(checkSame(id, "in", 0, &a.In[0], x), checkSame(id, "out", 0, &a.Out[0], x), checkAll(id, "out", a.Out, 1, x.Dims[1]),
		checkAll(id, "in", a.In[:4], 2, x.Dims[0], int64(a.Attr.Norm.Groups)), checkAll(id, "in", a.In, 4, x.Dims[1]))
}

func checkBatchNorm(id ID, a *Args) *Error {
	if e := rank(id, a, 0, 3); e != nil {
		return e
	}
	x := &a.In[0]
	return firstOf(checkSame(id, "out", 0, &a.Out[0], x), checkAll(id, "out", a.Out, 1, x.Dims[1]), checkAll(id, "in", a.In, 1, x.Dims[1]))
}

func checkBatchNormGrad(id ID, a *Args) *Error {
	if e := rank(id, a, 1, 3); e != nil {
		return e
	}
	x := &a.In[1]
	return firstOf(checkSame(id, "in", 0, &a.In[0], x), checkSame(id, "out", 0, &a.Out[0], x),
		checkAll(id, "out", a.Out, 1, x.Dims[1]), checkAll(id, "in", a.In, 2, x.Dims[1]))
}

func checkNLL(id ID, a *Args) *Error {
	if e := rank(id, a, 0, 2); e != nil {
		return e
	}
	n, c := a.In[0].Dims[0], a.In[0].Dims[1]
	return firstOf(checkAll(id, "out", a.Out, 0, n), checkAll(id, "in", a.In[:2], 1, n), checkAll(id, "in", a.In, 2, c), checkSmoothing(id, a))
}

func checkNLLGrad(id ID, a *Args) *Error {
	if a.Out[0].Rank != 2 {
		return fail(id, ErrDims, "out[0] %v, want rank 2", a.Out[0])
	}
	n, c := a.Out[0].Dims[0], a.Out[0].Dims[1]
	return firstOf(checkAll(id, "in", a.In[:2], 0, n), checkAll(id, "in", a.In, 2, c), checkSmoothing(id, a))
}

func checkSmoothing(id ID, a *Args) *Error {
	if s := a.Attr.Loss.Smoothing; !(s >= 0 && s <= 1) {
		return fail(id, ErrAttr, "smoothing %v, want 0 to 1", s)
	}
	return nil
}
