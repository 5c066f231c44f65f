// norm.h: layer, RMS and group normalisation of groups whose elements lie side
// by side, and the gradients.

// squares_run returns the sum of ((x-hi)-lo)^2, added up as by sum_run.
BODY double squares_run(const float *x, float high, float low, int64_t n) {
	vf hi = all(high), lo = all(low);
	double total = 0;
	for (; n >= SUM_BLOCK; n -= SUM_BLOCK, x += SUM_BLOCK) {
		vf s[4] = {{0}};
		UNROLLED for (int i = 0; i < 16; i++) {
			vf d = (load(x + i * VL) - hi) - lo;
			s[i % 4] += d * d;
		}
		total += add_lanes((s[0] + s[1]) + (s[2] + s[3]));
	}
	vf rest = {0};
	for (; n >= VL; n -= VL, x += VL) {
		vf d = (load(x) - hi) - lo;
		rest += d * d;
	}
	if (n > 0) {
		vf d = (load_first(x, n) - hi) - lo;
		rest += (vf)(first_mask(n) & (vi)(d * d));
	}
	return total + add_lanes(rest);
}

// norm_row writes y = ((x-hi)-lo)*rstd*w + b; w and b may be NULL.
FN void norm_row(float *y, const float *x, const float *w, const float *b, vf hi, vf lo, vf rstd, int64_t n) {
	int64_t j = 0;
	for (; j + VL <= n; j += VL) {
		vf v = ((load(x + j) - hi) - lo) * rstd;
		if (w) v *= load(w + j);
		if (b) v += load(b + j);
		store(y + j, v);
	}
	if (j < n) {
		vf v = ((load_first(x + j, n - j) - hi) - lo) * rstd;
		if (w) v *= load_first(w + j, n - j);
		if (b) v += load_first(b + j, n - j);
		store_first(y + j, v, n - j);
	}
}

// scale_run writes y = ((x-hi)-lo)*scale + shift.
FN void scale_run(float *y, const float *x, vf hi, vf lo, vf scale, vf shift, int64_t n) {
	int64_t j = 0;
	for (; j + VL <= n; j += VL) store(y + j, ((load(x + j) - hi) - lo) * scale + shift);
	if (j < n) store_first(y + j, ((load_first(x + j, n - j) - hi) - lo) * scale + shift, n - j);
}

// norm_short does rows of up to so many vectors, each a channel, which stay in
// registers. The sum of the differences from the first mean, 0 but for rounding,
// corrects mean and variance.
FN void norm_short(const int vectors, const struct norm *h, int64_t i0, int64_t i1) {
	int64_t n = h->channels;
	const vf part = all(1.f / (float)n), eps = all((float)h->eps);
	vi valid[SHORT];
	UNROLLED for (int v = 0; v < vectors; v++) valid[v] = first_mask(n - v * VL);
	for (int64_t i = i0; i < i1; i++) {
		const float *x = h->x + i * h->ldx;
		float *y = h->y + i * h->ldy;
		vf d[SHORT], squares[SHORT], mean = {0}, shift = {0};
		UNROLLED for (int v = 0; v < vectors; v++) d[v] = in_row(x, v, n, (vf){0});
		if (h->mean) {
			mean = sum_of_lanes(added(vectors, d)) * part;
			UNROLLED for (int v = 0; v < vectors; v++) d[v] = (vf)(valid[v] & (vi)(d[v] - mean));
			shift = sum_of_lanes(added(vectors, d)) * part;
		}
		UNROLLED for (int v = 0; v < vectors; v++) squares[v] = d[v] * d[v];
		vf variance = sum_of_lanes(added(vectors, squares)) * part - shift * shift;
		vf rstd = all(1.f) / root(greater((vf){0}, variance) + eps);
		if (h->mean) h->mean[i] = choose(shift == shift, mean + shift, mean)[0]; // an infinite mean stays
		h->rstd[i] = rstd[0];
		UNROLLED for (int v = 0; v < vectors; v++) {
			vf t = (d[v] - shift) * rstd;
			if (h->w) t *= in_row(h->w, v, n, (vf){0});
			if (h->b) t += in_row(h->b, v, n, (vf){0});
			out_row(y, v, n, t);
		}
	}
}

