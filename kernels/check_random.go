package kernels

import "math"

// RandomAttr holds the scalars of the random ops; see [RandomUniform] and those
// that follow it.
type RandomAttr struct {
	Seed, Offset uint64 // the generator's key, and its first block
	Low, High    int64  // RandomInt
}

// RandomBlocks returns how many blocks of random words id uses for n elements
// of type d. Who calls twice with one seed begins the second time that far from
// the first offset, to get other numbers.
func RandomBlocks(id ID, d DType, n int64) uint64 {
	per := uint64(4)
	if id == RandomInt || d == Float64 && id != Bernoulli && id != Dropout {
		per = 2
	}
	return (uint64(n) + per - 1) / per
}

// Digits returns how many binary digits a number of type d has, 0 for a type
// that is no float.
func (d DType) Digits() int {
	switch d {
	case Float32:
		return 24
	case Float64:
		return 53
	case Float16:
		return 11
	case BFloat16:
		return 8
	}
	return 0
}

// Threshold returns what a word is less than with probability p of [0,1]:
// p*2^32, rounded up.
func Threshold(p float64) uint64 { return uint64(math.Ceil(p * 0x1p32)) }

// Kept returns what Dropout multiplies the elements by that it keeps; with p = 1
// there are none.
func Kept(p float64) float64 {
	if p == 1 {
		return 0
	}
	return 1 / (1 - p)
}

func checkUniform(id ID, a *Args) *Error {
	most := math.MaxFloat32
	if a.Out[0].DType == Float64 {
		most = math.MaxFloat64
	}
	low, high := a.Attr.Alpha, a.Attr.Beta
	if !(low <= high) || math.Abs(low) > most || math.Abs(high) > most || high-low > most {
		return fail(id, ErrAttr, "numbers of [%v, %v)", low, high)
	}
	return nil
}

func checkNormal(id ID, a *Args) *Error {
	if !(a.Attr.Beta >= 0) {
		return fail(id, ErrAttr, "deviation %v, want 0 or more", a.Attr.Beta)
	}
	return nil
}

func checkRandomInt(id ID, a *Args) *Error {
	r, d := &a.Attr.Random, a.Out[0].DType
	if r.Low >= r.High {
		return fail(id, ErrAttr, "no number is in [%d, %d)", r.Low, r.High)
	}
	least, most := wholes(d)
	if r.Low < least || r.High-1 > most {
		return fail(id, ErrAttr, "numbers of [%d, %d) for %v, which has those from %d to %d", r.Low, r.High, d, least, most)
	}
	return nil
}

// wholes returns from where to where type d has every whole number.
func wholes(d DType) (least, most int64) {
	switch d {
	case Int64:
		return math.MinInt64, math.MaxInt64
	case Int32:
		return math.MinInt32, math.MaxInt32
	case Uint8:
		return 0, math.MaxUint8
	}
	most = 1 << d.Digits()
	return -most, most
}

func checkBernoulli(id ID, a *Args) *Error {
	if len(a.In) == 0 {
		return checkProbability(id, a)
	}
	return checkElements(id, a)
}

func checkDropout(id ID, a *Args) *Error {
	if e := checkProbability(id, a); e != nil {
		return e
	}
	return checkElements(id, a)
}

func checkProbability(id ID, a *Args) *Error {
	if p := a.Attr.Alpha; !(p >= 0 && p <= 1) {
		return fail(id, ErrAttr, "probability %v, want 0 to 1", p)
	}
	return nil
}

// probabilityTypes demands that the probabilities, if given, are floats.
func probabilityTypes(id ID, a *Args) *Error {
	if len(a.In) == 1 && !a.In[0].DType.IsFloat() {
		return fail(id, ErrDType, "in[0], the probabilities, is %v, want a float type", a.In[0].DType)
	}
	return nil
}
