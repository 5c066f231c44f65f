package ptx

import "math"

// The 16-bit floats: f16 is IEEE's binary16, bf16 the high half of an f32. Both
// lie within f32, which is what arithmetic on them goes through.

func halfToFloat32(h uint16) float32 {
	sign, rest := uint32(h)>>15<<31, uint32(h)&0x7fff
	switch {
	case rest >= 0x7c00: // infinity, NaN
		return math.Float32frombits(sign | rest<<13 | 0x7f800000)
	case rest < 0x400: // subnormal there, not here
		return math.Float32frombits(math.Float32bits(float32(rest)*0x1p-24) | sign)
	}
	return math.Float32frombits(sign | (rest<<13 + (127-15)<<23))
}

func brainToFloat32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// float32ToHalf rounds to nearest, ties to even.
func float32ToHalf(x float32) uint16 {
	u := math.Float32bits(x)
	sign, u := uint16(u>>31<<15), u&0x7fffffff
	switch {
	case u > 0x7f800000:
		return 0x7fff
	case u >= 0x477ff000: // 65520, the middle between the largest half and the next power of two
		return sign | 0x7c00
	case u < 0x38800000: // 2^-14: the sum's last bit is worth 2^-24
		return sign | uint16(math.Float32bits(math.Float32frombits(u)+0.5)-0x3f000000)
	}
	u -= (127 - 15) << 23
	return sign | uint16((u+0xfff+u>>13&1)>>13)
}

// float32ToBrain rounds to nearest, ties to even.
func float32ToBrain(x float32) uint16 {
	u := math.Float32bits(x)
	if x != x {
		return 0x7fff
	}
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}
