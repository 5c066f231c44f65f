// entry_norm.c: the calls from Go of softmax, scans and the normalisations.
#include "dispatch.h"
#include "pool.h"

#define FLOATS(address) ((float *)(address))

enum { LINE_GRAIN = 1 << 12, NORM_GRAIN = 1 << 14 }; // the least elements of a piece

// cut returns into how many pieces rows of n elements are cut.
static int64_t cut(int64_t rows, int64_t n, int64_t grain, int threads) {
	int64_t least = grain / (n > 0 ? n : 1) + 1;
	if (threads <= 1 || rows < 2 * least) return 1;
	int64_t pieces = rows / least;
	return pieces < 4 * threads ? pieces : 4 * threads;
}

// line_job is lines cut into groups of outer sets and, where there are few of
// those, each into parts at multiples of unit.
struct line_job {
	const struct lines *l;
	int64_t groups, parts, unit;
	void (*run)(const struct lines *l, int64_t i0, int64_t i1);
};

static void lines_piece(const void *job, int64_t i, int worker) {
	const struct line_job *j = job;
	const struct lines *l = j->l;
	int64_t group = i / j->parts, part = i % j->parts;
	int64_t i0 = part * l->rows / j->parts / j->unit * j->unit, i1 = (part + 1) * l->rows / j->parts / j->unit * j->unit;
	(void)worker;
	if (part == j->parts - 1) i1 = l->rows;
	for (int64_t o = group * l->outer / j->groups; o < (group + 1) * l->outer / j->groups; o++) {
		struct lines set = *l;
		set.out += o * l->out_outer, set.a += o * l->a_outer, set.b += o * l->b_outer;
		j->run(&set, i0, i1);
	}
}

void tarn_lines(struct lines *l, int op, int columns, uintptr_t out, uintptr_t a, uintptr_t b, int threads) {
	l->out = FLOATS(out), l->a = FLOATS(a), l->b = FLOATS(b);
	struct line_job j = {.l = l, .groups = 1, .parts = 1, .unit = columns ? 64 : 1, .run = tarn_isa->lines[op][columns]};
	int64_t most = 4 * threads, worth = l->outer * l->rows * l->n / LINE_GRAIN;
	if (most > worth) most = worth;
	if (threads > 1 && most > 1) {
		j.groups = l->outer < most ? l->outer : most;
		j.parts = most / j.groups < l->rows / j.unit ? most / j.groups : l->rows / j.unit;
		if (j.parts < 1) j.parts = 1;
	}
	tarn_share(lines_piece, &j, j.groups * j.parts, threads);
}

struct norm_job {
	const struct norm *h;
	int64_t pieces;
	double *parts;
	float *acc;
};

static void norm_piece(const void *job, int64_t i, int worker) {
	const struct norm_job *j = job;
	(void)worker;
	tarn_isa->norm(j->h, i * j->h->rows / j->pieces, (i + 1) * j->h->rows / j->pieces);
}

static void set_norm(struct norm *h, const uintptr_t at[7]) {
	h->y = FLOATS(at[0]), h->x = FLOATS(at[1]), h->w = FLOATS(at[2]), h->b = FLOATS(at[3]);
	h->mean = FLOATS(at[4]), h->rstd = FLOATS(at[5]), h->dy = FLOATS(at[6]);
}

void tarn_norm(struct norm *h, const uintptr_t at[7], int threads) {
	set_norm(h, at);
	struct norm_job j = {.h = h, .pieces = cut(h->rows, h->channels * h->size, NORM_GRAIN, threads)};
	tarn_share(norm_piece, &j, j.pieces, threads);
}

static void norm_grad_piece(const void *job, int64_t i, int worker) {
	const struct norm_job *j = job;
	int64_t width = 2 * j->h->per * j->h->channels;
	(void)worker;
	tarn_isa->norm_grad(j->h, i * j->h->rows / j->pieces, (i + 1) * j->h->rows / j->pieces,
		j->parts ? j->acc + i * width : NULL, j->parts ? j->parts + i * width : NULL);
}

void tarn_norm_grad(struct norm *h, const uintptr_t at[7], int64_t pieces, uintptr_t parts, uintptr_t dw, uintptr_t db, int threads) {
	set_norm(h, at);
	int64_t width = h->per * h->channels;
	struct norm_job j = {.h = h, .pieces = pieces, .parts = (double *)parts};
	j.acc = (float *)(j.parts + pieces * 2 * width);
	if (!parts) j.pieces = cut(h->rows, h->channels * h->size, NORM_GRAIN, threads);
	tarn_share(norm_grad_piece, &j, j.pieces, threads);
	if (dw) tarn_isa->join_columns(FLOATS(dw), j.parts, 2 * width, pieces, width);
	if (db) tarn_isa->join_columns(FLOATS(db), j.parts + width, 2 * width, pieces, width);
}
