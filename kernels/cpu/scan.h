// scan.h: running sums and products, kept in double.

// shifted returns x with its lanes moved up by by, and lanes of none below.
#if VB == 64
enum { WIDE = 8 }; // doubles in a vector
#define MOVED_UP(x, none, by) __builtin_shuffle(none, x, (vl){8 - by, 9 - by, 10 - by, 11 - by, 12 - by, 13 - by, 14 - by, 15 - by})
#define LAST_LANE(x) __builtin_shuffle(x, (vl){7, 7, 7, 7, 7, 7, 7, 7})
#elif VB == 32
enum { WIDE = 4 };
#define MOVED_UP(x, none, by) __builtin_shuffle(none, x, (vl){4 - by, 5 - by, 6 - by, 7 - by})
#define LAST_LANE(x) __builtin_shuffle(x, (vl){3, 3, 3, 3})
#else
enum { WIDE = 2 };
#define MOVED_UP(x, none, by) __builtin_shuffle(none, x, (vl){2 - by, 3 - by})
#define LAST_LANE(x) __builtin_shuffle(x, (vl){1, 1})
#endif

FN vd combined(const int product, vd a, vd b) { return product ? a * b : a + b; }

// scan_vector scans the lanes of x, and goes on from carry, which it moves on.
FN vd scan_vector(const int product, vd x, vd *carry) {
	const vd none = all_wide(product ? 1 : 0);
	x = combined(product, x, MOVED_UP(x, none, 1));
#if VB >= 32
	x = combined(product, x, MOVED_UP(x, none, 2));
#endif
#if VB == 64
	x = combined(product, x, MOVED_UP(x, none, 4));
#endif
	vd y = combined(product, *carry, x);
	*carry = combined(product, *carry, LAST_LANE(x)); // sooner there than y's last lane, and the same
	return y;
}

FN vf backwards(vf x) {
#define OTHER_END(i) (VL - 1 - i)
	return __builtin_shuffle(x, EACH_LANE(OTHER_END));
#undef OTHER_END
}

// scan_line scans n elements from x on, or with back those from x down.
FN void scan_line(const int product, const int back, float *out, const float *x, int64_t n) {
	vd carry = all_wide(product ? 1 : 0);
	int64_t j = 0;
	for (; j + VL <= n; j += VL) {
		struct wide w = widen(back ? backwards(load(x - j - VL + 1)) : load(x + j));
		w.half[0] = scan_vector(product, w.half[0], &carry);
		w.half[1] = scan_vector(product, w.half[1], &carry);
		if (back) store(out - j - VL + 1, backwards(narrow(w)));
		else store(out + j, narrow(w));
	}
	double total = carry[0];
	for (; j < n; j++) {
		int64_t k = back ? -j : j;
		total = product ? total * x[k] : total + x[k];
		out[k] = (float)total;
	}
}

BODY void scan_rows(const struct lines *l, int64_t i0, int64_t i1) {
	for (int64_t i = i0; i < i1; i++) {
		const float *x = l->a + i * l->lda;
		float *out = l->out + i * l->ldout;
		if (l->product) scan_line(1, l->back, out, x, l->n);
		else scan_line(0, l->back, out, x, l->n);
	}
}

// scan_strip does lines side by side, a strip of so many vectors.
FN void scan_strip(const int product, const int vectors, float *out, int64_t gap_out, const float *x, int64_t gap_x, int64_t n, int64_t width) {
	struct wide t[4];
	UNROLLED for (int i = 0; i < vectors; i++) t[i] = wide_of(product ? 1 : 0);
	for (int64_t j = 0; j < n; j++, x += gap_x, out += gap_out)
		UNROLLED for (int i = 0; i < vectors; i++) {
			t[i] = wide_join(product ? MULTIPLYING : ADDING, t[i], widen(in_strip(vectors, x, i, width)));
			out_strip(vectors, out, i, narrow(t[i]), width);
		}
}

FN void scan_strips(const int product, const struct lines *l, int64_t i0, int64_t i1) {
	for (; i0 + 4 * VL <= i1; i0 += 4 * VL) scan_strip(product, 4, l->out + i0, l->ldout, l->a + i0, l->lda, l->n, 4 * VL);
	for (; i0 < i1; i0 += VL) scan_strip(product, 1, l->out + i0, l->ldout, l->a + i0, l->lda, l->n, i1 - i0);
}

BODY void scan_columns(const struct lines *l, int64_t i0, int64_t i1) {
	if (l->product) scan_strips(1, l, i0, i1);
	else scan_strips(0, l, i0, i1);
}
