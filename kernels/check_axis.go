package kernels

// What goes together in ops that work along Attr.Axis.

// checkHasAxis demands that v has a dim Attr.Axis.
func checkHasAxis(id ID, a *Args, v *View) *Error {
	if axis := a.Attr.Axis; axis < 0 || axis >= int(v.Rank) {
		return fail(id, ErrAttr, "axis %d of in[0] %v", axis, *v)
	}
	return nil
}

// sameBut reports whether v and w have the same dims, the axis left out.
func sameBut(v, w *View, axis int) bool {
	ok := v.Rank == w.Rank
	for d := 0; ok && d < int(v.Rank); d++ {
		ok = d == axis || v.Dims[d] == w.Dims[d]
	}
	return ok
}

func checkArgMax(id ID, a *Args) *Error {
	out, in, axis := &a.Out[0], &a.In[0], a.Attr.Axis
	if e := checkHasAxis(id, a, in); e != nil {
		return e
	}
	if !sameBut(out, in, axis) || out.Dims[axis] != 1 {
		return fail(id, ErrDims, "out[0] %v is not in[0] %v with 1 at axis %d", *out, *in, axis)
	}
	if out.Len() > 0 && in.Dims[axis] == 0 {
		return fail(id, ErrDims, "in[0] %v has no element to choose along axis %d", *in, axis)
	}
	return nil
}

// sortMost is how many elements an axis has at most that is sorted: a body may
// count them in 32 bits.
const sortMost = 1<<31 - 1

func checkSort(id ID, a *Args) *Error {
	out, in, axis := &a.Out[0], &a.In[0], a.Attr.Axis
	if e := checkHasAxis(id, a, in); e != nil {
		return e
	}
	if !sameBut(out, in, axis) || out.Dims[axis] > in.Dims[axis] {
		return fail(id, ErrDims, "out[0] %v is not in[0] %v, or the first of it along axis %d", *out, *in, axis)
	}
	if n := in.Dims[axis]; n > sortMost {
		return fail(id, ErrDims, "in[0] %v has %d elements along axis %d, at most %d can be sorted", *in, n, axis, sortMost)
	}
	return checkSame(id, "out", 1, &a.Out[1], out)
}

// sortTypes demands that Out[1] are indices.
func sortTypes(id ID, a *Args) *Error {
	if got := a.Out[1].DType; got != Int64 {
		return fail(id, ErrDType, "out[1], the indices, is %v, want %v", got, Int64)
	}
	if got, d := a.In[0].DType, a.Out[0].DType; got != d {
		return fail(id, ErrDType, "in[0] is %v, want %v as out[0]", got, d)
	}
	return nil
}

func checkGather(id ID, a *Args) *Error {
	out, in, axis := &a.Out[0], &a.In[0], a.Attr.Axis
	if e := checkHasAxis(id, a, in); e != nil {
		return e
	}
	if !sameBut(out, in, axis) {
		return fail(id, ErrDims, "out[0] %v and in[0] %v differ beside axis %d", *out, *in, axis)
	}
	return checkSame(id, "in", 1, &a.In[1], out)
}

func checkScatter(id ID, a *Args) *Error {
	out, in, axis := &a.Out[0], &a.In[0], a.Attr.Axis
	if e := checkHasAxis(id, a, in); e != nil {
		return e
	}
	if !sameBut(out, in, axis) {
		return fail(id, ErrDims, "in[0] %v and out[0] %v differ beside axis %d", *in, *out, axis)
	}
	return checkSame(id, "in", 1, &a.In[1], in)
}

// indexTypes demands that In[1] are indices, and all else of one type.
func indexTypes(id ID, a *Args) *Error {
	if e := sameDTypes(id, a, 1); e != nil {
		return e
	}
	return wantDType(id, a, 1, "the indices", Int64)
}
