// vec.h: the vector vocabulary that the bodies are written in, for the one ISA
// that the including isa_*.c has chosen by
//
//	TARGET   the target attribute that every function here carries
//	VB       bytes of a vector: 64, 32 or 16
//
// All of it is gcc's vector extensions, so that the same text compiles for any
// architecture; an intrinsic stands only where there is no operator for what a
// single instruction does. No -ffast-math anywhere: it would delete the
// rounding trick in vmath.h and the NaN of ReLU.
#include <stdint.h>
#include <string.h>

#include "kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { VL = VB / 4 }; // floats in a vector

typedef float vf __attribute__((vector_size(VB)));
typedef int32_t vi __attribute__((vector_size(VB)));
typedef float vf_any __attribute__((vector_size(VB), aligned(4), may_alias));

// FN is a piece of a body, BODY one that is called through a pointer.
#define FN static inline __attribute__((always_inline, unused)) TARGET
#define BODY static __attribute__((noinline)) TARGET

// UNROLLED unrolls a loop of few and constant rounds entirely, so that the
// vectors of an array that it runs over live in registers.
#define UNROLLED _Pragma("GCC unroll 16")

FN vf load(const float *p) { return *(const vf_any *)p; }
FN void store(float *p, vf x) { *(vf_any *)p = x; }

// all returns x in all lanes: x - 0 is x, be it -0 or NaN.
FN vf all(float x) { return x - (vf){0}; }

// load_first and store_first move the first n lanes, 0 <= n <= VL. The others
// are 0.
#if VB == 64
FN __mmask16 first(int64_t n) { return (__mmask16)((1u << n) - 1); }
FN vf load_first(const float *p, int64_t n) { return (vf)_mm512_maskz_loadu_ps(first(n), p); }
FN void store_first(float *p, vf x, int64_t n) { _mm512_mask_storeu_ps(p, first(n), (__m512)x); }
#else
FN vf load_first(const float *p, int64_t n) {
	vf x = {0};
	for (int64_t i = 0; i < n; i++) x[i] = p[i];
	return x;
}
FN void store_first(float *p, vf x, int64_t n) {
	for (int64_t i = 0; i < n; i++) p[i] = x[i];
}
#endif

// load_up_to and store_up_to move n > 0 lanes, or all of them if n is more.
FN vf load_up_to(const float *p, int64_t n) { return n >= VL ? load(p) : load_first(p, n); }

FN void store_up_to(float *p, vf x, int64_t n) {
	if (n >= VL) store(p, x);
	else store_first(p, x, n);
}

// EACH_LANE is a vector of f(0), f(1) and so on. Written out, since gcc makes no
// constant of a loop that sets one lane after the other.
#if VB == 64
#define EACH_LANE(f) (vi){f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11), f(12), f(13), f(14), f(15)}
#elif VB == 32
#define EACH_LANE(f) (vi){f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)}
#else
#define EACH_LANE(f) (vi){f(0), f(1), f(2), f(3)}
#endif

// lane_numbers has the number of each lane.
FN vi lane_numbers(void) {
#define ITSELF(i) i
	return EACH_LANE(ITSELF);
#undef ITSELF
}

// first_mask has all bits set in the first n lanes and none in the others.
FN vi first_mask(int64_t n) { return lane_numbers() < (vi){0} + (int32_t)n; }

// choose takes lanes of yes where those of mask have all bits set, and of no
// where they have none.
FN vf choose(vi mask, vf yes, vf no) {
	return (vf)((mask & (vi)yes) | (~mask & (vi)no));
}

// any reports whether some lane of mask has its bits set.
FN int any(vi mask) {
#if VB == 64
	return _mm512_movepi32_mask((__m512i)mask) != 0;
#elif VB == 32
	return _mm256_movemask_ps((__m256)mask) != 0;
#elif defined(__x86_64__)
	return _mm_movemask_ps((__m128)mask) != 0;
#else
	int32_t found = 0;
	for (int i = 0; i < VL; i++) found |= mask[i];
	return found != 0;
#endif
}

// greater returns a > b ? a : b, hence b where one is NaN; lesser likewise.
FN vf greater(vf a, vf b) {
#if VB == 64
	return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif VB == 32
	return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__x86_64__)
	return (vf)_mm_max_ps((__m128)a, (__m128)b);
#else
	return choose(a > b, a, b);
#endif
}

FN vf lesser(vf a, vf b) {
#if VB == 64
	return (vf)_mm512_min_ps((__m512)a, (__m512)b);
#elif VB == 32
	return (vf)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__x86_64__)
	return (vf)_mm_min_ps((__m128)a, (__m128)b);
#else
	return choose(a < b, a, b);
#endif
}

