package kernels

import "math"

// F16 is the bits of an IEEE binary16: 1 sign, 5 exponent and 10 fraction bits.
type F16 uint16

// BF16 is the bits of a bfloat16: the upper half of a float32.
type BF16 uint16

// ToF16 rounds x to nearest even. From 65520 on the result is Inf; a NaN stays
// one.
func ToF16(x float32) F16 {
	bits := math.Float32bits(x)
	sign := F16(bits >> 16 & 0x8000)
	bits &= 0x7fffffff
	switch {
	case bits > 0x7f800000:
		return sign | 0x7e00
	case bits >= 0x477ff000: // 65520
		return sign | 0x7c00
	case bits < 0x38800000: // below 2^-14: adding 0.5 leaves the fraction in the last bits
		sum := math.Float32frombits(bits) + 0.5
		return sign | F16(math.Float32bits(sum)-0x3f000000)
	}
	bits += 0xfff + bits>>13&1
	return sign | F16((bits-0x38000000)>>13)
}

// Float32 returns the value of h.
func (h F16) Float32() float32 {
	sign, rest := uint32(h&0x8000)<<16, uint32(h&0x7fff)
	switch {
	case rest >= 0x7c00:
		return math.Float32frombits(sign | 0x7f800000 | rest<<13)
	case rest < 0x0400: // subnormal
		return math.Float32frombits(sign | math.Float32bits(float32(rest)*0x1p-24))
	}
	return math.Float32frombits(sign | (rest<<13 + 0x38000000))
}

// ToBF16 rounds x to nearest even; a NaN stays one.
func ToBF16(x float32) BF16 {
	bits := math.Float32bits(x)
	if x != x {
		return BF16(bits>>16 | 0x40)
	}
	return BF16((bits + 0x7fff + bits>>16&1) >> 16)
}

// Float32 returns the value of b.
func (b BF16) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }
