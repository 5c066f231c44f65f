// random.h: random numbers by Philox4x32-10 (Salmon et al. 2011), VL blocks of four
// words at a time.

typedef uint32_t vw __attribute__((vector_size(VB)));
typedef uint64_t vq __attribute__((vector_size(VB))); // of half the lanes

// product32 returns in 64 bits the products of the even lanes of x and m.
FN vq product32(vq x, uint32_t m) {
#if VB == 64
	return (vq)_mm512_mul_epu32((__m512i)x, _mm512_set1_epi64(m));
#elif VB == 32
	return (vq)_mm256_mul_epu32((__m256i)x, _mm256_set1_epi64x(m));
#elif defined(__x86_64__)
	return (vq)_mm_mul_epu32((__m128i)x, _mm_set1_epi64x(m));
#else
	return (x & 0xffffffff) * m;
#endif
}

// word_product sets hi and lo to the halves of the products of x and m.
FN void word_product(vw x, uint32_t m, vw *hi, vw *lo) {
	const vq upper = (vq){0} + 0xffffffff00000000;
	vq even = product32((vq)x, m), odd = product32((vq)x >> 32, m);
	*lo = (vw)((even & ~upper) | odd << 32);
	*hi = (vw)(even >> 32 | (odd & upper));
}

// philox makes the words of blocks counter to counter + VL: lane l of w[k] is word k
// of block l.
FN void philox(uint64_t seed, uint64_t counter, vw w[4]) {
	vw lane = (vw)lane_numbers();
	vw c0 = lane + (uint32_t)counter, c2 = {0}, c3 = {0};
	vw c1 = (uint32_t)(counter >> 32) - (vw)(c0 < lane); // the comparison is -1 where lanes carry
	uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
	UNROLLED for (int r = 0; r < 10; r++) {
		vw hi0, lo0, hi2, lo2;
		word_product(c0, 0xD2511F53, &hi0, &lo0);
		word_product(c2, 0xCD9E8D57, &hi2, &lo2);
		c0 = hi2 ^ c1 ^ k0, c1 = lo2;
		c2 = hi0 ^ c3 ^ k1, c3 = lo0;
		k0 += 0x9E3779B9, k1 += 0xBB67AE85;
	}
	w[0] = c0, w[1] = c1, w[2] = c2, w[3] = c3;
}

// digits24 returns the top 24 bits of words as numbers.
FN vf digits24(vw w) { return __builtin_convertvector((vi)(w >> 8), vf); }

// rounded_product is x*y and nothing that a later sum could be fused with: Go's
// and the GPU's numbers have two roundings there.
FN vf rounded_product(vf x, vf y) {
	vf p = x * y;
#if defined(__x86_64__)
	__asm__("" : "+v"(p));
#elif defined(__aarch64__)
	__asm__("" : "+w"(p));
#else
	__asm__("" : "+m"(p));
#endif
	return p;
}

// normal_pair makes two numbers of a deviation by the words of two (Box and Muller
// 1958). A turn is cut to a quarter exactly.
FN void normal_pair(vw x, vw y, const struct draw *d, vf r[2]) {
	vf u = (digits24(x) + all(1.f)) * all(0x1p-24f), v = digits24(y) * all(0x1p-22f); // v in quarters
	vf quarter = rounded_even(v);
	struct turns t = {(v - quarter) * all(0x1.921fb6p0f), __builtin_convertvector(quarter, vi)};
	vf size = root(all(-2.f) * vlog(u));
	vf sine = sine_of(t);
	t.quarters += 1;
	r[0] = size * sine_of(t) * all(d->b) + all(d->a);
	r[1] = size * sine * all(d->b) + all(d->a);
}

// random_run makes n elements that begin with a block of words.
BODY void random_run(const struct draw *d, float *out, const float *x, int64_t n, int64_t block) {
	for (int64_t i = 0; i < n; i += 4 * VL, block += VL) {
		float buffer[4 * VL];
		float *to = i + 4 * VL <= n && d->op != DRAW_DROPOUT ? out + i : buffer;
		vw w[4];
		vf r[4];
		philox(d->seed, d->offset + (uint64_t)block, w);
		if (d->op == DRAW_NORMAL) {
			normal_pair(w[0], w[1], d, r);
			normal_pair(w[2], w[3], d, r + 2);
		} else if (d->op == DRAW_UNIFORM) {
			UNROLLED for (int k = 0; k < 4; k++)
				r[k] = rounded_product(digits24(w[k]) * all(0x1p-24f), all(d->b)) + all(d->a);
		} else if (d->op == DRAW_WORDS) {
			UNROLLED for (int k = 0; k < 4; k++) r[k] = (vf)w[k];
		} else {
			UNROLLED for (int k = 0; k < 4; k++)
				r[k] = choose((vi)(w[k] <= (vw){0} + d->most) & d->some, (vf){0}, all(d->b));
		}
		transpose4(r);
		UNROLLED for (int k = 0; k < 4; k++) scatter4(to + 4 * k, 16, r[k]);
		if (to != buffer) continue;
		int64_t m = n - i < 4 * VL ? n - i : 4 * VL;
		for (int64_t j = 0; j < m; j++) out[i + j] = d->op == DRAW_DROPOUT ? x[i + j] * buffer[j] : buffer[j];
	}
}
