// softmax.h: softmax of rows, its logarithm, and the gradients of both. out may
// lie over an operand: each vector is read before it is written.

enum { SHORT = 8 }; // vectors of a row that stays in registers

// in_row returns vector i of a row of n elements, with rest in the lanes beyond it;
// out_row stores it.
FN vf in_row(const float *x, int i, int64_t n, vf rest) {
	int64_t left = n - i * VL;
	if (left >= VL) return load(x + i * VL);
	return left > 0 ? choose(first_mask(left), load_first(x + i * VL, left), rest) : rest;
}

FN void out_row(float *y, int i, int64_t n, vf v) {
	int64_t left = n - i * VL;
	if (left >= VL) store(y + i * VL, v);
	else if (left > 0) store_first(y + i * VL, v, left);
}

// added returns the sum of so many vectors, a power of two, in pairs.
FN vf added(const int vectors, const vf *x) {
	vf s[SHORT];
	UNROLLED for (int v = 0; v < vectors; v++) s[v] = x[v];
	UNROLLED for (int by = vectors / 2; by > 0; by /= 2)
		UNROLLED for (int v = 0; v < by; v++) s[v] += s[v + by];
	return s[0];
}

// softmax_short does rows of up to so many vectors. A maximum that misses a NaN
// does no harm: the sum is NaN then, and so is all of the row.
FN void softmax_short(const int vectors, const struct lines *l, int64_t i0, int64_t i1) {
	for (int64_t i = i0; i < i1; i++) {
		const float *from = l->a + i * l->lda;
		float *out = l->out + i * l->ldout;
		vf x[SHORT], m[SHORT], e[SHORT];
		UNROLLED for (int v = 0; v < vectors; v++) m[v] = x[v] = in_row(from, v, l->n, all(-__builtin_inff()));
		UNROLLED for (int by = vectors / 2; by > 0; by /= 2)
			UNROLLED for (int v = 0; v < by; v++) m[v] = greater(m[v], m[v + by]);
		vf top = m[0];
		UNROLLED for (int by = VL / 2; by > 0; by /= 2) top = greater(top, rotated(top, by));
		UNROLLED for (int v = 0; v < vectors; v++) e[v] = vexp(x[v] - top);
		vf total = sum_of_lanes(added(vectors, e));
		if (l->log) {
			vf log = vlog(total);
			UNROLLED for (int v = 0; v < vectors; v++) out_row(out, v, l->n, (x[v] - top) - log);
		} else {
			vf by = all(1.f) / total;
			UNROLLED for (int v = 0; v < vectors; v++) out_row(out, v, l->n, e[v] * by);
		}
	}
}

BODY void softmax_rows(const struct lines *l, int64_t i0, int64_t i1) {
	int64_t n = l->n;
	if (n <= VL) softmax_short(1, l, i0, i1);
	else if (n <= 2 * VL) softmax_short(2, l, i0, i1);
	else if (n <= 4 * VL) softmax_short(4, l, i0, i1);
	else if (n <= SHORT * VL) softmax_short(SHORT, l, i0, i1);
	if (n <= SHORT * VL) return;
	for (int64_t i = i0; i < i1; i++) {
		const float *x = l->a + i * l->lda;
		float *out = l->out + i * l->ldout;
		int64_t j = 0;
		float m = max_run(x, n);
		double sum = exps(x, m, n, l->log ? NULL : out);
		if (l->log) {
			vf top = all(m), log = all((float)__builtin_log(sum));
			for (; j + VL <= n; j += VL) store(out + j, (load(x + j) - top) - log);
			if (j < n) store_first(out + j, (load_first(x + j, n - j) - top) - log, n - j);
			continue;
		}
		vf by = all((float)(1 / sum));
		for (; j + VL <= n; j += VL) store(out + j, load(out + j) * by);
		if (j < n) store_first(out + j, load_first(out + j, n - j) * by, n - j);
	}
}

// dot_run returns the sum of the products, added up as by sum_run.
BODY double dot_run(const float *x, const float *y, int64_t n) {
	double total = 0;
	for (; n >= SUM_BLOCK; n -= SUM_BLOCK, x += SUM_BLOCK, y += SUM_BLOCK) {
		vf s[4] = {{0}};
		UNROLLED for (int i = 0; i < 16; i++) s[i % 4] += load(x + i * VL) * load(y + i * VL);
		total += add_lanes((s[0] + s[1]) + (s[2] + s[3]));
	}
	vf rest = {0};
	for (; n >= VL; n -= VL, x += VL, y += VL) rest += load(x) * load(y);
	if (n > 0) rest += load_first(x, n) * load_first(y, n);
	return total + add_lanes(rest);
}

BODY void softmax_grad_rows(const struct lines *l, int64_t i0, int64_t i1) {
	for (int64_t i = i0; i < i1; i++) {
		const float *dy = l->a + i * l->lda, *y = l->b + i * l->ldb;
		float *out = l->out + i * l->ldout;
		int64_t j = 0, n = l->n;
		if (l->log) {
			vf sum = all((float)sum_run(dy, n));
			for (; j + VL <= n; j += VL) store(out + j, load(dy + j) - vexp(load(y + j)) * sum);
			if (j < n) store_first(out + j, load_first(dy + j, n - j) - vexp(load_first(y + j, n - j)) * sum, n - j);
			continue;
		}
		vf sum = all((float)dot_run(dy, y, n));
		for (; j + VL <= n; j += VL) store(out + j, load(y + j) * (load(dy + j) - sum));
		if (j < n) store_first(out + j, load_first(y + j, n - j) * (load_first(dy + j, n - j) - sum), n - j);
	}
}
