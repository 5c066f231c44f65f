// entry_reduce.c: the calls from Go of reductions.
#include "dispatch.h"
#include "pool.h"

#define FLOATS(address) ((float *)(address))

// FOLD_GRAIN is the least elements of a piece, CUT of what columns are cut at
// multiples.
enum { FOLD_GRAIN = 1 << 14, CUT = 64 };

double tarn_fold_run(int step, uintptr_t x, int64_t n, double beside) { return tarn_isa->fold_run(step, FLOATS(x), n, beside); }

// partials are passes over the len elements from each i*len on of n.
struct partials {
	int step;
	double *out, beside;
	const float *x;
	int64_t n, len;
};

static void partial_piece(const void *job, int64_t i, int worker) {
	const struct partials *p = job;
	int64_t left = p->n - i * p->len;
	(void)worker;
	p->out[i] = tarn_isa->fold_run(p->step, p->x + i * p->len, left < p->len ? left : p->len, p->beside);
}

void tarn_fold_partials(int step, uintptr_t out, uintptr_t x, int64_t n, double beside, int64_t len, int threads) {
	struct partials p = {.step = step, .out = (double *)out, .beside = beside, .x = FLOATS(x), .n = n, .len = len};
	tarn_share(partial_piece, &p, (n + len - 1) / len, threads);
}

// fold_job is a fold cut into groups of outer results and, where there are few of
// those, each into parts.
struct fold_job {
	const struct fold *f;
	int64_t groups, parts, unit;
	void (*run)(const struct fold *f, int64_t o, int64_t k0, int64_t k1);
};

static void fold_piece(const void *job, int64_t i, int worker) {
	const struct fold_job *j = job;
	const struct fold *f = j->f;
	int64_t group = i / j->parts, part = i % j->parts;
	int64_t k0 = part * f->kept / j->parts / j->unit * j->unit, k1 = (part + 1) * f->kept / j->parts / j->unit * j->unit;
	if (part == j->parts - 1) k1 = f->kept;
	(void)worker;
	for (int64_t o = group * f->outer / j->groups; o < (group + 1) * f->outer / j->groups; o++) j->run(f, o, k0, k1);
}

void tarn_fold(struct fold *f, int kind, int columns, const uintptr_t at[5], int threads) {
	f->x = FLOATS(at[0]), f->out = FLOATS(at[1]), f->index = (int64_t *)at[1], f->mean = FLOATS(at[2]), f->dx = FLOATS(at[3]), f->dy = FLOATS(at[4]);
	struct fold_job j = {.f = f, .groups = 1, .parts = 1, .unit = columns ? CUT : 1, .run = tarn_isa->fold[kind][columns]};
	int64_t most = 4 * threads, worth = f->outer * f->kept * f->rows * f->n / FOLD_GRAIN;
	if (most > worth) most = worth;
	if (threads > 1 && most > 1) {
		j.groups = f->outer < most ? f->outer : most;
		j.parts = most / j.groups;
		if (j.parts > f->kept / j.unit) j.parts = f->kept / j.unit;
		if (j.parts < 1) j.parts = 1;
	}
	tarn_share(fold_piece, &j, j.groups * j.parts, threads);
}
