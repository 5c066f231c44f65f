// half.h: conversions between float and the two types of 16 bits, rounded to
// nearest even; NaN stays NaN. kernels/half.go has them for one number.

typedef uint32_t vu __attribute__((vector_size(VB)));
typedef uint16_t vh __attribute__((vector_size(VB / 2))); // as many lanes as a vf

FN vf bf16_to_float(vh h) { return (vf)(__builtin_convertvector(h, vu) << 16); }

FN vh bf16_from_float(vf x) {
	vu bits = (vu)x;
	vu rounded = bits + 0x7fff + (bits >> 16 & 1);
	vu nan = (vu)(x != x);
	return __builtin_convertvector(((nan & (bits | 0x400000)) | (~nan & rounded)) >> 16, vh);
}

#if VB == 64
FN vf f16_to_float(vh h) { return (vf)_mm512_cvtph_ps((__m256i)h); }
FN vh f16_from_float(vf x) { return (vh)_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
#elif VB == 32
FN vf f16_to_float(vh h) { return (vf)_mm256_cvtph_ps((__m128i)h); }
FN vh f16_from_float(vf x) { return (vh)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT); }
#else
FN vf f16_to_float(vh h) {
	vi bits = (vi)__builtin_convertvector(h, vu), rest = bits & 0x7fff;
	vf small = __builtin_convertvector(rest, vf) * all(0x1p-24f); // subnormals
	vf x = choose(rest < 0x0400, small, (vf)((rest << 13) + 0x38000000));
	x = choose(rest >= 0x7c00, (vf)(rest << 13 | 0x7f800000), x);
	return (vf)((vi)x | (bits & 0x8000) << 16);
}

// Below 2^-14 adding 0.5 leaves the fraction, rounded, in the last bits.
FN vh f16_from_float(vf x) {
	vi sign = ((vi)x >> 16) & 0x8000, bits = (vi)x & 0x7fffffff;
	vi normal = (bits + 0xfff + (bits >> 13 & 1) - 0x38000000) >> 13;
	vi h = (vi)choose(bits < 0x38800000, (vf)((vi)(size(x) + all(0.5f)) - 0x3f000000), (vf)normal);
	h = (vi)choose(bits >= 0x477ff000, (vf)((vi){0} + 0x7c00), (vf)h); // 65520
	h = (vi)choose(bits > 0x7f800000, (vf)((vi){0} + 0x7e00), (vf)h);
	return __builtin_convertvector((vu)(h | sign), vh);
}
#endif

#define CONVERSIONS(type)                                                                     \
	BODY void type##_to_floats(float *out, const uint16_t *in, int64_t n) {               \
		vh h = {0};                                                                   \
		for (; n >= VL; n -= VL, in += VL, out += VL) {                               \
			memcpy(&h, in, sizeof h);                                             \
			store(out, type##_to_float(h));                                       \
		}                                                                             \
		memcpy(&h, in, (size_t)n * sizeof *in);                                       \
		store_first(out, type##_to_float(h), n);                                      \
	}                                                                                     \
	BODY void type##_from_floats(uint16_t *out, const float *in, int64_t n) {             \
		vh h;                                                                         \
		for (; n >= VL; n -= VL, in += VL, out += VL) {                               \
			h = type##_from_float(load(in));                                      \
			memcpy(out, &h, sizeof h);                                            \
		}                                                                             \
		h = type##_from_float(load_first(in, n));                                     \
		memcpy(out, &h, (size_t)n * sizeof *out);                                     \
	}

CONVERSIONS(f16)
CONVERSIONS(bf16)
#undef CONVERSIONS
