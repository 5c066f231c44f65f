#include "fmapeak.h"

// One loop per vector width and number of chains. Each chain waits only for
// itself, so that enough of them fill the latency of the unit. The results go
// to a volatile, or the compiler would drop the loop.

static volatile float factor = 0.999f, term = 0.001f, sink;

#define LOOP(name, target, bytes, chains)                                              \
	target static double name##_##chains(int64_t iterations) {                     \
		typedef float vec __attribute__((vector_size(bytes)));                 \
		vec f = factor - (vec){0}, t = term - (vec){0}, acc[chains];           \
		for (int i = 0; i < chains; i++) acc[i] = t + (float)i;                \
		for (int64_t n = 0; n < iterations; n++)                               \
			_Pragma("GCC unroll 16") for (int i = 0; i < chains; i++)       \
				acc[i] = acc[i] * f + t;                               \
		vec sum = acc[0];                                                      \
		for (int i = 1; i < chains; i++) sum += acc[i];                        \
		sink = sum[0];                                                         \
		return 2.0 * (bytes / sizeof(float)) * chains * iterations;            \
	}

#define LOOPS(name, target, bytes)                                                     \
	LOOP(name, target, bytes, 8)                                                   \
	LOOP(name, target, bytes, 10)                                                  \
	LOOP(name, target, bytes, 12)                                                  \
	LOOP(name, target, bytes, 16)                                                  \
	static double (*name[FMAPEAK_KINDS])(int64_t) = {name##_8, name##_10, name##_12, name##_16};

LOOPS(baseline, , 16)

#ifdef __x86_64__
LOOPS(avx2, __attribute__((target("avx2,fma"))), 32)
LOOPS(avx512, __attribute__((target("avx512f"))), 64)
#endif

double tarn_fmapeak(int kind, int64_t iterations) {
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f")) return avx512[kind](iterations);
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2[kind](iterations);
#endif
	return baseline[kind](iterations);
}
