#include "dispatch.h"

const struct isa *tarn_isa = &tarn_baseline;

int tarn_isa_supported(int i) {
#if defined(__x86_64__)
	__builtin_cpu_init();
	int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
	if (i == ISA_AVX2) return avx2;
	if (i == ISA_AVX512)
		return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
		       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
#endif
	return i == ISA_BASELINE;
}

void tarn_isa_choose(int i) {
	tarn_isa = &tarn_baseline;
#if defined(__x86_64__)
	if (i == ISA_AVX2) tarn_isa = &tarn_avx2;
	if (i == ISA_AVX512) tarn_isa = &tarn_avx512;
#endif
}
