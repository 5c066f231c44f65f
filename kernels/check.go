package kernels

import (
	"errors"
	"fmt"
	"math/bits"
)

// More errors that an *Error wraps: faults of single operands and scalars.
var (
	ErrAddress = errors.New("bad address")
	ErrOverlap = errors.New("output overlaps")
	ErrAttr    = errors.New("attribute out of range")
)

const (
	floats   = DTypes(1<<Float32 | 1<<Float64)
	anyDType = floats | 1<<Int64
)

// specs holds what can be said of an op without looking at dims. The
// optimiser steps count their operands per parameter, see checkGroups.
var specs = [numOps]struct {
	dtypes   DTypes // that Out[0] may have
	out, in  int
	optional int  // further inputs that may be left out
	inPlace  bool // an output may lie exactly over an input
}{
	Fill:             {dtypes: anyDType, out: 1},
	Copy:             {dtypes: anyDType, out: 1, in: 1, inPlace: true},
	Add:              {dtypes: anyDType, out: 1, in: 2, inPlace: true},
	Sub:              {dtypes: anyDType, out: 1, in: 2, inPlace: true},
	Mul:              {dtypes: anyDType, out: 1, in: 2, inPlace: true},
	Div:              {dtypes: floats, out: 1, in: 2, inPlace: true},
	Affine:           {dtypes: floats, out: 1, in: 1, inPlace: true},
	Exp:              {dtypes: floats, out: 1, in: 1, inPlace: true},
	Log:              {dtypes: floats, out: 1, in: 1, inPlace: true},
	Sqrt:             {dtypes: floats, out: 1, in: 1, inPlace: true},
	ReLU:             {dtypes: floats, out: 1, in: 1, inPlace: true},
	ReLUGrad:         {dtypes: floats, out: 1, in: 2, inPlace: true},
	Sum:              {dtypes: floats, out: 1, in: 1},
	Max:              {dtypes: floats, out: 1, in: 1},
	MaxGrad:          {dtypes: floats, out: 1, in: 3},
	ArgMax:           {dtypes: 1 << Int64, out: 1, in: 1},
	MatMul:           {dtypes: floats, out: 1, in: 2, optional: 1},
	CrossEntropy:     {dtypes: floats, out: 1, in: 2},
	CrossEntropyGrad: {dtypes: floats, out: 1, in: 3},
	SGDStep:          {dtypes: floats},
	AdamWStep:        {dtypes: floats},
}

// DTypes returns the element types that Out[0] may have by the specification
// of id; a device may offer fewer.
func (id ID) DTypes() DTypes {
	if id >= numOps {
		return 0
	}
	return specs[id].dtypes
}

// Check returns an *Error if a is not what the specification of id asks for or
// if the dtype of Out[0] is not in dtypes, and nil otherwise. Every body calls
// it before it does anything else, so that bad arguments are the same error on
// every device and leave all memory as it was. Check looks at the operands but
// never at the data behind them, and allocates nothing when all is well.
//
// Of overlaps it finds those that addresses and strides prove: an output with
// stride 0, one that begins where another operand does, and two operands
// without gaps whose bytes intersect. It does not find strided operands that
// meet in single elements; to rule those out stays with the caller.
func Check(id ID, dtypes DTypes, a *Args) error {
	if id >= numOps {
		return &Error{Op: id, Err: ErrNoOp}
	}
	if e := checkCounts(id, a); e != nil {
		return e
	}
	for i := range a.Out {
		if e := checkView(id, "out", i, &a.Out[i]); e != nil {
			return e
		}
		if e := checkOutput(id, i, &a.Out[i]); e != nil {
			return e
		}
	}
	for i := range a.In {
		if e := checkView(id, "in", i, &a.In[i]); e != nil {
			return e
		}
	}
	if d := a.Out[0].DType; !dtypes.Has(d) || !specs[id].dtypes.Has(d) {
		return fail(id, ErrDType, "out[0] %v", a.Out[0])
	}
	if e := checkDTypes(id, a); e != nil {
		return e
	}
	if e := checkDims(id, a); e != nil {
		return e
	}
	if e := checkAddresses(id, a); e != nil {
		return e
	}
	if e := checkOverlap(id, a); e != nil {
		return e
	}
	return nil
}

