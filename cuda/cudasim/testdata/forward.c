// A driver library whose functions are those of a table that is handed to
// tarn_forward_to: each of its symbols is one jump. It takes the way through
// the system's loader to functions that lie in the program itself.
#include "shim.h"

// The jumps are written for the assembler, which counts the table's entries in
// tarn_entry_offset as it goes.
const struct tarn_cuda *tarn_forward_table;

void tarn_forward_to(const struct tarn_cuda *t) { tarn_forward_table = t; }

#if defined(__x86_64__)
#define JUMP                                                            \
	"movq tarn_forward_table@GOTPCREL(%rip), %r11\n movq (%r11), %r11\n" \
	"jmp *tarn_entry_offset(%r11)\n"
#elif defined(__aarch64__)
#define JUMP                                                                           \
	"adrp x16, :got:tarn_forward_table\n ldr x16, [x16, :got_lo12:tarn_forward_table]\n" \
	"ldr x16, [x16]\n ldr x16, [x16, tarn_entry_offset]\n br x16\n"
#else
#error "no jump is written for this processor"
#endif

#define FORWARD(field, parameters, feature, names)                                              \
	asm(".irp name " names "\n .globl \\name\n .type \\name, %function\n \\name:\n .endr\n" JUMP \
	    ".set tarn_entry_offset, tarn_entry_offset + 8\n");

asm(".text\n .set tarn_entry_offset, 0\n");
TARN_CUDA_TABLE(FORWARD)
