package kernels

import "math"

// What goes together in reductions.

// sums are the dtypes of sums and products: integers are added up in int64.
const sums = Floats | 1<<Int64

// sumType is the dtype of the sum of elements of type d.
func sumType(d DType) DType {
	if d.IsFloat() {
		return d
	}
	return Int64
}

func checkReduction(id ID, a *Args) *Error { return checkReduced(id, &a.Out[0], &a.In[0]) }

// checkChoice is checkReduction of an op that nothing is no result of.
func checkChoice(id ID, a *Args) *Error {
	if e := checkReduction(id, a); e != nil {
		return e
	}
	if a.Out[0].Len() > 0 && a.In[0].Len() == 0 {
		return fail(id, ErrDims, "in[0] %v has no element to choose for out[0] %v", a.In[0], a.Out[0])
	}
	return nil
}

func checkMaxGrad(id ID, a *Args) *Error {
	if e := checkSame(id, "in", 1, &a.In[1], &a.Out[0]); e != nil {
		return e
	}
	if e := checkReduced(id, &a.In[2], &a.In[1]); e != nil {
		return e
	}
	return checkSame(id, "in", 0, &a.In[0], &a.In[2])
}

// checkReduced demands that each dim of small is that of big, or 1 where big
// is reduced.
func checkReduced(id ID, small, big *View) *Error {
	ok := small.Rank == big.Rank
	for d := 0; ok && d < int(big.Rank); d++ {
		ok = small.Dims[d] == big.Dims[d] || small.Dims[d] == 1
	}
	if !ok {
		return fail(id, ErrDims, "%v is no reduction of %v", *small, *big)
	}
	return nil
}

func checkVar(id ID, a *Args) *Error {
	if e := checkReduction(id, a); e != nil {
		return e
	}
	return checkSame(id, "out", 1, &a.Out[1], &a.Out[0])
}

func checkNorm(id ID, a *Args) *Error {
	if p := a.Attr.Alpha; math.IsNaN(p) || math.IsInf(p, 0) {
		return fail(id, ErrAttr, "power %v, want a finite number", p)
	}
	return checkReduction(id, a)
}
