// dispatch.h: what Go calls. Addresses come as integers: the memory is not the
// garbage collector's.
#include "kernels.h"

enum { ISA_BASELINE, ISA_AVX2, ISA_AVX512, NUM_ISAS };

int tarn_isa_supported(int isa); // whether this processor can run it
void tarn_isa_choose(int isa);   // for all calls from then on

// The records come without their addresses, which are given beside them.
void tarn_gemm(struct gemm *g, uintptr_t c, uintptr_t a, uintptr_t b, uintptr_t bias, int64_t i0, int64_t i1, int64_t j0, int64_t j1, uintptr_t scratch);
void tarn_unary(int op, uintptr_t out, uintptr_t x, int64_t n, float alpha, float beta);
void tarn_binary(int op, uintptr_t out, uintptr_t x, int64_t xstep, uintptr_t y, int64_t ystep, int64_t n);
void tarn_fill(uintptr_t out, int64_t n, float value);
double tarn_sum(uintptr_t x, int64_t n);
void tarn_sum_columns(uintptr_t out, uintptr_t x, int64_t ld, int64_t rows, int64_t n, double alpha, int accumulate);
float tarn_max(uintptr_t x, int64_t n);
void tarn_loss(struct loss *l, uintptr_t logits, uintptr_t classes, uintptr_t losses, int64_t i0, int64_t i1);
void tarn_loss_grad(struct loss *l, uintptr_t logits, uintptr_t classes, uintptr_t grad, int64_t i0, int64_t i1);
void tarn_sgd(struct sgd *h, uintptr_t p, uintptr_t m, uintptr_t g, int64_t n);
void tarn_adamw(struct adamw *h, uintptr_t p, uintptr_t m, uintptr_t v, uintptr_t g, int64_t n);
