package ptx

import "golang.org/x/sys/cpu"

// vectors32, vectors64 and compares32 are the operations that the host's vector
// instructions do, by their keys in the tables of loops: 2 to 8 times as fast.
// They round as the loops do.
var vectors32, vectors64, compares32 = hostVectors()

func hostVectors() (ops32 map[string]op32, ops64 map[string]op64, compares map[string]compare[uint32]) {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return nil, nil, nil
	}
	ops32 = map[string]op32{
		"add.f32": vectorAddF32, "sub.f32": vectorSubF32, "mul.f32": vectorMulF32, "div.f32": vectorDivF32,
		"fma.f32": vectorFmaF32, "mad.f32": vectorFmaF32,
		"add.u32": vectorAdd32, "add.s32": vectorAdd32, "mul.lo.u32": vectorMulLow32, "mul.lo.s32": vectorMulLow32,
		"sub.u32": vectorSub32, "sub.s32": vectorSub32, "and.b32": vectorAnd32, "or.b32": vectorOr32, "xor.b32": vectorXor32,
		"shl.b32": vectorShiftLeft32, "shr.u32": vectorShiftRightU32, "shr.b32": vectorShiftRightU32, "shr.s32": vectorShiftRightS32,
	}
	ops64 = map[string]op64{
		"add.u64": vectorAdd64, "add.s64": vectorAdd64, "sub.u64": vectorSub64, "sub.s64": vectorSub64,
		"shl.b64": vectorShiftLeft64, "shr.u64": vectorShiftRightU64, "shr.b64": vectorShiftRightU64,
	}
	compares = map[string]compare[uint32]{
		"lt.f32": compareLessF32, "le.f32": compareAtMostF32, "eq.f32": compareEqualF32, "ne.f32": compareOtherF32,
		"num.f32": compareOrderedF32,
		"eq.u32":  compareEqual, "eq.s32": compareEqual, "lt.u32": compareLessU32, "lt.s32": compareLessS32,
	}
	return ops32, ops64, compares
}

//go:noescape
func vectorAddF32(d, a, b, c *lanes32)

//go:noescape
func vectorSubF32(d, a, b, c *lanes32)

//go:noescape
func vectorMulF32(d, a, b, c *lanes32)

//go:noescape
func vectorDivF32(d, a, b, c *lanes32)

//go:noescape
func vectorFmaF32(d, a, b, c *lanes32)

//go:noescape
func vectorAdd32(d, a, b, c *lanes32)

//go:noescape
func vectorMulLow32(d, a, b, c *lanes32)

//go:noescape
func vectorSub32(d, a, b, c *lanes32)

//go:noescape
func vectorAnd32(d, a, b, c *lanes32)

//go:noescape
func vectorOr32(d, a, b, c *lanes32)

//go:noescape
func vectorXor32(d, a, b, c *lanes32)

//go:noescape
func vectorShiftLeft32(d, a, b, c *lanes32)

//go:noescape
func vectorShiftRightU32(d, a, b, c *lanes32)

//go:noescape
func vectorShiftRightS32(d, a, b, c *lanes32)

//go:noescape
func vectorAdd64(d, a, b, c *lanes64)

//go:noescape
func vectorSub64(d, a, b, c *lanes64)

//go:noescape
func vectorShiftLeft64(d, a, b, c *lanes64)

//go:noescape
func vectorShiftRightU64(d, a, b, c *lanes64)

//go:noescape
func vectorScan(off, addresses *lanes64, delta, limit, size uint64) (union, outside, apart uint64)

// scan is scanLanes as fast as the host can.
func scan(off, addresses *lanes64, delta, limit, size uint64) (union, outside, apart uint64) {
	if vectors32 != nil {
		return vectorScan(off, addresses, delta, limit, size)
	}
	return scanLanes(off, addresses, delta, limit, size)
}

//go:noescape
func compareLessF32(a, b *lanes32) uint32

//go:noescape
func compareAtMostF32(a, b *lanes32) uint32

//go:noescape
func compareEqualF32(a, b *lanes32) uint32

//go:noescape
func compareOtherF32(a, b *lanes32) uint32

//go:noescape
func compareOrderedF32(a, b *lanes32) uint32

//go:noescape
func compareEqual(a, b *lanes32) uint32

//go:noescape
func compareLessS32(a, b *lanes32) uint32

//go:noescape
func compareLessU32(a, b *lanes32) uint32
