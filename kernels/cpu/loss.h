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

// short_row returns e^(x-m) of a row of up to VL elements in one vector, 0 in
// the lanes beyond it, and with it the maximum and the sum in all lanes.
FN vf short_row(const float *x, int64_t n, vf *m, vf *sum) {
	vf row = choose(first_mask(n), load_first(x, n), all(x[0]));
	*m = largest_lane(row);
	vf e = (vf)(first_mask(n) & (vi)vexp(row - *m));
	*sum = sum_of_lanes(e);
	return e;
}

BODY void loss_rows(const struct loss *l, int64_t i0, int64_t i1) {
	for (int64_t i = i0; i < i1; i++) {
		const float *x = l->logits + i * l->ldlogits;
		double sum;
		float m;
		if (l->c <= VL) {
			vf top, total;
			short_row(x, l->c, &top, &total);
			m = top[0], sum = total[0];
		} else {
			m = max_run(x, l->c);
			sum = exps(x, m, l->c, NULL);
		}
		l->losses[i] = __builtin_log(sum) - ((double)x[l->classes[i * l->ldclasses]] - m);
	}
}

BODY void loss_grad_rows(const struct loss *l, int64_t i0, int64_t i1) {
	for (int64_t i = i0; i < i1; i++) {
		const float *x = l->logits + i * l->ldlogits;
		float *out = l->grad + i * l->ldgrad;
		int64_t j = 0, hot = l->classes[i * l->ldclasses];
		if (l->c <= VL) { // all of it in registers: a row of 10 would wait for its own stores
			vf top, total;
			vf e = short_row(x, l->c, &top, &total);
			vi is_hot = first_mask(hot + 1) & ~first_mask(hot);
			store_first(out, e * (all(l->scale) / total) - (vf)(is_hot & (vi)all(l->scale)), l->c);
			continue;
		}
		float m = max_run(x, l->c);
		vf by = all((float)(l->scale / exps(x, m, l->c, out)));
		for (; j + VL <= l->c; j += VL) store(out + j, load(out + j) * by);
		if (j < l->c) store_first(out + j, load_first(out + j, l->c - j) * by, l->c - j);
		out[hot] -= l->scale;
	}
}
