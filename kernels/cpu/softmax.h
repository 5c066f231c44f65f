// softmax.h: softmax of rows, its logarithm, and the gradients of both. out may
// lie over an operand: each vector is read before it is written.

BODY void softmax_rows(const struct lines *l, int64_t i0, int64_t i1) {
	for (int64_t i = i0; i < i1; i++) {
		const float *x = l->a + i * l->lda;
		float *out = l->out + i * l->ldout;
		int64_t j = 0, n = l->n;
		if (n <= VL) {
			vf top, total;
			vf e = short_row(x, n, &top, &total);
			if (l->log) store_first(out, (load_first(x, n) - top) - all((float)__builtin_log(total[0])), n);
			else store_first(out, e / total, n);
			continue;
		}
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
