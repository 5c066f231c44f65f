package ptx

import "math/bits"

// High halves of products, and what picks bits apart.

//go:norace
func mulHighU32(d, a, b, _ *lanes32) {
	for i := range d {
		d[i] = uint32(uint64(a[i]) * uint64(b[i]) >> 32)
	}
}

//go:norace
func mulHighS32(d, a, b, _ *lanes32) {
	for i := range d {
		d[i] = uint32(int64(int32(a[i])) * int64(int32(b[i])) >> 32)
	}
}

//go:norace
func madHighU32(d, a, b, c *lanes32) {
	for i := range d {
		d[i] = uint32(uint64(a[i])*uint64(b[i])>>32) + c[i]
	}
}

//go:norace
func madHighS32(d, a, b, c *lanes32) {
	for i := range d {
		d[i] = uint32(int64(int32(a[i]))*int64(int32(b[i]))>>32) + c[i]
	}
}

//go:norace
func mulHighU64(d, a, b, _ *lanes64) {
	for i := range d {
		d[i], _ = bits.Mul64(a[i], b[i])
	}
}

//go:norace
func mulHighS64(d, a, b, _ *lanes64) {
	for i := range d {
		d[i] = highSigned(a[i], b[i])
	}
}

//go:norace
func madHighU64(d, a, b, c *lanes64) {
	for i := range d {
		high, _ := bits.Mul64(a[i], b[i])
		d[i] = high + c[i]
	}
}

//go:norace
func madHighS64(d, a, b, c *lanes64) {
	for i := range d {
		d[i] = highSigned(a[i], b[i]) + c[i]
	}
}

// highSigned is the high half of a signed product: the unsigned one, less each
// factor where the other is negative.
func highSigned(a, b uint64) uint64 {
	high, _ := bits.Mul64(a, b)
	return high - a&uint64(int64(b)>>63) - b&uint64(int64(a)>>63)
}

//go:norace
func countOnes32(d, a, _, _ *lanes32) {
	for i := range d {
		d[i] = uint32(bits.OnesCount32(a[i]))
	}
}

//go:norace
func leadingZeros32(d, a, _, _ *lanes32) {
	for i := range d {
		d[i] = uint32(bits.LeadingZeros32(a[i]))
	}
}

//go:norace
func reverse32(d, a, _, _ *lanes32) {
	for i := range d {
		d[i] = bits.Reverse32(a[i])
	}
}

//go:norace
func reverse64(d, a, _, _ *lanes64) {
	for i := range d {
		d[i] = bits.Reverse64(a[i])
	}
}

func bitExtractU32(d, a, b, c *lanes32) {
	for i := range d {
		d[i] = uint32(bitExtract(uint64(a[i]), b[i], c[i], 32, false))
	}
}

func bitExtractS32(d, a, b, c *lanes32) {
	for i := range d {
		d[i] = uint32(bitExtract(uint64(a[i]), b[i], c[i], 32, true))
	}
}

func bitExtractU64(d, a, b, c *lanes64) {
	for i := range d {
		d[i] = bitExtract(a[i], uint32(b[i]), uint32(c[i]), 64, false)
	}
}

func bitExtractS64(d, a, b, c *lanes64) {
	for i := range d {
		d[i] = bitExtract(a[i], uint32(b[i]), uint32(c[i]), 64, true)
	}
}

// bitExtract is bfe: n bits of a from pos on, both taken modulo 256. The signed
// one fills with the field's highest bit, or with a's where the field reaches
// beyond it.
func bitExtract(a uint64, pos, n uint32, width uint32, signed bool) uint64 {
	pos, n = pos&255, n&255
	field := a >> pos
	if n < 64 {
		field &= 1<<n - 1
	}
	if !signed || n == 0 {
		return field
	}
	top := min(pos+n-1, width-1)
	if a>>top&1 == 0 {
		return field
	}
	if have := max(int(top)-int(pos)+1, 0); have < 64 {
		field |= ^uint64(0) << have
	}
	return field
}

// bitInsert is bfi: the low n bits of from, put into into at pos.
func bitInsert[T word](from, into T, pos, n uint32) T {
	pos, n = pos&255, n&255
	field := ^(^T(0) << n) << pos
	return into&^field | from<<pos&field
}

// permute is prmt in its general mode: each nibble of c picks a byte of b:a, or
// the sign of one.
func permute(d, a, b, c *lanes32) {
	for i := range d {
		from := uint64(b[i])<<32 | uint64(a[i])
		var r uint32
		for k := range 4 {
			pick := c[i] >> (4 * k) & 15
			v := byte(from >> (8 * (pick & 7)))
			if pick&8 != 0 {
				v = byte(int8(v) >> 7)
			}
			r |= uint32(v) << (8 * k)
		}
		d[i] = r
	}
}

// The funnel shifts take b:a; left ones give the high word, right ones the low.

func funnelLeftWrap(d, a, b, c *lanes32) {
	for i := range d {
		d[i] = uint32((uint64(b[i])<<32 | uint64(a[i])) << (c[i] & 31) >> 32)
	}
}

func funnelRightWrap(d, a, b, c *lanes32) {
	for i := range d {
		d[i] = uint32((uint64(b[i])<<32 | uint64(a[i])) >> (c[i] & 31))
	}
}

func funnelLeftClamp(d, a, b, c *lanes32) {
	for i := range d {
		d[i] = uint32((uint64(b[i])<<32 | uint64(a[i])) << min(c[i], 32) >> 32)
	}
}

func funnelRightClamp(d, a, b, c *lanes32) {
	for i := range d {
		d[i] = uint32((uint64(b[i])<<32 | uint64(a[i])) >> min(c[i], 32))
	}
}

//go:norace
func extend16(d, a, _, _ *lanes32) {
	for i := range d {
		d[i] = uint32(int32(int16(a[i])))
	}
}

//go:norace
func cut16(d, a, _, _ *lanes32) {
	for i := range d {
		d[i] = a[i] & 0xffff
	}
}
