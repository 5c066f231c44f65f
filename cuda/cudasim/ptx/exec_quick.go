package ptx

import "math"

// conversionKey is a conversion without .ftz, .sat and .relu.
type conversionKey struct {
	to, from dtype
	rounding string
}

// key is zero for a conversion with modifiers.
func (c conversion) key() conversionKey {
	if c.flush || c.saturate || c.relu {
		return conversionKey{}
	}
	return conversionKey{c.to, c.from, c.rounding}
}

// quickConversions are the commonest conversions between registers of the 32-bit
// file. They give what conversion.apply gives.
var quickConversions = map[conversionKey]func(uint32) uint32{
	{f32, f16, ""}:    func(v uint32) uint32 { return math.Float32bits(halfToFloat32(uint16(v))) },
	{f32, bf16, ""}:   func(v uint32) uint32 { return v << 16 },
	{f16, f32, "rn"}:  func(v uint32) uint32 { return uint32(float32ToHalf(math.Float32frombits(v))) },
	{bf16, f32, "rn"}: func(v uint32) uint32 { return uint32(float32ToBrain(math.Float32frombits(v))) },
	{tf32, f32, "rna"}: func(v uint32) uint32 {
		if v&0x7f800000 == 0x7f800000 {
			return canonical(float64(math.Float32frombits(v)))
		}
		return (v + 1<<12) &^ (1<<13 - 1)
	},
	{f32, s32, "rn"}:  func(v uint32) uint32 { return math.Float32bits(float32(int32(v))) },
	{f32, u32, "rn"}:  func(v uint32) uint32 { return math.Float32bits(float32(v)) },
	{s32, f32, "rzi"}: func(v uint32) uint32 { return truncated(math.Float32frombits(v)) },
	{s32, f32, "rni"}: func(v uint32) uint32 { return truncated(float32(math.RoundToEven(float64(math.Float32frombits(v))))) },
	{s32, f32, "rmi"}: func(v uint32) uint32 { return truncated(float32(math.Floor(float64(math.Float32frombits(v))))) },
	{f32, f32, "rzi"}: func(v uint32) uint32 { return whole32(math.Trunc, v) },
	{f32, f32, "rni"}: func(v uint32) uint32 { return whole32(math.RoundToEven, v) },
	{f32, f32, "rmi"}: func(v uint32) uint32 { return whole32(math.Floor, v) },
	{f32, f32, "rpi"}: func(v uint32) uint32 { return whole32(math.Ceil, v) },
}

// truncated is an s32: the nearest one where there is none of that size, and 0
// for NaN.
func truncated(x float32) uint32 {
	switch {
	case x >= 1<<31:
		return 1<<31 - 1
	case x < -1<<31:
		return 1 << 31
	case x != x:
		return 0
	}
	return uint32(int32(x))
}

func whole32(round rounding, v uint32) uint32 {
	return math.Float32bits(float32(round(float64(math.Float32frombits(v)))))
}

func eachLane(f func(uint32) uint32) op32 {
	return func(d, a, _, _ *lanes32) {
		for i, v := range a {
			d[i] = f(v)
		}
	}
}
