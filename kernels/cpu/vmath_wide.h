// vmath_wide.h: numbers of more digits than a float: pairs of vectors of
// doubles, and products whose rounding error is known.

typedef double vd __attribute__((vector_size(VB)));

// wide holds the lanes of a vf as doubles.
struct wide {
	vd half[2];
};

FN vd all_wide(double x) { return x - (vd){0}; }

typedef float vf_half __attribute__((vector_size(VB / 2)));

// widen and narrow convert. gcc makes several instructions of what is one, and
// joins the halves of a vector in memory, where the load waits for both stores.
FN struct wide widen(vf x) {
#if VB == 64
	return (struct wide){{(vd)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)x)), (vd)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)x, 1))}};
#elif VB == 32
	return (struct wide){{(vd)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)x)), (vd)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)x, 1))}};
#elif defined(__x86_64__)
	return (struct wide){{(vd)_mm_cvtps_pd((__m128)x), (vd)_mm_cvtps_pd(_mm_movehl_ps((__m128)x, (__m128)x))}};
#else
	union { vf whole; vf_half half[2]; } u = {x};
	return (struct wide){{__builtin_convertvector(u.half[0], vd), __builtin_convertvector(u.half[1], vd)}};
#endif
}

FN vf narrow(struct wide x) {
#if VB == 64
	return (vf)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)x.half[0])), _mm512_cvtpd_ps((__m512d)x.half[1]), 1);
#elif VB == 32
	return (vf)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps((__m256d)x.half[0])), _mm256_cvtpd_ps((__m256d)x.half[1]), 1);
#elif defined(__x86_64__)
	return (vf)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)x.half[0]), _mm_cvtpd_ps((__m128d)x.half[1]));
#else
	union { vf_half half[2]; vf whole; } u = {{__builtin_convertvector(x.half[0], vf_half), __builtin_convertvector(x.half[1], vf_half)}};
	return u.whole;
#endif
}

// product returns a*b and sets *lost to what rounding took off it, which has no
// meaning where a product is infinite, NaN or near the subnormals.
FN vf product(vf a, vf b, vf *lost) {
	vf p = a * b;
#if VB == 64
	*lost = (vf)_mm512_fmsub_ps((__m512)a, (__m512)b, (__m512)p);
#elif VB == 32
	*lost = (vf)_mm256_fmsub_ps((__m256)a, (__m256)b, (__m256)p);
#else
	// Halves of 12 bits, whose products are exact (Dekker 1971).
	vf ah = (vf)((vi)a & (int32_t)0xfffff000), al = a - ah;
	vf bh = (vf)((vi)b & (int32_t)0xfffff000), bl = b - bh;
	*lost = ((ah * bh - p) + (ah * bl + al * bh)) + al * bl;
#endif
	return p;
}
