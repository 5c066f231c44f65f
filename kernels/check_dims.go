package kernels

// Which dims and scalars go together, for each kind of op.

// checkElements demands that all operands have the dims of the output.
func checkElements(id ID, a *Args) *Error {
	for i := range a.In {
		if e := checkSame(id, "in", i, &a.In[i], &a.Out[0]); e != nil {
			return e
		}
	}
	return nil
}

func checkSame(id ID, role string, i int, v, want *View) *Error {
	if !v.SameDims(want) {
		return fail(id, ErrDims, "%s[%d] %v, want the dims of %v", role, i, *v, *want)
	}
	return nil
}

func checkMatMul(id ID, a *Args) *Error {
	out, x, y := &a.Out[0], &a.In[0], &a.In[1]
	if !multiply(out, x, y) {
		return fail(id, ErrDims, "in[0] %v times in[1] %v into out[0] %v", *x, *y, *out)
	}
	if a.Attr.Activation > Rectify {
		return fail(id, ErrAttr, "activation %d is unknown", a.Attr.Activation)
	}
	if len(a.In) == 3 {
		if e := checkSame(id, "in", 2, &a.In[2], out); e != nil {
			return e
		}
	}
	if a.Attr.Accumulate && (len(a.In) == 3 || a.Attr.Activation != Identity) {
		return fail(id, ErrAttr, "accumulate into out[0] %v goes with neither bias nor activation", *out)
	}
	return nil
}

// multiply reports whether matrices of x times those of y are as many as out has,
// and of its dims.
func multiply(out, x, y *View) bool {
	if out.Rank < 2 || x.Rank != out.Rank || y.Rank != out.Rank {
		return false
	}
	batch := out.Rank - 2
	return equal(x.Dims[:batch], out.Dims[:batch]) && equal(y.Dims[:batch], out.Dims[:batch]) &&
		x.Dims[batch+1] == y.Dims[batch] && out.Dims[batch] == x.Dims[batch] && out.Dims[batch+1] == y.Dims[batch+1]
}

func checkCrossEntropy(id ID, a *Args) *Error {
	loss, logits, classes := &a.Out[0], &a.In[0], &a.In[1]
	if loss.Rank != 0 || logits.Rank != 2 || !isRow(classes, logits) {
		return fail(id, ErrDims,
			"logits in[0] %v, classes in[1] %v, loss out[0] %v; want [N C], [N], []",
			*logits, *classes, *loss)
	}
	return nil
}

func checkCrossEntropyGrad(id ID, a *Args) *Error {
	dloss, logits, classes := &a.In[0], &a.In[1], &a.In[2]
	if dloss.Rank != 0 || logits.Rank != 2 || !isRow(classes, logits) {
		return fail(id, ErrDims,
			"dloss in[0] %v, logits in[1] %v, classes in[2] %v; want [], [N C], [N]",
			*dloss, *logits, *classes)
	}
	return checkSame(id, "out", 0, &a.Out[0], logits)
}

// isRow reports whether v has one element for each row of the matrix m.
func isRow(v, m *View) bool { return v.Rank == 1 && v.Dims[0] == m.Dims[0] }

// checkGroups demands of an optimiser step that a parameter, its state and its
// gradient have the same dims.
func checkGroups(id ID, a *Args) *Error {
	per := perParameter(id, a)
	for i := range a.Out {
		if e := checkSame(id, "out", i, &a.Out[i], &a.In[i/per]); e != nil {
			return e
		}
	}
	if counters(id, a) == 1 {
		if i := len(a.In) - 1; a.In[i].Rank != 0 {
			return fail(id, ErrDims, "in[%d] %v, the step, want rank 0", i, a.In[i])
		}
	} else if step := a.Attr.AdamW.Step; id == AdamWStep && step < 1 {
		return fail(id, ErrAttr, "step %d, want 1 or more, or 0 and an input that holds it", step)
	}
	return nil
}

// checkAddresses demands that operands with elements have an address that is
// a multiple of the element size.
func checkAddresses(id ID, a *Args) *Error {
	for i := range a.Out {
		if badAddress(&a.Out[i]) {
			return fail(id, ErrAddress, "out[%d] %v at %#x", i, a.Out[i], a.Out[i].Ptr)
		}
	}
	for i := range a.In {
		if badAddress(&a.In[i]) {
			return fail(id, ErrAddress, "in[%d] %v at %#x", i, a.In[i], a.In[i].Ptr)
		}
	}
	return nil
}

func badAddress(v *View) bool {
	return (v.Ptr == 0 || v.Ptr&uintptr(v.DType.Size()-1) != 0) && v.Len() > 0
}

// checkOverlap demands that outputs meet neither each other nor an input. For
// an optimiser step it looks within each parameter.
func checkOverlap(id ID, a *Args) *Error {
	per := perParameter(id, a)
	for i := range a.Out {
		out := &a.Out[i]
		e := out.extent()
		outs, ins, first := a.Out[:i], a.In, 0
		if per != 0 {
			first = i / per
			outs, ins = a.Out[first*per:i], a.In[first:first+1]
			if n := len(a.In) - 1; counters(id, a) == 1 && e.overlaps(a.In[n].extent()) {
				return fail(id, ErrOverlap, "out[%d] %v and in[%d] %v, the step", i, *out, n, a.In[n])
			}
		}
		for j := range outs {
			if e.overlaps(outs[j].extent()) {
				return fail(id, ErrOverlap, "out[%d] %v and another output %v", i, *out, outs[j])
			}
		}
		for j := range ins {
			if specs[id].inPlace && out.SameElements(&ins[j]) {
				continue
			}
			if e.overlaps(ins[j].extent()) {
				return fail(id, ErrOverlap, "out[%d] %v and in[%d] %v", i, *out, first+j, ins[j])
			}
		}
	}
	return nil
}

// extent is where an operand lies.
type extent struct {
	first  uintptr // address of the element at index 0,...,0
	lo, hi uintptr // all of it lies in [lo,hi); both 0 if it is empty
	dense  bool    // it touches every byte of [lo,hi); taken as true of windows that count elements twice
}

func (v *View) extent() extent {
	size := v.DType.Size()
	var below, above int64 // elements before and after the first one
	n := int64(1)
	for d, m := range v.Dims[:v.Rank] {
		switch s := v.Strides[d]; {
		case m == 0:
			return extent{}
		case s > 0:
			above += (m - 1) * s
			n *= m
		case s < 0:
			below -= (m - 1) * s
			n *= m
		}
	}
	return extent{
		first: v.Ptr,
		lo:    v.Ptr - uintptr(below*size),
		hi:    v.Ptr + uintptr((above+1)*size),
		dense: n == below+above+1,
	}
}

// overlaps reports whether e and f surely share a byte. See [Check] for what
// it misses.
func (e extent) overlaps(f extent) bool {
	return e.lo < f.hi && f.lo < e.hi && (e.first == f.first || e.dense && f.dense)
}
