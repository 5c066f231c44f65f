// window.h: poolings of planes whose columns lie side by side. A row that windows
// look at is dealt out to lines, one for each phase of the stride, where the
// elements that the windows of neighbouring outputs begin with are neighbours
// too.

enum { LINE = POOL_COLUMNS + POOL_REACH + 2 * VL }; // VL floats are left beside a line at each end

// part is a stretch of n columns of y from j0 on. taps[l] is where the element l
// of each window of it lies in the lines; element m of line f is column
// (j0+m)*sw-pw+f of x. Columns [lo,hi) of x are what its windows see.
struct part {
	int64_t j0, n, m, lo, hi;
	float *lines[POOL_STRIDE];
	float *taps[POOL_REACH];
	float memory[POOL_STRIDE][LINE] __attribute__((aligned(64)));
};

FN int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }
FN int64_t most_of(int64_t a, int64_t b) { return a > b ? a : b; }
// above is a/b rounded up, for b > 0.
FN int64_t above(int64_t a, int64_t b) { return a > 0 ? (a - 1) / b + 1 : a / b; }

FN void set_part(struct part *t, const struct pool *p, int64_t j0) {
	int64_t reach = (p->kw - 1) * p->dw, from = j0 * p->sw - p->pw;
	t->j0 = j0, t->n = least_of(p->ow - j0, POOL_COLUMNS);
	t->m = t->n + reach / p->sw;
	t->lo = least_of(most_of(from, 0), p->w), t->hi = most_of(least_of(from + (t->n - 1) * p->sw + reach + 1, p->w), t->lo);
	for (int64_t f = 0; f < p->sw; f++) t->lines[f] = t->memory[f];
	for (int64_t l = 0; l < p->kw; l++) t->taps[l] = t->lines[l * p->dw % p->sw] + l * p->dw / p->sw;
}

// The even and the odd lanes of two vectors, and two vectors made of such.
#if VB == 64
#define EVEN (vi){0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30}
#define LOW (vi){0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23}
#elif VB == 32
#define EVEN (vi){0, 2, 4, 6, 8, 10, 12, 14}
#define LOW (vi){0, 8, 1, 9, 2, 10, 3, 11}
#else
#define EVEN (vi){0, 2, 4, 6}
#define LOW (vi){0, 4, 1, 5}
#endif

// deal fills the lines with a row of x, and what lies beside it with beyond.
FN void deal(struct part *t, const struct pool *p, const float *row, float beyond) {
	int64_t both_lo = 0, both_hi = t->m; // where all lines have elements
	for (int64_t f = 0; f < p->sw; f++) {
		int64_t from = t->j0 * p->sw - p->pw + f;
		int64_t lo = least_of(most_of(above(-from, p->sw), 0), t->m), hi = most_of(least_of(above(p->w - from, p->sw), t->m), lo);
		float *line = t->lines[f];
		for (int64_t m = 0; m < lo; m++) line[m] = beyond;
		for (int64_t m = hi; m < t->m; m++) line[m] = beyond;
		if (p->sw == 1) memcpy(line + lo, row + from + lo, (size_t)(hi - lo) * sizeof *row);
		else if (p->sw > 2) for (int64_t m = lo; m < hi; m++) line[m] = row[from + m * p->sw];
		both_lo = most_of(both_lo, lo), both_hi = least_of(both_hi, hi);
		if (p->sw == 2) { // what is not in both
			if (lo < hi) line[lo] = row[from + lo * 2], line[hi - 1] = row[from + (hi - 1) * 2];
		}
	}
	if (p->sw != 2) return;
	const float *x = row + t->j0 * 2 - p->pw;
	int64_t m = both_lo;
	for (; m + VL <= both_hi; m += VL) {
		vf a = load(x + 2 * m), b = load(x + 2 * m + VL);
		store(t->lines[0] + m, __builtin_shuffle(a, b, EVEN));
		store(t->lines[1] + m, __builtin_shuffle(a, b, EVEN + 1));
	}
	for (; m < both_hi; m++) t->lines[0][m] = x[2 * m], t->lines[1][m] = x[2 * m + 1];
}

