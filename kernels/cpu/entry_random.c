// entry_random.c: the calls from Go of the random ops.
#include "dispatch.h"
#include "pool.h"

enum { DRAW_GRAIN = 1 << 13, DRAW_UNIT = 64 }; // the least elements of a piece; whole blocks of all instances

struct draw_job {
	const struct draw *d;
	float *out;
	const float *x;
	int64_t n, pieces;
};

static void draw_piece(const void *job, int64_t i, int worker) {
	const struct draw_job *j = job;
	int64_t lo = i * j->n / j->pieces / DRAW_UNIT * DRAW_UNIT, hi = (i + 1) * j->n / j->pieces / DRAW_UNIT * DRAW_UNIT;
	(void)worker;
	if (i == j->pieces - 1) hi = j->n;
	tarn_isa->random(j->d, j->out + lo, j->x ? j->x + lo : NULL, hi - lo, lo / 4);
}

void tarn_random(const struct draw *d, uintptr_t out, uintptr_t x, int64_t n, int threads) {
	struct draw_job j = {.d = d, .out = (float *)out, .x = (const float *)x, .n = n, .pieces = n / DRAW_GRAIN};
	if (threads <= 1 || j.pieces < 2) j.pieces = 1;
	if (j.pieces > 4 * threads) j.pieces = 4 * threads;
	tarn_share(draw_piece, &j, j.pieces, threads);
}
