package tensor

import "tarn/kernels"

// Type promotion is PyTorch's: a float wins over an integer, that over a bool,
// the larger over the smaller, and the two half types meet in float32. An
// operand without dims has a say only where its kind, of float, integer and
// bool, is above that of the operands with dims: a float64 constant leaves a
// float32 tensor what it is.

// typeRank orders the types: the kind in tens.
var typeRank = [...]int{
	Bool: 0, Uint8: 10, Int32: 11, Int64: 12, Float16: 20, BFloat16: 20, Float32: 21, Float64: 22,
}

// promoteTypes returns the type of a sum of an a and a b.
func promoteTypes(a, b DType) DType {
	switch {
	case a == b:
		return a
	case typeRank[a] == typeRank[b]:
		return Float32 // float16 and bfloat16
	case typeRank[a] > typeRank[b]:
		return a
	}
	return b
}

// kind is 0 for bool, 1 for integers and 2 for floats.
func kind(d DType) int { return typeRank[d] / 10 }

// promoted returns the type that ts are computed in together.
func promoted(ts []*Tensor) DType {
	var dims, none DType // of operands with dims and of those without
	for _, t := range ts {
		to := &dims
		if t.view.Rank == 0 {
			to = &none
		}
		if *to == kernels.Invalid {
			*to = t.view.DType
		} else {
			*to = promoteTypes(*to, t.view.DType)
		}
	}
	switch {
	case dims == kernels.Invalid:
		return none
	case none != kernels.Invalid && kind(none) > kind(dims):
		return promoteTypes(dims, none)
	}
	return dims
}

// promote gives the operands from the given one on their common type, and
// returns it.
func (c *call) promote(from int) DType {
	if c.err != nil {
		return kernels.Invalid
	}
	dt := promoted(c.operands[from:c.n])
	c.convert(from, dt)
	return dt
}

// promoteFloat is promote to a float: integers become float32.
func (c *call) promoteFloat() DType {
	if c.err != nil {
		return kernels.Invalid
	}
	dt := promoted(c.operands[:c.n])
	if !dt.IsFloat() {
		dt = Float32
	}
	c.convert(0, dt)
	return dt
}

// convert makes the operands from the given one on tensors of type dt. What it
// makes is released by finish.
func (c *call) convert(from int, dt DType) {
	for i := from; i < c.n && c.err == nil; i++ {
		c.convertOne(i, dt)
	}
}

func (c *call) convertOne(i int, dt DType) {
	t := c.operands[i]
	if t.view.DType == dt {
		return
	}
	made := converted(t, dt)
	if c.moved[i] != nil {
		c.moved[i].Release()
	}
	c.moved[i], c.operands[i], c.err = made, made, made.err
}
