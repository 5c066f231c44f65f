// loss.h: rows of a cross-entropy and of its gradient, each taken relative to
// the row's maximum, so that no exponential overflows and large logits keep
// their digits.

enum { EXP_BLOCK = 64 * VL }; // exponentials added in float before they join the double

// exps returns the sum of e^(x-m); with out it stores them there too.
FN double exps(const float *x, float m, int64_t n, float *out) {
	double total = 0;
	vf top = all(m);
	for (int64_t i = 0; i < n;) {
		vf s = {0};
		int64_t end = n - i < EXP_BLOCK ? n : i + EXP_BLOCK;
		for (; i + VL <= end; i += VL) {
			vf e = vexp(load(x + i) - top);
			if (out) store(out + i, e);
			s += e;
		}
		if (i < end) {
			vf e = vexp(load_first(x + i, end - i) - top);
			if (out) store_first(out + i, e, end - i);
			s += (vf)(first_mask(end - i) & (vi)e);
			i = end;
		}
		total += add_lanes(s);
	}
	return total;
}

BODY void loss_rows(const struct loss *l, int64_t i0, int64_t i1) {
	for (int64_t i = i0; i < i1; i++) {
		const float *x = l->logits + i * l->ldlogits;
		float m = max_run(x, l->c);
		l->losses[i] = __builtin_log(exps(x, m, l->c, NULL)) - ((double)x[l->classes[i * l->ldclasses]] - m);
	}
}

BODY void loss_grad_rows(const struct loss *l, int64_t i0, int64_t i1) {
	for (int64_t i = i0; i < i1; i++) {
		const float *x = l->logits + i * l->ldlogits;
		float *out = l->grad + i * l->ldgrad;
		float m = max_run(x, l->c);
		vf by = all((float)(l->scale / exps(x, m, l->c, out)));
		int64_t j = 0, hot = l->classes[i * l->ldclasses];
		for (; j + VL <= l->c; j += VL) store(out + j, load(out + j) * by);
		if (j < l->c) store_first(out + j, load_first(out + j, l->c - j) * by, l->c - j);
		out[hot] -= l->scale;
	}
}
