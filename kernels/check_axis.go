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
