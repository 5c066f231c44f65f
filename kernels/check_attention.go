package kernels

// logsumexpOf returns the dtype of a logarithm of a sum over elements of d.
func logsumexpOf(d DType) DType {
	if d.IsHalf() {
		return Float32
	}
	return d
}

func attentionTypes(id ID, a *Args) *Error {
	d := a.Out[0].DType
	if got, want := a.Out[1].DType, logsumexpOf(d); got != want {
		return fail(id, ErrDType, "out[1], the logsumexp, is %v, want %v", got, want)
	}
	if e := inputsLike(id, a, 3); e != nil {
		return e
	}
	return maskType(id, a, 3)
}

func attentionGradTypes(id ID, a *Args) *Error {
	d := a.Out[0].DType
	for i := range a.Out {
		if got := a.Out[i].DType; got != d {
			return fail(id, ErrDType, "out[%d] is %v, want %v as out[0]", i, got, d)
		}
	}
	if e := inputsLike(id, a, 5); e != nil {
		return e
	}
	if e := wantDType(id, a, 5, "the logsumexp", logsumexpOf(d)); e != nil {
		return e
	}
	return maskType(id, a, 6)
}

// inputsLike demands that the first n inputs have the dtype of Out[0].
func inputsLike(id ID, a *Args, n int) *Error {
	for i := range a.In[:n] {
		if e := wantDType(id, a, i, "an operand like out[0]", a.Out[0].DType); e != nil {
			return e
		}
	}
	return nil
}

// maskType looks at the mask, input i, if there is one.
func maskType(id ID, a *Args, i int) *Error {
	if len(a.In) == i || a.In[i].DType == Bool {
		return nil
	}
	return wantDType(id, a, i, "the mask, if not bool", a.Out[0].DType)
}

func checkAttention(id ID, a *Args) *Error {
	q, k, v := &a.In[0], &a.In[1], &a.In[2]
	if e := checkHeads(id, q, k, v, &a.Out[0], &a.Out[1]); e != nil {
		return e
	}
	return checkMask(id, a, 3, q, k)
}

func checkAttentionGrad(id ID, a *Args) *Error {
	q, k, v, o := &a.In[1], &a.In[2], &a.In[3], &a.In[4]
	if e := checkHeads(id, q, k, v, o, &a.In[5]); e != nil {
		return e
	}
	if e := checkSame(id, "in", 0, &a.In[0], o); e != nil {
		return e
	}
	for i, of := range []*View{q, k, v} {
		if e := checkSame(id, "out", i, &a.Out[i], of); e != nil {
			return e
		}
	}
	return checkMask(id, a, 6, q, k)
}

// checkHeads demands [B,H,L,D], [B,G,S,D], [B,G,S,E], [B,H,L,E] and [B,H,L], and
// that G divides H.
func checkHeads(id ID, q, k, v, o, logsumexp *View) *Error {
	ok := q.Rank == 4 && k.Rank == 4 && v.Rank == 4 && o.Rank == 4 && logsumexp.Rank == 3
	ok = ok && k.Dims[0] == q.Dims[0] && k.Dims[3] == q.Dims[3] && equal(v.Dims[:3], k.Dims[:3])
	ok = ok && equal(o.Dims[:3], q.Dims[:3]) && o.Dims[3] == v.Dims[3] && equal(logsumexp.Dims[:3], q.Dims[:3])
	if !ok {
		return fail(id, ErrDims, "q %v, k %v, v %v, o %v, logsumexp %v; want [B H L D], [B G S D], [B G S E], [B H L E], [B H L]",
			*q, *k, *v, *o, *logsumexp)
	}
	if h, g := q.Dims[1], k.Dims[1]; h != g && (g == 0 || h%g != 0) {
		return fail(id, ErrDims, "%d heads of k %v do not divide %d of q %v", g, *k, h, *q)
	}
	return nil
}

// checkMask demands that input i, if there is one, is [B,H,L,S].
func checkMask(id ID, a *Args, i int, q, k *View) *Error {
	if len(a.In) == i {
		return nil
	}
	m := &a.In[i]
	if m.Rank != 4 || !equal(m.Dims[:3], q.Dims[:3]) || m.Dims[3] != k.Dims[2] {
		return fail(id, ErrDims, "mask in[%d] %v, want %v", i, *m, []int64{q.Dims[0], q.Dims[1], q.Dims[2], k.Dims[2]})
	}
	return nil
}