func fail(id ID, err error, format string, args ...any) *Error {
	return &Error{Op: id, Err: err, Detail: fmt.Sprintf(format, args...)}
}

// perParameter returns how many outputs each parameter of an optimiser step
// has: itself and its state. It is 0 for all other ops.
func perParameter(id ID, a *Args) int {
	switch {
	case id == AdamWStep:
		return 3
	case id == SGDStep && a.Attr.SGD.Momentum != 0:
		return 2
	case id == SGDStep:
		return 1
	}
	return 0
}

// counters returns how many inputs of an optimiser step are not gradients: 1
// where the step's number lies in memory.
func counters(id ID, a *Args) int {
	if id == AdamWStep && a.Attr.AdamW.Step == 0 {
		return 1
	}
	return 0
}

func checkCounts(id ID, a *Args) *Error {
	s := &specs[id]
	nout, nin, most := s.out, s.in, s.in+s.optional
	if per := perParameter(id, a); per != 0 {
		extra := counters(id, a)
		nin = max(len(a.In), 1+extra)
		nout, most = per*(nin-extra), nin
	}
	if len(a.Out) == nout && len(a.In) >= nin && len(a.In) <= most {
		return nil
	}
	want := fmt.Sprint(nin)
	if most > nin {
		want = fmt.Sprintf("%d to %d", nin, most)
	}
	return fail(id, ErrArgs, "%d outputs and %d inputs, want %d and %s", len(a.Out), len(a.In), nout, want)
}

// checkView looks at an operand alone.
func checkView(id ID, role string, i int, v *View) *Error {
	if !v.DType.Valid() {
		return fail(id, ErrDType, "%s[%d] is %v", role, i, v.DType)
	}
	if v.Rank < 0 || v.Rank > MaxRank {
		return fail(id, ErrDims, "%s[%d] has rank %d, want 0 to %d", role, i, v.Rank, MaxRank)
	}
	n, over := uint64(1), uint64(0)
	for _, d := range v.Dims[:v.Rank] {
		switch {
		case d < 0:
			return fail(id, ErrDims, "%s[%d] %v has a negative dim", role, i, *v)
		case d > 0: // a dim of 0 must not hide that the others are too many
			var hi uint64
			hi, n = bits.Mul64(n, uint64(d))
			over |= hi | n>>63
		}
	}
	if over != 0 {
		return fail(id, ErrDims, "%s[%d] %v has more elements than an int64 counts", role, i, *v)
	}
	return nil
}

func checkOutput(id ID, i int, v *View) *Error {
	for d, n := range v.Dims[:v.Rank] {
		if n > 1 && v.Strides[d] == 0 {
			return fail(id, ErrOverlap, "out[%d] %v repeats an element along dim %d", i, *v, d)
		}
	}
	return nil
}

// checkDTypes looks at the operands after Out[0], whose dtype has been found
// good.
func checkDTypes(id ID, a *Args) *Error {
	d := a.Out[0].DType
	gradients := len(a.In) - counters(id, a)
	for i := range a.Out {
		if a.Out[i].DType != d {
			return fail(id, ErrDType, "out[%d] is %v, want %v as out[0]", i, a.Out[i].DType, d)
		}
	}
	for i := range a.In {
		got := a.In[i].DType
		switch {
		case id == Copy:
		case id == ArgMax:
			if !got.IsFloat() {
				return fail(id, ErrDType, "in[%d] is %v, want a float type", i, got)
			}
		case id == CrossEntropy && i == 1, id == CrossEntropyGrad && i == 2:
			if got != Int64 {
				return fail(id, ErrDType, "in[%d], the classes, is %v, want int64", i, got)
			}
		case i >= gradients:
			if got != Int64 {
				return fail(id, ErrDType, "in[%d], the step, is %v, want int64", i, got)
			}
		case got != d:
			return fail(id, ErrDType, "in[%d] is %v, want %v as out[0]", i, got, d)
		}
	}
	return nil
}
