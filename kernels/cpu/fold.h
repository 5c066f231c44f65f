// fold.h: reductions to many results, each of runs or of columns, in one pass
// over the elements or in two: the second then goes by what the first has found.

// fold_run folds n > 0 elements in a run. beside is the mean of a variance, or the
// maximum that exponentials are relative to.
BODY double fold_run(int step, const float *x, int64_t n, double beside) {
	switch (step) {
	case ADDING: return sum_run(x, n);
	case EXPING: return exps(x, (float)beside, n, NULL);
	case MAXIMISING: return max_run(x, n);
	case MINIMISING: return min_run(x, n);
	case MULTIPLYING: return wide_run(MULTIPLYING, x, n, 0);
	case SQUARING: return wide_run(SQUARING, x, n, beside);
	case SIZING: return wide_run(SIZING, x, n, 0);
	default: return wide_run(COUNTING, x, n, 0);
	}
}

FN double join_totals(int step, double a, double b) {
	switch (step) {
	case MULTIPLYING: return a * b;
	case MAXIMISING: return b > a || b != b ? b : a;
	case MINIMISING: return b < a || b != b ? b : a;
	default: return a + b;
	}
}

// What the passes of each op are.
FN int first_step(const struct fold *f) {
	static const uint8_t steps[] = {[FOLD_SUM] = ADDING, [FOLD_PROD] = MULTIPLYING, [FOLD_MAX] = MAXIMISING, [FOLD_MIN] = MINIMISING,
		[FOLD_VAR] = ADDING, [FOLD_LOGSUMEXP] = MAXIMISING, [FOLD_COUNT] = COUNTING, [FOLD_SIZES] = SIZING, [FOLD_ROOT] = SQUARING};
	return steps[f->op];
}

FN int second_step(const struct fold *f) { return f->op == FOLD_VAR ? SQUARING : f->op == FOLD_LOGSUMEXP ? EXPING : 0; }

// between is what the second pass goes by, of what the first has found.
FN double between(const struct fold *f, double found) {
	if (f->op == FOLD_VAR) return found / (double)(f->rows * f->n);
	return __builtin_isinf(found) ? 0 : found; // exp(Inf-Inf) would be NaN
}

FN void finish_fold(const struct fold *f, int64_t o, int64_t k, double total, double beside) {
	float *out = f->out + o * f->out_outer + k * f->out_kept;
	double rest;
	switch (f->op) {
	case FOLD_SUM: total = f->alpha * total + (f->accumulate ? *out : 0); break;
	case FOLD_LOGSUMEXP: total = beside + __builtin_log(total); break;
	case FOLD_ROOT: total = __builtin_sqrt(total); break;
	case FOLD_VAR:
		rest = f->rows * f->n ? (double)(f->rows * f->n) - f->alpha : 0;
		total /= rest > 0 ? rest : 0;
		f->mean[o * f->mean_outer + k * f->mean_kept] = (float)beside;
	}
	*out = (float)total;
}

FN double rows_pass(int step, const struct fold *f, const float *x, double beside) {
	double total = fold_run(step, x, f->n, beside);
	for (int64_t r = 1; r < f->rows; r++) total = join_totals(step, total, fold_run(step, x + r * f->row_step, f->n, beside));
	return total;
}

// fold_rows makes the results k0 to k1 of o, whose elements are runs.
BODY void fold_rows(const struct fold *f, int64_t o, int64_t k0, int64_t k1) {
	for (int64_t k = k0; k < k1; k++) {
		const float *x = f->x + o * f->outer_step + k * f->kept_step;
		double total = rows_pass(first_step(f), f, x, 0), beside = 0;
		if (second_step(f)) {
			beside = between(f, total);
			total = rows_pass(second_step(f), f, x, beside);
		}
		finish_fold(f, o, k, total, beside);
	}
}

enum {
	TOTALS = 512,   // as many have their totals in the first-level cache
	STRIP = 4 * VL,  // as many have them in registers
	ROWS_OF_ADDS = 16, // are added up in float; as many streams the hardware follows
};

FN struct wide load_totals(const double *p) {
	struct wide w;
	memcpy(&w, p, sizeof w);
	return w;
}

// extreme_strip brings up to ROWS_OF_ADDS rows of a strip of so many vectors into
// best. One vector may be of fewer columns than lanes.
FN void extreme_strip(const int least, const int vectors, const float *x, int64_t ld, int64_t rows, int64_t width, float *best) {
	vf m[4];
	UNROLLED for (int i = 0; i < vectors; i++) m[i] = load(best + i * VL);
	for (int64_t r = 0; r < rows; r++, x += ld)
		UNROLLED for (int i = 0; i < vectors; i++) m[i] = further(least, m[i], vectors > 1 ? load(x + i * VL) : load_up_to(x, width));
	UNROLLED for (int i = 0; i < vectors; i++) store(best + i * VL, m[i]);
}

