// entry_batchnorm.c: the calls from Go of batch normalisation.
#include "dispatch.h"
#include "pool.h"

#define FLOATS(address) ((float *)(address))

enum { BATCH_GRAIN = 1 << 14, BLOCK = 64 }; // the least elements of a piece, and what channels side by side are cut at

struct batch_job {
	const struct batch *h;
	int64_t pieces, unit;
	void (*run)(const struct batch *h, int64_t c0, int64_t c1);
};

static void batch_piece(const void *job, int64_t i, int worker) {
	const struct batch_job *j = job;
	int64_t n = j->h->channels, c0 = i * n / j->pieces / j->unit * j->unit, c1 = (i + 1) * n / j->pieces / j->unit * j->unit;
	(void)worker;
	j->run(j->h, c0, i == j->pieces - 1 ? n : c1);
}

void tarn_batch(struct batch *h, const uintptr_t at[9], int threads) {
	h->y = FLOATS(at[0]), h->x = FLOATS(at[1]), h->dy = FLOATS(at[2]), h->w = FLOATS(at[3]), h->b = FLOATS(at[4]);
	h->mean = FLOATS(at[5]), h->variance = FLOATS(at[6]), h->dw = FLOATS(at[7]), h->db = FLOATS(at[8]);
	struct batch_job j = {.h = h, .unit = h->columns ? BLOCK : 1, .run = (h->dy ? tarn_isa->batch_grad : tarn_isa->batch)[h->columns]};
	int64_t units = h->channels / j.unit, worth = h->images * h->channels * h->size / BATCH_GRAIN;
	j.pieces = 4 * threads;
	if (j.pieces > units) j.pieces = units;
	if (j.pieces > worth) j.pieces = worth;
	if (threads <= 1 || j.pieces < 1) j.pieces = 1;
	tarn_share(batch_piece, &j, j.pieces, threads);
}
