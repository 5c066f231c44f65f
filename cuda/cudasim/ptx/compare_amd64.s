#include "textflag.h"

// Each function gives a bit for each of 32 lanes, 8 of them at a time.

#define LOAD(P) \
	VMOVUPS (P), Y0 \
	VMOVUPS 32(P), Y1 \
	VMOVUPS 64(P), Y2 \
	VMOVUPS 96(P), Y3

// SIGNS returns the sign bits of Y0 to Y3.
#define SIGNS \
	VMOVMSKPS Y0, AX \
	VMOVMSKPS Y1, BX \
	VMOVMSKPS Y2, CX \
	VMOVMSKPS Y3, DX \
	SHLL $8, BX \
	SHLL $16, CX \
	SHLL $24, DX \
	ORL BX, AX \
	ORL CX, AX \
	ORL DX, AX \
	MOVL AX, ret+16(FP) \
	VZEROUPPER \
	RET

// FLOATS is a OP b for an operator of VCMPPS.
#define FLOATS(OP) \
	MOVQ a+0(FP), SI \
	MOVQ b+8(FP), DI \
	LOAD(SI) \
	VCMPPS OP, (DI), Y0, Y0 \
	VCMPPS OP, 32(DI), Y1, Y1 \
	VCMPPS OP, 64(DI), Y2, Y2 \
	VCMPPS OP, 96(DI), Y3, Y3 \
	SIGNS

// func compareLessF32(a, b *lanes32) uint32
TEXT ·compareLessF32(SB), NOSPLIT, $0-20
	FLOATS($0x11)

// func compareAtMostF32(a, b *lanes32) uint32
TEXT ·compareAtMostF32(SB), NOSPLIT, $0-20
	FLOATS($0x12)

// func compareEqualF32(a, b *lanes32) uint32
TEXT ·compareEqualF32(SB), NOSPLIT, $0-20
	FLOATS($0x00)

// func compareOtherF32(a, b *lanes32) uint32
TEXT ·compareOtherF32(SB), NOSPLIT, $0-20
	FLOATS($0x0c)

// func compareOrderedF32(a, b *lanes32) uint32
TEXT ·compareOrderedF32(SB), NOSPLIT, $0-20
	FLOATS($0x07)

// func compareEqual(a, b *lanes32) uint32
TEXT ·compareEqual(SB), NOSPLIT, $0-20
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DI
	LOAD(SI)
	VPCMPEQD (DI), Y0, Y0
	VPCMPEQD 32(DI), Y1, Y1
	VPCMPEQD 64(DI), Y2, Y2
	VPCMPEQD 96(DI), Y3, Y3
	SIGNS

// a is less where b is greater.

// func compareLessS32(a, b *lanes32) uint32
TEXT ·compareLessS32(SB), NOSPLIT, $0-20
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DI
	LOAD(DI)
	VPCMPGTD (SI), Y0, Y0
	VPCMPGTD 32(SI), Y1, Y1
	VPCMPGTD 64(SI), Y2, Y2
	VPCMPGTD 96(SI), Y3, Y3
	SIGNS

// func compareLessU32(a, b *lanes32) uint32
TEXT ·compareLessU32(SB), NOSPLIT, $0-20
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DI
	LOAD(DI)
	VPCMPEQD Y8, Y8, Y8
	VPSLLD $31, Y8, Y8 // turns the order of signed numbers into that of unsigned ones
	VPXOR Y8, Y0, Y0
	VPXOR Y8, Y1, Y1
	VPXOR Y8, Y2, Y2
	VPXOR Y8, Y3, Y3
	VPXOR (SI), Y8, Y4
	VPXOR 32(SI), Y8, Y5
	VPXOR 64(SI), Y8, Y6
	VPXOR 96(SI), Y8, Y7
	VPCMPGTD Y4, Y0, Y0
	VPCMPGTD Y5, Y1, Y1
	VPCMPGTD Y6, Y2, Y2
	VPCMPGTD Y7, Y3, Y3
	SIGNS
