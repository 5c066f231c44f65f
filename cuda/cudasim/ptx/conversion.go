package ptx

import (
	"cmp"
	"math"
	"math/bits"
)

// conversion is a cvt.
type conversion struct {
	to, from        dtype
	rounding        string   // the modifier, "" for none
	whole           bool     // the rounding is to a whole number
	round           rounding // nil for none
	flush, saturate bool
	relu            bool // what is less than zero becomes zero
}

// float says whether a type holds one float.
func (t dtype) float() bool { return t.kind() == kindFloat || t == bf16 || t == tf32 }

// check says what is wrong with a conversion, "" if nothing is.
func (c conversion) check() string {
	toFloat, fromFloat := c.to.float(), c.from.float()
	narrows := fromFloat && toFloat && !c.whole && c.narrows()
	switch {
	case c.flush && c.to != f32 && c.from != f32:
		return ".ftz without an f32"
	case fromFloat && !toFloat && !c.whole:
		return "a float becomes an integer by .rni, .rzi, .rmi or .rpi"
	case !fromFloat && c.whole:
		return "an integer is whole already"
	case c.whole && toFloat && c.to != c.from:
		return "a float becomes whole only in its own type"
	case !fromFloat && toFloat && c.round == nil:
		return "an integer becomes a float by .rn, .rz, .rm or .rp"
	case narrows && c.round == nil && !(c.to == f16 && c.from == bf16):
		return "a float becomes a narrower one by .rn, .rz, .rm or .rp"
	case !fromFloat && !toFloat && c.round != nil,
		fromFloat && toFloat && !c.whole && !narrows && c.round != nil:
		return "nothing to round"
	case !fromFloat && !toFloat && c.saturate && c.to.covers(c.from):
		return "nothing to saturate"
	case c.rounding == "rna" && c.to != tf32, c.to == tf32 && (c.from != f32 || c.rounding == "rm" || c.rounding == "rp"), c.from == tf32:
		return "a tf32 is made of an f32, by .rna, .rn or .rz"
	case c.relu && (c.from != f32 || c.to != f16 && c.to != bf16 && c.to != tf32 || c.rounding != "rn" && c.rounding != "rz"):
		return ".relu is for f32 to narrower floats by .rn or .rz"
	case (c.to == tf32 || c.to == bf16 || c.from == bf16) && c.saturate, c.to == tf32 && c.flush:
		return "no .sat or .ftz here"
	case (c.to == bf16 || c.from == bf16) && (c.to.bits() == 8 || c.from.bits() == 8):
		return "a bf16 is not converted from or to 8 bits"
	}
	return ""
}

// covers says whether an integer type has all values of another.
func (t dtype) covers(of dtype) bool {
	if t.kind() == of.kind() {
		return t.bits() >= of.bits()
	}
	return t.kind() == kindSigned && t.bits() > of.bits()
}

// narrows says whether a float may lose digits or range.
func (c conversion) narrows() bool {
	return c.to.bits() < c.from.bits() || c.to == tf32 || c.to == bf16 && c.from == f16 || c.to == f16 && c.from == bf16
}

// needs returns the PTX version and the target that a conversion needs.
func (c conversion) needs() (version, sm int) {
	switch {
	case c.to == tf32 && c.rounding == "rna", c.to == bf16 && c.from == f32, c.relu && c.to == f16:
		return 700, 80
	case c.to == f32 && c.from == bf16:
		return 701, 80
	case c.to == tf32 || c.to == bf16 || c.from == bf16:
		return 708, 90
	case c.to == f16 || c.from == f16:
		return 600, 53
	}
	return 0, 0
}

// apply converts a value in the low bits of v, for a register of width bits.
func (c conversion) apply(v uint64, width int) uint64 {
	if c.from.float() {
		v = c.fromFloat(toFloat64(c.from, v, c.flush))
		if !c.to.float() {
			v, _ = extend(v, c.to)
		}
		return cut(v, width)
	}
	var negative bool
	v, negative = extend(v, c.from)
	if c.to.float() {
		return c.saturated(c.fromInteger(v, negative))
	}
	if c.saturate {
		v = clampInteger(v, negative, c.to)
	}
	v, _ = extend(v, c.to)
	return cut(v, width)
}

func cut(v uint64, width int) uint64 {
	if width < 64 {
		v &= 1<<width - 1
	}
	return v
}

// extend gives the value of type t in the low bits of v its meaning in 64
// bits, and says whether it is negative.
func extend(v uint64, t dtype) (value uint64, negative bool) {
	shift := 64 - t.bits()
	if t.kind() == kindSigned {
		s := int64(v<<shift) >> shift
		return uint64(s), s < 0
	}
	return v << shift >> shift, false
}