// total_strip is extreme_strip for totals in double.
FN void total_strip(const int step, const int vectors, const float *x, int64_t ld, int64_t rows, int64_t width, const double *beside, double *totals) {
	struct wide t[4], by[4];
	UNROLLED for (int i = 0; i < vectors; i++) t[i] = load_totals(totals + i * VL), by[i] = load_totals(beside + i * VL);
	if (step == ADDING || step == EXPING) {
		vf s[4] = {{0}}, top[4];
		UNROLLED for (int i = 0; i < vectors; i++) top[i] = narrow(by[i]);
		for (int64_t r = 0; r < rows; r++, x += ld)
			UNROLLED for (int i = 0; i < vectors; i++) {
				vf v = vectors > 1 ? load(x + i * VL) : load_up_to(x, width);
				s[i] += step == EXPING ? vexp(v - top[i]) : v;
			}
		UNROLLED for (int i = 0; i < vectors; i++) t[i] = wide_join(ADDING, t[i], widen(s[i]));
	} else {
		for (int64_t r = 0; r < rows; r++, x += ld)
			UNROLLED for (int i = 0; i < vectors; i++)
				t[i] = wide_join(step, t[i], wide_term(step, vectors > 1 ? load(x + i * VL) : load_up_to(x, width), by[i]));
	}
	UNROLLED for (int i = 0; i < vectors; i++) memcpy(totals + i * VL, &t[i], sizeof t[i]);
}

// OVER_STRIPS calls strip with so many vectors, the rows at p and column j on, for
// all elements of width columns from x on.
#define OVER_STRIPS(strip)                                                                          \
	for (int64_t a = 0; a < f->rows; a++)                                                       \
		for (int64_t b = 0; b < f->n; b += ROWS_OF_ADDS) {                                  \
			const float *p = x + a * f->row_step + b * f->n_step;                       \
			int64_t rows = f->n - b < ROWS_OF_ADDS ? f->n - b : ROWS_OF_ADDS, j = 0;    \
			for (; j + STRIP <= width; j += STRIP) strip(4);                            \
			for (; j < width; j += VL) strip(1);                                        \
		}

#define EXTREME(vectors) extreme_strip(least, vectors, p + j, f->n_step, rows, width - j, best + j)
#define TOTAL(vectors) total_strip(step, vectors, p + j, f->n_step, rows, width - j, beside + j, totals + j)

FN void extreme_columns(const int least, const struct fold *f, const float *x, int64_t width, double *totals) {
	float best[TOTALS] __attribute__((aligned(64)));
	for (int64_t j = 0; j < TOTALS; j += VL) store(best + j, all(least ? __builtin_inff() : -__builtin_inff()));
	OVER_STRIPS(EXTREME)
	for (int64_t j = 0; j < width; j++) totals[j] = best[j];
}

FN void total_columns(const int step, const struct fold *f, const float *x, int64_t width, const double *beside, double *totals) {
	for (int64_t j = 0; j < TOTALS; j++) totals[j] = step == MULTIPLYING ? 1 : 0;
	OVER_STRIPS(TOTAL)
}

#undef OVER_STRIPS
#undef EXTREME
#undef TOTAL

static TARGET void columns_pass(int step, const struct fold *f, const float *x, int64_t width, const double *beside, double *totals) {
	switch (step) {
	case ADDING: total_columns(ADDING, f, x, width, beside, totals); return;
	case EXPING: total_columns(EXPING, f, x, width, beside, totals); return;
	case MAXIMISING: extreme_columns(0, f, x, width, totals); return;
	case MINIMISING: extreme_columns(1, f, x, width, totals); return;
	case MULTIPLYING: total_columns(MULTIPLYING, f, x, width, beside, totals); return;
	case SQUARING: total_columns(SQUARING, f, x, width, beside, totals); return;
	case SIZING: total_columns(SIZING, f, x, width, beside, totals); return;
	default: total_columns(COUNTING, f, x, width, beside, totals);
	}
}

// fold_columns makes the results k0 to k1 of o, neighbours of which are of
// neighbouring elements.
BODY void fold_columns(const struct fold *f, int64_t o, int64_t k0, int64_t k1) {
	double totals[TOTALS] __attribute__((aligned(64))), beside[TOTALS] __attribute__((aligned(64))) = {0};
	for (int64_t k = k0; k < k1; k += TOTALS) {
		const float *x = f->x + o * f->outer_step + k;
		int64_t width = k1 - k < TOTALS ? k1 - k : TOTALS;
		columns_pass(first_step(f), f, x, width, beside, totals);
		if (second_step(f)) {
			for (int64_t j = 0; j < width; j++) beside[j] = between(f, totals[j]);
			columns_pass(second_step(f), f, x, width, beside, totals);
		}
		for (int64_t j = 0; j < width; j++) finish_fold(f, o, k + j, totals[j], beside[j]);
	}
}
