#include "dispatch.h"

static const struct isa *isa = &tarn_baseline;

int tarn_isa_supported(int i) {
#if defined(__x86_64__)
	__builtin_cpu_init();
	int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	if (i == ISA_AVX2) return avx2;
	if (i == ISA_AVX512)
		return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
		       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
#endif
	return i == ISA_BASELINE;
}

void tarn_isa_choose(int i) {
	isa = &tarn_baseline;
#if defined(__x86_64__)
	if (i == ISA_AVX2) isa = &tarn_avx2;
	if (i == ISA_AVX512) isa = &tarn_avx512;
#endif
}

#define FLOATS(address) ((float *)(address))

void tarn_gemm(struct gemm *g, uintptr_t c, uintptr_t a, uintptr_t b, uintptr_t bias, int64_t i0, int64_t i1, int64_t j0, int64_t j1, uintptr_t scratch) {
	g->c = FLOATS(c), g->a = FLOATS(a), g->b = FLOATS(b), g->bias = FLOATS(bias);
	isa->gemm(g, i0, i1, j0, j1, FLOATS(scratch));
}

void tarn_unary(int op, uintptr_t out, uintptr_t x, int64_t n, float alpha, float beta) {
	isa->unary[op](FLOATS(out), FLOATS(x), n, alpha, beta);
}

void tarn_binary(int op, uintptr_t out, uintptr_t x, int64_t xstep, uintptr_t y, int64_t ystep, int64_t n) {
	isa->binary[op](FLOATS(out), FLOATS(x), xstep, FLOATS(y), ystep, n);
}

void tarn_fill(uintptr_t out, int64_t n, float value) { isa->fill(FLOATS(out), n, value); }

double tarn_sum(uintptr_t x, int64_t n) { return isa->sum(FLOATS(x), n); }

void tarn_sum_columns(uintptr_t out, uintptr_t x, int64_t ld, int64_t rows, int64_t n, double alpha, int accumulate) {
	isa->sum_columns(FLOATS(out), FLOATS(x), ld, rows, n, alpha, accumulate);
}

float tarn_max(uintptr_t x, int64_t n) { return isa->max(FLOATS(x), n); }

void tarn_loss(struct loss *l, uintptr_t logits, uintptr_t classes, uintptr_t losses, int64_t i0, int64_t i1) {
	l->logits = FLOATS(logits), l->classes = (const int64_t *)classes, l->losses = (double *)losses;
	isa->loss(l, i0, i1);
}

void tarn_loss_grad(struct loss *l, uintptr_t logits, uintptr_t classes, uintptr_t grad, int64_t i0, int64_t i1) {
	l->logits = FLOATS(logits), l->classes = (const int64_t *)classes, l->grad = FLOATS(grad);
	isa->loss_grad(l, i0, i1);
}

// Optimiser steps take subnormal numbers as 0. The moments of a weight whose
// gradient has become 0, as behind a dead ReLU, decay into the subnormals and
// stay there, where 0.9 of a number rounds to itself; x86 then takes 6 times as
// long for the whole step.
#if defined(__x86_64__)
enum { FLUSH_TO_ZERO = 0x8000, DENORMALS_ARE_ZERO = 0x0040 };

static unsigned flush_subnormals(void) {
	unsigned before = __builtin_ia32_stmxcsr();
	__builtin_ia32_ldmxcsr(before | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO);
	return before;
}

static void restore(unsigned before) { __builtin_ia32_ldmxcsr(before); }
#else
static unsigned flush_subnormals(void) { return 0; }
static void restore(unsigned before) { (void)before; }
#endif

void tarn_sgd(struct sgd *h, uintptr_t p, uintptr_t m, uintptr_t g, int64_t n) {
	unsigned before = flush_subnormals();
	isa->sgd(h, FLOATS(p), FLOATS(m), FLOATS(g), n);
	restore(before);
}

void tarn_adamw(struct adamw *h, uintptr_t p, uintptr_t m, uintptr_t v, uintptr_t g, int64_t n) {
	unsigned before = flush_subnormals();
	isa->adamw(h, FLOATS(p), FLOATS(m), FLOATS(v), FLOATS(g), n);
	restore(before);
}