// size is |x|, with_sign x with the sign of s.
FN vf size(vf x) { return (vf)((vi)x & 0x7fffffff); }
FN vf with_sign(vf x, vf s) { return (vf)(((vi)x & 0x7fffffff) | ((vi)s & (int32_t)0x80000000)); }

// relu keeps NaN and -0.
FN vf relu(vf x) { return greater((vf){0}, x); }

FN vf root(vf x) {
#if VB == 64
	return (vf)_mm512_sqrt_ps((__m512)x);
#elif VB == 32
	return (vf)_mm256_sqrt_ps((__m256)x);
#elif defined(__x86_64__)
	return (vf)_mm_sqrt_ps((__m128)x);
#elif defined(__aarch64__)
	return (vf)vsqrtq_f32((float32x4_t)x);
#else
	for (int i = 0; i < VL; i++) x[i] = __builtin_sqrtf(x[i]);
	return x;
#endif
}

// fma_scalar returns c + *p * b. In AVX-512 the broadcast is part of the FMA:
// one instruction less to fetch, which counts when a sibling hyperthread
// shares the front end.
FN vf fma_scalar(vf c, const float *p, vf b) {
#if VB == 64
	__asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(c) : "v"(b), "m"(*p));
	return c;
#else
	return c + all(*p) * b;
#endif
}

// transpose4 turns 4 vectors, rows of a matrix, into 4 whose 4-lane groups are
// columns: group g of vector i holds column 4*g+i.
#if VB == 64
#define LANES(a, b, c, d) (vi){a, b, c, d, a + 4, b + 4, c + 4, d + 4, a + 8, b + 8, c + 8, d + 8, a + 12, b + 12, c + 12, d + 12}
#elif VB == 32
#define LANES(a, b, c, d) (vi){a, b, c, d, a + 4, b + 4, c + 4, d + 4}
#else
#define LANES(a, b, c, d) (vi){a, b, c, d}
#endif

FN void transpose4(vf r[4]) {
	vf low01 = __builtin_shuffle(r[0], r[1], LANES(0, VL, 1, VL + 1));
	vf high01 = __builtin_shuffle(r[0], r[1], LANES(2, VL + 2, 3, VL + 3));
	vf low23 = __builtin_shuffle(r[2], r[3], LANES(0, VL, 1, VL + 1));
	vf high23 = __builtin_shuffle(r[2], r[3], LANES(2, VL + 2, 3, VL + 3));
	r[0] = __builtin_shuffle(low01, low23, LANES(0, 1, VL, VL + 1));
	r[1] = __builtin_shuffle(low01, low23, LANES(2, 3, VL + 2, VL + 3));
	r[2] = __builtin_shuffle(high01, high23, LANES(0, 1, VL, VL + 1));
	r[3] = __builtin_shuffle(high01, high23, LANES(2, 3, VL + 2, VL + 3));
}

// scatter4 stores the 4-lane groups of x, step floats apart.
FN void scatter4(float *p, int64_t step, vf x) {
#if VB == 64
	_mm_storeu_ps(p, _mm512_castps512_ps128((__m512)x));
	_mm_storeu_ps(p + step, _mm512_extractf32x4_ps((__m512)x, 1));
	_mm_storeu_ps(p + 2 * step, _mm512_extractf32x4_ps((__m512)x, 2));
	_mm_storeu_ps(p + 3 * step, _mm512_extractf32x4_ps((__m512)x, 3));
#elif VB == 32
	_mm_storeu_ps(p, _mm256_castps256_ps128((__m256)x));
	_mm_storeu_ps(p + step, _mm256_extractf128_ps((__m256)x, 1));
#else
	store(p, x);
	(void)step;
#endif
}

// transpose writes x [rows, cols] as its transpose to out [cols, rows]. Both
// have columns side by side and rows ldx and ldout apart.
BODY void transpose(float *out, int64_t ldout, const float *x, int64_t ldx, int64_t rows, int64_t cols) {
	int64_t r = 0;
	for (; r + 4 <= rows; r += 4) { // 4 rows are streams that the hardware follows
		const float *from = x + r * ldx;
		float *to = out + r;
		int64_t c = 0;
		for (; c + VL <= cols; c += VL) {
			vf block[4] = {load(from + c), load(from + ldx + c), load(from + 2 * ldx + c), load(from + 3 * ldx + c)};
			transpose4(block);
			UNROLLED for (int i = 0; i < 4; i++) scatter4(to + (c + i) * ldout, 4 * ldout, block[i]);
		}
		for (; c < cols; c++)
			for (int i = 0; i < 4; i++) to[c * ldout + i] = from[i * ldx + c];
	}
	for (; r < rows; r++)
		for (int64_t c = 0; c < cols; c++) out[c * ldout + r] = x[r * ldx + c];
}
