package ptx

import "math"

// conversion is a cvt.
type conversion struct {
	to, from        dtype
	round           func(float64) float64 // to a whole number, nil for none
	flush, saturate bool
}

// check says what is wrong with a conversion, "" if nothing is.
func (c conversion) check(rounding string) string {
	toFloat, fromFloat := c.to.kind() == kindFloat, c.from.kind() == kindFloat
	switch {
	case c.flush && c.to != f32 && c.from != f32:
		return ".ftz without an f32"
	case fromFloat && !toFloat && c.round == nil:
		return "a float becomes an integer by .rni, .rzi, .rmi or .rpi"
	case !fromFloat && c.round != nil:
		return "an integer is whole already"
	case c.round != nil && toFloat && c.to != c.from:
		return "a float becomes whole only in its own type"
	case !fromFloat && toFloat && rounding != "rn":
		return "an integer becomes a float by .rn"
	case fromFloat && toFloat && c.to.bits() < c.from.bits() && rounding != "rn":
		return "a float becomes a narrower one by .rn"
	case !fromFloat && !toFloat && rounding != "",
		fromFloat && toFloat && c.to.bits() >= c.from.bits() && rounding == "rn":
		return "nothing to round"
	case c.to == f16 && !fromFloat, c.from == f16 && !toFloat:
		return "f16 is converted from and to floats only"
	}
	return ""
}

// apply converts a value in the low bits of v, for a register of width bits.
func (c conversion) apply(v uint64, width int) uint64 {
	if c.from.kind() == kindFloat {
		v = c.fromFloat(toFloat64(c.from, v, c.flush))
		if c.to.kind() != kindFloat {
			v, _ = extend(v, c.to)
		}
		return cut(v, width)
	}
	var negative bool
	v, negative = extend(v, c.from)
	if c.to.kind() == kindFloat {
		return c.saturated(integerToFloat(v, negative, c.to))
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

func integerToFloat(v uint64, negative bool, to dtype) uint64 {
	switch {
	case to == f64 && negative:
		return math.Float64bits(float64(int64(v)))
	case to == f64:
		return math.Float64bits(float64(v))
	case negative:
		return uint64(math.Float32bits(float32(int64(v))))
	}
	return uint64(math.Float32bits(float32(v)))
}

func toFloat64(t dtype, v uint64, flush bool) float64 {
	switch t {
	case f64:
		return math.Float64frombits(v)
	case f16:
		return halfToFloat(uint16(v))
	}
	x := math.Float32frombits(uint32(v))
	if flush && uint32(v)&0x7f800000 == 0 {
		x = float32(math.Copysign(0, float64(x)))
	}
	return float64(x)
}

func (c conversion) fromFloat(x float64) uint64 {
	if c.round != nil {
		x = c.round(x)
	}
	switch c.to {
	case f64:
		return c.saturated(math.Float64bits(x))
	case f16:
		return c.saturated(uint64(floatToHalf(x)))
	case f32:
		v := math.Float32bits(float32(x))
		if c.flush && v&0x7f800000 == 0 {
			v &= 1 << 31
		}
		return c.saturated(uint64(v))
	}
	return c.floatToInteger(x)
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
		return uint64(floatToHalf(x))
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

// halfToFloat and floatToHalf convert IEEE's binary16, to nearest even.
func halfToFloat(h uint16) float64 {
	sign := 1.0
	if h>>15 != 0 {
		sign = -1
	}
	exponent, fraction := int(h>>10&31), float64(h&1023)
	switch {
	case exponent == 31 && fraction != 0:
		return math.NaN()
	case exponent == 31:
		return math.Inf(int(sign))
	case exponent == 0:
		return sign * math.Ldexp(fraction, -24)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

func floatToHalf(x float64) uint16 {
	if x != x {
		return 0x7fff
	}
	sign := uint16(math.Float64bits(x) >> 63 << 15)
	x = math.Abs(x)
	_, exponent := math.Frexp(x)
	exponent = max(exponent-1, -14)
	units := math.RoundToEven(math.Ldexp(x, 10-exponent)) // of the last place
	if x >= 65520 {
		return sign | 0x7c00
	}
	if units >= 1024 {
		return sign | uint16(int(exponent+14)<<10+int(units))
	}
	return sign | uint16(units)
}