BODY void norm_rows(const struct norm *h, int64_t i0, int64_t i1) {
	int64_t n = h->channels * h->size;
	if (h->size == 1 && h->per == 1 && n <= SHORT * VL) {
		if (n <= VL) norm_short(1, h, i0, i1);
		else if (n <= 2 * VL) norm_short(2, h, i0, i1);
		else if (n <= 4 * VL) norm_short(4, h, i0, i1);
		else norm_short(SHORT, h, i0, i1);
		return;
	}
	for (int64_t i = i0; i < i1; i++) {
		const float *x = h->x + i * h->ldx;
		float *y = h->y + i * h->ldy;
		double mean = h->mean ? sum_run(x, n) / (double)n : 0;
		float hi = (float)mean, lo = (float)(mean - hi);
		float rstd = (float)(1 / __builtin_sqrt(squares_run(x, hi, lo, n) / (double)n + h->eps));
		if (h->mean) h->mean[i] = hi;
		h->rstd[i] = rstd;
		const float *w = h->w ? h->w + i % h->per * h->channels : NULL, *b = h->b ? h->b + i % h->per * h->channels : NULL;
		if (h->size == 1) {
			if (b) norm_row(y, x, w, b, all(hi), all(lo), all(rstd), n);
			else if (w) norm_row(y, x, w, NULL, all(hi), all(lo), all(rstd), n);
			else norm_row(y, x, NULL, NULL, all(hi), all(lo), all(rstd), n);
			continue;
		}
		for (int64_t k = 0; k < h->channels; k++)
			scale_run(y + k * h->size, x + k * h->size, all(hi), all(lo), all(w ? rstd * w[k] : rstd), all(b ? b[k] : 0), h->size);
	}
}

// grad_sums returns the sums of g and of g*x', g = dy*w, and adds dy*x' and dy to
// dw and db; w, and dw with db, may be NULL.
FN void grad_sums(const float *dy, const float *x, const float *w, float *dw, float *db, vf mean, vf rstd, int64_t n, double sums[2]) {
	sums[0] = sums[1] = 0;
	for (int64_t j = 0; j < n;) {
		vf s = {0}, p = {0};
		int64_t end = n - j < SUM_BLOCK ? n : j + SUM_BLOCK;
		for (; j + VL <= end; j += VL) {
			vf d = load(dy + j), v = (load(x + j) - mean) * rstd;
			if (dw) {
				store(dw + j, load(dw + j) + d * v);
				store(db + j, load(db + j) + d);
			}
			if (w) d *= load(w + j);
			s += d;
			p += d * v;
		}
		if (j < end) {
			vi valid = first_mask(end - j);
			vf d = load_first(dy + j, end - j), v = (vf)(valid & (vi)((load_first(x + j, end - j) - mean) * rstd));
			if (dw) {
				store_first(dw + j, load_first(dw + j, end - j) + d * v, end - j);
				store_first(db + j, load_first(db + j, end - j) + d, end - j);
			}
			if (w) d *= load_first(w + j, end - j);
			s += d;
			p += d * v;
			j = end;
		}
		sums[0] += add_lanes(s);
		sums[1] += add_lanes(p);
	}
}

// grad_row writes dx = rstd*(g - sum - x'*product).
FN void grad_row(float *dx, const float *dy, const float *x, const float *w, vf mean, vf rstd, vf sum, vf product, int64_t n) {
	int64_t j = 0;
	for (; j + VL <= n; j += VL) {
		vf d = load(dy + j), v = (load(x + j) - mean) * rstd;
		if (w) d *= load(w + j);
		store(dx + j, rstd * (d - sum - v * product));
	}
	if (j < n) {
		vf d = load_first(dy + j, n - j), v = (load_first(x + j, n - j) - mean) * rstd;
		if (w) d *= load_first(w + j, n - j);
		store_first(dx + j, rstd * (d - sum - v * product), n - j);
	}
}