// collect is deal the other way round: it sets the columns [lo,hi) of row.
FN void collect(const struct part *t, const struct pool *p, float *row) {
	int64_t from = t->j0 * p->sw - p->pw, c = t->lo;
	if (p->sw == 1) {
		memcpy(row + c, t->lines[0] + c - from, (size_t)(t->hi - c) * sizeof *row);
		return;
	}
	if (p->sw == 2) {
		for (; c < t->hi && (c - from) % 2; c++) row[c] = t->lines[1][(c - from) / 2];
		for (; c + 2 * VL <= t->hi; c += 2 * VL) {
			vf a = load(t->lines[0] + (c - from) / 2), b = load(t->lines[1] + (c - from) / 2);
			store(row + c, __builtin_shuffle(a, b, LOW));
			store(row + c + VL, __builtin_shuffle(a, b, LOW + VL / 2));
		}
	}
	for (; c < t->hi; c++) row[c] = t->lines[(c - from) % p->sw][(c - from) / p->sw];
}

// rows_of gives the rows [*from,*to) of x, dh apart, that row i of windows sees.
FN void rows_of(const struct pool *p, int64_t i, int64_t *from, int64_t *to) {
	int64_t h = i * p->sh - p->ph;
	*to = least_of(h + (p->kh - 1) * p->dh + 1, p->h);
	*from = h < 0 ? h + above(-h, p->dh) * p->dh : h;
}

// max_row joins the row h of x to the maxima and their places: a later element
// takes the place of a lesser one, or if it is NaN.
FN void max_row(const struct part *t, const struct pool *p, int64_t h, float *best, int32_t *places) {
	vi lane;
	UNROLLED for (int i = 0; i < VL; i++) lane[i] = i;
	lane *= (int32_t)p->sw;
	for (int64_t j = 0; j < t->n; j += VL) {
		vf b = load(best + j);
		vi place;
		memcpy(&place, places + j, sizeof place);
		for (int64_t l = 0; l < p->kw; l++) {
			vf x = load(t->taps[l] + j);
			vi take = (x > b) | (x != x);
			vi here = lane + (int32_t)(h * p->w + (t->j0 + j) * p->sw - p->pw + l * p->dw);
			b = choose(take, x, b);
			place = (take & here) | (~take & place);
		}
		store(best + j, b);
		memcpy(places + j, &place, sizeof place);
	}
}

BODY void max_pool_planes(const struct pool *p, int64_t u0, int64_t u1) {
	struct part t;
	float best[POOL_COLUMNS + VL];
	int32_t places[POOL_COLUMNS + VL], first[POOL_COLUMNS];
	memset(t.memory, 0, sizeof t.memory);
	for (int64_t j0 = 0; j0 < p->ow; j0 += POOL_COLUMNS) {
		set_part(&t, p, j0);
		for (int64_t j = 0; j < t.n; j++) { // the first column of each window
			int64_t c = (j0 + j) * p->sw - p->pw, to = least_of(c + (p->kw - 1) * p->dw + 1, p->w);
			if (c < 0) c += above(-c, p->dw) * p->dw;
			first[j] = c < to ? (int32_t)c : -1;
		}
		for (int64_t u = u0; u < u1; u++) {
			int64_t image = u / p->channels, channel = u % p->channels;
			const float *x = p->x + image * p->x_image + channel * p->x_channel;
			float *y = p->y + image * p->y_image + channel * p->y_channel + j0;
			int64_t *out = p->places + image * p->places_image + channel * p->places_channel + j0;
			for (int64_t i = 0; i < p->oh; i++, y += p->y_row, out += p->places_row) {
				int64_t from, to;
				rows_of(p, i, &from, &to);
				for (int64_t j = 0; j < t.n; j++) best[j] = -__builtin_inff();
				for (int64_t j = 0; j < t.n; j++) places[j] = first[j] < 0 || from >= to ? -1 : (int32_t)(from * p->w) + first[j];
				for (int64_t h = from; h < to; h += p->dh) {
					deal(&t, p, x + h * p->x_row, -__builtin_inff());
					max_row(&t, p, h, best, places);
				}
				memcpy(y, best, (size_t)t.n * sizeof *y);
				for (int64_t j = 0; j < t.n; j++) out[j] = places[j];
			}
		}
	}
}

// divisors sets by to what the columns of each window count as.
FN void divisors(const struct part *t, const struct pool *p, float *by) {
	for (int64_t j = 0; j < t->n; j++) {
		int64_t c = (t->j0 + j) * p->sw - p->pw, to = least_of(c + p->kw, p->count_pad ? p->w + p->pw : p->w);
		by[j] = (float)(to - (p->count_pad ? c : most_of(c, 0)));
	}
}

