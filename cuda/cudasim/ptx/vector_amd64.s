#include "textflag.h"

// Each function works on whole registers, 8 lanes of 32 bits at a time.

// BINARY32 is d = a OP b on 32 lanes of 32 bits.
#define BINARY32(OP) \
	MOVQ d+0(FP), DI \
	MOVQ a+8(FP), SI \
	MOVQ b+16(FP), DX \
	VMOVUPS (SI), Y0 \
	VMOVUPS 32(SI), Y1 \
	VMOVUPS 64(SI), Y2 \
	VMOVUPS 96(SI), Y3 \
	OP (DX), Y0, Y0 \
	OP 32(DX), Y1, Y1 \
	OP 64(DX), Y2, Y2 \
	OP 96(DX), Y3, Y3 \
	VMOVUPS Y0, (DI) \
	VMOVUPS Y1, 32(DI) \
	VMOVUPS Y2, 64(DI) \
	VMOVUPS Y3, 96(DI) \
	VZEROUPPER \
	RET

// func vectorAddF32(d, a, b, c *lanes32)
TEXT ·vectorAddF32(SB), NOSPLIT, $0-32
	BINARY32(VADDPS)

// func vectorSubF32(d, a, b, c *lanes32)
TEXT ·vectorSubF32(SB), NOSPLIT, $0-32
	BINARY32(VSUBPS)

// func vectorMulF32(d, a, b, c *lanes32)
TEXT ·vectorMulF32(SB), NOSPLIT, $0-32
	BINARY32(VMULPS)

// func vectorDivF32(d, a, b, c *lanes32)
TEXT ·vectorDivF32(SB), NOSPLIT, $0-32
	BINARY32(VDIVPS)

// func vectorAdd32(d, a, b, c *lanes32)
TEXT ·vectorAdd32(SB), NOSPLIT, $0-32
	BINARY32(VPADDD)

// func vectorMulLow32(d, a, b, c *lanes32)
TEXT ·vectorMulLow32(SB), NOSPLIT, $0-32
	BINARY32(VPMULLD)

// func vectorSub32(d, a, b, c *lanes32)
TEXT ·vectorSub32(SB), NOSPLIT, $0-32
	BINARY32(VPSUBD)

// func vectorAnd32(d, a, b, c *lanes32)
TEXT ·vectorAnd32(SB), NOSPLIT, $0-32
	BINARY32(VPAND)

// func vectorOr32(d, a, b, c *lanes32)
TEXT ·vectorOr32(SB), NOSPLIT, $0-32
	BINARY32(VPOR)

// func vectorXor32(d, a, b, c *lanes32)
TEXT ·vectorXor32(SB), NOSPLIT, $0-32
	BINARY32(VPXOR)

// func vectorShiftLeft32(d, a, b, c *lanes32)
TEXT ·vectorShiftLeft32(SB), NOSPLIT, $0-32
	BINARY32(VPSLLVD)

// func vectorShiftRightU32(d, a, b, c *lanes32)
TEXT ·vectorShiftRightU32(SB), NOSPLIT, $0-32
	BINARY32(VPSRLVD)

// func vectorShiftRightS32(d, a, b, c *lanes32)
TEXT ·vectorShiftRightS32(SB), NOSPLIT, $0-32
	BINARY32(VPSRAVD)

// func vectorFmaF32(d, a, b, c *lanes32)
TEXT ·vectorFmaF32(SB), NOSPLIT, $0-32
	MOVQ d+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DX
	MOVQ c+24(FP), CX
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VMOVUPS 64(SI), Y2
	VMOVUPS 96(SI), Y3
	VMOVUPS (DX), Y4
	VMOVUPS 32(DX), Y5
	VMOVUPS 64(DX), Y6
	VMOVUPS 96(DX), Y7
	VFMADD213PS (CX), Y4, Y0
	VFMADD213PS 32(CX), Y5, Y1
	VFMADD213PS 64(CX), Y6, Y2
	VFMADD213PS 96(CX), Y7, Y3
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VZEROUPPER
	RET

// BINARY64 is d = a OP b on 32 lanes of 64 bits.
#define BINARY64(OP) \
	MOVQ d+0(FP), DI \
	MOVQ a+8(FP), SI \
	MOVQ b+16(FP), DX \
	MOVQ $4, CX \
next: \
	VMOVUPS (SI), Y0 \
	VMOVUPS 32(SI), Y1 \
	OP (DX), Y0, Y0 \
	OP 32(DX), Y1, Y1 \
	VMOVUPS Y0, (DI) \
	VMOVUPS Y1, 32(DI) \
	ADDQ $64, SI \
	ADDQ $64, DX \
	ADDQ $64, DI \
	DECQ CX \
	JNZ next \
	VZEROUPPER \
	RET

// func vectorAdd64(d, a, b, c *lanes64)
TEXT ·vectorAdd64(SB), NOSPLIT, $0-32
	BINARY64(VPADDQ)

// func vectorSub64(d, a, b, c *lanes64)
TEXT ·vectorSub64(SB), NOSPLIT, $0-32
	BINARY64(VPSUBQ)

// func vectorShiftLeft64(d, a, b, c *lanes64)
TEXT ·vectorShiftLeft64(SB), NOSPLIT, $0-32
	BINARY64(VPSLLVQ)

// func vectorShiftRightU64(d, a, b, c *lanes64)
TEXT ·vectorShiftRightU64(SB), NOSPLIT, $0-32
	BINARY64(VPSRLVQ)
