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

// DTypes returns the element types that Out[0] may have by the specification
// of id; a device may offer fewer.
func (id ID) DTypes() DTypes {
	if id >= numOps {
		return 0
	}
	return specs[id].dtypes
}

// Inputs returns how many inputs id has, those that may be left out not
// counted.
func (id ID) Inputs() int { return specs[id].in }

// Selects returns the element types by which the bodies of id differ: those
// that In[0] may have where Out[0] has one of its own, as that of ArgMax, and
// otherwise those of Out[0].
func (id ID) Selects() (types DTypes, ofInput bool) {
	if id < numOps && specs[id].inputs != 0 {
		return specs[id].inputs, true
	}
	return id.DTypes(), false
}

// Selector returns the element type of a, a checked call of id, that chooses
// the body; see [ID.Selects].
func (id ID) Selector(a *Args) DType {
	if _, ofInput := id.Selects(); ofInput {
		return a.In[0].DType
	}
	return a.Out[0].DType
}

// Result returns the element type of Out[0] for inputs of type d, one of those
// that id selects by.
func (id ID) Result(d DType) DType {
	switch s := &specs[id]; {
	case s.result != nil:
		return s.result(d)
	case s.inputs != 0:
		return s.dtypes.List()[0]
	}
	return d
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
	if dims := specs[id].dims; dims != nil {
		if e := dims(id, a); e != nil {
			return e
		}
	}
	if e := checkAddresses(id, a); e != nil {
		return e
	}
	if e := checkOverlap(id, a); e != nil {
		return e
	}
	return nil
}

// NothingToWrite reports whether a, which Check has found good, has no element
// to be written: all outputs are empty.
func NothingToWrite(a *Args) bool {
	for i := range a.Out {
		if a.Out[i].Len() > 0 {
			return false
		}
	}
	return true
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
	if (len(a.Out) == nout || len(a.Out) == nout+s.moreOut) && len(a.In) >= nin && len(a.In) <= most {
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
		if n > 1 && v.Strides[d] == 0 && v.Len() > 0 {
			return fail(id, ErrOverlap, "out[%d] %v repeats an element along dim %d", i, *v, d)
		}
	}
	return nil
}

// checkDTypes looks at the operands after Out[0], whose dtype has been found
// good: all have that one, unless the op's specification says otherwise.
func checkDTypes(id ID, a *Args) *Error {
	switch s := &specs[id]; {
	case s.types != nil:
		return s.types(id, a)
	case s.inputs != 0:
		return checkInputs(id, a)
	}
	return sameDTypes(id, a, len(a.In))
}

// sameDTypes demands that the outputs and the first n inputs have the dtype of
// Out[0].
func sameDTypes(id ID, a *Args, n int) *Error {
	d := a.Out[0].DType
	for i := range a.Out {
		if a.Out[i].DType != d {
			return fail(id, ErrDType, "out[%d] is %v, want %v as out[0]", i, a.Out[i].DType, d)
		}
	}
	for i := range a.In[:n] {
		if got := a.In[i].DType; got != d {
			return fail(id, ErrDType, "in[%d] is %v, want %v as out[0]", i, got, d)
		}
	}
	return nil
}

// wantDType demands that input i, which the error calls what, is a d.
func wantDType(id ID, a *Args, i int, what string, d DType) *Error {
	if got := a.In[i].DType; got != d {
		return fail(id, ErrDType, "in[%d], %s, is %v, want %v", i, what, got, d)
	}
	return nil
}

// checkInputs demands that all inputs have one dtype of the op's set for them.
func checkInputs(id ID, a *Args) *Error {
	for i := range a.In {
		switch got := a.In[i].DType; {
		case !specs[id].inputs.Has(got) && specs[id].inputs == Floats:
			return fail(id, ErrDType, "in[%d] is %v, want a float type", i, got)
		case !specs[id].inputs.Has(got):
			return fail(id, ErrDType, "in[%d] is %v, want one of %v", i, got, specs[id].inputs.List())
		case got != a.In[0].DType:
			return fail(id, ErrDType, "in[%d] is %v, want %v as in[0]", i, got, a.In[0].DType)
		}
	}
	if result := specs[id].result; result != nil {
		if d := result(a.In[0].DType); d != a.Out[0].DType {
			return fail(id, ErrDType, "out[0] is %v, want %v for in[0] of %v", a.Out[0].DType, d, a.In[0].DType)
		}
	}
	return nil
}