FN float divisor_of_row(const struct pool *p, int64_t i, int64_t from, int64_t to) {
	int64_t h = i * p->sh - p->ph;
	return (float)(p->count_pad ? least_of(h + p->kh, p->h + p->ph) - h : to - from);
}

// add_row adds the columns [lo,hi) of a row to another.
FN void add_row(float *to, const float *row, int64_t lo, int64_t hi) {
	for (; lo + VL <= hi; lo += VL) store(to + lo, load(to + lo) + load(row + lo));
	if (lo < hi) store_first(to + lo, load_first(to + lo, hi - lo) + load_first(row + lo, hi - lo), hi - lo);
}

// A mean sums up the rows of its window first, then the columns of the sums.
BODY void avg_pool_planes(const struct pool *p, int64_t u0, int64_t u1) {
	struct part t;
	float by[POOL_COLUMNS + VL], sums[POOL_STRIDE * LINE];
	memset(t.memory, 0, sizeof t.memory);
	memset(by, 0, sizeof by);
	for (int64_t j0 = 0; j0 < p->ow; j0 += POOL_COLUMNS) {
		set_part(&t, p, j0);
		divisors(&t, p, by);
		float *sum = sums - t.lo;
		for (int64_t u = u0; u < u1; u++) {
			int64_t image = u / p->channels, channel = u % p->channels;
			const float *x = p->x + image * p->x_image + channel * p->x_channel;
			float *y = p->y + image * p->y_image + channel * p->y_channel + j0;
			for (int64_t i = 0; i < p->oh; i++, y += p->y_row) {
				int64_t from, to;
				rows_of(p, i, &from, &to);
				for (int64_t c = t.lo; c < t.hi; c++) sum[c] = from < to ? x[from * p->x_row + c] : 0;
				for (int64_t h = from + 1; h < to; h++) add_row(sum, x + h * p->x_row, t.lo, t.hi);
				deal(&t, p, sum, 0);
				vf rows = all(divisor_of_row(p, i, from, to));
				for (int64_t j = 0; j < t.n; j += VL) {
					vf s = load(t.taps[0] + j);
					for (int64_t l = 1; l < p->kw; l++) s += load(t.taps[l] + j);
					store_up_to(y + j, s / (rows * load(by + j)), t.n - j);
				}
			}
		}
	}
}

// Backwards the columns of a row of y, divided, are added up to a row of x, which
// is the same for all rows of the windows.
BODY void avg_pool_grad_planes(const struct pool *p, int64_t u0, int64_t u1) {
	struct part t;
	float by[POOL_COLUMNS + VL], sums[POOL_STRIDE * LINE];
	memset(by, 0, sizeof by);
	for (int64_t u = u0; u < u1; u++) {
		float *x = p->grad + u / p->channels * p->x_image + u % p->channels * p->x_channel;
		for (int64_t h = 0; h < p->h; h++) memset(x + h * p->x_row, 0, (size_t)p->w * sizeof *x);
	}
	for (int64_t j0 = 0; j0 < p->ow; j0 += POOL_COLUMNS) {
		set_part(&t, p, j0);
		divisors(&t, p, by);
		float *sum = sums - t.lo;
		for (int64_t u = u0; u < u1; u++) {
			int64_t image = u / p->channels, channel = u % p->channels;
			float *x = p->grad + image * p->x_image + channel * p->x_channel;
			const float *y = p->given + image * p->y_image + channel * p->y_channel + j0;
			for (int64_t i = 0; i < p->oh; i++, y += p->y_row) {
				int64_t from, to;
				rows_of(p, i, &from, &to);
				vf rows = all(divisor_of_row(p, i, from, to));
				memset(t.memory, 0, (size_t)p->sw * sizeof t.memory[0]);
				for (int64_t j = 0; j < t.n; j += VL) {
					vf share = load_up_to(y + j, t.n - j) / (rows * load(by + j));
					if (t.n - j < VL) share = choose(first_mask(t.n - j), share, (vf){0});
					for (int64_t l = 0; l < p->kw; l++) store(t.taps[l] + j, load(t.taps[l] + j) + share);
				}
				collect(&t, p, sum);
				for (int64_t h = from; h < to; h++) add_row(x + h * p->x_row, sum, t.lo, t.hi);
			}
		}
	}
}
#undef EVEN
#undef LOW