// grad_channels is grad_sums where a channel has several elements.
FN void grad_channels(const struct norm *h, const float *dy, const float *x, const float *w, float *dw, float *db, vf mean, vf rstd, double sums[2]) {
	sums[0] = sums[1] = 0;
	for (int64_t k = 0; k < h->channels; k++) {
		double s[2];
		grad_sums(dy + k * h->size, x + k * h->size, NULL, NULL, NULL, mean, rstd, h->size, s);
		if (dw) dw[k] += (float)s[1], db[k] += (float)s[0];
		double by = w ? w[k] : 1;
		sums[0] += by * s[0];
		sums[1] += by * s[1];
	}
}

enum { FLOAT_ROWS = 32 }; // groups whose dw and db are added in float

// norm_grad_rows adds up dw and db of the groups in h->acc, floats, and those in
// h->parts, doubles: [dw, db] of width channels each.
BODY void norm_grad_rows(const struct norm *h, int64_t i0, int64_t i1, float *acc, double *parts) {
	int64_t n = h->channels * h->size, width = h->per * h->channels;
	if (parts)
		for (int64_t c = 0; c < 2 * width; c++) parts[c] = 0;
	for (int64_t begin = i0; begin < i1; begin += FLOAT_ROWS) {
		int64_t end = i1 - begin < FLOAT_ROWS ? i1 : begin + FLOAT_ROWS;
		if (acc) memset(acc, 0, (size_t)(2 * width) * sizeof *acc);
		for (int64_t i = begin; i < end; i++) {
			const float *x = h->x + i * h->ldx, *dy = h->dy + i * h->lddy;
			float *dx = h->y + i * h->ldy;
			int64_t c = i % h->per * h->channels;
			const float *w = h->w ? h->w + c : NULL;
			float *dw = acc ? acc + c : NULL, *db = acc ? acc + width + c : NULL;
			vf mean = all(h->mean ? h->mean[i] : 0), rstd = all(h->rstd[i]);
			double sums[2];
			if (h->size > 1) grad_channels(h, dy, x, w, dw, db, mean, rstd, sums);
			else if (w && dw) grad_sums(dy, x, w, dw, db, mean, rstd, n, sums);
			else if (w) grad_sums(dy, x, w, NULL, NULL, mean, rstd, n, sums);
			else if (dw) grad_sums(dy, x, NULL, dw, db, mean, rstd, n, sums);
			else grad_sums(dy, x, NULL, NULL, NULL, mean, rstd, n, sums);
			vf sum = all(h->mean ? (float)(sums[0] / (double)n) : 0), product = all((float)(sums[1] / (double)n));
			if (h->size == 1) {
				if (w) grad_row(dx, dy, x, w, mean, rstd, sum, product, n);
				else grad_row(dx, dy, x, NULL, mean, rstd, sum, product, n);
				continue;
			}
			for (int64_t k = 0; k < h->channels; k++) { // rstd*(dy*w - sum - x'*product) = rstd*w*dy + ...
				vf by = all(w ? w[k] : 1);
				const float *p = dy + k * h->size, *q = x + k * h->size;
				float *to = dx + k * h->size;
				int64_t j = 0, m = h->size;
				for (; j + VL <= m; j += VL) store(to + j, rstd * (load(p + j) * by - sum - ((load(q + j) - mean) * rstd) * product));
				if (j < m) store_first(to + j, rstd * (load_first(p + j, m - j) * by - sum - ((load_first(q + j, m - j) - mean) * rstd) * product), m - j);
			}
		}
		if (parts)
			for (int64_t c = 0; c < 2 * width; c++) parts[c] += acc[c];
	}
}

// join_columns writes out[j] = the sum over rows of parts[r*ld+j].
BODY void join_columns(float *out, const double *parts, int64_t ld, int64_t rows, int64_t n) {
	for (int64_t j = 0; j < n; j += 16) {
		int64_t width = n - j < 16 ? n - j : 16;
		double s[16] = {0};
		for (int64_t r = 0; r < rows; r++)
			for (int64_t k = 0; k < width; k++) s[k] += parts[r * ld + j + k];
		for (int64_t k = 0; k < width; k++) out[j + k] = (float)s[k];
	}
}
