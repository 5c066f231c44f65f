// choice.h: where the largest or smallest element is, and the gradient of the
// maximum. NaN is beyond all else.

// hits marks the elements that equal m, or are NaN if it is.
FN vi hits(vf x, vf m) { return (x == m) | ((x != x) & (m != m)); }

// index_run returns the first index of the largest of n > 0 elements, or of the
// smallest.
FN int64_t index_run(const int least, const float *x, int64_t n) {
	vf m = all(least ? min_run(x, n) : max_run(x, n));
	int64_t i = 0;
	while (i + VL <= n && !any(hits(load(x + i), m))) i += VL;
	vi hit = i + VL <= n ? hits(load(x + i), m) : hits(load_first(x + i, n - i), m) & first_mask(n - i);
	int32_t lanes[VL];
	memcpy(lanes, &hit, sizeof lanes);
	int64_t k = 0;
	while (!lanes[k]) k++;
	return i + k;
}

// index_rows writes the results k0 to k1 of o to f->index, of elements in one run.
BODY void index_rows(const struct fold *f, int64_t o, int64_t k0, int64_t k1) {
	for (int64_t k = k0; k < k1; k++) {
		const float *x = f->x + o * f->outer_step + k * f->kept_step;
		f->index[o * f->out_outer + k * f->out_kept] = f->op == FOLD_ARGMIN ? index_run(1, x, f->n) : index_run(0, x, f->n);
	}
}

// index_strip does a strip of so many vectors, one alone of fewer columns.
FN void index_strip(const int least, const int vectors, const struct fold *f, int64_t o, int64_t k, int64_t width) {
	const float *x = f->x + o * f->outer_step + k;
	vf best[4];
	vi where[4] = {{0}};
	UNROLLED for (int i = 0; i < vectors; i++) best[i] = vectors > 1 ? load(x + i * VL) : load_up_to(x, width);
	for (int32_t r = 1; r < f->n; r++)
		UNROLLED for (int i = 0; i < vectors; i++) {
			const float *p = x + r * f->n_step;
			vf v = vectors > 1 ? load(p + i * VL) : load_up_to(p, width);
			vi further = (least ? v < best[i] : v > best[i]) | ((v != v) & (best[i] == best[i]));
			best[i] = choose(further, v, best[i]);
			where[i] = (further & r) | (~further & where[i]);
		}
	for (int64_t j = 0; j < width; j++) f->index[o * f->out_outer + (k + j) * f->out_kept] = where[j / VL][j % VL];
}

// index_columns is index_rows for neighbouring results of neighbouring elements, of
// which each has less than 2^31.
BODY void index_columns(const struct fold *f, int64_t o, int64_t k0, int64_t k1) {
	if (f->op == FOLD_ARGMIN) {
		for (; k0 + 4 * VL <= k1; k0 += 4 * VL) index_strip(1, 4, f, o, k0, 4 * VL);
		for (; k0 < k1; k0 += VL) index_strip(1, 1, f, o, k0, k1 - k0 < VL ? k1 - k0 : VL);
		return;
	}
	for (; k0 + 4 * VL <= k1; k0 += 4 * VL) index_strip(0, 4, f, o, k0, 4 * VL);
	for (; k0 < k1; k0 += VL) index_strip(0, 1, f, o, k0, k1 - k0 < VL ? k1 - k0 : VL);
}

// max_grad_rows shares the gradients dy of the results k0 to k1 of o out among the
// elements of each, runs, that equal the result, to which f->out is the maximum.
BODY void max_grad_rows(const struct fold *f, int64_t o, int64_t k0, int64_t k1) {
	for (int64_t k = k0; k < k1; k++) {
		vf m = all(f->out[o * f->out_outer + k * f->out_kept]);
		int64_t count = 0;
		const float *x = f->x + o * f->outer_step + k * f->kept_step;
		for (int64_t r = 0; r < f->rows; r++) {
			const float *p = x + r * f->row_step;
			vi found = {0};
			int64_t j = 0;
			for (; j + VL <= f->n; j += VL) found -= hits(load(p + j), m);
			if (j < f->n) found -= hits(load_first(p + j, f->n - j), m) & first_mask(f->n - j);
			UNROLLED for (int i = 0; i < VL; i++) count += found[i];
		}
		vf part = all(f->dy[o * f->dy_outer + k * f->dy_kept] / (float)count);
		float *to = f->dx + o * f->dx_outer + k * f->dx_kept;
		for (int64_t r = 0; r < f->rows; r++) {
			const float *p = x + r * f->row_step;
			float *q = to + r * f->dx_row;
			for (int64_t j = 0; j < f->n; j += VL)
				store_up_to(q + j, (vf)(hits(load_up_to(p + j, f->n - j), m) & (vi)part), f->n - j);
		}
	}
}

// max_grad_columns is max_grad_rows where neighbouring results are of neighbouring
// elements.
BODY void max_grad_columns(const struct fold *f, int64_t o, int64_t k0, int64_t k1) {
	for (int64_t k = k0; k < k1; k += VL) {
		int64_t width = k1 - k < VL ? k1 - k : VL;
		vf m = {0}, part = {0};
		vi found = {0};
		for (int64_t j = 0; j < width; j++) {
			m[j] = f->out[o * f->out_outer + (k + j) * f->out_kept];
			part[j] = f->dy[o * f->dy_outer + (k + j) * f->dy_kept];
		}
		const float *x = f->x + o * f->outer_step + k;
		float *to = f->dx + o * f->dx_outer + k;
		for (int64_t r = 0; r < f->rows; r++)
			for (int64_t b = 0; b < f->n; b++) found -= hits(load_up_to(x + r * f->row_step + b * f->n_step, width), m);
		part /= __builtin_convertvector(found, vf);
		for (int64_t r = 0; r < f->rows; r++)
			for (int64_t b = 0; b < f->n; b++) {
				vf v = load_up_to(x + r * f->row_step + b * f->n_step, width);
				store_up_to(to + r * f->dx_row + b * f->dx_n, (vf)(hits(v, m) & (vi)part), width);
			}
	}
}
