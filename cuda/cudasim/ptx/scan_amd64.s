#include "textflag.h"

// steps are the first four lanes.
DATA steps<>+0(SB)/8, $0
DATA steps<>+8(SB)/8, $1
DATA steps<>+16(SB)/8, $2
DATA steps<>+24(SB)/8, $3
GLOBL steps<>(SB), RODATA|NOPTR, $32

// MERGE ors the four words of Y into R.
#define MERGE(Y, X, R) \
	VEXTRACTI128 $1, Y, X8 \
	VPOR X8, X, X \
	VPSRLDQ $8, X, X8 \
	VPOR X8, X, X \
	VMOVQ X, R

// func vectorScan(off, addresses *lanes64, delta, limit, size uint64) (union, outside, apart uint64)
TEXT ·vectorScan(SB), NOSPLIT, $0-64
	MOVQ off+0(FP), DI
	MOVQ addresses+8(FP), SI
	VPBROADCASTQ delta+16(FP), Y0
	VPBROADCASTQ limit+24(FP), Y1
	VPBROADCASTQ size+32(FP), Y2
	VPBROADCASTQ (SI), Y3
	VPADDQ Y0, Y3, Y3
	VPMULUDQ steps<>(SB), Y2, Y4
	VPADDQ Y4, Y3, Y3 // where the lanes of a run are
	VPSLLQ $2, Y2, Y2
	VPXOR Y5, Y5, Y5 // union
	VPXOR Y6, Y6, Y6 // outside, in the signs
	VPXOR Y7, Y7, Y7 // apart
	MOVQ $8, CX
next:
	VPADDQ (SI), Y0, Y8
	VMOVDQU Y8, (DI)
	VPOR Y8, Y5, Y5
	VPSUBQ Y8, Y1, Y9
	VPOR Y9, Y6, Y6
	VPXOR Y8, Y3, Y10
	VPOR Y10, Y7, Y7
	VPADDQ Y2, Y3, Y3
	ADDQ $32, SI
	ADDQ $32, DI
	DECQ CX
	JNZ next
	VPOR Y5, Y6, Y6
	VMOVMSKPD Y6, AX
	MOVQ AX, outside+48(FP)
	MERGE(Y5, X5, AX)
	MOVQ AX, union+40(FP)
	MERGE(Y7, X7, AX)
	MOVQ AX, apart+56(FP)
	VZEROUPPER
	RET
