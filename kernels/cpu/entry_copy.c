// entry_copy.c: the call from Go of a copy that transposes.
#include "dispatch.h"
#include "pool.h"

// TURN_COLUMNS are turned at a time: as many rows of the result stay in the
// first-level cache while their elements come in.
enum { TURN_COLUMNS = 64, TURN_GRAIN = 1 << 14 };

struct turn_job {
	const struct turn *t;
	int64_t blocks, pieces; // of all matrices
};

static void turn_piece(const void *job, int64_t i, int worker) {
	const struct turn_job *j = job;
	const struct turn *t = j->t;
	(void)worker;
	for (int64_t b = i * t->outer * j->blocks / j->pieces; b < (i + 1) * t->outer * j->blocks / j->pieces; b++) {
		int64_t o = b / j->blocks, c = b % j->blocks * TURN_COLUMNS, width = t->columns - c < TURN_COLUMNS ? t->columns - c : TURN_COLUMNS;
		tarn_isa->transpose(t->out + o * t->out_outer + c * t->ldout, t->ldout, t->x + o * t->x_outer + c, t->ldx, t->rows, width);
	}
}

void tarn_turn(struct turn *t, uintptr_t out, uintptr_t x, int threads) {
	t->out = (float *)out, t->x = (const float *)x;
	struct turn_job j = {.t = t, .blocks = (t->columns + TURN_COLUMNS - 1) / TURN_COLUMNS};
	int64_t worth = t->outer * t->rows * t->columns / TURN_GRAIN;
	j.pieces = 4 * threads < worth ? 4 * threads : worth;
	if (threads <= 1 || j.pieces < 1) j.pieces = 1;
	tarn_share(turn_piece, &j, j.pieces, threads);
}
