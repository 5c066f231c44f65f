// entry_window.c: the calls from Go of poolings.
#include "dispatch.h"
#include "pool.h"

enum { POOL_GRAIN = 1 << 14 }; // the least elements of a piece

struct pool_job {
	const struct pool *p;
	int64_t pieces;
	void (*run)(const struct pool *p, int64_t u0, int64_t u1);
};

static void planes_piece(const void *job, int64_t i, int worker) {
	const struct pool_job *j = job;
	(void)worker;
	j->run(j->p, i * j->p->planes / j->pieces, (i + 1) * j->p->planes / j->pieces);
}

void tarn_pool(struct pool *p, enum pool_op op, uintptr_t x, uintptr_t y, uintptr_t places, int threads) {
	p->x = (const float *)x, p->grad = (float *)x, p->y = (float *)y, p->given = (const float *)y, p->places = (int64_t *)places;
	struct pool_job j = {.p = p, .pieces = 1, .run = tarn_isa->pool[op]};
	int64_t least = POOL_GRAIN / (p->h * p->w + p->oh * p->ow + 1) + 1;
	if (threads > 1 && p->planes >= 2 * least) {
		j.pieces = p->planes / least;
		if (j.pieces > 4 * threads) j.pieces = 4 * threads;
	}
	tarn_share(planes_piece, &j, j.pieces, threads);
}