// clampInteger limits v, whose meaning is int64 if negative and else uint64.
func clampInteger(v uint64, negative bool, t dtype) uint64 {
	highest := uint64(1)<<t.bits() - 1
	if t.bits() == 64 {
		highest = math.MaxUint64
	}
	if t.kind() == kindSigned {
		highest >>= 1
		if negative {
			return uint64(max(int64(v), -int64(highest)-1))
		}
	} else if negative {
		return 0
	}
	return min(v, highest)
}

// fromInteger makes a float of v, whose meaning is int64 if negative and else
// uint64.
func (c conversion) fromInteger(v uint64, negative bool) uint64 {
	if c.to != f64 {
		return c.encode(oddInteger(v, negative))
	}
	x, sign := float64(v), 1.0
	if negative {
		v, sign = -v, -1
		x = float64(v)
	}
	// x is to nearest; it lacks what v has more, and 2^64 has more than any v.
	lacks := -1
	if x < 0x1p64 {
		lacks = cmp.Compare(v, uint64(x))
	}
	return math.Float64bits(nudge(sign*x, int(sign)*lacks, c.rounding))
}

// oddInteger is v rounded to odd where it has more than 53 bits.
func oddInteger(v uint64, negative bool) float64 {
	sign := 1.0
	if negative {
		v, sign = -v, -1
	}
	if drop := bits.Len64(v) - 53; drop > 0 {
		lost := v & (1<<drop - 1)
		return sign * math.Ldexp(float64(v>>drop|uint64(bit(lost != 0))), drop)
	}
	return sign * float64(v)
}

func toFloat64(t dtype, v uint64, flush bool) float64 {
	switch t {
	case f64:
		return math.Float64frombits(v)
	case f16:
		return float64(halfToFloat32(uint16(v)))
	case bf16:
		v <<= 16
	}
	x := math.Float32frombits(uint32(v))
	if flush && uint32(v)&0x7f800000 == 0 {
		x = float32(math.Copysign(0, float64(x)))
	}
	return float64(x)
}

func (c conversion) fromFloat(x float64) uint64 {
	if c.whole {
		x = c.round(x)
	}
	if c.to == f64 {
		return c.saturated(math.Float64bits(x))
	}
	if c.to.float() {
		return c.saturated(c.encode(x))
	}
	return c.floatToInteger(x)
}

// encode rounds x, which is exact or rounded to odd, to a float type other than
// f64.
func (c conversion) encode(x float64) uint64 {
	if c.relu && x <= 0 {
		x = 0
	}
	nearest := c.round == nil || c.whole || c.rounding == "rn"
	switch c.to {
	case f16:
		if !nearest {
			x = halves.round(x, c.round)
		}
		return uint64(float32ToHalf(narrowed(x)))
	case bf16:
		if !nearest {
			x = brain.round(x, c.round)
		}
		return uint64(float32ToBrain(narrowed(x)))
	case tf32:
		return uint64(canonical(tensor.round(x, c.round)))
	}
	if !nearest {
		x = single.round(x, c.round)
	}
	v := math.Float32bits(float32(x))
	if c.flush && v&0x7f800000 == 0 {
		v &= 1 << 31
	}
	return uint64(v)
}

func canonical(x float64) uint32 {
	if x != x {
		return 0x7fffffff
	}
	return math.Float32bits(float32(x))
}

// saturated clamps a float to [0, 1] if the conversion says so.
func (c conversion) saturated(v uint64) uint64 {
	if !c.saturate {
		return v
	}
	x := toFloat64(c.to, v, false)
	x = min(max(x, 0), 1)
	switch {
	case x != x || x == 0:
		return 0
	case c.to == f64:
		return math.Float64bits(x)
	case c.to == f16:
		return uint64(float32ToHalf(float32(x)))
	}
	return uint64(math.Float32bits(float32(x)))
}

// floatToInteger clamps x, which is whole, to the range of the type. NaN is 0,
// or the highest bit alone where a side has 64 bits.
func (c conversion) floatToInteger(x float64) uint64 {
	n := c.to.bits()
	if x != x {
		if c.from == f64 || n == 64 {
			return 1 << (n - 1)
		}
		return 0
	}
	if c.to.kind() == kindUnsigned {
		switch {
		case x <= 0:
			return 0
		case x >= math.Ldexp(1, n):
			return math.MaxUint64 >> (64 - n)
		}
		return uint64(x)
	}
	limit := math.Ldexp(1, n-1)
	switch {
	case x >= limit:
		return 1<<(n-1) - 1
	case x < -limit:
		return 1 << (n - 1)
	}
	return cut(uint64(int64(x)), n)
}
